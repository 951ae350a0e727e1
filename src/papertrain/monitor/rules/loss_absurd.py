"""TR106: a loss that no healthy run has."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.core.findings import Rule, Signal
from papertrain.core.texts import say
from papertrain.monitor.history import History
from papertrain.monitor.rules._say import LOSS_COUNTS, PROPOSAL, show, verdict
from papertrain.monitor.stats import median
from papertrain.monitor.verdict import Verdict

ABSURD = 1e6


def check(run: History) -> Iterator[Verdict]:
    summary = run.facts.get("summary")
    c = run.loss
    if c is not None and len(c) and run.loss_counts:
        y = c.values
        late = median(y[-3:])
        floor = -1000 * max(1.0, abs(median(y[:3])))
        if late < min(-ABSURD, floor):
            first = next(i for i, v in enumerate(y) if v < floor)
            says = say("loss is {value}: a term of it has no lower bound and runs away", value=show(late))
            yield verdict(RULE.id, "train_loss", "critical", says, c, [first, -1], cls="divergence-lr-too-high")
        elif late > ABSURD and late > 3 * y[0]:
            says = say("loss is {value}: it exploded", value=show(late))
            yield verdict(
                RULE.id,
                "train_loss",
                "critical",
                says,
                c,
                [next(i for i, v in enumerate(y) if v > ABSURD), -1],
                cls="divergence-lr-too-high",
            )
        elif len(y) >= 2 and max(y[:20]) > 1000 * max(0.01, median(y[-max(3, len(y) // 4) :])) and max(y[:20]) > 1e4:
            i = y.index(max(y[:20]))
            if i < 2 and len(y) > 20 and max(y[10:]) < y[i] / 2:
                return  # it began there and fell: a sum over many rows, or targets that nobody scaled
            yield verdict(
                RULE.id,
                "train_loss",
                "warning",
                say("loss was {value} at {unit} {step}", value=show(y[i]), step=c.steps[i], unit=c.word),
                c,
                [i, -1],
                cls="divergence-bad-init",
            )
    elif isinstance(summary, dict) and run.loss_counts and (c is None or not len(c)):
        value = summary.get("train_loss")
        if isinstance(value, float) and (value != value or value > ABSURD):
            line = run.facts.get("summary_line")
            step = int(run.fact("global_step") or 0)
            seen = Signal(
                name="train_loss", value=value, step=step, file=run.files[0], line=line if isinstance(line, int) else 0
            )
            says = say(
                "the mean training loss of the run is {value}; the history that could say since when is not in the file",
                value=show(value),
            )
            yield Verdict(
                rule=RULE.id,
                signal="train_loss",
                level="critical",
                says=says,
                since_step=None,
                seen=(seen,),
                cls="divergence-lr-too-high",
            )


RULE = Rule(
    id="TR106",
    name="loss-absurd",
    level="critical",
    check=check,
    applies=LOSS_COUNTS,
    what="The loss is above 1e6 and has grown, or below -1e6 and a thousand times its start, or the only number that is left, the mean over the run, is NaN or above 1e6.",
    why="A mean cross-entropy starts near the logarithm of the vocabulary, about 12; values of millions are an explosion.",
    known_problems="Losses that are summed over tokens and not averaged are large in good health: growth is required.",
    source=PROPOSAL,
    fires="step=1 loss=80.8\nstep=2 loss=10576\nstep=3 loss=14578000\nstep=4 loss=17710000\nstep=5 loss=170600000",
    quiet="step=1 loss=5200\nstep=2 loss=5100\nstep=3 loss=4900\nstep=4 loss=4800\nstep=5 loss=4700",
)
