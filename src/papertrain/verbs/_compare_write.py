"""The files of a comparison: tables, macros, figures, evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from papertrain.core.errors import PapertrainError
from papertrain.core.evidence import append_evidence
from papertrain.core.files import Writer
from papertrain.core.units import show_number
from papertrain.core.workspace import Workspace
from papertrain.report import html_table, latex, markdown
from papertrain.results import statement
from papertrain.verbs._compare import Asked, Comparison, sheet_of
from papertrain.verbs._compare_figures import drawn

NAMES = ("main", "differences", "curves", "confusion", "seeds", "cd", "heatmap")


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
        append_evidence(w, place, found.evidence) if inside else _own_evidence(w, place, found)
        if found.board.heads:
            w.text("tables/main.tex", latex.main_table(sheet, title=title, style=asked.venue, intro=_intro(found)))
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
        plans = _hyperparameters(found)
        if plans:
            w.text("tables/hyperparameters.tex", latex.hyperparameters(plans, style=asked.venue))
        data = _datasets(found)
        if data:
            w.text("tables/datasets.tex", latex.datasets(data, style=asked.venue))
    return found, [c.path for c in w.changes]


def _own_evidence(w: Writer, place: Path, found: Comparison) -> None:
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
    lines += ["", "## Action", ""]
    lines += [f"- {m['run']}: {m['because']}; `{m['command']}`" for m in found.missing] or [
        "- every planned run is in the table"
    ]
    return "\n".join(lines) + "\n"


def _hyperparameters(found: Comparison) -> dict[str, dict[str, str]]:
    """Every decision of every plan of the workspace."""
    if found.work is None:
        return {}
    work = Workspace(found.work)
    out: dict[str, dict[str, Any]] = {}
    for method in work.methods():
        try:
            out[found.labels.get(method, method)] = {
                d.name: show_number(d.value) if d.value is not None else "" for d in work.plan(method).decisions()
            }
        except PapertrainError:
            continue
    return out


def _datasets(found: Comparison) -> dict[str, dict[str, str]]:
    """The data that the plans were derived for, as they were counted."""
    if found.work is None:
        return {}
    work = Workspace(found.work)
    out: dict[str, dict[str, str]] = {}
    for method in work.methods():
        try:
            d = work.plan(method).dataset
        except PapertrainError:
            continue
        if d is None or Path(d.path).name in out:
            continue
        counts = {
            "rows": d.rows,
            "examples": d.examples,
            "tokens": d.tokens,
            "trained tokens": d.trainable_tokens,
            "truncated": d.truncated_examples,
            "classes": len(d.labels) or None,
        }
        out[Path(d.path).name] = {k: f"{v:,}" for k, v in counts.items() if v is not None} | {"sha256": d.sha256[:8]}
    return out
