"""Where a run was resumed, and what changed there."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence

from papertrain.core.values import Value
from papertrain.diagnose.case import Case
from papertrain.diagnose.metrics import Row

_FROM = "(?i)^\\W*(?:\\S+ ){0,4}resum(?:e|ing|ed) (?:training )?from"
_LOAD = "(?i)\\bload(?:ing|ed) (?:the )?checkpoint (?:from )?['\"/\\w.]"
WORDS = (
    "Resuming training from",
    "Continuing training from",
    "resuming from checkpoint",
    "Resuming from",
    "Loading model from checkpoint",
    "loading checkpoint from",
    "successfully loaded checkpoint from",
    "Resumed from",
    "resume from step",
    "will skip the first",
    "Resuming training",
    "=> loaded checkpoint",
    "loaded checkpoint ~ (?i)\\bloaded checkpoint\\b",
    f"Resume from ~ {_FROM}",
    f"resume from ~ {_FROM}",
    f"resuming from ~ {_FROM}",
    f"oading checkpoint ~ {_LOAD}",
    f"oaded checkpoint ~ {_LOAD}",
    "Restored all states from",
    "Loading states from",
)


class Boundary(Value, frozen=True, kw_only=True):
    """The last row before a resume and the first after it. `stays`: the jump does not fade within the rows that follow."""

    before: Row
    after: Row
    lr_before: float | None
    lr_after: float | None
    jumped: bool
    stays: bool
    dropped: bool


def boundary(case: Case) -> Boundary | None:
    if "resume" not in case.memo:
        case.memo["resume"] = _boundary(case)
    found: Boundary | None = case.memo["resume"]
    return found


def _boundary(case: Case) -> Boundary | None:
    if case.rl:
        return None
    marks = case.find(*WORDS)
    rows = [(r, v) for r, v in case.curve]
    ends = [(r.file, r.line) for r in case.rows if "train_runtime" in r.values]
    for i in range(1, len(rows)):
        (a, _va), (b, _vb) = rows[i - 1], rows[i]
        told = a.file == b.file and any(m.file == a.file and a.line < m.line <= b.line for m in marks)
        told = told or _goes_on(ends, a, b)
        if not told or i < 2 or len(rows) - i < 2:
            continue
        if not (_forward([r for r, _ in rows[max(0, i - 8) : i]]) and _forward([r for r, _ in rows[i : i + 8]])):
            continue
        enough = i >= 6 and len(rows) - i >= 4
        before, after = [v for _, v in rows[max(0, i - 8) : i]], [v for _, v in rows[i : i + 4]]
        level = statistics.median(before[-3:])
        noise = 1.05 * statistics.median([abs(y - x) for x, y in itertools.pairwise(before)] or [0])
        far = [v for _, v in rows[i + 8 : i + 16]]
        height = statistics.median(after) - level
        jumped = enough and height > max(4 * noise, 0.1 * level)
        return Boundary(before=a, after=b, lr_before=a.get("learning_rate"), lr_after=b.get("learning_rate"), jumped=jumped,
                        stays=jumped and (not far or statistics.median(far) > level + 0.5 * height),
                        dropped=enough and height < -max(4 * noise, 0.1 * level) and bool(far) and statistics.median(far) > level - 0.3 * abs(height))  # fmt: skip
    return None


def _forward(rows: Sequence[Row]) -> bool:
    """The counter of these rows never steps back: rows of one run in order, not those of several ranks among each other."""
    for name in ("step", "epoch"):
        counts = [v for r in rows if (v := r.get(name)) is not None]
        if len(counts) > 1 and any(b < a for a, b in itertools.pairwise(counts)):
            return False
    return True


def _goes_on(ends: Sequence[tuple[str, int]], a: Row, b: Row) -> bool:
    """Two runs in one log, the second from where the first had stopped: an end between them, and a counter that goes on."""
    if a.file != b.file or not any(file == a.file and a.line < line < b.line for file, line in ends):
        return False
    for name in ("step", "epoch"):
        before, after = a.get(name), b.get(name)
        if before and after:
            return before < after <= 1.1 * before + 1
    return False
