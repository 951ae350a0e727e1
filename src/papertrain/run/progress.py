"""How far a run is, read from the log it writes: the script's, LLaMA-Factory's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

LOGS = ("train_log.jsonl", "trainer_log.jsonl")


class Follower:
    """Reads what is new in a run's log at each call. `last` holds the newest value of every key."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.last: dict[str, Any] = {}
        self.steps: list[dict[str, Any]] = []
        self._at: dict[Path, int] = {p: p.stat().st_size for p in (folder / name for name in LOGS) if p.is_file()}

    def read(self) -> tuple[int, int]:
        """(step, total steps), 0 where the log does not say."""
        for path in (self.folder / name for name in LOGS):
            if not path.is_file():
                continue
            with path.open("rb") as f:
                f.seek(self._at.get(path, 0))
                new = f.read()
            whole = new[: new.rfind(b"\n") + 1]
            self._at[path] = self._at.get(path, 0) + len(whole)
            for line in whole.splitlines():
                self._take(line)
        step = self.last.get("step", 0)
        total = self.last.get("total_steps", 0)
        return (step if isinstance(step, int) else 0), (total if isinstance(total, int) else 0)

    def _take(self, line: bytes) -> None:
        try:
            values = json.loads(line)
        except ValueError:
            return
        if isinstance(values, dict):
            if "current_steps" in values:  # LLaMA-Factory's word
                values["step"] = values["current_steps"]
            self.last |= {k: v for k, v in values.items() if isinstance(v, (int, float, str))}
            if "loss" in values:
                self.steps.append(values)
