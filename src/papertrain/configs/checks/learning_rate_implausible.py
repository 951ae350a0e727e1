"""A learning rate that nobody trains with."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, number
from papertrain.configs.checking.world import World
from papertrain.configs.checks._common import adapts
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source

# Published runs lie between 5e-7 (preference training) and 6e-3; SGD, LoRA+ and muon go higher.
LOW, HIGH, HIGH_FULL = 1e-8, 2e-2, 2e-3
BOLD = {"sgd", "adafactor", "muon", "lion_32bit", "schedule_free_sgd", "adalomo", "lomo"}


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    at: tuple[str, ...] = ("optimizer", "params", "lr") if document.kind == "deepspeed" else ("learning_rate",)
    value = number(document.at(*at))
    if (
        value is None
        or value <= 0
        or str(document.get("optim", "")).lower() in BOLD
        or document.settings.get("use_muon") is True
        or document.role in ("chat", "export")
    ):
        return
    if value > HIGH:
        yield Wrong(
            says=say(
                "a learning rate of {value:g} is far above every published run: is the exponent missing?", value=value
            ),
            at=at,
            instead=say("between {low:g} and {high:g}", low=1e-6, high=1e-3),
            effect="experiment",
        )
    elif value < LOW:
        yield Wrong(
            says=say("a learning rate of {value:g} moves nothing in bf16", value=value),
            at=at,
            instead=say("between {low:g} and {high:g}", low=1e-6, high=1e-3),
            effect="experiment",
        )
    elif (
        document.kind == "llamafactory"
        and document.role == "train"
        and not adapts(document)
        and value > HIGH_FULL
        and document.settings.get("stage") != "pt"
    ):
        yield Wrong(
            says=say(
                "{value:g} is a learning rate for adapters; full fine-tuning uses about a tenth of it", value=value
            ),
            at=at,
            instead=document.shown("learning_rate", 1e-5),
            effect="experiment",
        )


RULE = Rule(
    id="TR335",
    name="learning-rate-implausible",
    level="warning",
    status="stable",
    check=check,
    applies="llamafactory trl axolotl trainer deepspeed",
    effect="experiment",
    what="The learning rate is outside everything that published runs use.",
    why="`5` for `5e-5`, or a value meant for adapters in a full fine-tune, diverges within the first steps.",
    source=Source(kind="rule", ref="389 published configurations: 5e-7 to 6e-3 with Adam"),
    fires="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nlearning_rate: 5\n",
    quiet="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nlearning_rate: 5.0e-5\n",
)
