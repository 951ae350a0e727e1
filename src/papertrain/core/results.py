"""What was measured: scores, their evidence, and the table made of them."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from papertrain.core.spelled import spelled
from papertrain.core.values import Record

Status = Literal["verified", "reported", "typed", "missing"]
"""verified: recomputed here from raw outputs; reported: read from a results file; typed: by hand; missing: no value."""


class Evidence(Record, frozen=True, kw_only=True):
    """One line of `evidence.jsonl`: where a measured number was read."""

    id: str
    claim: str
    value: float | str | None
    file: str
    sha256: str
    pointer: str = ""
    unit: str = "1"
    status: Status = "reported"
    made_by: str = ""
    read_at: str = ""
    commit: str = ""
    seed: int | None = None
    reason: str = ""
    framework: str = ""
    device: str = ""

    def __post_init__(self) -> None:
        for name in ("claim", "file"):
            if (text := spelled(getattr(self, name))) != getattr(self, name):
                msgspec.structs.force_setattr(self, name, text)


class Interval(Record, frozen=True, kw_only=True):
    low: float
    high: float
    level: float = 0.95
    method: str = ""


class Metric(Record, frozen=True, kw_only=True):
    """One score of one system on one data set, with how it was computed."""

    dataset: str
    metric: str
    value: float | None
    n: int
    ci: Interval | None = None
    signature: str = ""
    evidence: str = ""
    definition: str = ""
    higher_is_better: bool = True
    reason: str = ""


class Cell(Record, frozen=True, kw_only=True):
    """One cell of the table. A missing one has value None, status `missing` and a reason; it is never filled in."""

    value: float | None
    std: float | None = None
    n_seeds: int = 0
    rank: int | None = None
    evidence: str = ""
    status: Status = "reported"
    reason: str | None = None
    seeds: dict[str, float] = {}
    ci: Interval | None = None


SHOWN_AS_FRACTION = {"auc", "ap", "brier", "ece", "log_loss", "mrr", "mcc", "kappa"}


class Column(Record, frozen=True, kw_only=True):
    dataset: str
    metric: str
    higher_is_better: bool = True
    unit: str = "1"
    decimals: int = 1

    @property
    def factor(self) -> int:
        """Fractions of bounded scores are shown times 100. Values themselves are never rescaled."""
        return 100 if self.unit == "fraction" and self.metric.lower() not in SHOWN_AS_FRACTION else 1

    @property
    def points(self) -> bool:
        """Whether the shown number is a percentage, so that a difference is in points."""
        return self.factor == 100 or self.unit == "percent"


class ResultTable(Record, frozen=True, kw_only=True):
    """methods × columns. `cells[row][column]`."""

    rows: tuple[str, ...]
    columns: tuple[Column, ...]
    cells: tuple[tuple[Cell, ...], ...]
    ours: str | None = None
    baseline: str | None = None


class Test(Record, frozen=True, kw_only=True):
    """A comparison of two systems in one column; `refused` says why none could be made."""

    column: int
    a: str
    b: str
    test: str = ""
    unit: str = ""
    n: int = 0
    difference: float | None = None
    ci: Interval | None = None
    p: float | None = None
    p_adjusted: float | None = None
    adjustment: str = ""
    significant: bool | None = None
    effect_size: float | None = None
    assumptions: tuple[str, ...] = ()
    signature: str = ""
    refused: str = ""
    details: dict[str, Any] = {}
