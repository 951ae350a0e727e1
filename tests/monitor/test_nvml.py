"""NVML live, against a stand-in for NVIDIA's bindings: no card was at hand."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path

import pytest

from papertrain.monitor import nvml
from papertrain.monitor.live import Follower
from papertrain.monitor.nvml import Cards, cards_of
from papertrain.monitor.run import watched


class Fake(types.ModuleType):
    """The calls of pynvml that are used, as its documentation has them: power in milliwatts, memory in bytes."""

    def __init__(self, use: dict[int, int], pids: dict[int, list[int]] | None = None, broken: bool = False) -> None:
        super().__init__("pynvml")
        self.use, self.pids, self.broken = use, pids or {}, broken

    def nvmlInit(self) -> None:
        if self.broken:
            raise RuntimeError("Driver Not Loaded")

    def nvmlDeviceGetCount(self) -> int:
        return len(self.use)

    def nvmlDeviceGetHandleByIndex(self, i: int) -> int:
        return i

    def nvmlDeviceGetUtilizationRates(self, h: int) -> types.SimpleNamespace:
        return types.SimpleNamespace(gpu=self.use[h], memory=10)

    def nvmlDeviceGetMemoryInfo(self, h: int) -> types.SimpleNamespace:
        return types.SimpleNamespace(used=40 * 2**30, total=80 * 2**30, free=40 * 2**30)

    def nvmlDeviceGetPowerUsage(self, h: int) -> int:
        return 310_200

    def nvmlDeviceGetComputeRunningProcesses(self, h: int) -> list[types.SimpleNamespace]:
        return [types.SimpleNamespace(pid=p, usedGpuMemory=1) for p in self.pids.get(h, [])]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    rows = [json.dumps({"current_steps": i, "total_steps": 100, "loss": 2 - i / 100}) for i in range(1, 41)]
    (tmp_path / "trainer_log.jsonl").write_text("\n".join(rows) + "\n")
    return tmp_path


def test_the_cards_are_judged_as_those_of_a_file_are(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", Fake({0: 30}))
    monkeypatch.setattr(nvml, "EVERY", 0.0)
    follower = Follower([run], lambda p: None)
    for _ in range(60):
        follower.look()
    found = follower.look(final=True)[0]
    use = next(s for s in found.signals if s.name == "gpu_utilization")
    assert use.level == "critical" and use.says.startswith("30 %")


def test_values_are_in_the_units_of_the_csv(monkeypatch, run):
    cards = Cards(Fake({0: 97, 1: 3}), run)
    cards.sample()
    first = {k: c.values[0] for k, c in cards.table.columns.items()}
    assert (first["utilization.gpu/0"], first["power.draw/0"], first["memory.used/0"], first["memory.percent/1"]) == (
        97.0,
        310.2,
        40 * 1024,
        50.0,
    )


def test_only_the_cards_of_the_runs_own_processes_count(run):
    import os

    (run / "record.json").write_text(json.dumps({"pid": os.getpid(), "exit_code": None}))
    cards = Cards(Fake({0: 97, 1: 3}, {0: [os.getpid()], 1: [1]}), run)
    cards.sample()
    assert {k.rpartition("/")[2] for k in cards.table.columns} == {"0"}


def test_a_sample_is_taken_every_few_seconds_at_most(run):
    cards = Cards(Fake({0: 97}), run)
    for _ in range(50):
        cards.sample()
    assert cards.table.rows == 1


def test_without_bindings_without_a_driver_and_with_a_file_nothing_is_sampled(run, monkeypatch):
    w = watched(run)[0]
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert cards_of(run, w) is None
    monkeypatch.setitem(sys.modules, "pynvml", Fake({0: 1}, broken=True))
    assert cards_of(run, w) is None
    monkeypatch.setitem(sys.modules, "pynvml", Fake({0: 1}))
    assert cards_of(run, w) is not None
    (run / "gpu.csv").write_text(
        "timestamp, index, utilization.gpu [%], memory.used [MiB]\n2026/01/01 00:00:00.000, 0, 97 %, 30994 MiB\n"
    )
    assert cards_of(run, watched(run)[0]) is None


def test_a_library_that_fails_is_left_alone_after_a_while(run, monkeypatch):
    monkeypatch.setattr(nvml, "EVERY", 0.0)
    fake = Fake({0: 1})
    fake.nvmlDeviceGetCount = lambda: 1 / 0  # type: ignore[method-assign]
    cards = Cards(fake, run)
    for _ in range(30):
        cards.sample()
    assert cards.failed == 10 and cards.table.rows == 0
