"""The cut-off length takes the end of many answers away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from papertrain.configs.checking.accounting import data_files, packs
from papertrain.configs.checking.document import ConfigDocument, Wrong, set_to
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source

# The published method keeps 99 % of the examples whole.
TOLERATED = 0.01


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if packs(document):
        return
    files: list[tuple[str, Path | None]] = (
        [(document.file, document.path)]
        if document.kind == "data"
        else data_files(document, world)
        if document.trains
        else []
    )
    for name, path in files:
        found = world.profile(path, None if document.kind == "data" else document) if path else None
        if (
            found is None
            or not found.examples
            or found.cutoff is None
            or found.truncated_examples <= TOLERATED * found.examples
        ):
            continue
        key = document.name("cutoff_len")
        longer = found.lengths.p99 if found.lengths else None
        rounded = -(-longer // 64) * 64 if longer else None
        held = key in document.settings
        yield Wrong(
            says=say("{n:,} of {all:,} examples of {name} are longer than {cutoff:,} tokens ({share:.1f} %): what lies beyond is cut off", n=found.truncated_examples,
                     all=found.examples, name=name, cutoff=found.cutoff, share=100 * found.truncated_examples / found.examples) + ("" if found.exact else say(" (estimated)")),
            at=(key,) if held else (), instead=document.shown("cutoff_len", rounded) if rounded and document.kind != "data" else say("a longer sequence, or shorter texts"),
            edits=(set_to(key, value=rounded),) if rounded and document.kind != "data" else (),
        )  # fmt: skip


RULE = Rule(
    id="TR321",
    name="answers-cut-off",
    level="warning",
    status="stable",
    check=check,
    applies="data llamafactory axolotl trl",
    effect="experiment",
    what="More than one example in a hundred is longer than the sequence.",
    why="A cut answer has no end token, so the model learns not to stop; a cut question is answered blindly.",
    known_problems="Lengths are an estimate where the model's tokenizer is not at hand.",
    source=Source(
        kind="code",
        ref="llamafactory 0.9.5 data/processor/processor_utils.py, infer_seqlen: the longer of question and answer is cut, or both in proportion",
    ),
    fires="== with none=0\n== d.jsonl\n" + '{"instruction": "a", "input": "", "output": "' + "word " * 4000 + '"}\n',
    quiet='== d.jsonl\n{"instruction": "a", "input": "", "output": "x"}\n',
)
