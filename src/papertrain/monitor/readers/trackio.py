"""trackio's SQLite file: `metrics(run_name, step, timestamp, metrics JSON)`, NaN as the string "NaN"; opened read-only."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

from papertrain.monitor.reader import Reader
from papertrain.monitor.readers import _smi
from papertrain.monitor.readers._text import EPOCH_KEYS, as_step, flat, pick
from papertrain.monitor.table import Table

MOST_ROWS = 2_000_000


def sniff(head: bytes, path: Path) -> float:
    if head[:16] != b"SQLite format 3\x00":
        return 0.0
    return 0.97 if b"metrics" in head and b"run_name" in head else 0.0


def start(table: Table) -> Callable[[Path], None]:
    def read(path: Path) -> None:
        try:
            connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=5)
        except sqlite3.Error:
            table.skip(0, "the database cannot be opened")
            return
        try:
            newest = connection.execute("SELECT run_name FROM metrics ORDER BY id DESC LIMIT 1").fetchone()
            if newest is None:
                return
            rows = connection.execute(
                "SELECT id, step, timestamp, metrics FROM metrics WHERE run_name = ? ORDER BY id LIMIT ?",
                (newest[0], MOST_ROWS),
            )
            for number, step, stamp, text in rows:
                take(table, number, step, stamp, text)
            names = connection.execute("SELECT COUNT(DISTINCT run_name) FROM metrics").fetchone()
            table.facts["runs"] = float(names[0])
        except (sqlite3.Error, UnicodeDecodeError) as error:
            table.skip(0, f"the database is damaged: {type(error).__name__}")
        finally:
            connection.close()

    return read


def take(table: Table, number: object, step: object, stamp: object, text: object) -> None:
    line = number if isinstance(number, int) else 0
    try:
        row = json.loads(str(text))
    except (ValueError, RecursionError):
        table.skip(line, "not a JSON object")
        return
    if isinstance(row, dict):
        pairs = list(flat(row))
        epoch = pick(pairs, EPOCH_KEYS)
        at = as_step(float(step)) if isinstance(step, (int, float)) else -1
        table.row(
            (p for p in pairs if p[0].lower() not in EPOCH_KEYS),
            line=line,
            step=at,
            epoch=epoch,
            time=_smi.moment(str(stamp)),
        )


READER = Reader(id="trackio", sniff=sniff, start=start, kind="whole", what="trackio database")
