"""How long a run takes without an accelerator: arithmetic over cores, and honest about how little that says.

A core's rate was measured, not looked up: torch 2.13 in fp32 training MiniLM, BERT-base, SmolLM2 135M and a Llama of 15 M
on two cores of an AMD EPYC (Zen 5) reached 17 to 68 thousand million operations per second and core, the middle one 37,
with AdamW's step. Older cores have half its vectors or less, so the range goes down to 7.
"""

from __future__ import annotations

from papertrain.core.training import Duration
from papertrain.core.values import Estimate
from papertrain.facts.processor import cores

RATE = (7e9, 25e9, 70e9)
"""Operations per second and core: low, usual, high."""
SHARED = 8
"""Cores that a small model certainly keeps busy; more of them help at best in proportion."""


def duration_on_processor(
    operations: float, *, tokens: float, accumulation: int, total_steps: int | None, evaluations: int
) -> Duration:
    """operations: of one token, forward and backward. tokens: of one micro-batch. evaluations: in micro-batches."""
    n = cores()
    low, high = RATE[0] * min(n, SHARED), RATE[2] * n
    usual = RATE[1] * float(min(n, SHARED) * n) ** 0.5
    one = operations * tokens

    def at(amount: float) -> Estimate:
        return Estimate(value=amount / usual, low=amount / high, high=amount / low, unit="s")

    total = Estimate(value=None, unknown="the number of steps is not known", ask="--data", unit="s")
    if total_steps is not None:
        total = at(one * (accumulation * total_steps + evaluations / 3.0))
    speed = Estimate(value=usual / operations, low=low / operations, high=high / operations, unit="tokens/s")
    basis = (
        f"rough: {n} cores at {RATE[0] / 1e9:.0f} to {RATE[2] / 1e9:.0f} thousand million operations a second each, "
        "as small models were seen to train; launch --smoke measures this machine"
    )
    return Duration(
        step_seconds=at(one * accumulation), total_seconds=total, tokens_per_second_per_gpu=speed, basis=basis
    )
