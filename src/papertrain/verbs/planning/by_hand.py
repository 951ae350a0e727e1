"""Plans whose file a person changed: what no run could have is refused, the rest is told before files are made from it."""

from __future__ import annotations

import hashlib

from papertrain.core.commands import line
from papertrain.core.errors import PapertrainError
from papertrain.core.training import TrainingPlan
from papertrain.core.workspace import Workspace
from papertrain.core.writing import DIGESTS, HIDDEN
from papertrain.plan.derive_question import SETTABLE
from papertrain.verbs.planning.questions import again


def edited(place: Workspace, method: str) -> bool:
    """Whether the plan is not the one that `plan` wrote. A plan that no writer knows is nobody's edit."""
    path = place.plan_path(method)
    known = place.state(DIGESTS.removeprefix(f"{HIDDEN}/")).get(path.relative_to(place.root).as_posix())
    return known is not None and known != hashlib.sha256(path.read_bytes()).hexdigest()


def refuse_impossible(place: Workspace, plan: TrainingPlan) -> None:
    """The values are read as strictly as those of --set. Raises PapertrainError."""
    for name, value in plan.values().items():
        if name not in SETTABLE or value is None:
            continue
        try:
            again(name, value)
        except (PapertrainError, ValueError) as error:
            says = error.says if isinstance(error, PapertrainError) else str(error)
            raise PapertrainError(
                f"edited by hand, and no run can have it: {says.removeprefix('--set ')}",
                code="broken-plan",
                file=place.plan_path(plan.name),
                command=line("papertrain", "plan", place.root, "--set", f"{name}=VALUE"),
            ) from None
