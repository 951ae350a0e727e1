"""TR129: the run does not do what the plan said."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.monitor.history import History
from papertrain.monitor.rules._say import PROPOSAL, show, verdict
from papertrain.monitor.verdict import Verdict


def check(run: History) -> Iterator[Verdict]:
    plan = run.plan
    if plan is None:
        return
    c, planned = run.rate, plan.learning_rate.value
    if c is not None and len(c) and planned:
        peak = max(c.values)
        warm = run.last_step > (plan.warmup_steps.value or 0)
        if peak > 1.02 * planned or (warm and peak < 0.9 * planned):
            i = c.values.index(peak)
            says = say("learning rate peaks at {peak}; the plan says {planned}", peak=show(peak), planned=show(planned))
            yield verdict(RULE.id, "learning_rate", "warning", says, c, [i], cls="resume-lr-scheduler-mismatch")
    logged, steps = run.fact("max_steps"), plan.total_steps.value
    loss = run.raw_loss
    if logged and steps and abs(logged - steps) > max(2, 0.02 * steps) and loss is not None and len(loss):
        says = say(
            "the run has {logged:,.0f} steps; the plan says {planned:,}: batch, data or epochs differ",
            logged=logged,
            planned=steps,
        )
        yield verdict(RULE.id, "learning_rate", "warning", says, loss, [-1], cls="batch-not-divisible-by-world")
    batch = run.one("batch")
    if batch is not None and len(batch) and batch.values[-1] != plan.global_batch_size.value:
        says = say(
            "global batch is {logged:.0f}; the plan says {planned}",
            logged=batch.values[-1],
            planned=plan.global_batch_size.value,
        )
        yield verdict(RULE.id, "throughput", "warning", says, batch, [-1], cls="deepspeed-batch-size-mismatch")


RULE = Rule(
    id="TR129",
    name="run-not-as-planned",
    level="warning",
    check=check,
    applies="Every task with a plan.",
    what="With a plan: the peak of the learning rate is 2 % above or, after warm-up, 10 % below the planned one; the number of steps differs by "
    "more than 2 % and two steps; the logged global batch differs.",
    why="The paper will say what the plan says; the run did something else.",
    known_problems="Needs `--plan`, or a workspace that holds one.",
    source=PROPOSAL,
    fires="==> train.log <==\n"
    + "\n".join(f"step={i} loss={2 - 0.01 * i:.2f} lr={4e-5 * (1 - i / 101):.2e}" for i in range(1, 51))
    + "\n==> plan <==\nlearning_rate=2e-05 total_steps=100 warmup_steps=2",
    quiet="step=1 loss=2.0 lr=1e-5\nstep=2 loss=1.9 lr=2e-5",
)
