"""The answer per signal: the worst that a rule said, else what is normal about it, else how to log it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite

from papertrain.core.texts import say
from papertrain.monitor.curve import Curve
from papertrain.monitor.history import History
from papertrain.monitor.rules._say import show
from papertrain.monitor.stats import mean, median, quantile, window
from papertrain.monitor.verdict import ORDER, SIGNALS, SignalState, Verdict

HOW_TO_LOG = {
    "train_loss": "no training loss found: logging_steps: 10 and report it as `loss`",
    "eval_loss": "no evaluation loss: eval_strategy: steps, eval_steps, and a validation split",
    "learning_rate": "not logged: the Trainer logs it with the loss; in your own loop log `lr`",
    "gpu_utilization": "no telemetry: nvidia-smi -l 15 --format=csv --query-gpu=timestamp,index,utilization.gpu,memory.used,memory.total,power.draw > gpu.csv",
    "grad_norm": "not logged: transformers logs grad_norm since 4.38; else log what clip_grad_norm_ returns",
    "loss_scale": "no loss scale: bf16 and fp32 have none; DeepSpeed and Megatron print it in fp16",
    "throughput": "not logged: include_tokens_per_second: true, or log tokens_per_second",
    "gpu_memory": "not logged: nvidia-smi with memory.used, or log torch.cuda.max_memory_reserved()",
    "token_accuracy": "not logged: TRL's SFTTrainer logs mean_token_accuracy",
    "reward_margin": "only in preference training (rewards/margins)",
    "kl": "only in reinforcement learning (kl)",
    "entropy": "not logged: TRL logs entropy",
    "checkpoint": "no checkpoint folder beside the log: point at the run's folder",
    "heartbeat": "the records carry no time: point at the run's folder or file while it runs",
}
WIDE = 3.0
"""A signal whose ordinary rows lie further apart than that is normal, but not stable."""
USUAL = frozenset(("train_loss", "eval_loss", "learning_rate", "gpu_utilization", "grad_norm"))


def states(run: History, verdicts: Sequence[Verdict], seen: dict[str, str]) -> list[SignalState]:
    """One row per signal of the contract. `seen` names signals that rules could judge, and what is normal about them."""
    rows = []
    for name in SIGNALS:
        mine = [v for v in verdicts if v.signal == name]
        if mine:
            worst = max(mine, key=lambda v: ORDER.index(v.level))
            as_bad = [v for v in mine if v.level == worst.level]
            says = "; ".join(dict.fromkeys(v.says for v in as_bad[:2]))
            row = SignalState(
                name=name,
                level=worst.level,
                says=says,
                since_step=worst.since_step,
                unit=worst.unit,
                seen=tuple(dict.fromkeys(x for v in as_bad[:2] for x in v.seen)),
                rule=worst.rule,
                cls=worst.cls,
            )
            rows.append(row)
            continue
        normal = seen.get(name) or plain_words(run, name)
        if normal:
            rows.append(SignalState(name=name, level="normal", says=normal, seen=last_seen(run, name)))
        else:
            rows.append(SignalState(name=name, level="unknown", says=unknown_words(run, name)))
    return rows


def last_seen(run: History, name: str) -> tuple:  # type: ignore[type-arg]
    c = run.one(name)
    return (c.at(len(c) - 1),) if c is not None and len(c) else ()


def unknown_words(run: History, name: str) -> str:
    """Why a signal is unknown: too little of it, or not there."""
    c = run.loss if name == "train_loss" else run.one(name)
    if c is not None and len(c):
        return say(
            "only {n} points so far: {value} at {unit} {step}",
            n=len(c),
            value=show(c.values[-1]),
            step=c.steps[-1],
            unit=c.word,
        )
    if name == "train_loss" and isinstance(run.facts.get("summary"), dict):
        return say("only the closing summary is left: no curve to judge")
    compute = run.plan.compute if run.plan is not None else None
    if name in ("gpu_utilization", "gpu_memory") and compute is not None and compute.gpu.id == "cpu":
        return say("the plan is for the processor: no card is used")
    return say(HOW_TO_LOG[name])


def plain_words(run: History, name: str) -> str:
    """What is normal about a signal that has enough points; empty where it has not."""
    writer = WORDS.get(name)
    return writer(run) if writer else ""


def train_loss(run: History) -> str:
    c = run.loss
    if c is None and run.task == "gan":
        return adversarial(run)
    if c is None or len(c) < 4:
        return ""
    if not run.loss_counts:
        return say(
            "{value} at {unit} {step}; in {task} the loss itself says little",
            value=show(c.values[-1]),
            step=c.steps[-1],
            task=run.task.upper(),
            unit=c.word,
        )
    w = min(window(len(c)), max(1, len(c) // 3))
    start, now = median(c.values[:w]), median(c.values[-w:])
    last, step, unit = show(c.values[-1]), c.steps[-1], c.word
    if w == 1:
        if now < 0.98 * start:
            return say("falling: {start} to {now} at {unit} {step}", start=show(start), now=last, step=step, unit=unit)
        return say("steady at {now} ({unit} {step})", now=last, step=step, unit=unit)
    if now < 0.98 * start:
        return say(
            "falling: {start} to {now} smoothed, {last} at {unit} {step}",
            start=show(start),
            now=show(now),
            last=last,
            step=step,
            unit=unit,
        )
    return say("steady at {now} smoothed, {last} at {unit} {step}", now=show(now), last=last, step=step, unit=unit)


def adversarial(run: History) -> str:
    """Two networks against each other: their losses are shown, and say little."""
    parts = [f for c in run.every("loss_part") if len(f := c.finite()) >= 4][:2]
    if not parts:
        return ""
    value = ", ".join(f"{c.raw} {show(c.values[-1])}" for c in parts)
    return say(
        "{value} at {unit} {step}; in {task} the loss itself says little",
        value=value,
        step=parts[0].steps[-1],
        task=run.task.upper(),
        unit=parts[0].word,
    )


def eval_loss(run: History) -> str:
    c = next(iter(run.evaluations), None)
    if c is None or len(c) < 2:
        return ""
    best = min(range(len(c)), key=c.values.__getitem__)
    return say(
        "{now} at {unit} {step}, best {best} at {same} {at}",
        now=show(c.values[-1]),
        step=c.steps[-1],
        best=show(c.values[best]),
        at=c.steps[best],
        same=c.word,
        unit=c.word,
    )


def learning_rate(run: History) -> str:
    c = run.rate
    if c is None or len(c) < 3:
        return ""
    peak = max(c.values)
    at = c.steps[c.values.index(peak)]
    if peak == 0 and len(c) < 20:
        return say("0 so far: warm-up or skipped first steps")
    if min(c.values) == peak:
        return say("constant at {peak}", peak=show(peak))
    return say(
        "peak {peak} at {same} {at}, {now} at {unit} {step}",
        peak=show(peak),
        at=at,
        same=c.word,
        now=show(c.values[-1]),
        step=c.steps[-1],
        unit=c.word,
    )


def grad_norm(run: History) -> str:
    c = run.one("grad_norm")
    if c is None or len(c) < 3:
        return ""
    f = c.finite()
    if not len(f) or (not any(f.values) and run.loss_counts):
        return ""
    usual = median(f.values)
    odd = sum(not isfinite(v) for v in c.values)
    extra = say("; {n} overflowed rows at which the step is skipped", n=odd) if odd else ""
    late = f.values[len(f) // 10 :]
    low, high = quantile(late, 0.05), quantile(late, 0.95)
    if high > WIDE * max(low, 1e-12):
        return (
            say("between {low} and {high}, mostly around {usual}", low=show(low), high=show(high), usual=show(usual))
            + extra
        )
    return say("stable around {usual}", usual=show(usual)) + extra


def quiet(name: str, unit: str = "", least: int = 3) -> Callable[[History], str]:
    def words(run: History) -> str:
        c = run.one(name)
        f: Curve | None = c.finite() if c is not None else None
        if f is None or len(f) < least:
            return ""
        return say("{value} {unit} lately", value=show(mean(f.values[-20:])), unit=unit).replace("  ", " ")

    return words


WORDS: dict[str, Callable[[History], str]] = {
    "train_loss": train_loss,
    "eval_loss": eval_loss,
    "learning_rate": learning_rate,
    "grad_norm": grad_norm,
    "loss_scale": lambda run: quiet("loss_scale")(run) or skipped(run),
    "token_accuracy": quiet("token_accuracy"),
    "reward_margin": lambda run: quiet("reward_margin")(run) or reward(run),
    "kl": lambda run: quiet("kl")(run) or quiet("kl_sum")(run),
    "entropy": quiet("entropy"),
}


def reward(run: History) -> str:
    c = run.one("reward")
    f = c.finite() if c is not None else None
    if f is None or len(f) < 8 or run.task not in ("grpo", "ppo", "rl"):
        return ""
    w = max(4, len(f) // 10)
    return say(
        "reward {start} at first, {now} now, smoothed", start=show(mean(f.values[:w])), now=show(mean(f.values[-w:]))
    )


def skipped(run: History) -> str:
    c = run.one("skipped_steps")
    if c is None or len(c) < 4:
        return ""
    return say("{n:.0f} of {steps} steps skipped, as fp16 does", n=c.values[-1], steps=c.steps[-1])
