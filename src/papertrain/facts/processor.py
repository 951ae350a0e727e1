"""This machine's processor as a device, for runs without an accelerator (`--gpu cpu`)."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from papertrain.core.models import Gpu
from papertrain.core.values import Source


def host_memory_bytes() -> int | None:
    """Physical memory of this machine, or the limit of its control group where that is smaller. None: it does not say."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None
    limit = _cgroup_limit()
    return min(total, limit) if limit else total


def _cgroup_limit() -> int | None:
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with Path(file).open() as f:
                text = f.read(40).strip()
        except OSError:
            continue
        # Version 1 writes a number near 2**63 for "no limit".
        if text.isdigit() and 0 < int(text) < 2**60:
            return int(text)
    return None


def cores() -> int:
    """Processors that this process may use: its affinity, or the quota of its control group where that is smaller."""
    try:
        found = len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        found = os.cpu_count() or 1
    quota = _cgroup_quota()
    return max(1, min(found, round(quota)) if quota else found)


def _cgroup_quota() -> float | None:
    try:
        with Path("/sys/fs/cgroup/cpu.max").open() as f:
            quota, _, period = f.read(60).strip().partition(" ")
        return int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        return None


@lru_cache(maxsize=1)
def processor() -> Gpu:
    """One device whose memory is the host's. No peak is claimed: `plan.time_processor` says what its cores were seen to reach."""
    memory = host_memory_bytes()
    note = (
        "memory is this machine's own"
        if memory
        else "this system does not say how much memory it has: 8 GiB is assumed"
    )
    read = Source(
        kind="measured" if memory else "assumed",
        ref="os.sysconf SC_PHYS_PAGES" if memory else "no figure from the system",
    )
    return Gpu(
        id="cpu",
        label="CPU",
        names=("cpu",),
        vendor="other",
        memory_bytes=memory or 8 * 2**30,
        peer_to_peer=False,
        notes=(note, "no peak on record: its speed is known only from a measured run"),
        sources={"memory_bytes": read, "peer_to_peer": Source(kind="assumed", ref="one process, host memory")},
    )
