"""`no` without quotes, where a word is wanted and YAML 1.1 reads false."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Edit, Wrong
from papertrain.configs.checking.world import World
from papertrain.configs.checks._keys import typed
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source

_WORDS = {"no": False, "off": False, "yes": True, "on": True, "n": None, "y": None}


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if document.format != "yaml":
        return
    for path, value, key in typed(document, world):
        written = document.raw.get(path)
        if written is None or not isinstance(value, str) or _WORDS.get(written.lower()) is None:
            continue
        wants_word = "bool" not in key.types and "str" in key.types
        # accelerate turns a false `mixed_precision` back into the word; nobody else does.
        if not wants_word or (document.kind == "accelerate" and path == ("mixed_precision",)):
            continue
        read_as = "true" if _WORDS[written.lower()] else "false"
        takes = written.lower() in key.choices
        yield Wrong(
            says=say(
                '`{key}: {written}` without quotes is {read_as} to YAML 1.1 readers: write "{written}"',
                key=path[-1],
                written=written,
                read_as=read_as,
            ),
            at=path,
            instead=f'{path[-1]}: "{written}"',
            edits=(Edit(op="swap", line=document.line(*path), old=f": {written}", new=f': "{written}"'),),
            level="error" if takes and document.kind in ("trl", "llamafactory") else "warning",
        )


RULE = Rule(
    id="TR209",
    name="no-is-false",
    level="error",
    status="stable",
    check=check,
    applies="llamafactory trl axolotl accelerate",
    what="`no`, `off`, `yes` or `on` without quotes, for a key that takes a word.",
    why="PyYAML and OmegaConf read YAML 1.1, where these are truth values: `eval_strategy: no` becomes false, which is no strategy.",
    source=Source(
        kind="code",
        ref="transformers 5.24.0 training_args.py: IntervalStrategy(self.eval_strategy) raises for False; YAML 1.1 bool type",
    ),
    fires="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\neval_strategy: no\n",
    quiet='== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\neval_strategy: "no"\n',
)
