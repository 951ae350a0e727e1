"""TR105: the training loss has never fallen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import log, sqrt

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.monitor.curve import Curve
from papertrain.monitor.history import History
from papertrain.monitor.names import direction
from papertrain.monitor.rules._say import LOSS_COUNTS, PROPOSAL, show, verdict
from papertrain.monitor.stats import deviation, mean, median
from papertrain.monitor.verdict import Verdict


def check(run: History) -> Iterator[Verdict]:
    if not run.loss_counts or not run.far_enough(0.25) or not run.one_epoch:
        return
    # Validation decides only where the training loss is not there: it may be flat while training goes on.
    judged = [x for x in (run.loss, *run.evaluations[:1]) if x is not None and len(x) >= 8][:1]
    for c in judged:
        if not run.from_scratch(c) or c.resumed or c.steps[-1] <= run.warm_until:
            continue
        found = flat(run, c)
        if found is not None:
            yield found
            return


def flat(run: History, c: Curve) -> Verdict | None:
    y = c.values
    head = y[: max(3, len(y) // 5)]
    tail = y[-max(3, len(y) // 3) :]
    start, now = mean(head), mean(tail)
    if start <= 0 or median(y) <= 0:
        return None
    error = sqrt(deviation(head) ** 2 / len(head) + deviation(tail) ** 2 / len(tail))
    gain = (start - now) / start
    equal = sum(abs(v - y[-1]) <= 0.001 * abs(y[-1]) for v in y) >= max(5, 0.9 * len(y))
    classes = chance(now)
    stuck = bool(classes) and sum(abs(v / log(classes) - 1) <= 0.01 for v in y) >= max(8, 0.9 * len(y))
    if not stuck and not (gain < 0.01 and gain + 2 * error / start < 0.02) and not (equal and gain < 0.01):
        return None
    if len(set(y)) == 1 and len(y) < 12 and not classes:
        return None
    where = "eval_loss" if c.name == "eval_loss" else "train_loss"
    size = max(3, len(y) // 8)
    if not stuck and (
        now > start * 1.08 or min(mean(y[i : i + size]) for i in range(0, len(y) - size + 1, size)) < 0.97 * start
    ):
        return None
    if classes:
        says = say(
            "loss has stood at {now} = ln {classes} since the start: the model guesses among {classes} classes",
            now=show(now),
            classes=classes,
        )
    else:
        says = say("loss has not fallen since the start: {start} at first, {now} now", start=show(start), now=show(now))
    moved = None if classes or equal else moving(run)
    fitted = not equal and not classes and already_right(run)
    if moved is not None:
        says = say(
            "loss has not fallen since the start: {start} at first, {now} now, though {name} went from {before} to {after}",
            start=show(start),
            now=show(now),
            name=moved[0],
            before=show(moved[1]),
            after=show(moved[2]),
        )
    cls = "dpo-loss-stuck-at-ln2" if run.task == "dpo" else "loss-flat-optimizer-not-linked"
    early = [i for i, s in enumerate(c.steps) if s <= run.warm_until]
    return verdict(
        RULE.id,
        where,
        "critical" if moved is None and not fitted else "warning",
        says,
        c,
        [0, early[-1] if early else 1, -1],
        cls=cls,
    )


def already_right(run: History) -> bool:
    """Whether most answers are right: a model that came trained and has nothing left to learn, or learns no more."""
    for signal in ("metric_plain", "token_accuracy", "other"):
        for c in run.every(signal)[:50]:
            if not re.search(r"(^|[_/ ])(acc|accuracy|acc@1|prec@1|token_acc\w*)$", c.raw.lower()):
                continue
            y = c.finite().values
            if len(y) >= 8 and mean(y[-(len(y) // 3) :]) >= (0.6 if max(y) <= 1 else 60):
                return True
    return False


def moving(run: History) -> tuple[str, float, float] | None:
    """Another measure that is clearly better than at the start: the weights do move. Its name, its start, its end."""
    for signal in ("token_accuracy", "metric", "metric_plain", "kl", "loss_part", "other"):
        for c in run.every(signal)[:50]:
            way = -1 if signal in ("kl", "loss_part") else direction(c.raw)
            y = c.finite().values
            if not way or len(y) < 30:
                continue
            head, tail = y[: len(y) // 5], y[-(len(y) // 3) :]
            before, after = mean(head), mean(tail)
            error = sqrt(deviation(head) ** 2 / len(head) + deviation(tail) ** 2 / len(tail))
            if way * (after - before) > max(4 * error, 0.02 * abs(before), 1e-12):
                return c.raw, before, after
    return None


def chance(level: float) -> int:
    """C where the level is within 0.7 % of ln C, C from 2 to 6; else 0. Only ever used for a curve that is flat anyway."""
    return next((k for k in range(2, 7) if abs(level - log(k)) < 0.007 * log(k)), 0)


RULE = Rule(
    id="TR105",
    name="loss-flat",
    level="critical",
    check=check,
    applies=LOSS_COUNTS,
    what="From its first points to its last third the loss fell by less than 1 %, and a fall of 2 % is excluded (two standard errors), in a "
    "curve that begins where training began, after warm-up and a quarter of the plan; or nine of ten rows stand within 1 % of ln C for a few classes C. Critical; a warning where 60 % of the answers are right, or an accuracy or a term of the loss is better than at the start by 2 % and four standard errors.",
    why="Nothing is learned: no gradient reaches the weights, the rate is far too low, or inputs and labels do not belong together.",
    known_problems="A resumed run starts low and may stay there: it is not judged. Some tasks stay at chance for long before they move.",
    source=PROPOSAL,
    status="stable",
    fires="\n".join(f"step={i * 10} loss={1.3863 + 0.002 * (i * 7 % 5 - 2):.4f}" for i in range(1, 41)),
    quiet="\n".join(f"step={i * 10} loss={1.3863 - 0.004 * i:.4f}" for i in range(1, 41)),
)
