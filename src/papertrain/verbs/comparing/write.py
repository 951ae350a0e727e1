"""The files of a comparison: tables, macros, figures, evidence."""

from __future__ import annotations

from pathlib import Path

from papertrain.core.errors import PapertrainError
from papertrain.core.evidence import append_evidence
from papertrain.core.texts import english, say
from papertrain.core.workspace import Workspace
from papertrain.core.writing import Writer
from papertrain.report import html_table, latex, markdown
from papertrain.report.figures._figure import Files
from papertrain.report.figures._letters import east_asian
from papertrain.results import statement
from papertrain.results.records import Issue
from papertrain.verbs.comparing.build import Comparison, sheet_of
from papertrain.verbs.comparing.figures import drawn
from papertrain.verbs.comparing.table import Asked

NAMES = ("main", "differences", "curves", "confusion", "seeds", "cd", "heatmap", "cost", "scaling")


@english()
def write(
    found: Comparison, asked: Asked, place: Path, *, overwrite: bool, dry_run: bool
) -> tuple[Comparison, list[str]]:
    """Write everything below `place`, or nothing. Returns the comparison with the evidence ids as they stand in the file."""
    for name in asked.figures:
        if name not in NAMES:
            raise PapertrainError(f"no figure {name!r} (there are {', '.join(NAMES)})", code="unknown-figure")
    inside = found.work is not None and place.resolve() == Path(found.work).resolve()
    sheet = sheet_of(found, asked)
    title = _title(found)
    with Writer(place, overwrite=overwrite, dry_run=dry_run) as w:
        append_evidence(w, place, found.evidence) if inside else _own_evidence(w, found)
        if found.board.heads:
            main = latex.main_table(sheet, title=title, style=asked.venue, intro=_intro(found), aligned=asked.aligned)
            w.text("tables/main.tex", main)
            w.text("tables/main.md", markdown.table(sheet, title) + "\n" + _statement(found))
            w.text("tables/main.html", html_table.page(sheet, title))
            w.text("tables/main.csv", markdown.long_csv(found.table))
            w.text("tables/tests.csv", markdown.tests_csv(found.table, found.tests))
            w.text("tables/numbers.tex", latex.numbers(found.table, found.tests))
            for files in drawn(found, asked):
                for name, text in files.texts.items():
                    w.text(name, text)
                for name, blob in files.binaries.items():
                    w.binary(name, blob)
                if files.boxes:
                    found.issues.append(_boxes(files))
            if east_asian(*sheet.rows, *sheet.datasets):
                found.issues.append(_letters())
        for name, text in _study(found, asked).items():
            w.text(name, text)
    return found, [c.path for c in w.changes]


def _boxes(files: Files) -> Issue:
    name = next(iter(files.binaries))
    says = say(
        "{file} shows boxes for {characters}: no font here has them; with one installed, the script beside it draws them",
        file=name,
        characters=files.boxes[:12],
    )
    return Issue(says=says, file=name, code="no-glyph")


def _letters() -> Issue:
    says = say("names in Chinese, Japanese or Korean: pdflatex stops at them; xelatex or lualatex with {package} sets them", package="xeCJK")  # fmt: skip
    return Issue(says=says, file="tables/main.tex", code="needs-xecjk")


def _own_evidence(w: Writer, found: Comparison) -> None:
    """Beside loose files the evidence of this comparison is written whole, so that ids in the tables lead somewhere."""
    import json

    from papertrain.core.values import plain

    w.text("evidence.jsonl", "".join(json.dumps(plain(e), ensure_ascii=False) + "\n" for e in found.evidence))


def _title(found: Comparison) -> str:
    datasets = list(dict.fromkeys(c.dataset for c in found.table.columns if c.dataset))
    if not datasets:
        return "Main results."
    return f"Results on {', '.join(datasets[:4])}{' and others' if len(datasets) > 4 else ''}."


def _intro(found: Comparison) -> list[str]:
    """What the numbers are of: n where all columns share it."""
    sizes = {e.measured.n for runs in found.board.entries.values() for e in runs.values() if e.measured is not None}
    return [f"Test set of {next(iter(sizes)):,} examples."] if len(sizes) == 1 else []


def _statement(found: Comparison) -> str:
    """Result, Explanation, Action as text for the paper; causes are not named, since no ablation was run for them."""
    tested = [t for t in found.tests if not t.refused and t.details.get("role") == "primary"]
    refused = [t for t in found.tests if t.refused and t.details.get("role") == "primary"]
    lines = ["## Result", ""]
    lines += [f"{statement.pair(t, found.table)}." for t in tested] or ["No test was possible."]
    lines += [
        f"{t.a} against {t.b}, {statement.where(found.table.columns[t.column])}: no test ({t.refused})."
        for t in refused[:6]
    ]
    lines += ["", "## Explanation", ""]
    doubts = [f"{s[0].upper()}{s[1:]}." for t in tested if (s := statement.doubt(t, found.table))]
    lines += doubts[:1] or ["The evidence carries no comparison."]
    lines += ["Why one system is better is not measured here: a cause stays a hypothesis until an ablation tests it."]
    if doubtful := [i.says for i in found.issues if i.level == "warning"]:
        lines += ["", "## What speaks against it", "", *(f"- {says}" for says in dict.fromkeys(doubtful))]
    lines += ["", "## Action", ""]
    lines += [f"- {m['run']}: {m['because']}; `{m['command']}`" for m in found.missing] or [
        "- every planned run is in the table"
    ]
    return "\n".join(lines) + "\n"


def _study(found: Comparison, asked: Asked) -> dict[str, str]:
    """What a workspace knows about itself: parameters, data, compute, and the paragraph that says how it was done."""
    from papertrain.report import study as tables
    from papertrain.verbs.comparing import study as facts
    from papertrain.verbs.comparing.setup import setup

    if found.work is None:
        return {}
    work, style = Workspace(found.work), asked.venue
    plans, costs = found.plans, found.costs
    out: dict[str, str] = {}
    parameters = facts.hyperparameters(work, plans, found.labels)
    if parameters:
        out["tables/hyperparameters.tex"] = tables.hyperparameters(parameters, style=style)
    data = facts.datasets(work, plans)
    if data:
        out["tables/datasets.tex"] = tables.datasets(data, style=style)
    if costs:
        rows = [
            [
                found.labels.get(c.method, c.method),
                c.device.removeprefix("NVIDIA "),
                c.devices,
                str(c.runs),
                _hours(c.hours_per_run),
                _hours(c.gpu_hours_per_run),
                str(c.starts),
                _hours(c.hours_in_all),
                _hours(c.gpu_hours_in_all),
            ]
            for c in costs
        ]
        reasons = {
            c.reason: [found.labels.get(o.method, o.method) for o in costs if o.reason == c.reason]
            for c in costs
            if c.reason
        }
        notes = [
            f"{', '.join(who) if len(who) < len(costs) else 'All methods'}: {why}." for why, who in reasons.items()
        ]
        out["tables/compute.tex"] = tables.compute(rows, [", ".join(c.files[:4]) for c in costs], notes, style=style)
        out["tables/compute.csv"] = facts.compute_csv(costs)
    if plans or costs:
        trials = {m.name: m.trials for m in work.study.methods if m.trials is not None}
        out["tables/setup.tex"] = tables.paragraph(setup(found, plans, costs, trials))
    return out


def _hours(x: float | None) -> str:
    """Three digits: a minute on a small model is not 0.0 hours."""
    return "" if x is None else f"{x:.3g}"
