"""The optimizer steps over parameters that the model does not use."""

import math
import statistics

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix


def judge(case: Case) -> Match | None:
    values = [v for _, v in case.curve]
    norms = [v for v in case.values("grad_norm") if math.isfinite(v)]
    if case.rl or len(values) < 20 or not norms or min(norms) <= 1e-3:
        return None
    first, last = statistics.fmean(values[: len(values) // 4]), statistics.fmean(values[-(len(values) // 4) :])
    noise = statistics.pstdev(values)
    if first <= 0 or abs(first - last) > 0.01 * first or noise > 0.03 * first:
        return None
    lrs = case.values("learning_rate")
    if lrs and max(lrs) < 1e-6:
        return None
    if not case.find("FSDP", "fsdp"):
        return None
    return RULE.found(0.75, [case.curve[0][0].quote(), case.curve[-1][0].quote()])


RULE = cause(
    "TR606",
    "loss-flat-optimizer-not-linked",
    "not-learning",
    title="The optimizer steps over parameters that the model does not use",
    branch="training",
    judge=judge,
    sig=("FSDP", "fsdp"),
    why="The loss does not move although gradients are healthy: under FSDP the optimizer was built before the parameters were flattened.",
    next_check="compare a weight before and after optimizer.step()",
    fixes=(
        fix(
            "build the optimizer after prepare, on the original parameters",
            "model = accelerator.prepare(model); optimizer = accelerator.prepare(AdamW(model.parameters()))",
            sets={"fsdp_use_orig_params": True},
            proof="a weight changes across one step",
        ),
    ),
    fires="FSDP enabled\n"
    + "\n".join(
        f"{{'loss': {2.3 + 0.001 * (i % 3):.4f}, 'grad_norm': 1.2, 'learning_rate': 2e-05, 'epoch': {i / 100}}}"
        for i in range(40)
    ),
    quiet="\n".join(
        f"{{'loss': {2.3 - 0.02 * i:.4f}, 'grad_norm': 1.2, 'learning_rate': 2e-05, 'epoch': {i / 100}}}"
        for i in range(40)
    ),
)
