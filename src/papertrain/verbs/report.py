"""`report`: one page to read or send."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from papertrain.core.commands import line
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

    It needs no network and no script to be read, prints well, and can be mailed. Each number of the table leads to its
    evidence on the same page. Private names are taken out.

    papertrain report work -o report.html
    """
    from html import escape

    from papertrain.core.errors import PapertrainError
    from papertrain.core.gate import decide_mode
    from papertrain.core.redact import redact
    from papertrain.core.writing import Writer
    from papertrain.report.html import page
    from papertrain.verbs.page.parts import sections

    space = Workspace.open(work)
    parts = sections(space)
    lead = f'<p class="lead">{escape(say("Made from the files of the workspace; estimates are marked as such, a missing number says why."))}</p>'
    html = redact(page(say("{name}: training report", name=space.study.name), parts, lead=lead))
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
        action=line("papertrain", "next", work) if output else line("papertrain", "report", work, "-o", "report.html"),
        data={
            "sections": [head for head, _ in parts],
            "file": str(output) if output else None,
            "html": None if output else html,
        },
    )
