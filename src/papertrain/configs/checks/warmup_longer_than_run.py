"""A warm-up that the run never leaves."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.accounting import account
from papertrain.configs.checking.document import ConfigDocument, Wrong, set_to
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if document.kind == "deepspeed":
        yield from _deepspeed(document)
        return
    warmup = document.number("warmup_steps")
    if warmup is None or warmup < 1 or not document.trains:
        return
    steps = document.integer("max_steps")
    found = account(document, world) if steps is None or steps <= 0 else None
    total = steps if steps and steps > 0 else found.total_steps if found else None
    if total is None or warmup < total:
        return
    right = max(round(0.03 * total), 1)
    yield Wrong(
        says=say("the warm-up of {warmup:,.0f} steps is not over when the run ends after {total:,}: the learning rate never reaches its value", warmup=warmup, total=total),
        at=("warmup_steps",), instead=document.shown("warmup_steps", right), edits=(set_to("warmup_steps", value=right),),
    )  # fmt: skip


def _deepspeed(document: ConfigDocument) -> Iterator[Wrong]:
    warmup, total = (document.at("scheduler", "params", key) for key in ("warmup_num_steps", "total_num_steps"))
    if isinstance(warmup, int) and isinstance(total, int) and warmup >= total > 0:
        yield Wrong(says=say("`warmup_num_steps` {warmup:,} is not below `total_num_steps` {total:,}", warmup=warmup, total=total),
                    at=("scheduler", "params", "warmup_num_steps"), instead=f'"warmup_num_steps": {max(round(0.03 * total), 1)}')  # fmt: skip


RULE = Rule(
    id="TR311",
    name="warmup-longer-than-run",
    level="warning",
    status="stable",
    check=check,
    applies="llamafactory trl axolotl trainer deepspeed",
    effect="experiment",
    what="The warm-up has at least as many steps as the run.",
    why="The run ends while the learning rate still rises; small data sets with a copied `warmup_steps` do this.",
    source=Source(
        kind="code",
        ref="transformers optimization.py: the schedule's factor is step / warmup_steps until the warm-up ends",
    ),
    fires="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nmax_steps: 50\nwarmup_steps: 100\n",
    quiet="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nmax_steps: 500\nwarmup_steps: 15\n",
)
