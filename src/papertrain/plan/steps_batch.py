"""How much is seen: validation share, epochs, global batch, steps, warm-up, looks at the validation loss."""

from __future__ import annotations

import math
from typing import Any

from papertrain.core.models import DatasetProfile
from papertrain.core.values import Contest, Decision, Source
from papertrain.facts.laws import law
from papertrain.plan.rulesets import epochs_for, tuner, warmup_for

NO_DATA = "unknown without --data"


def validation_share(task: str, data: DatasetProfile | None, file: str | None = None) -> Decision[float]:
    """The part of the training file that is held back to see the plateau; none where there is a file for it."""
    if file is not None:
        why = f"none of the training data: the study has {file} for it"
        return Decision(
            name="validation_share",
            value=0.0,
            source=Source(kind="user", ref="study.toml"),
            rests_on=("data",),
            why=why,
        )
    table = law("schedule").get("validation")
    source = law("schedule").source("validation")
    if data is None:
        return Decision(
            name="validation_share",
            value=table["share"],
            source=source,
            rests_on=("data",),
            why=f"{100 * table['share']:.0f} % of the examples, {NO_DATA} in number",
        )
    most = table["classification_most"] if task == "classification" else table["most"]
    n = data.examples
    if n < table["fewest_examples"]:
        return Decision(
            name="validation_share",
            value=0.0,
            source=source,
            rests_on=("data",),
            why=f"{n} examples are too few to hold any back",
        )
    held = min(held_back(n, table["share"]), most)
    share = _share_of(held, n, table["share"])
    return Decision(
        name="validation_share",
        value=share,
        source=source,
        rests_on=("data",),
        why=f"{held:,} of {n:,} examples: {100 * table['share']:.0f} %, at most {most:,}",
    )


def held_back(examples: int, share: float) -> int:
    """Whole examples of that share, as the script counts them; a share that was divided out loses none to rounding."""
    return int(examples * share + 1e-9)


def _share_of(held: int, examples: int, usual: float) -> float:
    """The shortest share that holds back so many examples."""
    digits = (round(held / examples, d) for d in range(2, 15))
    return next(s for s in (usual, *digits, held / examples) if held_back(examples, s) == held)


def train_sequences(task: str, data: DatasetProfile | None, share: float, length: int, packing: bool) -> int | None:
    """Sequences of one pass: examples, or full blocks where they are packed."""
    if data is None:
        return None
    if packing:
        blocks = packed_blocks(task, data, length)
        return None if blocks is None else max(1, int(blocks * (1 - share)))
    return max(1, data.examples - held_back(data.examples, share)) * rows_of_one(task, data)


ANSWERS = 8
"""Completions of one prompt in GRPO, TRL's default: each is a sequence of the batch."""


def rows_of_one(task: str, data: DatasetProfile) -> int:
    """Sequences that one example becomes: GRPO samples answers to a prompt, KTO takes a pair apart (TRL 1.16: RepeatSampler,
    unpair_preference_dataset)."""
    return ANSWERS if task == "grpo" else 2 if task == "kto" and data.format.startswith("preference") else 1


