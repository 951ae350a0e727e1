"""Figures of plan.md: every part is what was predicted, in a unit that invents no digit, and said once in one way."""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "configs"))
from msgspec import structs
from plans import make_plan

from papertrain.core.training import Duration, Memory, TrainingPlan
from papertrain.core.units import GIB, MIB, show_bytes
from papertrain.core.values import Estimate
from papertrain.report.plan import markdown, parts_text, result_line


def memory(device: float, **parts: float) -> Memory:
    about = Estimate(value=device, low=0.9 * device, high=1.1 * device, unit="B")
    return Memory(allocated_bytes=about, reserved_bytes=about, device_bytes=about, capacity_bytes=24 * GIB, components=parts,
                  peak_phase="optimizer_step", host_bytes=about, disk_bytes=about)  # fmt: skip


def test_a_small_device_is_told_in_the_digits_that_were_predicted() -> None:
    said = parts_text(memory(1022.3 * MIB, weights=86.6 * MIB, optimizer=173.3 * MIB, context=500 * MIB))
    assert said == "weights 86.6 MiB, optimizer 173.3 MiB, context 500.0 MiB, allocator reserve 262.4 MiB"


def test_the_parts_of_a_large_device_add_up_in_one_unit() -> None:
    said = parts_text(
        memory(20.31 * GIB, weights=14.19 * GIB, gradients=0.08 * GIB, activations=2.93 * GIB, context=0.44 * GIB)
    )
    assert "MiB" not in said
    assert abs(sum(float(x) for x in re.findall(r"([\d.]+) GiB", said)) - 20.3) < 0.051


def test_a_size_just_below_a_unit_is_said_in_that_unit() -> None:
    assert [show_bytes(x) for x in (1022.3 * MIB, 1000 * MIB, GIB)] == ["1.0 GiB", "1000.0 MiB", "1.0 GiB"]


def timed(seconds: float, **plan: object) -> TrainingPlan:
    def about(x: float) -> Estimate:
        return Estimate(value=x, low=0.8 * x, high=1.2 * x, unit="s")

    made = make_plan(cards=4, **plan)  # type: ignore[arg-type]
    return structs.replace(made, duration=Duration(step_seconds=about(0.1), total_seconds=about(seconds), tokens_per_second_per_gpu=about(100.0)))  # fmt: skip


def test_gpu_hours_are_the_same_in_headline_and_section() -> None:
    for seconds in (17.0, 600.0, 40_000.0, 4_000_000.0):
        p = timed(seconds)
        wanted = re.search(r"[\d.,e+]+ GPU-hours", result_line(p))
        assert wanted is not None and markdown(p, state="unconfirmed").count(wanted[0]) == 2
        assert "0.0 GPU-hours" not in markdown(p, state="unconfirmed") and "e+" not in wanted[0]


def test_a_processor_spends_no_gpu_hours() -> None:
    assert "GPU-hours" not in markdown(timed(600.0, card="cpu"), state="unconfirmed")
