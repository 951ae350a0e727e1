"""How many cards a training that starts here would find."""

from __future__ import annotations

import os
import sys
from pathlib import Path

DEVICES = Path("/dev")
# A device file that says there are cards and not how many: AMD's, and the one of Windows' own Linux.
UNCOUNTED = ("kfd", "dxg")
VISIBLE = ("CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES")


def cards_here() -> int | None:
    """NVIDIA and Ascend cards by their device files, as many as the environment lets be seen; None where that cannot be said."""
    if not sys.platform.startswith("linux") or any((DEVICES / name).exists() for name in UNCOUNTED):
        return None
    found = max(len([*DEVICES.glob(f"{name}[0-9]*")]) for name in ("nvidia", "davinci"))
    shown = [os.environ[name] for name in VISIBLE if name in os.environ]
    return min([found, *(len([part for part in text.split(",") if part.strip()]) for text in shown)])
