"""The cards of this machine, sampled through NVML while a run is watched live (`pip install 'papertrain[gpu]'`).

Only for a run on this machine whose folder holds no telemetry. The cards are those on which the run's processes hold memory,
as far as NVML and the record of the launch tell. The calls are those of NVIDIA's own bindings (`pynvml`); this module was
tested against a stand-in for them and has not met a real card yet.
"""

from __future__ import annotations

import time
from math import isfinite
from pathlib import Path
from typing import Any

from papertrain.monitor.history import TELEMETRY
from papertrain.monitor.ranks import family
from papertrain.monitor.readers import _smi
from papertrain.monitor.run import Watched
from papertrain.monitor.table import Table

EVERY = 5.0
"""Seconds between two samples, at least."""


class Cards:
    """`sample` adds one row per card to the table, as the reader of nvidia-smi's CSV does."""

    def __init__(self, library: Any, folder: Path) -> None:
        self.library = library
        self.folder = folder
        self.table = Table("nvml", "nvml")
        self.last = float("-inf")
        self.failed = 0

    def sample(self) -> None:
        """At most every few seconds; a card that does not answer is left out, and NVML itself after ten failures."""
        now = time.monotonic()
        if now - self.last < EVERY or self.failed >= 10:
            return
        self.last = now
        nv = self.library
        try:
            count = int(nv.nvmlDeviceGetCount())
        except Exception:
            self.failed += 1
            return
        mine = set(family(self.folder))
        rows = [(i, r) for i in range(count) if (r := self.card(i)) is not None]
        own = [(i, r) for i, r in rows if mine and mine & set(r[1])]
        for i, (values, _) in own or rows:
            _smi.add(self.table, str(i), values, self.table.rows + 1, time.time())

    def card(self, i: int) -> tuple[list[tuple[str, float]], list[int]] | None:
        """Utilisation in percent, memory in MiB, power in watts, and the processes on the card."""
        nv = self.library
        try:
            handle = nv.nvmlDeviceGetHandleByIndex(i)
            memory = nv.nvmlDeviceGetMemoryInfo(handle)
            values = [
                ("utilization.gpu", float(nv.nvmlDeviceGetUtilizationRates(handle).gpu)),
                ("memory.used", memory.used / 2**20),
                ("memory.total", memory.total / 2**20),
            ]
        except Exception:
            return None
        pids: list[int] = []
        try:
            values.append(("power.draw", nv.nvmlDeviceGetPowerUsage(handle) / 1000))
            pids = [int(p.pid) for p in nv.nvmlDeviceGetComputeRunningProcesses(handle)]
        except Exception:
            pass  # cards in a laptop tell no power, and a container hides the processes
        return [(k, v) for k, v in values if isfinite(v)], pids


def cards_of(path: Path, w: Watched) -> Cards | None:
    """The sampler for a run, or None: no bindings, no driver, telemetry of its own, or a run that has ended."""
    if any(t.reader in TELEMETRY for t in w.tables):
        return None
    try:
        import pynvml

        pynvml.nvmlInit()
        if int(pynvml.nvmlDeviceGetCount()) < 1:
            return None
    except Exception:
        return None
    return Cards(pynvml, path if path.is_dir() else path.absolute().parent)
