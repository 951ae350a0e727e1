"""What people write about their cards, and what their drivers print → Compute. (signature; filled in next)"""

from __future__ import annotations

from papertrain.core.models import Compute, Gpu


def parse_compute(text: str, *, nodes: int | None = None, host_ram: int | None = None, disk: int | None = None) -> Compute:
    raise NotImplementedError


def detect_compute() -> Compute | None:
    return None


def match_gpu(name: str, memory_bytes: int | None = None) -> Gpu | None:
    return None
