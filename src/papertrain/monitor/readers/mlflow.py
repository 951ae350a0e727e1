"""MLflow's file store: one run folder with `meta.yaml` and `metrics/<key>`, lines `timestamp_ms value step`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from papertrain.monitor.reader import Reader
from papertrain.monitor.readers._text import as_step, number
from papertrain.monitor.table import Table

MOST_FILES = 2000
LARGEST = 1 << 26


def sniff(head: bytes, path: Path) -> float:
    return 0.9 if path.is_dir() and (path / "meta.yaml").is_file() and (path / "metrics").is_dir() else 0.0


def start(table: Table) -> Callable[[Path], None]:
    def read(path: Path) -> None:
        root = path / "metrics"
        for file in sorted(p for p in root.rglob("*") if p.is_file())[:MOST_FILES]:
            key = file.relative_to(root).as_posix()
            with file.open("rb") as f:
                text = f.read(LARGEST).decode("utf-8", "replace")
            for n, line in enumerate(text.splitlines(), 1):
                parts = line.split()
                if not parts:
                    continue
                values = [number(p) for p in parts[:3]]
                if len(parts) not in (2, 3, 5) or any(v is None for v in values):
                    table.skip(n, f"{key}: not `timestamp value step`")
                    continue
                stamp, value = values[0] or 0.0, values[1]
                step = as_step(values[2] or 0.0) if len(parts) == 3 else 0
                if value is not None:
                    table.row([(key, value)], line=n, step=step, time=stamp / 1000)

    return read


READER = Reader(id="mlflow", sniff=sniff, start=start, kind="whole", what="MLflow run folder")
