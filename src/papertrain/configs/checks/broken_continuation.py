"""A line that is meant to go on and does not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, swap
from papertrain.configs.checking.shell import blank_heredocs, split
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source

# `--model | -m)`: a pattern of a case, where a script reads its own options.
_CASE = re.compile(r"^[ \t]*-[\w-]*(?:=\*)?(?:[ \t]*\|[ \t]*-[\w-]*(?:=\*)?)*[ \t]*\)", re.M)
_ARRAY = re.compile(r"(?<!\w)\w{1,80}\+?=\([^)]{0,20000}\)", re.S)


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if document.format != "shell" or document.part:
        return
    lines = blank_heredocs(document.text).splitlines()
    quoted = _inside_quotes(document.text)
    for i, line in enumerate(lines, 1):
        bare = line.rstrip("\r")
        if re.search(r"\\[ \t]+$", bare) and not bare.lstrip().startswith("#"):
            yield Wrong(
                says=say("blanks follow the backslash: inside quotes it then stands for itself, and becomes an argument of its own") if i in quoted
                else say("blanks follow the backslash: the command ends here, and the next line is a command of its own"), line=i, instead=say("no blank after the backslash"),
                edits=(swap(i, bare, bare.rstrip()),),
            )  # fmt: skip
    for line_number in _options_alone(document.text):
        before = lines[line_number - 2]
        if before.lstrip().startswith("#"):
            if line_number > 2 and lines[line_number - 3].rstrip().endswith("\\"):
                yield Wrong(
                    says=say("a comment stands inside the command and ends it: the options below are lost"),
                    line=line_number - 1,
                    instead=say("move the comment above the command"),
                )
        elif before.strip() and not re.search(r"\\\s*$", before):
            yield Wrong(
                says=say("the next line begins with an option, and this one does not go on: a backslash is missing"), line=line_number - 1, instead=say("a backslash at the end of the line"),
                edits=(swap(line_number - 1, before, before.rstrip() + " \\"),),
            )  # fmt: skip


def _inside_quotes(text: str) -> set[int]:
    """Lines that end inside a word: only quotes hold a word together over a line break."""
    ends = [(w.line, text.count("\n", w.start, w.end)) for words in split(text) for w in words]
    return {line for first, breaks in ends for line in range(first, first + breaks)}


def _options_alone(text: str) -> list[int]:
    """Lines on which a command begins with an option. Items of an array, and lines inside quotes, are none."""
    blanked = _ARRAY.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    blanked = _CASE.sub(lambda m: " " * len(m[0]), blanked)
    return [words[0].line for words in split(blanked) if re.match(r"--[A-Za-z]", words[0].text) and words[0].line > 1]


RULE = Rule(
    id="TR409",
    name="broken-continuation",
    level="error",
    status="stable",
    check=check,
    effect="experiment",
    applies="command slurm",
    what="A command over several lines that is cut by a blank after a backslash, or by a missing one.",
    why="The options below the cut are lost: the run starts with defaults.",
    source=Source(kind="rule", ref="POSIX shell, 2.2.1: only a backslash right before the newline continues a line"),
    fires="== run.sh\ntorchrun --nproc_per_node 2 train.py \\ \n    --learning_rate 1e-4\n",
    quiet="== run.sh\ntorchrun --nproc_per_node 2 train.py \\\n    --learning_rate 1e-4\n",
)
