"""`skill`: the instructions for coding agents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from papertrain.core.params import Arg, DryRunArg, OverwriteArg
from papertrain.core.report import Report
from papertrain.core.texts import say

PLACES = {
    "claude-code": ".claude/skills",
    "codex": ".codex/skills",
    "cursor": ".cursor/skills",
    "gemini": ".gemini/skills",
    "copilot": ".github/skills",
}
"""Where each tool looks for skills inside a project."""


def skill(
    action: Annotated[Literal["install", "show"], Arg("install the folder, or show its text", "ACTION")] = "show",
    *,
    tool: Annotated[
        Literal["claude-code", "codex", "cursor", "gemini", "copilot"] | None, Arg("which coding agent it is for")
    ] = None,
    output: Annotated[
        Path | None, Arg("the project to install into (default: this folder)", "DIR", short="o", name="output")
    ] = None,
    overwrite: OverwriteArg = False,
    dry_run: DryRunArg = False,
) -> Report:
    """Install the paper-train skill for coding agents, or show it.

    A folder with SKILL.md (when to use it, the six steps, what is never done, exit codes), references, and evals.

    papertrain skill install --tool claude-code
    papertrain skill show
    """
    from papertrain.core.errors import PapertrainError

    folder = Path(__file__).parents[1] / "skill" / "paper-train"
    files = {
        p.relative_to(folder).as_posix(): p.read_text("utf-8")
        for p in sorted(folder.rglob("*"))
        if p.suffix in (".md", ".json")
    }
    if action == "show":
        return Report(
            verb="skill",
            result=say("{n} files, {lines} lines in SKILL.md", n=len(files), lines=len(files["SKILL.md"].splitlines())),
            body=files["SKILL.md"],
            explanation=say("an agent that has it runs the six steps in order and asks before it spends anything"),
            action="papertrain skill install --tool claude-code",
            data={"files": sorted(files), "text": files["SKILL.md"]},
        )
    if tool is None:
        raise PapertrainError(
            f"for which agent? --tool {'|'.join(PLACES)}",
            code="no-tool",
            command="papertrain skill install --tool claude-code",
        )
    from papertrain.core.writing import Writer

    root = output or Path()
    with Writer(root, overwrite=overwrite, dry_run=dry_run) as w:
        for name, text in files.items():
            w.text(f"{PLACES[tool]}/paper-train/{name}", text)
    new = sum(c.kind != "same" for c in w.changes)
    where = root / PLACES[tool] / "paper-train"
    return Report(
        verb="skill",
        mode="exploratory" if dry_run else "quick",
        result=say(
            "would write {n} files to {where}" if dry_run else "wrote {n} files to {where}",
            n=new,
            where=str(where),
        )
        if new
        else say("{n} files in {where} are up to date: nothing was written", n=len(files), where=str(where)),
        body="\n".join(f"  {c.kind:<8} {c.path}" for c in w.changes),
        explanation=say("{tool} reads skills from {place}", tool=tool, place=PLACES[tool]),
        action="papertrain --help",
        data={"files": [{"path": c.path, "kind": c.kind} for c in w.changes], "tool": tool, "folder": str(where)},
    )
