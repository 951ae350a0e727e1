"""`explain`: why a decision, rule, failure class, evidence or fact is what it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from papertrain.core.params import Arg, ModeArg
from papertrain.core.report import Report

if TYPE_CHECKING:
    from papertrain.verbs.explaining.answer import Answer


def explain(
    id: Annotated[
        str,
        Arg(
            "a decision (learning_rate), rule (TR103), failure class, evidence (E12), finding, card, model, or `recipes`",
            "ID",
        ),
    ],
    *,
    plan: Annotated[
        Path | None, Arg("the workspace (or its plan.json) that the decision or evidence is in", "WORK")
    ] = None,
    method: Annotated[str | None, Arg("which of the study's plans (default: ours)", "NAME")] = None,
    mode: ModeArg = None,
) -> Report:
    """Say why a decision, rule, failure class, measured number or fact is what it is, with its source and its doubts.

    With --plan, a decision is explained as a chain: from the inputs through every decision it rests on, with that plan's
    own numbers. `explain recipes` prints the table of GPU recipes, computed now by the planner.

    papertrain explain learning_rate --plan work
    papertrain explain TR103
    papertrain explain h100-sxm
    papertrain explain recipes
    """
    from papertrain.core.errors import PapertrainError, nearest
    from papertrain.core.gate import decide_mode
    from papertrain.verbs.explaining import lookups

    wanted = id.strip()
    for look in lookups.LOOKUPS:
        answer = look(wanted, plan, method)
        if answer is not None:
            return _report(answer, decide_mode(mode, plan))
    known = lookups.every_id(plan, method)
    raise PapertrainError(
        f"nothing here is called {wanted!r}", code="unknown-id", nearest=nearest(wanted, known, cutoff=0.5),
        ask=["a decision, a rule (TR…), a failure class, an evidence id with --plan WORK, a card or a model"],
    )  # fmt: skip


def _report(a: Answer, mode: str) -> Report:
    return Report(
        verb="explain", mode=mode, result=a.result, body=a.body, details=a.details, explanation=a.explanation,  # type: ignore[arg-type]
        action=a.action, data={"id": a.id, "kind": a.kind, **a.data},
    )  # fmt: skip
