"""`status`: what is done, what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from papertrain.core.params import Arg
from papertrain.core.report import Report


def status(
    work: Annotated[Path, Arg("the workspace", "WORK")],
    *,
    confirm: Annotated[str | None, Arg("confirm a step: `derive` confirms the plan as it stands", "STEP")] = None,
) -> Report:
    """Show what is done, what is missing or stale, and the next command.

    papertrain status work
    papertrain status work --confirm derive
    """
    from papertrain.core.errors import PapertrainError

    raise PapertrainError("soon")
