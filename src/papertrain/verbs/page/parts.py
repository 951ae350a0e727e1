"""The parts of the report page, made from a workspace. The live page shows the same parts."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

import msgspec

from papertrain.core.commands import quoted
from papertrain.core.errors import PapertrainError
from papertrain.core.files import read_text
from papertrain.core.sentences import translated
from papertrain.core.texts import say
from papertrain.core.workspace import Workspace
from papertrain.core.writing import only_reading
from papertrain.report.html import Section, picture, raw, table, tag
from papertrain.report.html_curves import Mark, Series, curve
from papertrain.report.html_findings import cut, diagnosis_card, diff, signals_table

PICTURE_LIMIT = 4 * 2**20
EARLIER = 12
OTHER_CURVES = (
    "learning_rate",
    "grad_norm",
    "token_accuracy",
    "reward",
    "reward_margin",
    "kl",
    "entropy",
    "throughput",
)


def sections(space: Workspace) -> list[Section]:
    """Every part that has something to show, in the order of the method."""
    parts = [(say("Where it stands"), status_part(space))]
    parts += [(say("Plan: {name}", name=n), plan_part(space, n)) for n in space.methods()]
    parts += [
        (say("Run: {id}", id=r.id), html)
        for r in space.grid()
        if (html := run_part(space.run_path(r.id), r.state, r.because))
    ]
    if earlier := earlier_part(space):
        parts.append((say("Earlier attempts"), earlier))
    if results := results_part(space):
        parts.append((say("Results"), results))
    if figures := figures_part(space):
        parts.append((say("Figures"), figures))
    if evidence := evidence_part(space):
        parts.append((say("Evidence"), evidence))
    parts.append((say("Done when"), checklist_part(space)))
    return parts


def status_part(space: Workspace) -> str:
    from papertrain.evidence.checklist import steps

    found = steps(space)
    rows = [(s.step, s.name, raw(tag(s.state, s.state)), translated(s.because), _command(s.next, space)) for s in found]
    grid = [(r.id, raw(tag(r.state, r.state)), translated(r.because)) for r in space.grid()]
    heads = ("#", say("step"), say("state"), say("because"), say("next"))
    return table(heads, rows) + table((say("run"), say("state"), say("because")), grid)


def _command(text: str, space: Workspace) -> bytes:
    """The workspace by its name: the page may be read elsewhere."""
    here = Path(space.root.name or ".")
    shown = text.replace(quoted(space.root), quoted(here)).replace(str(space.root), str(here))
    return raw(f"<code>{escape(shown)}</code>") if shown else b""


def plan_part(space: Workspace, name: str) -> str:
    from papertrain.core.gate import confirmation
    from papertrain.report.html_plan import plan_section

    try:
        known = confirmation(space, name)
        said = say("confirmed {day}", day=known.at[:10]) if known else say("unconfirmed")
        return plan_section(space.plan(name), state=(said, "ok" if known else "unconfirmed"))
    except PapertrainError as error:
        return wrong(error)


def wrong(error: PapertrainError) -> str:
    return f'<p class="error">{escape(error.one_line())}</p>'


def run_part(path: Path, state: str = "", because: str = "") -> str:
    """Level, curves with their onsets, signals, telemetry, what was diagnosed, and the patches with their proof."""
    if not path.is_dir():
        return ""
    head = f"<p>{tag(state, state)} {escape(translated(because))}</p>" if state else ""
    return head + watched_part(path) + debug_part(path)


def watched_part(path: Path) -> str:
    """What `watch` says about a run, with its curves."""
    from papertrain import verbs

    try:
        with only_reading():
            watched = verbs.load("watch")([path])
    except PapertrainError as error:
        return wrong(error)
    signals = watched.data["signals"]
    level = escape(watched.data["level"])
    said = f'<p><strong class="{level}">{escape(watched.result)}</strong></p><p>{escape(watched.explanation)}</p>'
    return said + f'<div class="curves">{"".join(curve_parts(path, signals))}</div>' + signals_table(signals)


def curve_parts(path: Path, signals: Sequence[dict[str, Any]]) -> list[str]:
    """Loss first (training and evaluation in one frame), then every other signal that the log holds."""
    from papertrain.monitor.curves import lines_of
    from papertrain.monitor.history import History
    from papertrain.monitor.run import watched
    from papertrain.verbs.page.answers import telemetry

    try:
        run = watched(path)[0]
    except PapertrainError:
        return []
    run.poll()
    history = History(run.name, run.tables)
    lines = lines_of(history)
    marks = marks_of(signals)
    named = [n for n in ("train_loss", "eval_loss") if n in lines]
    loss: list[Series] = [(n, lines[n].steps, lines[n].values) for n in named]
    both = [*marks.get("train_loss", ()), *marks.get("eval_loss", ())]
    parts = [curve("loss", loss, both, unit=lines[named[0]].word)] if loss else []
    parts += [
        curve(n, [(n, lines[n].steps, lines[n].values)], marks.get(n, ()), unit=lines[n].word)
        for n in OTHER_CURVES
        if n in lines
    ]
    return parts + [curve(n, cards, unit=say("sample")) for n, cards in telemetry(history).items()]


def marks_of(signals: Sequence[dict[str, Any]]) -> dict[str, list[Mark]]:
    """Where a level other than normal set in, by signal."""
    found: dict[str, list[Mark]] = {}
    for s in signals:
        if s["level"] in ("warning", "critical") and s.get("since_step") is not None:
            found.setdefault(s["name"], []).append(Mark(step=s["since_step"], level=s["level"], says=s["says"]))
    return found


def debug_part(path: Path, *, live: str = "") -> str:
    """The run's debug folder: diagnoses, notes on what was changed and proved, patches. live: what the fixes of the newest
    diagnosis can do on a page."""
    parts = []
    records = _numbered(path / "debug", "*.json")
    for note in records:
        try:
            stored = json.loads(read_text(note, limit=2**22))
            parts += [
                diagnosis_card(d, live=live if note == records[-1] else "") for d in stored.get("diagnoses", ())[:3]
            ]
        except (PapertrainError, ValueError, KeyError, TypeError, AttributeError):
            continue
    for note in _numbered(path / "debug", "*.md"):
        parts.append(f"<details><summary>{escape(say('Debug note {n}', n=note.stem))}</summary>{_file(note)}</details>")
    for patch in _numbered(path / "debug", "*.patch"):
        parts.append(f"<h4>{escape(say('Patch {n}', n=patch.stem))}</h4>{_file(patch, diff)}")
    return "".join(parts)


def _numbered(folder: Path, pattern: str) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(folder.glob(pattern), key=lambda p: (len(p.stem), p.stem))[:20]


def _text(text: str) -> str:
    return cut(text.splitlines(), lambda lines: f'<pre tabindex="0">{escape(chr(10).join(lines))}</pre>')


def _file(path: Path, show: Callable[[str], str] = _text) -> str:
    try:
        return show(read_text(path, limit=2**20))
    except PapertrainError as error:
        return wrong(error)


def earlier_part(space: Workspace) -> str:
    """Attempts that were set aside when a run was started again: what failed, what was found, what was changed."""
    folder = space.root / "runs" / "earlier"
    if not folder.is_dir():
        return ""
    parts = []
    for path in sorted(p for p in folder.iterdir() if p.is_dir() and p.name.count(".") >= 3)[:EARLIER]:
        parts.append(f"<h3>{escape(path.name)}</h3>{watched_part(path)}{debug_part(path)}")
    return "".join(parts)


_making = threading.Lock()
_made: dict[tuple[str, str], tuple[object, str]] = {}
"""Workspace and language → what its results looked like, and the part that was made of them."""


def results_part(space: Workspace, link: Callable[[str], str] = lambda id: f"#{id}") -> str:
    """The table that `compare` makes of the study, with its tests; made anew only where a file changed."""
    from papertrain.core.texts import language

    key = (str(space.root.resolve()), language.get())
    with _making:  # who asks while it is being made waits for it, and does not make it again
        state = _state_of_results(space.root)
        if key not in _made or _made[key][0] != state:
            _made[key] = (state, _results(space, link))
        return _made[key][1]


def results_made(space: Workspace) -> str | None:
    """The part if it was made of the files as they are now, else None."""
    from papertrain.core.texts import language

    state, html = _made.get((str(space.root.resolve()), language.get()), (None, ""))
    return html if state is not None and state == _state_of_results(space.root) else None


def _state_of_results(root: Path) -> object:
    places = [root / "study.toml", root / "evidence.jsonl", *root.glob("runs/*/*"), *root.glob("runs/*/predictions/*"), *root.glob("results/**/*")]  # fmt: skip
    return tuple(sorted((str(p), p.stat().st_mtime_ns, p.stat().st_size) for p in places if p.is_file()))


def _results(space: Workspace, link: Callable[[str], str]) -> str:
    from papertrain import verbs
    from papertrain.core.evidence import read_evidence
    from papertrain.core.results import ResultTable, Test
    from papertrain.report.html_results import results_table, tests_table
    from papertrain.report.table import sheet
    from papertrain.results.names import pretty

    try:
        with only_reading():
            found = verbs.load("compare")([space.root], dry_run=True)
        made = msgspec.convert(found.data["table"], ResultTable)
        tests = [msgspec.convert(t, Test) for t in found.data["tests"]]
    except PapertrainError as error:
        return wrong(error) if read_evidence(space.root) else ""
    except (msgspec.ValidationError, KeyError):
        return ""
    if not made.columns:
        return ""
    known = {e.id for e in read_evidence(space.root)}
    labels = {m.name: m.label for m in space.study.methods if m.label}
    names = {c.metric: pretty(c.metric).replace("$R^2$", "R²") for c in made.columns}
    shown = sheet(made, tests, names, labels=labels)
    shown = msgspec.structs.replace(shown, cells=tuple(tuple(c if c.evidence in known else msgspec.structs.replace(c, evidence="") for c in row) for row in shown.cells))  # fmt: skip
    columns = [f"{c.dataset} {names[c.metric]}" for c in made.columns]
    first = found.result.splitlines()[0] if found.result else ""
    said = f'<p>{escape(first)}</p><p class="soft">{escape(found.explanation)}</p>'
    return said + results_table(shown, say("Main results"), link) + tests_table(tests, made.columns, columns)


def figures_part(space: Workspace, address: Callable[[Path], str] | None = None) -> str:
    """The figures as they were written, with the data they were drawn from named. address: where a page loads them from."""
    parts = []
    for file in sorted((space.root / "figures").glob("*.png"))[:20]:
        if file.is_file() and file.stat().st_size < PICTURE_LIMIT:
            drawn = f"figures/{file.stem}.csv"
            from_ = say(", drawn from {file}", file=drawn) if (space.root / drawn).is_file() else ""
            caption = f"figures/{file.name}{from_}"
            parts.append(picture(file.read_bytes() if address is None else address(file), caption))
    return f'<div class="pictures">{"".join(parts)}</div>' if parts else ""


def evidence_part(space: Workspace) -> str:
    from papertrain.core.evidence import read_evidence, stale, superseded
    from papertrain.report.html_results import evidence_table

    entries = read_evidence(space.root)
    return evidence_table(entries, stale(space.root, entries), superseded(entries)) if entries else ""


def checklist_part(space: Workspace) -> str:
    from papertrain.evidence.checklist import done_when

    items = "".join(
        f'<li class="{"met" if c.met else "open"}">{escape(translated(c.text))} <span class="soft">– {escape(translated(c.because))}</span></li>'
        for c in done_when(space)
    )
    return f'<ul class="check">{items}</ul>'
