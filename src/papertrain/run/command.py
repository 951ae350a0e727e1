"""The command of a method that the user brings: placeholders filled in, never through a shell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from papertrain.core.errors import PapertrainError, nearest

PLACEHOLDER = re.compile(r"\{([A-Za-z_]+)\}")


def fill(command: str, values: Mapping[str, str], where: str) -> list[str]:
    """The words of the command. A value never becomes more than one word, whatever it holds.

    Raises PapertrainError for a placeholder that is unknown or has no value, and for an unclosed quote.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise PapertrainError(
            f"the command of {where} cannot be read: {str(error).lower()}", code="bad-command"
        ) from None
    if not words:
        raise PapertrainError(
            f"{where} has no command in study.toml",
            code="bad-command",
            ask=['command = "python baseline.py {data_train} {data_test} {seed} {out}"'],
        )

    def value(m: re.Match[str]) -> str:
        if m[1] not in values:
            raise PapertrainError(
                f"the command of {where} asks for {{{m[1]}}}, which this study does not have (it has {', '.join(values)})",
                code="bad-command", nearest=nearest(m[1], values),
            )  # fmt: skip
        return values[m[1]]

    return [PLACEHOLDER.sub(value, word) for word in words]
