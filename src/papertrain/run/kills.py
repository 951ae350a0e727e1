"""Who ended a process that a signal ended: the kernel, for want of memory, or somebody else."""

from __future__ import annotations

from pathlib import Path

COUNTER = Path("/proc/vmstat")
GROUPS = (Path("/sys/fs/cgroup/memory.events"), Path("/sys/fs/cgroup/memory/memory.oom_control"))


def kernel_kills() -> int | None:
    """How many processes the kernel has killed for want of memory so far, on this machine and in this control group;
    None where no counter can be read."""
    found = [_count(COUNTER), *map(_count, GROUPS)]
    known = [n for n in found if n is not None]
    return sum(known) if known else None


def _count(file: Path) -> int | None:
    try:
        lines = file.read_text("ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    for line in lines:
        name, _, value = line.partition(" ")
        if name == "oom_kill" and value.strip().isdigit():
            return int(value)
    return None
