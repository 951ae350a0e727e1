"""The optimizer steps over parameters that the model does not use."""

import math
import statistics

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix


def repeated(case: Case) -> int:
    """After how many rows the losses begin again, digit for digit, a whole epoch later; 0 where they do not.

    The same batches in the same order give the same losses only to the same weights.
    """
    values = [v for _, v in case.curve]
    once = set(values[:3])
    for period in range(4, len(values) // 2 + 1):
        once.add(values[period - 1])
        if len(once) < 3 or len(once) < 0.6 * period or values[period] != values[0]:
            continue
        if any(a != b for a, b in zip(values, values[period:])):
            continue
        first, again = case.curve[0][0], case.curve[period][0]
        before, after = first.get("epoch"), again.get("epoch")
        if (
            before is None
            or after is None
            or after - before < 0.95
            or abs(after - before - round(after - before)) > 0.05
        ):
            return 0
        return period
    return 0


def judge(case: Case) -> Match | None:
    if not case.rl and (period := repeated(case)):
        rows = [r for r, _ in case.curve]
        return RULE.found(
            0.86,
            [rows[0].quote(), rows[period].quote()],
            title="No weight changes: every epoch prints the same losses",
            cause=f"The losses of the first {period} rows come again digit for digit in the next epoch: optimizer.step() changes no weight of the model. "
            "Either nothing is trainable, or the optimizer holds other parameters, or no gradient reaches them.",
            next_check="print a trainable weight's sum and its grad before and after optimizer.step()",
            remedies=(
                fix(
                    "let the optimizer hold the trainable parameters of the wrapped model",
                    "model.print_trainable_parameters()   # must not be 0",
                    "optimizer = AdamW(p for p in model.parameters() if p.requires_grad)   # after get_peft_model and prepare",
                    proof="the second epoch prints other losses than the first",
                ),
                fix("with checkpointing and frozen embeddings: let gradients in", "model.enable_input_require_grads()"),
                fix("a learning rate that is not 0 after the warm-up", "grep -i 'learning_rate' LOG"),
            ),
        )
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
