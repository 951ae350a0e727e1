"""What the live page asks beyond the verbs: one changed value of a plan, curves since the last look, a piece of a log."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from papertrain.core.errors import PapertrainError
from papertrain.core.texts import say
from papertrain.core.workspace import Workspace

if TYPE_CHECKING:
    from papertrain.core.training import TrainingPlan
    from papertrain.plan.derive_question import Question

COLUMNS = 1000
LOG_PIECE = 64 * 1024
SEARCH_LIMIT = 200
TELEMETRY = ("gpu_utilization", "gpu_memory")


# ---- plan


def question_of(work: Path, method: str) -> Question:
    """The stored question of a method's plan."""
    from papertrain.verbs.planning import questions

    return questions.read_question(Workspace.open(work).plan_path(method).with_name(questions.QUESTION))


@lru_cache(maxsize=64)
def new_question(model: str, gpu: str, data: str, host_ram: str, stamp: float = 0) -> Question:
    """A question from a model, cards and perhaps data; read once, so that a changed knob costs a derivation only.

    stamp: when the data was last changed, so that changed data is counted anew.
    """
    from papertrain.plan.derive_question import Question
    from papertrain.plan.steps_task import task_of
    from papertrain.verbs.planning import questions

    spec = questions.model_for(model, online=False)
    compute = questions.compute_of(gpu or None, None, host_ram or None, None)
    profile = questions.profile_of(Path(data), spec, None, None) if data else None
    task = task_of(spec, profile, None)
    return Question(model=questions.with_head(spec, task, profile), compute=compute, dataset=profile, task=task)


def changed_plan(q: Question, changes: Mapping[str, str]) -> tuple[Question, TrainingPlan, float]:
    """The plan with some values fixed, and the seconds that the derivation took. Raises PapertrainError."""
    from papertrain.plan.derive import derive

    q = with_changes(q, changes)
    began = time.perf_counter()
    return q, derive(q), time.perf_counter() - began


def with_changes(q: Question, changes: Mapping[str, str]) -> Question:
    """`--set` by another face: the same reading, the same refusals."""
    from papertrain.plan.derive_question import read_sets
    from papertrain.plan.steps_task import sequence_length

    cards = changes.get("gpu")
    if cards:
        from papertrain.verbs.planning import questions

        q = structs.replace(q, compute=questions.compute_of(cards, None, changes.get("host_ram") or None, None))
    pairs = [f"{k}={v}" for k, v in changes.items() if k not in ("gpu", "host_ram") and v != ""]
    fixed = read_sets(pairs)
    method, task = fixed.pop("method", None) or q.method, fixed.pop("task", None) or q.task
    length = fixed.pop("sequence_length", None) or q.seq_len
    if length is not None:
        sequence_length(q.model, task or "sft", q.dataset, length)
    return structs.replace(q, method=method, task=task, seq_len=length, sets={**q.sets, **fixed})


def files_of(work: Path, q: Question, p: TrainingPlan) -> dict[str, str]:
    """The exact texts that `papertrain plan WORK --set …` would write, by path in the workspace."""
    from papertrain.core.gate import confirmation
    from papertrain.core.redact import redact
    from papertrain.core.training import write_plan
    from papertrain.report.plan import markdown
    from papertrain.verbs.plan import _derive
    from papertrain.verbs.planning import questions

    space, folder = Workspace(work), f"plans/{p.name}"
    text, path = write_plan(p), Workspace(work).plan_path(p.name)
    known = confirmation(space, p.name) if path.is_file() and path.read_bytes() == text.encode() else None
    _, differences = _derive(q)
    shown = markdown(p, state=f"confirmed at {known.at}" if known else "unconfirmed", differences=differences)
    made = {"plan.json": text, questions.QUESTION: questions.write_question(q), "plan.md": shown}
    return {f"{folder}/{name}": redact(content) for name, content in made.items()}


def sets_of(changes: Mapping[str, str]) -> list[str]:
    return [f"{k}={v}" for k, v in changes.items() if k not in ("gpu", "host_ram") and v != ""]


# ---- run


class Follower:
    """A run that a page looks at again and again: what was read stays read."""

    def __init__(self, path: Path) -> None:
        from papertrain.monitor.run import watched

        self.path = path
        self.sequence = 0
        self._run = watched(path)[0]
        self._files = self._seen()
        self._answer: dict[str, Any] = {}
        self._due = 0.0
        self._lock = threading.Lock()

    def _seen(self) -> tuple[tuple[str, int], ...]:
        return tuple(sorted((p.name, p.stat().st_size) for p in self.path.iterdir() if p.is_file()))

    def look(self, since: int = 0) -> dict[str, Any]:
        """Level, signals and curves as of now; `same` where nothing came since that sequence number."""
        with self._lock:
            if time.monotonic() >= self._due:
                self._refresh()
            same = since == self.sequence
            return {"sequence": self.sequence, **({"same": True} if same else self._answer)}

    def _refresh(self) -> None:
        """Read and judge; a long run, which takes seconds to judge, is judged more rarely."""
        from papertrain.monitor.run import watched

        began = time.monotonic()

        files = self._seen()
        if {n for n, _ in files} != {n for n, _ in self._files}:
            self._run = watched(self.path)[0]
        self._files = files
        if self._run.poll() or not self._answer:
            self._answer = self._judge()
            self.sequence += 1
        self._due = time.monotonic() + 4 * (time.monotonic() - began)

    def _judge(self) -> dict[str, Any]:
        from papertrain.monitor.curves import lines_of
        from papertrain.monitor.history import History
        from papertrain.monitor.run import judge
        from papertrain.verbs.watch import _data, _plan_of
        from papertrain.verbs.watching.text import headline

        history = History(self._run.name, self._run.tables, _plan_of(self.path), now=time.time())
        found = judge(history)
        data = _data(found)
        curves = {n: {**thinned(c.steps, c.values), "unit": c.word} for n, c in lines_of(history).items()}
        cards = {
            n: {raw: {**thinned(x, y), "unit": say("sample")} for raw, x, y in lines}
            for n, lines in telemetry(history).items()
        }
        marks = [
            {"signal": s["name"], "step": s["since_step"], "unit": s["unit"], "level": s["level"], "says": s["says"]}
            for s in data["signals"]
            if s["level"] in ("warning", "critical") and s["since_step"] is not None
        ]
        return {
            "level": data["level"], "says": headline(found), "signals": data["signals"], "curves": curves, "telemetry": cards, "marks": marks,
            "step": data["last_step"], "unit": data["unit"], "total": data["total_steps"], "ended": data["ended"], "left": _left(history, data), "files": [Path(f).name for f in data["files"]],
        }  # fmt: skip


