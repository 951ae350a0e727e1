"""A prompt format that Axolotl no longer has."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.world import World
from papertrain.core.errors import nearest
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    for key in ("datasets", "test_datasets"):
        listed = document.settings.get(key)
        for i, row in enumerate(listed if isinstance(listed, list) else []):
            kind = row.get("type") if isinstance(row, dict) else None
            if isinstance(kind, str) and (near := _misspelt(kind)):
                yield Wrong(
                    says=say("`type: {kind}` is no prompt format of Axolotl: the run stops when the data are read; write `{near}`", kind=kind, near=near),
                    line=document.line(key, i, "type"), instead=f"type: {near}",
                )  # fmt: skip
            if isinstance(kind, str) and kind.partition(".")[0].partition(":")[0] == "sharegpt":
                yield Wrong(
                    says=say("`type: {kind}` is gone in Axolotl: the run stops when the data are read", kind=kind),
                    line=document.line(key, i, "type"),
                    instead=say(
                        "type: chat_template, with field_messages: conversations and message_property_mappings (role: from, content: value)"
                    ),
                )


TYPES = (
    "alpaca", "explainchoice", "concisechoice", "summarizetldr", "jeopardy", "oasst", "gpteacher", "reflection", "completion", "chat_template", "input_output", "alpaca_chat",
    "alpaca_instruct", "alpaca_w_system", "context_qa", "creative_acr", "llama2_chat", "messages", "metharme", "orcamini", "pretrain", "pygmalion", "stepwise_supervised",
    "user_defined", "chatml", "llama3", "zephyr", "passthrough", "sharegpt", "bradley_terry", "ebft",
)  # fmt: skip


def _misspelt(kind: str) -> str | None:
    """The format that was meant, where hardly a letter differs; any other name may be a module of the user's."""
    base = kind.partition(":")[0]
    return None if "." in base or base in TYPES else nearest(base, TYPES, cutoff=0.85)


RULE = Rule(
    id="TR358",
    name="axolotl-dataset-type",
    level="error",
    status="stable",
    check=check,
    applies="axolotl",
    effect="experiment",
    what="`type: sharegpt` of older Axolotl releases, or a format with a letter wrong.",
    why="The format was replaced by `chat_template`; which template is then used is a decision about the experiment.",
    source=Source(
        kind="assumed",
        ref="axolotl changes: `type: sharegpt` deprecated in favour of `type: chat_template`, then removed",
    ),
    fires="== a.yaml\nbase_model: a/b\ndatasets:\n  - path: c/d\n    type: sharegpt\nmicro_batch_size: 1\nadapter: lora\n",
    quiet="== a.yaml\nbase_model: a/b\ndatasets:\n  - path: c/d\n    type: chat_template\nmicro_batch_size: 1\nadapter: lora\n",
)
