"""What the two benches share: groups of equal weight, quantiles, aligned tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RUNS = ROOT / "src/papertrain/facts/runs"


def rows(name: str, path: Path | None = None) -> list[dict[str, Any]]:
    """The measured runs of that name: of the package, or of another file of the same form."""
    text = (path or RUNS / f"{name}.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def weighted_quantile(pairs: Iterable[tuple[float, float]], q: float) -> float:
    """The value below which a share q of the weight lies."""
    ordered = sorted(pairs)
    total, seen = sum(w for _, w in ordered), 0.0
    for value, weight in ordered:
        seen += weight
        if seen >= q * total:
            return value
    return ordered[-1][0]


def by_group(groups: Sequence[str], values: Sequence[float]) -> list[tuple[float, float]]:
    """(value, weight): every group weighs one."""
    counts: dict[str, int] = {}
    for g in groups:
        counts[g] = counts.get(g, 0) + 1
    return [(v, 1 / counts[g]) for g, v in zip(groups, values, strict=True)]


def mean_by_group(groups: Sequence[str], values: Sequence[float]) -> float:
    pairs = by_group(groups, values)
    return sum(v * w for v, w in pairs) / sum(w for _, w in pairs)


def table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Aligned columns; the first is text, the others are figures."""
    widths = [max(len(r[i]) for r in (head, *body)) for i in range(len(head))]
    return "\n".join(
        "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(r, widths, strict=True))).rstrip()
        for r in (head, *body)
    )