def packed_blocks(task: str, data: DatasetProfile, length: int) -> int | None:
    """Blocks of that length. Plain text is cut into full ones; examples stay whole (LLaMA-Factory's knapsack, TRL's best
    fit), so a block ends before the one that it has no room for."""
    if task != "pt" and data.packed_sequences is not None and data.cutoff == length:
        return data.packed_sequences
    if task != "pt" and data.lengths is not None and data.lengths.mean > 0:
        return -(-data.examples // max(1, int(length / data.lengths.mean)))
    return None if data.tokens is None else data.tokens // length


def epochs(rules: str, task: str, method: str, data: DatasetProfile | None) -> Decision[float]:
    n = None if data is None else data.examples
    value, path = epochs_for(rules, task=task, method=method, examples=n)
    size = f"where the number of examples is {NO_DATA}" if n is None else f"for {n:,} examples"
    kind = "a cap, stopped at the plateau of the validation loss" if rules == "method" else "the median of practice"
    table = law("epochs")
    return Decision(name="epochs", value=value, source=table.source(path), rests_on=("data", "task"), contested_by=table.contests(path), why=f"{value:g} {size}: {kind}")  # fmt: skip


def global_batch_size(task: str, method: str, sequences: int | None, epochs: float, cards: int) -> Decision[int]:
    """The largest power of two that leaves 1000 steps; never so large that fewer than 100 remain; a multiple of the cards."""
    batches = law("batch")
    path = f"{tuner(method)}.{task}"
    table: dict[str, Any] = batches.get(path)
    contests = tuple(Contest(ref=c["ref"], says=c["says"]) for c in batches.get("contested_by"))
    least, typical, most = table["least"], table["typical"], table["most"]
    if sequences is None:
        value, why = typical, f"the median of practice for {task} with {method}; {NO_DATA}"
    else:
        seen = sequences * epochs
        value = most
        while value > least and seen / value < batches.get("steps_wanted"):
            value //= 2
        why = f"{sequences:,} sequences × {epochs:g} epochs leave {steps_of(sequences, value, epochs):,} steps"
        if value > least or seen / value >= batches.get("steps_wanted"):
            why += (
                f", the most of {least}-{most} that leaves {batches.get('steps_wanted'):,}"
                if value < most
                else f"; {most} is the most that practice uses"
            )
        else:
            why += f"; {least} is the least of practice ({least}-{most})"
        if seen / value < batches.get("steps_least"):
            floor = table.get("floor", 1)
            while value > floor and seen / value < batches.get("steps_least"):
                value //= 2
            why = f"{sequences:,} sequences × {epochs:g} epochs: cut below the usual {least} to keep {steps_of(sequences, value, epochs):,} steps"
            if value == floor > 1:
                why += f" ({floor} is the least that is sensible)"
    if value % cards:
        raised = -(-value // cards) * cards
        why += f"; raised from {value} to {raised}, a multiple of {cards} cards"
        value = raised
    return Decision(name="global_batch_size", value=value, unit="sequences", source=batches.source(path), rests_on=("data", "task", "method", "epochs", "compute"), contested_by=contests, why=why)  # fmt: skip


def steps_per_epoch(sequences: int, batch: int) -> int:
    """As transformers counts since 4.46: the last, smaller batch is a step too."""
    return max(1, -(-sequences // batch))


def steps_of(sequences: int, batch: int, epochs: float) -> int:
    """The steps of a whole run: an epoch that is cut short ends with a whole step, as in transformers."""
    return max(1, math.ceil(round(steps_per_epoch(sequences, batch) * epochs, 6)))


def total_steps(sequences: int | None, batch: int, epochs: float) -> Decision[int | None]:
    source = Source(
        kind="rule", ref="steps an epoch = ceil(sequences / global batch), as transformers counts since 4.46"
    )
    rests = ("data", "epochs", "global_batch_size", "validation_share")
    if sequences is None:
        return Decision(name="total_steps", value=None, unit="steps", source=source, rests_on=rests, why=NO_DATA)
    per, total = steps_per_epoch(sequences, batch), steps_of(sequences, batch, epochs)
    return Decision(
        name="total_steps",
        value=total,
        unit="steps",
        source=source,
        rests_on=rests,
        why=f"{sequences:,} sequences / {batch} = {per:,} steps an epoch × {epochs:g}",
    )


def warmup_steps(rules: str, task: str, total: int | None) -> Decision[int | None]:
    table = law("schedule")
    path = f"warmup.{rules}"
    common: dict[str, Any] = {
        "name": "warmup_steps",
        "unit": "steps",
        "source": table.source(path),
        "rests_on": ("total_steps",),
        "contested_by": table.contests(path),
    }
    if total is None:
        ratio = table.get(f"{path}.ratio")
        return Decision(value=None, why=f"{100 * ratio:.0f} % of the steps, {NO_DATA}", **common)
    value = warmup_for(rules, task, total)
    share = "10 %" if rules == "method" else f"{100 * (value / total):.1f} %"
    return Decision(value=value, why=f"{share} of {total:,} steps", **common)


def eval_steps(total: int | None, validated: bool) -> Decision[int | None]:
    looks = law("schedule").get("early_stopping.evaluations")
    common: dict[str, Any] = {
        "name": "eval_steps",
        "unit": "steps",
        "source": law("schedule").source("early_stopping"),
        "rests_on": ("total_steps", "validation_share"),
    }
    if total is None:
        return Decision(value=None, why=f"a tenth of the steps, {NO_DATA}", **common)
    if not validated:
        return Decision(value=None, why="nothing is held back, so there is nothing to look at", **common)
    value = max(1, total // looks)
    return Decision(value=value, why=f"{total // value} looks at the validation loss in {total:,} steps", **common)


def save_steps(total: int | None, evals: int | None) -> Decision[int | None]:
    common: dict[str, Any] = {
        "name": "save_steps",
        "unit": "steps",
        "source": law("schedule").source("early_stopping"),
        "rests_on": ("eval_steps",),
    }
    if total is None:
        return Decision(value=None, why=f"as often as the validation loss is looked at, {NO_DATA}", **common)
    if evals is None:
        return Decision(value=max(1, total // 5), why=f"five checkpoints in {total:,} steps", **common)
    return Decision(
        value=evals, why=f"at each look ({evals:,} steps), so that the best checkpoint can be loaded", **common
    )


def patience(evals: int | None) -> Decision[int]:
    value = law("schedule").get("early_stopping.patience")
    why = f"{value} looks without improvement are a plateau" + (f": {value * evals:,} steps" if evals else "")
    return Decision(
        name="early_stopping_patience",
        value=value,
        unit="evaluations",
        source=law("schedule").source("early_stopping"),
        rests_on=("eval_steps",),
        why=why,
    )
