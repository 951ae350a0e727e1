"""Comments and NaN in JSON."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    for problem in document.oddities:
        if problem.code in ("json-comment", "json-nan"):
            comment = problem.code == "json-comment"
            yield Wrong(says=problem.says, line=problem.line, instead=say("remove the comment") if comment else say("a number"),
                        level="error" if comment and document.kind != "deepspeed" else "warning")  # fmt: skip


RULE = Rule(
    id="TR216",
    name="json-oddity",
    level="warning",
    status="stable",
    check=check,
    applies="*",
    what="A comment, NaN or Infinity in a JSON file.",
    why="DeepSpeed reads Hjson and lets comments pass; the HF Trainer reads the same file as JSON and stops.",
    source=Source(
        kind="code",
        ref="RFC 8259: no comments, no NaN; accelerate 1.15.0 utils/deepspeed.py reads with json.load; that DeepSpeed reads Hjson is from memory",
    ),
    fires='== ds.json\n{\n  // two cards\n  "train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 2}\n}\n',
    quiet='== ds.json\n{\n  "train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 2}\n}\n',
)
