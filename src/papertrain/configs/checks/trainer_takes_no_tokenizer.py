"""`tokenizer=` of a trainer in Python, which is `processing_class` now."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, swap
from papertrain.configs.checking.world import World
from papertrain.configs.checks._common import older, under_unsloth
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source

TRL = ("SFTTrainer", "DPOTrainer", "GRPOTrainer", "KTOTrainer", "RewardTrainer", "RLOOTrainer")


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if document.format != "python" or under_unsloth(document) or older(world.version("trl"), "0.16.0"):
        return
    try:
        tree = ast.parse(document.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    for node in ast.walk(tree):
        called = node.func if isinstance(node, ast.Call) else None
        name = called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""
        if not isinstance(node, ast.Call) or name not in TRL or name in own:
            continue
        for keyword in node.keywords:
            if keyword.arg == "tokenizer":
                line = document.text.splitlines()[keyword.lineno - 1]
                yield Wrong(
                    says=say("`{name}` has no argument `tokenizer`: it stops with a TypeError; write `processing_class`", name=name),
                    line=keyword.lineno, instead="processing_class=…",
                    edits=(swap(keyword.lineno, "tokenizer=", "processing_class="),) if line.count("tokenizer=") == 1 else (),
                )  # fmt: skip


RULE = Rule(
    id="TR359",
    name="trainer-takes-no-tokenizer",
    level="error",
    status="stable",
    check=check,
    applies="trl",
    what="A trainer of TRL is given `tokenizer`.",
    why="The argument became `processing_class`: the script stops where the trainer is built, after the model is loaded.",
    source=Source(
        kind="assumed", ref="trl changes: tokenizer deprecated in favour of processing_class in 0.12, removed by 0.16"
    ),
    fires="== t.py\nfrom trl import SFTConfig, SFTTrainer\nargs = SFTConfig(output_dir='o')\ntrainer = SFTTrainer('m', args=args, tokenizer=None)\n",
    quiet="== t.py\nfrom trl import SFTConfig, SFTTrainer\nargs = SFTConfig(output_dir='o')\ntrainer = SFTTrainer('m', args=args, processing_class=None)\n",
)
