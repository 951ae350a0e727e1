"""One of a thing is one thing: counts and their nouns agree, in every English sentence, in one place.

Sentences are written for many (`{n} steps`), so that they can be found and translated; `agreed` mends those that say 1.
"""

from __future__ import annotations

import re
from functools import lru_cache

NOUNS = [
    "answers",
    "attempts",
    "attentions",
    "bytes",
    "cards",
    "cases",
    "cells",
    "changes",
    "characters",
    "checkpoints",
    "claims",
    "classes",
    "clusters",
    "collectives",
    "columns",
    "commands",
    "comparisons",
    "completions",
    "configs",
    "cores",
    "cycles",
    "days",
    "decisions",
    "devices",
    "differences",
    "digits",
    "documents",
    "elements",
    "entries",
    "epochs",
    "errors",
    "evaluations",
    "examples",
    "faults",
    "figures",
    "files",
    "findings",
    "fixes",
    "folds",
    "folders",
    "generations",
    "groups",
    "heads",
    "hours",
    "images",
    "issues",
    "items",
    "iterations",
    "jobs",
    "judgments",
    "keys",
    "labels",
    "launchers",
    "layers",
    "letters",
    "lines",
    "logs",
    "looks",
    "losses",
    "machines",
    "macros",
    "megabytes",
    "messages",
    "methods",
    "metrics",
    "minutes",
    "models",
    "months",
    "nodes",
    "notes",
    "numbers",
    "options",
    "overlaps",
    "packages",
    "pages",
    "pairs",
    "parameters",
    "parts",
    "patches",
    "places",
    "plans",
    "points",
    "positions",
    "predictions",
    "problems",
    "processes",
    "processors",
    "questions",
    "ranks",
    "readings",
    "recipes",
    "records",
    "restarts",
    "results",
    "reviews",
    "rows",
    "rules",
    "runs",
    "samples",
    "scores",
    "seconds",
    "sections",
    "seeds",
    "sequences",
    "sets",
    "settings",
    "shards",
    "shots",
    "signals",
    "sources",
    "starts",
    "steps",
    "systems",
    "tables",
    "tasks",
    "tests",
    "texts",
    "things",
    "times",
    "tokens",
    "trials",
    "validations",
    "values",
    "variables",
    "versions",
    "warnings",
    "weeks",
    "wins",
    "words",
    "workers",
    "years",
]
VERBS = {"are": "is", "have": "has", "were": "was", "do": "does", "contradict": "contradicts", "rest": "rests", "agree": "agrees", "differ": "differs",
         "leave": "leaves", "make": "makes", "need": "needs", "repeat": "repeats", "fit": "fits", "stand": "stands", "wait": "waits"}  # fmt: skip


def singular(noun: str) -> str:
    """`batches` → `batch`, `entries` → `entry`, `losses` → `loss`."""
    if noun.endswith("ies"):
        return noun[:-3] + "y"
    return noun[:-2] if noun.endswith(("sses", "ches", "shes", "xes")) else noun[:-1]


ONE = {noun: singular(noun) for noun in NOUNS}
MANY = {one: noun for noun, one in ONE.items()}
_BEFORE = r"(?<![\w.,:/=×+−-])(?<!\bof )(?<!\bto )(?<!× )"
_BETWEEN = r"((?:(?!and |or |of |to |in |at |a |the )[a-z-]+ ){0,2}?)"
_ONES = re.compile(
    rf"{_BEFORE}1 {_BETWEEN}({'|'.join(sorted(ONE, key=len, reverse=True))})\b(?: ({'|'.join(VERBS)})\b)?"
)
_MANIES = re.compile(rf"{_BEFORE}1 {_BETWEEN}({'|'.join(sorted(MANY, key=len, reverse=True))})\b")


def agreed(text: str) -> str:
    """`1 epochs` → `1 epoch`, `1 things are missing` → `1 thing is missing`; all else as it is."""
    return _agreed(text) if "1 " in text else text


@lru_cache(maxsize=4096)
def _agreed(text: str) -> str:
    return _ONES.sub(lambda m: f"1 {m[1]}{ONE[m[2]]}" + (f" {VERBS[m[3]]}" if m[3] else ""), text)


def for_many(text: str) -> str:
    """The sentence as it was written, before it was made to agree: what its translation is found by."""
    return _MANIES.sub(lambda m: f"1 {m[1]}{MANY[m[2]]}", text) if "1 " in text else text
