"""What a paper says of its own study: parameters and budgets, data sets, compute that was measured, the setup in words."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from papertrain.core.errors import PapertrainError
from papertrain.core.files import json_object, regular_file
from papertrain.core.training import TrainingPlan
from papertrain.core.units import show_number
from papertrain.core.values import Record
from papertrain.core.workspace import Workspace

EARLIER = "earlier"


class Spent(Record, frozen=True, kw_only=True):
    """One start of one run, as its record has it. reason: why a number is missing."""

    method: str
    run: str
    file: str
    finished: bool
    seconds: float | None
    device: str
    devices: int | None
    again: bool = False
    reason: str = ""

    @property
    def hours(self) -> float | None:
        return None if self.seconds is None else self.seconds / 3600

    @property
    def gpu_hours(self) -> float | None:
        """On accelerators only; a run on a CPU has none, which is not the same as 0."""
        known = self.seconds is not None and self.devices is not None and self.device != "cpu"
        return (
            self.seconds * self.devices / 3600
            if known and self.seconds is not None and self.devices is not None
            else None
        )


class Cost(Record, frozen=True, kw_only=True):
    """What a method cost: per finished run, and in all with attempts that failed or were started again."""

    method: str
    runs: int
    starts: int
    device: str
    devices: str
    hours_per_run: float | None
    gpu_hours_per_run: float | None
    hours_in_all: float | None
    gpu_hours_in_all: float | None
    reason: str = ""
    files: tuple[str, ...] = ()


def spent(work: Workspace) -> list[Spent]:
    """Every start that left a record, earlier ones included; nothing is estimated."""
    out: list[Spent] = []
    places = sorted((work.root / "runs").glob("*/record.json")) + sorted(
        (work.root / "runs" / EARLIER).glob("*/record.json")
    )
    for path in places:
        r = _object(path)
        if not isinstance(r.get("method"), str):
            continue
        name = path.parent.relative_to(work.root).as_posix()
        device, devices = _devices(path.parent, r)
        common = {
            "method": r["method"],
            "run": str(r.get("run") or path.parent.name),
            "file": f"{name}/record.json",
            "device": device,
            "devices": devices,
        }
        seconds, why = _seconds(r)
        done = r.get("exit_code") == 0 and path.parent.parent.name != EARLIER
        out.append(
            Spent(**common, finished=done, seconds=seconds, again=path.parent.parent.name == EARLIER, reason=why)
        )
        for attempt in r.get("attempts") or ():
            if isinstance(attempt, dict):
                before, why = _seconds(attempt)
                out.append(Spent(**common, finished=False, seconds=before, again=True, reason=why))
    return out


def _object(path: Path) -> dict[str, Any]:
    return json_object(path) or {}


def _seconds(r: dict[str, Any]) -> tuple[float | None, str]:
    given = r.get("seconds")
    if isinstance(given, (int, float)) and not isinstance(given, bool) and given >= 0:
        return float(given), ""
    try:
        passed = (
            datetime.fromisoformat(str(r["ended_at"])) - datetime.fromisoformat(str(r["started_at"]))
        ).total_seconds()
    except (KeyError, ValueError, TypeError):
        return None, "its record has no end"
    return (passed, "") if passed >= 0 else (None, "its record ends before it starts")


def _devices(folder: Path, r: dict[str, Any]) -> tuple[str, int | None]:
    """(name, how many were used): the training's own first line, else the variable, else one where the machine has one."""
    name = str(r.get("device") or "")
    if name == "cpu":
        return name, 1
    try:
        regular_file(folder / "train_log.jsonl", "training log")
        with (folder / "train_log.jsonl").open(encoding="utf-8", errors="replace") as log:
            first = json.loads(log.readline(1 << 20))
        if isinstance(first, dict) and isinstance(first.get("devices"), int):
            return name, first["devices"]
    except (OSError, ValueError, RecursionError, PapertrainError):
        pass
    environment = r.get("environment")
    visible = environment.get("CUDA_VISIBLE_DEVICES") if isinstance(environment, dict) else None
    if isinstance(visible, str) and visible.strip():
        return name, len([v for v in visible.split(",") if v.strip()])
    cards = r.get("devices")
    return name, 1 if isinstance(cards, list) and len(cards) == 1 else None


def costs(work: Workspace) -> list[Cost]:
    out = []
    every = spent(work)
    for method in _order(work, every):
        mine = [s for s in every if s.method == method]
        done = [s for s in mine if s.finished]
        if not mine:
            continue
        unknown = [s for s in mine if s.seconds is None]
        uncounted = [s for s in mine if s.device != "cpu" and s.devices is None]
        cpu = bool(mine) and all(s.device == "cpu" for s in mine)
        reasons = [
            *(["on the CPU: no GPU-hours"] if cpu else []),
            *([f"{len(unknown)} starts left no time and are not in it"] if unknown else []),
            *(["how many cards were used is not recorded"] if uncounted else []),
        ]
        out.append(Cost(
            method=method, runs=len({s.run for s in done}), starts=len(mine), device=" / ".join(sorted({s.device for s in mine if s.device})),
            devices=" / ".join(sorted({str(s.devices) for s in mine if s.devices is not None})), hours_per_run=_mean([s.hours for s in done]),
            gpu_hours_per_run=_mean([s.gpu_hours for s in done]), hours_in_all=_sum([s.hours for s in mine if s.seconds is not None]),
            gpu_hours_in_all=None if uncounted else _sum([s.gpu_hours for s in mine if s.seconds is not None]), reason="; ".join(reasons), files=tuple(s.file for s in mine),
        ))  # fmt: skip
    return out


