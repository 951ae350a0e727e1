"""Where a value stands that its log gave no step: beside the rows of the densest signal of the same file."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import isnan
from typing import Literal

from papertrain.core.texts import say
from papertrain.monitor.names import signal_of
from papertrain.monitor.table import NO_STEP, Column

Unit = Literal["step", "row", "epoch", "value"]
"""What a position counts: the step or epoch that the log names, else the row of the densest signal of the file, else, where
the lines of the two do not alternate, the values of the signal itself."""
DENSE = ("train_loss", "learning_rate", "grad_norm", "token_accuracy", "reward_margin", "reward", "kl", "entropy")
"""Signals that a program prints once a step; of equally dense ones the first named counts."""
APART = 0.75
"""Share of a signal's values that must fall between different rows: of two in one place only the last is kept."""


def word(unit: Unit) -> str:
    """The unit in the user's language."""
    return {"step": say("step"), "row": say("row"), "epoch": say("epoch"), "value": say("value")}[unit]


def shown(unit: Unit, at: int) -> str:
    """`step 1,200`, `row 40`."""
    if unit == "step":
        return say("step {at:,}", at=at)
    if unit == "row":
        return say("row {at:,}", at=at)
    return say("epoch {at:,}", at=at) if unit == "epoch" else say("value {at:,}", at=at)


def named(column: Column) -> list[int]:
    """The steps as the log names them; a step that is the same in every row is none."""
    steps = list(column.steps)
    return [NO_STEP] * len(steps) if len(steps) > 2 and len(set(steps)) == 1 else steps


def stepped(steps: Sequence[int]) -> bool:
    return any(s != NO_STEP for s in steps)


def filled(steps: Sequence[int]) -> list[int]:
    """A row without step stands at the step before it."""
    last, found = 0, []
    for s in steps:
        last = s if s != NO_STEP else last
        found.append(last)
    return found


def own(column: Column) -> tuple[list[int], Unit]:
    """The positions of a signal by itself: its steps, its whole epochs where every value has another one, else its rows. Steps
    that are the epochs throughout are called so: a program that prints once an epoch names nothing else."""
    steps = named(column)
    if stepped(steps):
        by_epoch = len(steps) > 2 and all(s == e for s, e in zip(steps, column.epochs))
        return filled(steps), "epoch" if by_epoch else "step"
    whole = [int(e) for e in column.epochs if not isnan(e)]
    if len(set(whole)) == len(steps):
        return whole, "epoch"
    return [(i + 1) * column.merged for i in range(len(steps))], "row"


def densest(columns: Mapping[str, Column]) -> Column | None:
    """The signal whose rows count the others: one that names its steps, if it has half as many rows as the fullest."""
    found = [(raw, c) for raw, c in columns.items() if len(c) and signal_of(raw) in DENSE]
    if not found:
        return None
    size = max(len(c) * c.merged for _, c in found)
    certain = [x for x in found if len(x[1]) * x[1].merged * 2 >= size and stepped(named(x[1]))]
    return max(certain or found, key=lambda x: (len(x[1]) * x[1].merged, -DENSE.index(signal_of(x[0]))))[1]


def among(column: Column, dense: Column | None) -> tuple[list[int], Unit]:
    """The positions of a signal: its own where it has steps, else those of the rows of `dense` that stand before it."""
    steps, unit = own(column)
    if unit == "step" or dense is None or dense is column or stepped(named(column)):
        return steps, unit
    places, theirs = own(dense)
    lines = list(dense.lines)
    if theirs == unit == "epoch" or lines[0] == lines[-1] or any(a > b for a, b in pairwise(lines)):
        return steps, unit
    found = [places[k - 1] if (k := bisect_right(lines, line)) else 0 for line in column.lines]
    if len(set(found)) < APART * len(found):
        return steps, unit if unit == "epoch" else "value"
    return found, theirs
