"""ZeRO with overlap_comm in DeepSpeed versions that corrupt gradients."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, set_to
from papertrain.configs.checking.world import World
from papertrain.configs.checks._common import stage
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source
from papertrain.facts.frameworks.load import release

# Users report NaN gradients with stage 2 and overlap_comm up to this release.
LAST_REPORTED = "0.16.4"


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if document.at("zero_optimization", "overlap_comm") is not True or stage(document) not in (1, 2):
        return
    version = world.version("deepspeed")
    if version is not None and release(version) > release(LAST_REPORTED):
        return
    reported = (
        say("DeepSpeed {version} is among the versions", version=version)
        if version
        else say("versions up to {last} are reported", last=LAST_REPORTED)
    )
    yield Wrong(
        says=say("`overlap_comm` with stage {n}: {reported} to reuse a buffer too early, gradients become NaN; `false` is as good on one node", n=stage(document), reported=reported),
        at=("zero_optimization", "overlap_comm"), instead='"overlap_comm": false', edits=(set_to("zero_optimization", "overlap_comm", value=False),),
        level="warning" if version else "note",
    )  # fmt: skip


RULE = Rule(
    id="TR316",
    name="overlap-comm-corrupts",
    level="warning",
    status="stable",
    check=check,
    applies="deepspeed",
    what="Stage 1 or 2 with `overlap_comm: true`, in a DeepSpeed version for which NaN gradients are reported.",
    why="The reduction of a bucket may still run while the next gradients are written to it; the loss becomes NaN after some steps for no visible reason.",
    known_problems="Depends on model, cards and timing; many runs are fine. A note where the version is unknown.",
    source=Source(
        kind="assumed",
        ref="reports of users in DeepSpeed issues 5242, 5347 and 7188, as collected in a survey; not reproduced here",
    ),
    fires='== with deepspeed=0.14.2\n== ds.json\n{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2, "overlap_comm": true}}\n',
    quiet='== with deepspeed=0.19.8\n== ds.json\n{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2, "overlap_comm": true}}\n',
)
