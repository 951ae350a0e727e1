"""DeepSpeed's three batch sizes that do not multiply."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, set_to
from papertrain.configs.checking.world import World
from papertrain.configs.checks._common import whole
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    total = whole(document.settings.get("train_batch_size"))
    micro = whole(document.settings.get("train_micro_batch_size_per_gpu"))
    steps = whole(document.settings.get("gradient_accumulation_steps"))
    if total is None or micro is None or min(total, micro, 1 if steps is None else steps) <= 0:
        return
    unit = micro * (steps or 1)
    cards = world.world_size
    if cards is None and total % unit == 0:
        return
    if cards is not None and (total == unit * cards if steps is not None else total % (micro * cards) == 0):
        return
    seen = f"{micro} × {steps}" if steps is not None else f"{micro}"
    by = f" × {cards} cards = {unit * cards}" if cards is not None else say(" × any number of cards")
    right = unit * (cards or max(round(total / unit), 1))
    yield Wrong(
        says=say(
            "`train_batch_size` is {total}, which is not train_micro_batch_size_per_gpu × gradient_accumulation_steps = {seen}{by}",
            total=total,
            seen=seen,
            by=by,
        ),
        at=("train_batch_size",),
        instead=f'"train_batch_size": {right}',
        edits=(set_to("train_batch_size", value=right),),
        effect="experiment",
    )


RULE = Rule(
    id="TR301",
    name="batch-sizes-disagree",
    level="error",
    status="stable",
    check=check,
    applies="deepspeed",
    effect="experiment",
    what="`train_batch_size` is not the product of the micro batch, the accumulation steps and the number of cards.",
    why="DeepSpeed stops before the first step.",
    source=Source(
        kind="measured",
        ref="deepspeed 0.19.8: AssertionError `train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size 8 != 2 * 3 * 1`",
    ),
    fires='== ds.json\n{"train_batch_size": 8, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 3, "zero_optimization": {"stage": 2}}\n',
    quiet='== ds.json\n{"train_batch_size": 24, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 3, "zero_optimization": {"stage": 2}}\n',
)
