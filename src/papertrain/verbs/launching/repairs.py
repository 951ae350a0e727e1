"""A change that a supervised run applies by itself: execution only, with its difference and its way back kept."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from papertrain.core.errors import PapertrainError, Refused
from papertrain.core.files import read_text, unified
from papertrain.core.texts import say
from papertrain.core.values import Mode

if TYPE_CHECKING:
    from papertrain.core.workspace import Workspace

SURE = 0.5
"""Below this confidence nothing is changed by itself."""
EXPORT = re.compile(r"export ([A-Z][A-Z0-9_]*)=(\S+)")
FREE_TO_CHANGE = frozenset({
    "micro_batch_size", "gradient_accumulation_steps", "gradient_checkpointing", "zero_stage", "offload", "attention", "eval_batch_size",
    "packing_kernel", "fused_loss", "optimizer_kernel", "dataloader_workers", "save_total_limit", "save_steps",
})  # fmt: skip
"""Decisions of a plan that change how it is computed and not what; every other one must stay as it was."""


def mend(space: Workspace, run: str, found: dict[str, Any], mode: Mode) -> dict[str, Any] | str:
    """Apply the first fix that changes nothing but the execution. Returns what was done, or why nothing was."""
    if found["confidence"] < SURE:
        return say("the cause is not sure enough ({confidence}) to change anything", confidence=f"{found['confidence']:.2f}")  # fmt: skip
    some = [f for f in found["fixes"] if f["effect"] == "execution"]
    if not some:
        return say("what mends {cls} changes the experiment: that is yours to decide", cls=found["class"])
    why = ""
    for f in some:
        done = _applied(space, run, f, mode)
        if not isinstance(done, str):
            return done
        why = why or done
    return why


def _applied(space: Workspace, run: str, f: dict[str, Any], mode: Mode) -> dict[str, Any] | str:
    from papertrain.verbs.fix import fix

    base = {"id": f["id"], "title": f["title"], "effect": "execution", "diff": f["patch"] or "", "edits": f["edits"]}
    exports = [EXPORT.fullmatch(c.strip()) for c in f["commands"]]
    variables = {m[1]: m[2].strip("'\"") for m in exports if m}
    if not (f["patch"] or f["edits"]):
        if not variables or not all(exports):
            return say("{title}: nothing that could be applied by itself", title=f["title"])
        diff = "".join(f"+export {k}={v}\n" for k, v in variables.items())
        return base | {"diff": diff, "environment": variables, "note": "", "reverse": "", "proof": f["proof"]}
    method = run.partition(".")[0]
    if f["edits"] and not f["patch"]:
        other = other_decisions(space, method, f["edits"])
        if other:
            return say("{title}: it would change {names} too", title=f["title"], names=", ".join(other))
    plan = space.plan_path(method)
    before = read_text(plan) if plan.is_file() else ""
    try:
        report = fix(space.run_path(run), f["id"], yes=True, mode=mode)
    except (PapertrainError, Refused, OSError) as error:
        return say("{title}: it could not be applied: {error}", title=f["title"], error=str(error))
    if not report.data.get("applied"):
        return say("{title}: nothing that could be applied by itself", title=f["title"])
    reverse = str(report.data.get("reverse", ""))
    return base | {
        "diff": f["patch"] or _diff(before, plan), "environment": variables, "reverse": reverse,
        "note": str(Path(reverse).with_suffix(".md")) if reverse else "", "proof": report.data.get("proof", ""),
    }  # fmt: skip


def _diff(before: str, plan: Path) -> str:
    return unified(before, read_text(plan), "plan.json")[:20000] if plan.is_file() else ""


def other_decisions(space: Workspace, method: str, edits: list[dict[str, Any]]) -> list[str]:
    """What else of the experiment the plan would decide otherwise once these knobs are set: derived before it is written."""
    from msgspec import structs

    from papertrain.plan.derive import derive
    from papertrain.verbs.planning import questions

    try:
        question = questions.read_question(space.plan_path(method).with_name(questions.QUESTION))
        now = {d.name: d.value for d in derive(question).decisions()}
        sets = question.sets | {e["key"]: e["new"] for e in edits}
        new = {d.name: d.value for d in derive(structs.replace(question, sets=sets)).decisions()}
    except (PapertrainError, OSError, ValueError):
        return [say("what cannot be derived again")]
    return sorted(k for k in now.keys() | new.keys() if now.get(k) != new.get(k) and k not in FREE_TO_CHANGE)
