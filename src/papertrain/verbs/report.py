"""`report`: one page to read or send."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from papertrain.core.params import Arg, DryRunArg, ModeArg, OverwriteArg
from papertrain.core.report import Report
from papertrain.core.texts import say
from papertrain.core.workspace import Workspace


def report(
    work: Annotated[Path, Arg("the workspace", "WORK")],
    *,
    output: Annotated[Path | None, Arg("the HTML file to write", "FILE.html", short="o", name="output")] = None,
    mode: ModeArg = None,
    overwrite: OverwriteArg = False,
    dry_run: DryRunArg = False,
) -> Report:
    """Write one self-contained HTML page: plan, curves, diagnoses, results, checklist.

    It needs no network and no script to be read, and can be mailed. Private names are taken out.

    papertrain report work -o report.html
    """
    from papertrain.core.errors import PapertrainError
    from papertrain.core.files import Writer
    from papertrain.core.gate import decide_mode
    from papertrain.core.redact import redact
    from papertrain.report.html import page

    space = Workspace.open(work)
    parts = _sections(space)
    html = redact(page(say("{name}: training report", name=space.study.name), parts))
    if output is not None:
        if output.is_dir():
            raise PapertrainError("a folder; name an HTML file", code="not-a-file", file=output)
        with Writer(output.parent, overwrite=overwrite, dry_run=dry_run) as w:
            w.text(output.name, html)
    return Report(
        verb="report",
        mode=decide_mode(mode, work),
        result=say("{n} sections, {kb:.0f} kB", n=len(parts), kb=len(html) / 1e3)
        + (f": {output}" if output and not dry_run else ""),
        body="\n".join(f"  {head}" for head, _ in parts),
        explanation=say("the page is complete in itself: figures are embedded, nothing is loaded from anywhere"),
        action=None if output else f"papertrain report {work} -o report.html",
        data={
            "sections": [head for head, _ in parts],
            "file": str(output) if output else None,
            "html": None if output else html,
        },
    )


def _sections(space: Workspace) -> list[tuple[str, str]]:
    from papertrain.evidence.checklist import done_when, steps
    from papertrain.report.html import plan_section, table

    found = steps(space)
    rows = [(s.step, s.name, (s.state, s.state), s.because, s.next) for s in found]
    grid = [(r.id, (r.state, r.state), r.because) for r in space.grid()]
    conditions = [("✓" if c.met else "·", c.text, c.because) for c in done_when(space)]
    parts = [
        ("Status", table(("", "step", "state", "because", "next"), rows) + table(("run", "state", "because"), grid))
    ]
    parts += [(f"Plan: {name}", plan_section(space.plan(name))) for name in space.methods()]
    parts += [(f"Run: {r.id}", html) for r in space.grid() if (html := _run(space.run_path(r.id)))]
    results = _results(space.root)
    if results:
        parts.append(("Results", results))
    parts.append(("Done when", table(("", "what", "because"), conditions)))
    return parts


def _run(path: Path) -> str:
    """Signals with their levels, curves, and the debug log of one run."""
    from html import escape

    from papertrain import verbs
    from papertrain.core.errors import PapertrainError
    from papertrain.monitor.curves import series
    from papertrain.report.html import curve, table

    if not path.is_dir():
        return ""
    parts = []
    try:
        watched = verbs.load("watch")([path])
        rows = [
            (s["name"], (s["level"], s["level"]), s["says"]) for s in watched.data["signals"] if s["level"] != "unknown"
        ]
        parts.append(f"<p>{escape(watched.result)}</p>" + table(("signal", "level", "says"), rows))
        lines = series(path)
        loss = [(n, *lines[n]) for n in ("train_loss", "eval_loss") if n in lines]
        parts += [curve("loss", loss)] if loss else []
        parts += [curve(n, [(n, *lines[n])]) for n in ("learning_rate", "grad_norm") if n in lines]
    except PapertrainError as error:
        parts.append(f"<p>{escape(error.says)}</p>")
    for note in sorted((path / "debug").glob("*.md")):
        parts.append(f"<h3>Debug log {escape(note.stem)}</h3><pre>{escape(note.read_text('utf-8', 'replace'))}</pre>")
    for patch in sorted((path / "debug").glob("*.patch")):
        parts.append(f"<h3>Patch {escape(patch.stem)}</h3><pre>{escape(patch.read_text('utf-8', 'replace'))}</pre>")
    return "".join(parts)


def _results(root: Path) -> str:
    """The main table as written, the figures, and what each number rests on."""
    import csv
    from html import escape

    from papertrain.core.evidence import read_evidence, stale, superseded
    from papertrain.report.html import picture, table

    parts = []
    for file in sorted((root / "tables").glob("*.csv")):
        rows = list(csv.reader(file.read_text("utf-8", "replace").splitlines()))
        if len(rows) > 1:
            parts.append(f"<h3>{escape(file.stem)}</h3>" + table(rows[0], rows[1:]))
    for file in sorted((root / "figures").glob("*.png")):
        parts.append(picture(file.read_bytes(), f"figures/{file.name}"))
    entries = read_evidence(root)
    old, held = superseded(entries), stale(root, entries)
    evidence: list[tuple[Any, ...]] = [
        (
            e.id,
            e.claim,
            "–" if e.value is None else json.dumps(e.value),
            e.status,
            f"{e.file} {e.pointer}",
            ("stale: " + held[e.id], "warning") if e.id in held else "read anew later" if e.id in old else "holds",
        )
        for e in entries
    ]
    if evidence:
        heads = ("id", "claim", "value", "status", "source", "now")
        parts.append("<h3>Evidence</h3>" + table(heads, evidence, numeric=(2,)))
    return "".join(parts)
