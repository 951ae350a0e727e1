"""The loss left its best level and does not come back: divergence."""

import math
import statistics

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix
from papertrain.diagnose.rules import _nan as nan
from papertrain.diagnose.shapes import rise


def too_steep(case: Case) -> Match | None:
    """A learning rate more than ten times above what any recipe of the method uses, and a loss that does not fall."""
    method = str(case.facts.get("method", "")).lower()
    bound = 1e-4 if method == "full" else 1e-3
    rates = [v for v in case.values("learning_rate") if math.isfinite(v)]
    values = [v for _, v in case.curve]
    steep = [v for r, v in case.curve if (r.get("learning_rate") or 0.0) > 10 * bound]
    if case.rl or not rates or max(rates) <= 10 * bound or len(values) < 5:
        return None
    # A loss that is on its way down is no divergence, and a few rows at that rate show nothing yet.
    grew = steep and max(steep) > 1.5 * values[0]
    if statistics.median(values[-3:]) < 0.97 * values[0] or (len(steep) < 10 and not grew):
        return None
    row = max((r for r, _ in case.curve), key=lambda r: r.get("learning_rate") or 0.0)
    says = f"The learning rate is {max(rates):.2g}, more than ten times the {bound:.0e} of this method's recipes, and the loss does not fall ({values[0]:.3g} to {values[-1]:.3g})."
    return RULE.found(
        0.86,
        [row.quote(), case.curve[-1][0].quote()],
        cause=says + " Steps of that size leave every valley.",
        remedies=(
            RULE.fixes[0],
            fix(
                "the highest rate of this method's recipes, from the start",
                sets={"learning_rate": bound},
                effect="experiment",
                proof="the loss falls for 100 steps",
            ),
            *RULE.fixes[2:],
        ),
    )


def judge(case: Case) -> Match | None:
    if nan.broken(case) is not None:
        return None
    if (end := next((r for r in case.rows if (r.get("train_loss") or 0) > 1e6), None)) is not None:
        return RULE.found(0.7, [end.quote()])
    found = rise(case)
    if (steep := too_steep(case)) is not None:
        return steep
    if found is None or found.recovered or (case.rl and found.end < 3 * max(found.start, 0.7)):
        return None
    drift = not found.sudden
    if found.norm_rose < 2 and not drift and found.peak < 2 * found.best:
        return None
    confidence = (
        (0.62 if drift or found.beyond or found.norm_rose >= 2 else 0.42)
        + (0.15 if found.norm_rose >= 2 else 0)
        + (0.1 if found.end > found.start else 0)
        + (0.05 if drift else 0)
    )
    return RULE.found(
        confidence,
        [found.at.quote(), case.curve[-1][0].quote()],
        cause=RULE.why
        + f" Here the loss rose from {found.best:.3g} to {found.peak:.3g}"
        + (f" while the norm grew {found.norm_rose:.3g} times." if found.norm_rose > 1.5 else "."),
    )


RULE = cause(
    "TR636",
    "divergence-lr-too-high",
    "divergence-lr",
    branch="training",
    yields=(
        "divergence-bad-init",
        "dpo-lr-too-high",
        "resume-lr-scheduler-reset",
        "resume-loss-spike-optimizer-state",
        "resume-loss-spike-data-order",
    ),
    title="The loss left its best level and does not come back: divergence",
    judge=judge,
    why="It fell, then rose while the gradient norm climbed: steps are too long for this point of the run.",
    next_check="papertrain watch LOG   # where it left; then 100 steps from the checkpoint before at half the learning rate",
    fixes=(
        fix(
            "the learning rate that the method derives",
            sets={"learning_rate": "=derived"},
            effect="experiment",
            proof="the loss falls for 100 steps",
        ),
        fix(
            "half the learning rate, from the checkpoint before the rise",
            sets={"learning_rate": "/2"},
            effect="experiment",
            proof="the loss stays below its level at the rise for 100 steps",
        ),
        fix("more warm-up", sets={"warmup_ratio": 0.1}, effect="experiment"),
        fix("clip the gradient norm at 1", sets={"max_grad_norm": 1.0}, effect="experiment"),
    ),
    fires="\n".join(
        f"{{'step': {i}, 'loss': {(2.5 - 0.05 * i) if i < 25 else 1.25 + 0.22 * (i - 25):.3f}, 'grad_norm': {1.0 if i < 24 else 1.0 + 1.5 * (i - 23):.2f}, 'learning_rate': 0.001}}"
        for i in range(1, 60)
    ),
    quiet="\n".join(
        f"{{'step': {i}, 'loss': {2.5 - 0.03 * i:.3f}, 'grad_norm': 1.0, 'learning_rate': 0.0001}}"
        for i in range(1, 60)
    ),
)
