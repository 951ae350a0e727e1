"""Loss and norm are multiplied by the accumulation steps."""

import math
import statistics

from papertrain.diagnose.case import Case
from papertrain.diagnose.metrics import Row
from papertrain.diagnose.rule import Match, cause, fix


def judge(case: Case) -> Match | None:
    steps = case.facts.number("gradient_accumulation_steps")
    version = case.facts.version("transformers")
    values = [v for _, v in case.curve[:5]]
    if not steps or steps < 2 or not values or case.rl:
        return None
    first = statistics.median(values)
    bad_version = version is not None and (4, 46) <= version[:2] <= (4, 47)
    beside = compared(case, steps)
    if beside is not None:
        row, evaluated, ratio = beside
        return RULE.found(
            0.93 if bad_version else 0.86,
            [row.quote(), evaluated.quote(), *case.facts.where("version:transformers", "gradient_accumulation_steps")],
            cause=RULE.why + f" Here the training loss is {ratio:.3g} times the evaluation's at the same place, and {steps:.0f} steps are accumulated.",
        )  # fmt: skip
    # A causal model that was trained before starts between about 0.5 and 4 nats per token.
    if not 0.4 <= first / steps <= 4.5 or first < 6:
        return None
    return RULE.found(
        0.88 if bad_version else 0.5,
        [case.curve[0][0].quote(), *case.facts.where("version:transformers", "gradient_accumulation_steps")],
        cause=RULE.why + f" Here {first:.3g} / {steps:.0f} = {first / steps:.3g}.",
    )


def compared(case: Case, steps: float) -> tuple[Row, Row, float] | None:
    """A training and an evaluation row beside each other whose ratio is the number of accumulated steps, at every
    evaluation: no model is so much worse on what it learns from."""
    found: list[tuple[Row, Row, float]] = []
    before: list[tuple[Row, float]] = []
    for r in case.rows:
        loss, evaluated = r.get("loss"), r.get("eval_loss")
        if loss is not None and math.isfinite(loss) and loss > 0:
            before.append((r, loss))
        elif evaluated and math.isfinite(evaluated) and evaluated > 0 and before:
            ratio = statistics.median(v for _, v in before[-5:]) / evaluated
            found.append((before[-1][0], r, ratio))
    if len(found) < 2 or steps < 2:
        return None
    near = [f for f in found if abs(f[2] / steps - 1) < max(0.15, 0.3 / steps)]
    return near[-1] if len(near) >= 0.7 * len(found) else None


RULE = cause(
    "TR639",
    "loss-scaled-by-grad-accum",
    "divergence-lr",
    branch="training",
    title="Loss and norm are multiplied by the accumulation steps",
    judge=judge,
    why="The sum over the accumulated batches is not divided: loss functions that ignore num_items_in_batch.",
    next_check="compare the first loss with ln(vocabulary) or with a run at accumulation 1: the ratio is the number of steps",
    fixes=(
        fix(
            "a transformers in which it is fixed",
            "pip install -U transformers",
            proof="the first loss equals that of accumulation 1",
        ),
        fix(
            "a custom loss that uses num_items_in_batch",
            "def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None): …",
        ),
    ),
    fires="transformers version: 4.46.1\ngradient_accumulation_steps: 8\nmodel: Qwen/Qwen2.5-7B\n"
    + "\n".join(
        f"{{'loss': {v:.3f}, 'grad_norm': 41.0, 'learning_rate': 1e-05, 'epoch': {i / 100}}}"
        for i, v in enumerate([17.2, 16.9, 16.4, 16.0, 15.8, 15.6])
    ),
    quiet="transformers version: 4.57.1\ngradient_accumulation_steps: 8\n{'loss': 2.1, 'grad_norm': 4.0, 'learning_rate': 1e-05, 'epoch': 0.1}",
)
