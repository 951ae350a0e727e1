"""The loss jumped and came back by itself."""

import statistics

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause
from papertrain.diagnose.shapes import rise, spike


def judge(case: Case) -> Match | None:
    one, found = spike(case), rise(case)
    if found is not None and found.recovered and found.sudden:
        return RULE.found(
            0.8,
            [found.at.quote()],
            cause=RULE.why + f" Here it rose from {found.best:.3g} to {found.peak:.3g} and ended at {found.end:.3g}.",
        )
    if (
        one is None
        or (found is not None and not found.recovered)
        or statistics.median([v for _, v in case.curve[-5:]]) > 1.3 * one[2] + 0.1
    ):
        return None
    return RULE.found(0.8, [one[0].quote()], cause=RULE.why + f" Here {one[1]:.3g} against a level of {one[2]:.3g}.")


RULE = cause(
    "TR641",
    "loss-spike-recovering-benign",
    "result",
    branch="training",
    level="note",
    benign=True,
    title="The loss jumped and came back by itself",
    judge=judge,
    why="A sudden spike that returns to its level within some hundred steps needs no action.",
    fires="\n".join(
        f"{{'step': {i}, 'loss': {(1.9 - 0.01 * i if not 30 <= i < 33 else 4.4):.3f}, 'grad_norm': 1.0, 'learning_rate': 2e-05}}"
        for i in range(1, 80)
    ),
    quiet="\n".join(
        f"{{'step': {i}, 'loss': {1.9 - 0.01 * i:.3f}, 'grad_norm': 1.0, 'learning_rate': 2e-05}}" for i in range(1, 80)
    ),
)
