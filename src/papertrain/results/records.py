"""What a reader finds in a file: scores somebody else computed, and items that can be scored here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from papertrain.core.values import Record
from papertrain.results.source import Source

Scale = Literal["fraction", "percent", "number", "mixed", "unknown"]


class Issue(Record, frozen=True, kw_only=True):
    """Something that a reader of the table must know. level: `warning`, or `note` for what was only left out."""

    says: str
    file: str = ""
    code: str = ""
    level: Literal["note", "warning"] = "warning"
    system: str = ""
    column: str = ""


class Score(Record, frozen=True, kw_only=True):
    """A number as the file writes it, never rescaled."""

    metric: str
    value: float | None
    dataset: str = ""
    system: str = ""
    seed: str = ""
    fold: str = ""
    scale: Scale = "unknown"
    stderr: float | None = None
    n: int | None = None
    higher_is_better: bool | None = None
    file: str = ""
    sha256: str = ""
    pointer: str = ""
    settings: dict[str, str] = {}
    group: bool = False
    reason: str = ""
    typed: bool = False


class Items(Record, frozen=True, kw_only=True):
    """Per-example outputs of one system on one test set. Columns that the file does not have are None."""

    ids: list[str]
    dataset: str = ""
    system: str = ""
    seed: str = ""
    numbered: bool = False
    """True where the file has no ids and rows are counted instead."""
    label: list[Any] | None = None
    prediction: list[Any] | None = None
    score: list[float] | None = None
    probabilities: dict[str, list[float]] | None = None
    scored: dict[str, list[float]] = {}
    """Scores that the file gives per item, such as `acc` of lm-evaluation-harness or `correct`."""
    cluster: list[str] | None = None
    gold: list[str] | None = None
    """A fingerprint of the question and answer, to see that two runs were asked the same."""
    relevance: list[Any] | None = None
    columns: dict[str, str] = {}
    file: str = ""
    sha256: str = ""
    settings: dict[str, str] = {}
    directions: dict[str, bool] = {}

    @property
    def n(self) -> int:
        return len(self.ids)


class Reading(Record, frozen=True, kw_only=True):
    scores: list[Score] = []
    items: list[Items] = []
    issues: list[Issue] = []
    format: str = ""
    reader: str = ""


class Reader(Record, frozen=True, kw_only=True):
    """One file format. sniff looks at content, never at the name alone; read gives numbers as written."""

    id: str
    title: str
    sniff: Callable[[Source], bool]
    read: Callable[[Source], Reading]
    repeats: Callable[[list[Path]], set[Path]] | None = None
    """Of the files of a folder those that say again what others say item by item: they would count twice."""
    order: int = 50
    """Readers that need more of the structure are asked first."""
