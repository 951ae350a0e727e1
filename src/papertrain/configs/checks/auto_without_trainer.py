"""`"auto"` in a file that plain DeepSpeed reads."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source

BATCH = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    sure = _plain(document, world)
    if world.trainers_of(document) or not (sure or _mixed(document)):
        return
    for path in _autos(document):
        crash = path[0] in BATCH
        yield Wrong(
            says=say("`{key}` is \"auto\", which only the HF Trainer fills: plain DeepSpeed {what}", key=".".join(path), what=say("stops with a TypeError") if crash else say("takes its default in silence")),
            at=path, instead=say("a number") if crash else say("a value of your own"), level="error" if crash and sure else "warning",
        )  # fmt: skip


def _autos(document: ConfigDocument) -> Iterator[tuple[str, ...]]:
    for key, value in document.settings.items():
        if value == "auto":
            yield (key,)
        elif isinstance(value, dict):
            yield from ((key, inner) for inner, v in value.items() if v == "auto")


def _plain(document: ConfigDocument, world: World) -> bool:
    """Whether a script or command of this check hands the file to DeepSpeed itself."""
    own = document.file.replace("\\", "/").rpartition("/")[2]
    for other in world.documents:
        if other.format == "python" and "deepspeed.initialize(" in other.text and own in other.text:
            return True
        if any(
            a.name in ("deepspeed_config", "deepspeed-config") and str(a.value).rpartition("/")[2] == own
            for c in other.commands
            for a in c.arguments
        ):
            return True
    return False


def _mixed(document: ConfigDocument) -> bool:
    """A total in numbers and its parts as "auto": the Trainer would fill the parts and refuse the product."""
    return (
        isinstance(document.settings.get("train_batch_size"), int)
        and document.settings.get("train_micro_batch_size_per_gpu") == "auto"
    )


RULE = Rule(
    id="TR214",
    name="auto-without-trainer",
    level="error",
    status="stable",
    check=check,
    applies="deepspeed",
    effect="experiment",
    what='`"auto"` in a DeepSpeed file that the HF Trainer does not fill.',
    why='In a batch key it is a TypeError; in a section the default is used without a word, and bf16 "auto" means off.',
    known_problems="Which program reads the file is told only by the other files of the check.",
    source=Source(
        kind="measured",
        ref="deepspeed 0.19.8 DeepSpeedConfig: `'>' not supported between instances of 'str' and 'int'`; sections drop \"auto\"",
    ),
    fires='== ds.json\n{"train_batch_size": 32, "train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}\n',
    quiet='== ds.json\n{"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}\n',
)
