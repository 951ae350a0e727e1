"""What every look-up of `explain` gives, and the plan that it may look into."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from papertrain.core.errors import PapertrainError
from papertrain.core.training import TrainingPlan
from papertrain.core.values import Value


class Answer(Value, frozen=True, kw_only=True):
    id: str
    kind: str
    result: str
    explanation: str
    body: str = ""
    details: str = ""
    action: str | None = None
    data: dict[str, Any] = {}


Lookup = Callable[[str, Path | None, str | None], Answer | None]


def opened(where: Path | None, method: str | None) -> TrainingPlan | None:
    """The plan of a workspace, or of a plan.json."""
    if where is None:
        return None
    from papertrain.core.workspace import Workspace

    if where.is_file():
        import msgspec

        from papertrain.core.files import read_text
        from papertrain.core.training import read_plan

        try:
            return read_plan(read_text(where, limit=5 * 2**20))
        except msgspec.MsgspecError as error:
            raise PapertrainError(
                f"not a plan that papertrain wrote: {error}", code="broken-plan", file=where
            ) from None
    space = Workspace.open(where)
    return space.plan(method) if method is not None or space.methods() else None