def _order(work: Workspace, every: list[Spent]) -> list[str]:
    named = [m.name for m in work.study.methods]
    return [*named, *sorted({s.method for s in every} - set(named))]


def _mean(values: list[float | None]) -> float | None:
    real = [v for v in values if v is not None]
    return sum(real) / len(real) if real and len(real) == len(values) else None


def _sum(values: list[float | None]) -> float | None:
    real = [v for v in values if v is not None]
    return sum(real) if real and len(real) == len(values) else None


COMPUTE = (
    "method",
    "runs",
    "starts",
    "device",
    "devices",
    "hours_per_run",
    "gpu_hours_per_run",
    "hours_in_all",
    "gpu_hours_in_all",
    "reason",
)


def compute_csv(found: list[Cost]) -> str:
    import csv
    import io

    from papertrain.report.escape import csv_cell

    out = io.StringIO()
    w = csv.writer(out, lineterminator="\n")
    w.writerow(COMPUTE)
    for c in found:
        w.writerow(
            [
                csv_cell(x) if isinstance(x, str) else "" if x is None else repr(x) if isinstance(x, float) else x
                for x in (getattr(c, k) for k in COMPUTE)
            ]
        )
    return out.getvalue()


def plans(work: Workspace) -> dict[str, TrainingPlan]:
    out = {}
    for method in work.methods():
        try:
            out[method] = work.plan(method)
        except PapertrainError:
            continue
    return out


def hyperparameters(
    work: Workspace, found: dict[str, TrainingPlan], labels: dict[str, str]
) -> dict[str, dict[str, str]]:
    """Every decision of every plan, then what was tried for it: the budget of each method and the values of its sweep."""
    trials = {m.name: m.trials for m in work.study.methods}
    swept = sweeps(work)
    out = {}
    for method, p in found.items():
        row = {d.name: show_number(d.value) if d.value is not None else "" for d in p.decisions()}
        if seeds := sorted({r.seed for r in work.grid() if r.method == method}):
            row["seed"] = ", ".join(map(str, seeds))
        if any(t is not None for t in trials.values()):
            row["tuning trials"] = "" if trials.get(method) is None else str(trials[method])
        for parameter, values in swept.items():
            if method in values:
                row[f"{parameter} tried"] = ", ".join(show_number(v) for v in sorted(values[method]))
        out[labels.get(method, method)] = row
    return out


def sweeps(work: Workspace) -> dict[str, dict[str, list[float]]]:
    """parameter → method → the values that were tried, from the records that the sweep left."""
    out: dict[str, dict[str, list[float]]] = {}
    for path in sorted((work.root / "plans").glob("*/sweep.json")):
        r = _object(path)
        parameter, rows = r.get("parameter"), r.get("trials")
        if not isinstance(parameter, str) or not isinstance(rows, list):
            continue
        tried = [
            (str(t["method"]), float(t["value"]))
            for t in rows
            if isinstance(t, dict) and isinstance(t.get("value"), (int, float)) and "method" in t
        ]
        base = min((m for m, _ in tried), key=len, default="")
        if tried:
            out.setdefault(parameter, {}).setdefault(base, []).extend(v for _, v in tried)
    return out


def datasets(work: Workspace, found: dict[str, TrainingPlan]) -> dict[str, dict[str, str]]:
    """Each split of each data set as it was counted; a file that is not here has no counts."""
    out: dict[str, dict[str, str]] = {}
    planned = {Path(p.dataset.path).name: p.dataset for p in found.values() if p.dataset is not None}
    listed = [
        (d.label or d.name, split, file)
        for d in work.study.datasets
        for split, file in (("train", d.train), ("validation", d.validation), ("test", d.test))
        if file
    ]
    files = {Path(f).name for _, _, f in listed}
    listed += [(name, "train", d.path) for name, d in planned.items() if name not in files]
    for name, split, file in listed:
        d = planned.get(Path(file).name) if split == "train" else None
        place = next((q for q in (work.root / file, Path(file)) if q.is_file()), None)
        if d is not None:
            counts: dict[str, int | None] = {"rows": d.rows, "examples": d.examples, "tokens": d.tokens, "trained tokens": d.trainable_tokens, "truncated": d.truncated_examples,
                                             "duplicates": d.duplicates or None, "classes": len(d.labels) or None}  # fmt: skip
            digest, licence = d.sha256, d.licence
        else:
            rows, digest = _counted(place)
            counts, licence = {"rows": rows}, None
        shown = {k: f"{v:,}" for k, v in counts.items() if v is not None}
        out[f"{name}, {split}"] = (
            shown | ({"licence": licence} if licence else {}) | ({"sha256": digest[:8]} if digest else {})
        )
    return out


def _counted(place: Path | None) -> tuple[int | None, str]:
    """Rows and digest of a data file; a damaged row counts as none."""
    from papertrain.core.files import sha256_file
    from papertrain.data.reading import BadLine, open_rows

    if place is None:
        return None, ""
    try:
        return sum(not isinstance(r, BadLine) for _, r in open_rows(place).rows), sha256_file(place)
    except (PapertrainError, OSError):
        return None, ""
