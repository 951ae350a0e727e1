"""LLaMA-Factory `eval` stage: `results.log`, an accuracy in percent per subject group (MMLU, C-Eval, CMMLU).

Its `results.json` holds the letters that were answered and no gold: nothing can be scored or paired from it.
"""

from __future__ import annotations

import re

from papertrain.results.records import Issue, Reader, Reading, Score
from papertrain.results.source import Source, as_dict

LINE = re.compile(r"^\s*([A-Z][A-Za-z ]{1,40}): (\d{1,3}\.\d{2})\s*$")


def _letters(source: Source) -> bool:
    subjects = list(source.object.values())
    return bool(subjects) and all(
        isinstance(v, dict) and v and all(k.isdigit() and x in ("A", "B", "C", "D") for k, x in v.items())
        for v in subjects
    )


def sniff(source: Source) -> bool:
    if source.suffix == ".json":
        return _letters(source)
    lines = [line for line in source.text[:5000].splitlines() if line.strip()]
    return (
        source.suffix in (".log", ".txt")
        and 0 < len(lines) <= 12
        and all(LINE.match(line) for line in lines)
        and any("Average" in line for line in lines)
    )


def read(source: Source) -> Reading:
    if source.suffix == ".json":
        n = sum(len(as_dict(v)) for v in source.object.values())
        says = f"{n:,} answered letters without the right ones: nothing to score here; results.log beside it has the accuracies"
        return Reading(
            issues=[Issue(says=says, file=str(source.path), code="no-gold", level="note")],
            format="LLaMA-Factory eval answers",
        )
    scores = [
        Score(metric="accuracy", value=float(m[2]), dataset="" if m[1] == "Average" else m[1], scale="percent", higher_is_better=True, file=str(source.path), sha256=source.sha256, pointer=f"line {i}",
              group=m[1] == "Average")
        for i, line in enumerate(source.text.splitlines(), 1)
        if (m := LINE.match(line))
    ]  # fmt: skip
    return Reading(scores=scores, format="LLaMA-Factory eval log")


READER = Reader(id="llamafactory-eval", title="LLaMA-Factory results.log", sniff=sniff, read=read, order=14)
