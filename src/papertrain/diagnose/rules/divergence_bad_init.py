"""A large early spike that repeats after each restart: the initialisation is too wide."""

import itertools

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix


def judge(case: Case) -> Match | None:
    steps = [(r, r.step) for r, _ in case.curve if r.step is not None]
    restarts = [
        i for i in range(1, len(steps)) if steps[i][1] <= (steps[0][1] or 0) + 1 and steps[i][1] < steps[i - 1][1]
    ]
    if not restarts:
        return None
    starts = [0, *restarts, len(steps)]
    spikes = []
    for a, b in itertools.pairwise(starts):
        values = [v for _, v in case.curve[a:b][:60]]
        if len(values) >= 4 and max(values[2:]) > 2 * values[0]:
            spikes.append(case.curve[a + values.index(max(values))][0])
    if len(spikes) < 2:
        return None
    return RULE.found(0.82, [s.quote() for s in spikes[:2]])


RULE = cause(
    "TR637",
    "divergence-bad-init",
    "divergence-lr",
    branch="training",
    title="A large early spike that repeats after each restart: the initialisation is too wide",
    judge=judge,
    why="The standard deviation of the weights is too large for this width.",
    next_check="print the std of each weight at step 0 against sqrt(2/(5·hidden))",
    fixes=(
        fix(
            "a smaller initialisation",
            sets={"initializer_range": 0.006},
            effect="experiment",
            proof="the first 100 steps have no spike",
        ),
        fix("a norm after the embedding", "embedding layer norm", effect="experiment"),
    ),
    fires="\n".join(
        f"iteration {i:8d}/  10000 | learning rate: 1.000E-05 | lm loss: {v:.6E} | grad norm: {g:.3f} |"
        for run in range(2)
        for i, v, g in [
            (1, 11.2, 40),
            (2, 11.0, 38),
            (3, 10.7, 41),
            (4, 34.8, 900),
            (5, 52.1, 1200),
            (6, 41.0, 800),
            (7, 38.2, 600),
            (8, 36.1, 500),
        ]
    ),
    quiet="\n".join(
        f"iteration {i:8d}/  10000 | learning rate: 1.000E-05 | lm loss: {11 - 0.1 * i:.6E} | grad norm: 1.0 |"
        for i in range(1, 20)
    ),
)
