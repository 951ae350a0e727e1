"""TR103: the training loss is NaN or infinite, also where the program hides it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import isfinite

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source
from papertrain.monitor.curve import Curve
from papertrain.monitor.history import History
from papertrain.monitor.places import own
from papertrain.monitor.rules._say import seen, show, verdict
from papertrain.monitor.verdict import State, Verdict


def check(run: History) -> Iterator[Verdict]:
    c = run.raw_loss
    if c is not None and len(c):
        odd = list(c.odd())
        if odd:
            yield printed(run, c, odd)
        elif (rows := superseded(run, c)) is not None:
            yield printed(run, rows, list(rows.odd()))
        if run.hidden:
            yield hidden(run, c)
    for part in [*run.every("loss_part"), *run.every("rl_loss")]:
        odd = list(part.odd())
        if len(odd) >= 3 and odd[-1] == len(part) - 1:
            yield printed(run, part, odd)
            return


def superseded(run: History, c: Curve) -> Curve | None:
    """Every row as it stands in the file, where a fifth of them and one of the last ten are not finite, and each is
    followed by a finite one of the same step: two processes print, and one of them has lost its weights."""
    for raw, table, column in run.columns["train_loss"]:
        bad = [i for i, v in enumerate(column.values) if not isfinite(v)]
        if raw != c.raw or c.runs > 1 or len(bad) < max(3, 0.2 * len(column)) or bad[-1] < len(column) - 10:
            continue
        rows = Curve(c.name, raw, table.file)
        (rows.steps, rows.unit), rows.values = own(column), list(column.values)
        rows.lines, rows.epochs, rows.times = list(column.lines), list(column.epochs), list(column.times)
        return rows
    return None


def printed(run: History, c: Curve, odd: list[int]) -> Verdict:
    """Non-finite values that stand in the log, or a field that is left out."""
    n = len(c)
    pairs = [i for i, j in pairwise(odd) if j == i + 1]
    many = len(odd) >= 3 and (bool(pairs) or len(odd) > 0.01 * n)
    lasting = n - odd[0] == len(odd) or many or odd[-1] == n - 1
    first = odd[0]
    if lasting:
        first = pairs[0] if pairs else odd[0] if many else odd[-1]
    value = show(c.values[first])
    step = c.steps[first]
    if run.facts.get("missing_loss_line") is not None and value == "nan":
        says = say(
            "the loss field is missing at {unit} {step}: Megatron leaves it out when the loss is NaN",
            step=step,
            unit=c.word,
        )
    elif lasting:
        says = say(
            "loss is {value} since {unit} {step}; every later step trains on garbage",
            value=value,
            step=step,
            unit=c.word,
        )
    else:
        says = say("loss was {value} at {unit} {step} and is finite again", value=value, step=step, unit=c.word)
    return verdict(
        RULE.id,
        "train_loss",
        "critical" if lasting else "warning",
        says,
        c,
        [first, first - 1, n - 1],
        cls="nan-lr-too-high" if first > 0 else "nan-all-labels-masked",
    )


def hidden(run: History, c: Curve) -> Verdict:
    """0.0 printed in place of NaN."""
    first = run.hidden[0]
    norm = run.one("grad_norm")
    evidence = seen(c, [first, first - 1, len(c) - 1])
    step = c.steps[first]
    bad = (
        [i for i, s in enumerate(norm.steps) if s >= step and not isfinite(norm.values[i])] if norm is not None else []
    )
    if norm is not None and bad:
        says = say(
            "0.0 printed since {unit} {step} while grad_norm is nan: the Trainer hides a NaN loss as 0.0",
            step=step,
            unit=c.word,
        )
        evidence += seen(norm, bad[:1])
    elif first <= 1:
        says = say(
            "loss is exactly 0.0 from the first row on: every label is masked, or NaN is hidden as 0.0", step=step
        )
    else:
        says = say(
            "loss fell from {before} to exactly 0.0 at {unit} {step} and stays there: NaN hidden as 0.0",
            before=show(c.values[first - 1]),
            step=step,
            unit=c.word,
        )
    level: State = "critical" if len(run.hidden) >= 2 or first == len(c) - 1 else "warning"
    return Verdict(rule=RULE.id, signal="train_loss", level=level, says=says, since_step=step, unit=c.unit, seen=evidence,
                   cls="loss-zero-all-labels-masked" if first <= 1 else "loss-zero-fp16")  # fmt: skip


RULE = Rule(
    id="TR103",
    name="loss-not-finite",
    level="critical",
    check=check,
    applies="Every task for NaN and infinity; a loss of exactly 0.0 counts in every task but GRPO, PPO and adversarial training, where it is ordinary.",
    what="The training loss became NaN or infinite, as printed or as hidden by the program. Critical: three such rows (two of them in a row, or 1 % of all), "
    "or the last one, or 0.0 printed beside a non-finite gradient norm. Warning: one or two rows, finite again afterwards.",
    why="Every later step trains on garbage, and so does every checkpoint saved after it.",
    known_problems="The Hugging Face Trainer replaces a NaN loss by its running mean, so that a wholly NaN window prints 0.0; "
    "Megatron-LM leaves the `lm loss` field out. A loss that falls to 0.0 slowly, with a finite gradient norm, is rounding. "
    "In GRPO and PPO a loss of 0.0 is ordinary.",
    source=Source(
        kind="code",
        ref="huggingface/transformers src/transformers/trainer.py: logging_nan_inf_filter; NVIDIA/Megatron-LM megatron/training/training.py: training_log",
    ),
    status="stable",
    fires="step=40 loss=2.31\nstep=41 loss=2.30\nstep=42 loss=nan\nstep=43 loss=nan",
    quiet="step=40 loss=2.31\nstep=41 loss=2.30\nstep=42 loss=2.29\nstep=43 loss=2.30",
)
