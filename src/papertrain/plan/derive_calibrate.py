"""What a real run of the user's used, read from what it left behind, to move the estimate for that machine."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from papertrain.core.values import Value

MIB, GIB = 2**20, 2**30
LARGEST = 20 * 2**20


class Observed(Value, frozen=True, kw_only=True):
    """One figure of a real run. meter: device (nvidia-smi), allocated (torch) or step_seconds. at_least: the run was
    killed there, so it would have needed more."""

    meter: str
    value: float
    file: str
    how: str
    at_least: bool = False


class Calibration(Value, frozen=True, kw_only=True):
    """How far the estimate moves: measured / predicted, and the sentence that says from which file."""

    memory: float = 1.0
    time: float = 1.0
    says: tuple[str, ...] = ()


def observe(name: str, text: str) -> list[Observed]:
    """All figures that a file of a run holds; an unknown file gives none."""
    found: list[Observed] = []
    for read in READERS:
        found += read(name, text[:LARGEST])
    return found


def nvidia_smi(name: str, text: str) -> list[Observed]:
    """`nvidia-smi --query-gpu=…,memory.used --format=csv`: the largest value on any card."""
    try:
        rows = [row for row in csv.reader(text.splitlines()[:2_000_000]) if row]
    except csv.Error:
        return []
    head = next((i for i, row in enumerate(rows[:20]) if any("memory.used" in c for c in row)), None)
    if head is None:
        return []
    column = next(i for i, c in enumerate(rows[head]) if "memory.used" in c)
    unit = GIB if "GiB" in rows[head][column] else MIB
    used = [
        float(m[0]) for row in rows[head + 1 :] if len(row) > column and (m := re.search(r"\d+(\.\d+)?", row[column]))
    ]
    if not used:
        return []
    return [
        Observed(meter="device", value=max(used) * unit, file=name, how=f"largest memory.used of {len(used)} readings")
    ]


OOM = re.compile(
    r"Tried to allocate ([\d.]+) ([KMG])iB.{0,400}?([\d.]+) ([KMG])iB (?:is )?(?:already )?allocated", re.S
)
SCALE = {"K": 2**10, "M": MIB, "G": GIB}


def out_of_memory(name: str, text: str) -> list[Observed]:
    """The numbers of an OOM message: what was allocated plus what was asked for is the least that it needs."""
    found = [float(m[1]) * SCALE[m[2]] + float(m[3]) * SCALE[m[4]] for m in OOM.finditer(text)]
    if not found:
        return []
    return [
        Observed(
            meter="allocated",
            value=max(found),
            file=name,
            how="allocated + asked for in the OOM message",
            at_least=True,
        )
    ]


def trainer_files(name: str, text: str) -> list[Observed]:
    """Step time and memory fields of `trainer_state.json`, `all_results.json` and `trainer_log.jsonl`."""
    if not name.endswith((".json", ".jsonl")):
        return []
    if name.endswith(".jsonl"):
        return _log_lines(name, text)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return []
    if not isinstance(content, dict):
        return []
    history = content.get("log_history")
    records = [r for r in (history if isinstance(history, list) else [content]) if isinstance(r, dict)]
    step = content.get("global_step")
    found: list[Observed] = []
    for r in records:
        runtime, steps = _number(r.get("train_runtime")), _number(r.get("step")) or _number(step)
        per_second = _number(r.get("train_steps_per_second"))
        if runtime and steps:
            found.append(
                Observed(
                    meter="step_seconds",
                    value=runtime / steps,
                    file=name,
                    how=f"train_runtime {runtime:g} s / {steps:g} steps",
                )
            )
        elif per_second:
            found.append(
                Observed(
                    meter="step_seconds", value=1 / per_second, file=name, how=f"train_steps_per_second {per_second:g}"
                )
            )
        found += _memory_fields(name, r)
    return found


def _memory_fields(name: str, r: Mapping[str, Any]) -> list[Observed]:
    """The Trainer's memory metrics: loaded + allocated by training + peaked above that."""
    parts = [
        _number(r.get(k))
        for k in ("init_mem_gpu_alloc_delta", "train_mem_gpu_alloc_delta", "train_mem_gpu_peaked_delta")
    ]
    if parts[1] is None or parts[2] is None:
        return []
    return [
        Observed(
            meter="allocated",
            value=sum(p or 0.0 for p in parts),
            file=name,
            how="init + train alloc + train peaked delta",
        )
    ]


def _log_lines(name: str, text: str) -> list[Observed]:
    """LLaMA-Factory: `elapsed_time` and `current_steps`; the first logged step is left out, it holds the warm-up of kernels."""
    points: list[tuple[float, float]] = []
    for line in text.splitlines():
        try:
            r = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(r, dict) and "elapsed_time" in r and (n := _number(r.get("current_steps"))) is not None:
            seconds = _clock(str(r["elapsed_time"]))
            if seconds is not None and "eval_loss" not in r:
                points.append((n, seconds))
    if len(points) < 2 or points[-1][0] <= points[0][0]:
        return []
    (n0, t0), (n1, t1) = points[0], points[-1]
    if t1 <= t0:
        return []
    return [
        Observed(
            meter="step_seconds", value=(t1 - t0) / (n1 - n0), file=name, how=f"elapsed_time from step {n0:g} to {n1:g}"
        )
    ]


def _clock(text: str) -> float | None:
    m = re.fullmatch(r"(?:(\d{1,5}) days?, )?(\d{1,5}):(\d\d):(\d\d)(?:\.\d+)?", text.strip())
    return None if m is None else int(m[1] or 0) * 86400.0 + int(m[2]) * 3600 + int(m[3]) * 60 + int(m[4])


def _number(x: Any) -> float | None:
    return float(x) if isinstance(x, (int, float)) and not isinstance(x, bool) and 0 < x < 1e18 else None


READERS: tuple[Callable[[str, str], list[Observed]], ...] = (nvidia_smi, out_of_memory, trainer_files)
FILES = ("trainer_state.json", "all_results.json", "trainer_log.jsonl", "*.csv", "*.log", "*.txt", "*.out")


def run_files(path: Path) -> list[Path]:
    """The file itself, or what a run's folder holds of the known kinds (two levels, at most 50 files)."""
    if path.is_file():
        return [path]
    found = {f for pattern in FILES for depth in ("", "*/") for f in path.glob(depth + pattern) if f.is_file()}
    return sorted(found)[:50]


def calibrate(seen: list[Observed], predicted: Mapping[str, float | None]) -> Calibration:
    """measured / predicted per meter. A killed run only raises the estimate, never lowers it."""
    says: list[str] = []
    factor = {"memory": 1.0, "time": 1.0}
    for meter, group in (("device", "memory"), ("allocated", "memory"), ("step_seconds", "time")):
        of = [o for o in seen if o.meter == meter]
        expected = predicted.get(meter)
        if not of or not expected or factor[group] != 1.0:
            continue
        best = max(of, key=lambda o: o.value)
        ratio = best.value / expected
        if best.at_least and ratio <= 1:
            says.append(f"{best.file}: the run was killed at {best.how}; the estimate lies above that already")
            continue
        if not 0.2 <= ratio <= 5:
            says.append(f"{best.file}: {meter} is {ratio:.2g}x the estimate, too far to be the same run; not used")
            continue
        factor[group] = ratio
        says.append(f"{best.file}: {meter} moved by {100 * (ratio - 1):+.0f} % ({best.how})")
    return Calibration(memory=factor["memory"], time=factor["time"], says=tuple(says))
