"""TR129: the run does not do what the plan said."""

from __future__ import annotations

from collections.abc import Iterator
from math import cos, isnan, pi

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.training import TrainingPlan
from papertrain.monitor.history import History
from papertrain.monitor.rules import _onset, _telemetry
from papertrain.monitor.rules._say import PROPOSAL, show, verdict
from papertrain.monitor.verdict import Verdict

ROWS = 5
SHAPES = frozenset(("linear", "cosine", "constant", "constant_with_warmup"))


def check(run: History) -> Iterator[Verdict]:
    plan = run.plan
    if plan is None:
        return
    yield from rate(run, plan)
    yield from length(run, plan)
    batch = run.one("batch")
    if batch is not None and len(batch) and batch.values[-1] != plan.global_batch_size.value:
        says = say(
            "global batch is {logged:.0f}; the plan says {planned}",
            logged=batch.values[-1],
            planned=plan.global_batch_size.value,
        )
        yield verdict(RULE.id, "throughput", "warning", says, batch, [-1], cls="deepspeed-batch-size-mismatch")
    yield from memory(run, plan)


def rate(run: History, plan: TrainingPlan) -> Iterator[Verdict]:
    """The peak, and then the shape."""
    c, planned = run.rate, plan.learning_rate.value
    if c is None or not len(c) or not planned:
        return
    peak = max(c.values)
    warm = run.last_step > (plan.warmup_steps.value or 0)
    if peak > 1.02 * planned or (warm and peak < 0.9 * planned):
        i = c.values.index(peak)
        says = say("learning rate peaks at {peak}; the plan says {planned}", peak=show(peak), planned=show(planned))
        yield verdict(RULE.id, "learning_rate", "warning", says, c, [i], cls="resume-lr-scheduler-mismatch")
        return
    total, warmup = plan.total_steps.value, plan.warmup_steps.value or 0
    if not total or plan.lr_scheduler.value not in SHAPES or c.ordinal:
        return
    want = [planned * schedule(plan.lr_scheduler.value, s, warmup, total) for s in c.steps]
    # Programs log the rate of the step that was made or of the next one, and round it.
    near = [planned * schedule(plan.lr_scheduler.value, s - 1, warmup, total) for s in c.steps]
    off = [min(abs(v - x), abs(v - y)) > 0.08 * planned for v, x, y in zip(c.values, want, near)]
    if len(off) >= 10 and sum(off[-ROWS:]) == ROWS:
        since = _onset.trailing(c.values, off)
        says = say("learning rate is {now} at {unit} {step}; the plan's {name} schedule says {planned}",
                   now=show(c.values[-1]), step=c.steps[-1], name=plan.lr_scheduler.value, planned=show(want[-1]), unit=c.word)  # fmt: skip
        yield verdict(RULE.id, "learning_rate", "warning", says, c, [since, -1], cls="resume-lr-scheduler-mismatch")


def schedule(name: str, step: int, warmup: int, total: int) -> float:
    """The share of the peak that transformers' schedule of that name gives at a step."""
    if step < warmup:
        return max(0.0, step / max(1, warmup))
    x = min(1.0, (step - warmup) / max(1, total - warmup))
    return {"linear": 1 - x, "cosine": 0.5 + 0.5 * cos(pi * x)}.get(name, 1.0)


def length(run: History, plan: TrainingPlan) -> Iterator[Verdict]:
    """Steps in all, and steps of an epoch."""
    logged, steps = run.fact("max_steps"), plan.total_steps.value
    loss = run.raw_loss
    if loss is None or not len(loss) or not steps:
        return
    if logged and abs(logged - steps) > max(2, 0.02 * steps):
        says = say(
            "the run has {logged:,.0f} steps; the plan says {planned:,}: batch, data or epochs differ",
            logged=logged,
            planned=steps,
        )
        yield verdict(RULE.id, "learning_rate", "warning", says, loss, [-1], cls="batch-not-divisible-by-world")
        return
    epochs = loss.epochs_between(0, len(loss) - 1)
    if not plan.epochs.value or isnan(epochs) or epochs < 0.2 or loss.ordinal or not any(e % 1 for e in loss.epochs):
        return
    real, planned = (loss.steps[-1] - loss.steps[0]) / epochs, steps / plan.epochs.value
    if abs(real - planned) > max(2, 0.05 * planned):
        says = say(
            "an epoch has {real:,.0f} steps; the plan says {planned:,.0f}: batch or data differ",
            real=real,
            planned=planned,
        )
        yield verdict(RULE.id, "learning_rate", "warning", says, loss, [-1], cls="batch-not-divisible-by-world")


def memory(run: History, plan: TrainingPlan) -> Iterator[Verdict]:
    """Telemetry in MiB against the range that the plan gave."""
    if plan.memory is None or plan.memory.device_bytes.high is None:
        return
    cards = {card.name for card in _telemetry.cards(run)}
    used = [c for name in cards if (c := _telemetry.pick(run, f"memory.used/{name}")) is not None]
    if not used:
        return
    c = max(used, key=lambda c: max(c.values))
    peak, high = max(c.values) * 2**20, plan.memory.device_bytes.high
    if peak > 1.05 * high:
        says = say(
            "a card holds {peak:.1f} GiB; the plan says {high:.1f} at most", peak=peak / 2**30, high=high / 2**30
        )
        found = verdict(
            RULE.id, "gpu_memory", "warning", says, c, [c.values.index(max(c.values))], cls="oom-fragmentation"
        )
        yield _telemetry.dated(run, found, c, c.values.index(max(c.values)))


RULE = Rule(
    id="TR129",
    name="run-not-as-planned",
    level="warning",
    check=check,
    applies="Every task with a plan.",
    what="With a plan: the peak of the learning rate is 2 % above or, after warm-up, 10 % below the planned one, or the last five rows are 8 % of the peak "
    "away from the planned schedule (linear, cosine, constant); the number of steps differs by more than 2 % and two steps, or that of an epoch by 5 %; the logged global "
    "batch differs; a card holds 5 % more memory than the plan's range allows.",
    why="The paper will say what the plan says; the run did something else.",
    known_problems="Needs `--plan`, or a workspace that holds one.",
    source=PROPOSAL,
    fires="==> train.log <==\n"
    + "\n".join(f"step={i} loss={2 - 0.01 * i:.2f} lr={4e-5 * (1 - i / 101):.2e}" for i in range(1, 51))
    + "\n==> plan <==\nlearning_rate=2e-05 total_steps=100 warmup_steps=2",
    quiet="step=1 loss=2.0 lr=1e-5\nstep=2 loss=1.9 lr=2e-5",
)
