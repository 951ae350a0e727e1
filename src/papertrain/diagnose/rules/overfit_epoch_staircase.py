"""The loss falls in steps at epoch boundaries."""

import itertools
import statistics

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause


def judge(case: Case) -> Match | None:
    rows = [(r.values["epoch"], v) for r, v in case.curve if "epoch" in r.values]
    if len(rows) < 30 or case.rl:
        return None
    by: dict[int, list[float]] = {}
    for epoch, v in rows:
        by.setdefault(int(epoch), []).append(v)
    epochs = [e for e in sorted(by) if len(by[e]) >= 8]
    steps = [
        (statistics.median(by[a][-len(by[a]) // 3 :]), statistics.median(by[b][: len(by[b]) // 3]))
        for a, b in itertools.pairwise(epochs)
    ]
    within = [
        statistics.median(by[e][: len(by[e]) // 3]) - statistics.median(by[e][-len(by[e]) // 3 :]) for e in epochs[1:]
    ]
    if not steps or not all(b < 0.88 * a and a - b > 2 * w for (a, b), w in zip(steps[:3], within)):
        return None
    return RULE.found(0.8, [next(r for r, _ in case.curve if int(r.values.get("epoch", 0)) == epochs[1]).quote()])


RULE = cause(
    "TR649",
    "overfit-epoch-staircase",
    "benign",
    branch="training",
    level="note",
    benign=True,
    title="The loss falls in steps at epoch boundaries",
    judge=judge,
    why="A row that was seen before is easier: memorisation shows as a staircase. It is expected; the evaluation loss decides whether it hurts.",
    fires="\n".join(
        f"{{'loss': {(1.1, 0.72, 0.41)[i // 40] + 0.01 * (i % 2):.3f}, 'grad_norm': 1.0, 'learning_rate': 2e-05, 'epoch': {i / 40:.3f}}}"
        for i in range(120)
    ),
    quiet="\n".join(
        f"{{'loss': {1.4 - 0.008 * i:.3f}, 'grad_norm': 1.0, 'learning_rate': 2e-05, 'epoch': {i / 40:.3f}}}"
        for i in range(120)
    ),
)
