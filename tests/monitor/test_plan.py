"""The run against its plan: rate, schedule, steps of an epoch, batch, memory."""

from __future__ import annotations

import math

import pytest
from workspaces import make_plan

from papertrain.monitor.find import read_text
from papertrain.monitor.history import History
from papertrain.monitor.run import judge

STEPS, WARM, PEAK = 400, 20, 2e-4


def said(
    rate, *, per_epoch: int = 200, total: int | None = None, scheduler: str = "cosine", more: str = "", upto: int = 300
) -> list[str]:
    plan = make_plan(learning_rate=PEAK, total_steps=STEPS, warmup_steps=WARM, epochs=2.0, lr_scheduler=scheduler)
    rows = ["step,epoch,loss,lr"] + [
        f"{s},{s / per_epoch},{2 - s / 1000:.4f},{rate(s):.6e}" for s in range(5, upto + 1, 5)
    ]
    tables = [read_text("\n".join(rows))] + ([read_text(more)] if more else [])
    if total:
        tables[0].facts["max_steps"] = float(total)
    return [v.says for v in judge(History("x", tables, plan)).verdicts if v.rule == "TR129"]


def cosine(s: int) -> float:
    return PEAK * (s / WARM if s < WARM else 0.5 + 0.5 * math.cos(math.pi * (s - WARM) / (STEPS - WARM)))


def linear(s: int) -> float:
    return PEAK * (s / WARM if s < WARM else 1 - (s - WARM) / (STEPS - WARM))


def test_a_run_that_does_what_the_plan_said_is_quiet():
    assert said(cosine) == []
    assert said(lambda s: cosine(s - 1)) == []
    assert said(linear, scheduler="linear") == []
    assert said(lambda s: PEAK * min(1, s / WARM), scheduler="constant") == []


@pytest.mark.parametrize(
    ("rate", "word"),
    [
        (lambda s: 2 * cosine(s), "peaks at 4.00e-04; the plan says 2.00e-04"),
        (lambda s: 0.5 * cosine(s), "peaks at"),
        (lambda s: PEAK * min(1, s / WARM), "the plan's cosine schedule says"),
        (linear, "the plan's cosine schedule says"),
    ],
)
def test_another_rate_or_another_schedule_is_told(rate, word):
    assert len(said(rate)) == 1 and word in said(rate)[0]


def test_another_number_of_steps_is_told_in_all_and_of_an_epoch():
    assert said(cosine, total=800)[0].startswith("the run has 800 steps; the plan says 400")
    assert said(cosine, per_epoch=100)[0].startswith("an epoch has 100 steps; the plan says 200")


def test_more_memory_than_the_plan_allows_is_told():
    plan = make_plan()
    assert plan.memory is not None and plan.memory.device_bytes.high
    head = "timestamp, index, utilization.gpu [%], memory.used [MiB], memory.total [MiB]\n"
    for share, quiet in ((0.9, True), (1.3, False)):
        used = share * plan.memory.device_bytes.high / 2**20
        text = head + "\n".join(f"2026/01/01 00:{i:02d}:00.000, 0, 97 %, {used:.0f} MiB, 200000 MiB" for i in range(40))
        found = [v.says for v in judge(History("x", [read_text(text)], plan)).verdicts if v.rule == "TR129"]
        assert (found == []) == quiet, found