def telemetry(history: Any) -> dict[str, list[tuple[str, list[int], list[float]]]]:
    """Utilisation and memory by card, over samples."""
    found = {n: [(c.raw, c.steps, c.values) for c in history.every(n) if len(c) > 1] for n in TELEMETRY}
    return {n: lines for n, lines in found.items() if lines}


def _left(history: Any, data: Mapping[str, Any]) -> str:
    """When it ends, if it goes on as it went: from the times in the log, else unknown."""
    from papertrain.core.units import show_seconds

    total, at = data["total_steps"], data["last_step"]
    loss = history.raw_loss
    seen = [(t, s) for t, s in zip(loss.times, loss.steps) if isfinite(t)] if loss is not None else []
    if data["ended"] or not total or not at or at >= total or len(seen) < 2 or seen[-1][0] <= seen[0][0]:
        return ""
    pace = (seen[-1][0] - seen[0][0]) / max(1, seen[-1][1] - seen[0][1])
    return say("about {time} left", time=show_seconds(pace * (total - at)))


def thinned(xs: Sequence[float], ys: Sequence[float], columns: int = COLUMNS) -> dict[str, Any]:
    """Points to draw: every spike stays; steps at which the value is not finite stand apart."""
    from papertrain.report.html_curves import thin

    points = thin(xs, ys, columns)
    odd = [x for x, y in zip(xs, ys) if not isfinite(y)]
    return {"x": [p[0] for p in points], "y": [p[1] for p in points], "odd": odd[:columns], "n": len(xs)}


def log_files(path: Path) -> list[Path]:
    """The text files of a run's folder that a person would read, by name; empty ones are left out."""
    if not path.is_dir():
        return []
    ends = (".log", ".out", ".err", ".jsonl", ".txt", ".csv")
    return sorted(
        p
        for p in path.iterdir()
        if p.is_file() and not p.is_symlink() and (p.suffix in ends or p.name == "record.json") and p.stat().st_size
    )


def log_piece(path: Path, offset: int | None, search: str = "") -> dict[str, Any]:
    """A piece of a log from a byte offset (the end where none is given), or the lines that hold a text."""
    from papertrain.core.redact import redact

    size = path.stat().st_size
    if search:
        return {"size": size, **_search(path, search)}
    start = max(0, size - LOG_PIECE) if offset is None else min(max(0, offset), size)
    with path.open("rb") as f:
        f.seek(start)
        raw = f.read(LOG_PIECE)
    if offset is None and start and (cut := raw.find(b"\n")) >= 0:
        raw, start = raw[cut + 1 :], start + cut + 1
    return {"size": size, "offset": start, "next": start + len(raw), "text": redact(raw.decode("utf-8", "replace"))}


def log_lines(path: Path, line: int, around: int = 50) -> dict[str, Any]:
    """The lines around one, each with its number."""
    from papertrain.core.redact import redact

    found: list[dict[str, Any]] = []
    with path.open("rb") as f:
        for number, raw in enumerate(iter(lambda: f.readline(2**20), b""), 1):
            if number > line + around:
                break
            if number >= line - around:
                found.append({"line": number, "text": redact(raw[:2000].decode("utf-8", "replace").rstrip("\r\n"))})
    return {"size": path.stat().st_size, "hits": found, "more": 0}


def _search(path: Path, search: str) -> dict[str, Any]:
    from papertrain.core.redact import redact

    wanted = search.lower().encode()
    hits: list[dict[str, Any]] = []
    more = 0
    with path.open("rb") as f:
        for number, line in enumerate(iter(lambda: f.readline(2**20), b""), 1):
            if wanted not in line.lower():
                continue
            if len(hits) == SEARCH_LIMIT:
                more += 1
                continue
            hits.append({"line": number, "text": redact(line[:2000].decode("utf-8", "replace").rstrip("\r\n"))})
    return {"hits": hits, "more": more}


# ---- diagnose


def diagnose_text(log: str, config: str, plan: Path | None) -> Any:
    """`diagnose` on a pasted log. The text lies in a folder of its own while it is read."""
    import tempfile

    from papertrain import verbs

    if not log.strip():
        raise PapertrainError(say("paste a log, or drop a file"), code="missing-argument")
    with tempfile.TemporaryDirectory(prefix="papertrain-") as folder:
        file = Path(folder) / "pasted.log"
        file.write_text(log, "utf-8", errors="replace")
        more: list[Path] = []
        if config.strip():
            looks_json = config.lstrip().startswith("{")
            more = [Path(folder) / ("pasted.json" if looks_json else "pasted.yaml")]
            more[0].write_text(config, "utf-8", errors="replace")
        return verbs.load("diagnose")([file], config=more, plan=plan)
