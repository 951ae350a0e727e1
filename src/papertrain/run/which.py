"""Where a program lies, looked for first in the training environment."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence


def which(name: str, search: Sequence[str]) -> str | None:
    return shutil.which(name, path=os.pathsep.join([*search, os.environ.get("PATH", "")]))
