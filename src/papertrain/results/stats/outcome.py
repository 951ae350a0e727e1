"""What a statistical procedure answers, and the random streams that it may use."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from papertrain.core.results import Interval
from papertrain.core.values import Record
from papertrain.core.version import __version__

Floats = NDArray[np.float64]
TINY = 5e-324
"""The smallest positive number, where a p-value would underflow to 0."""

TOLERANCE = 1e-9
"""Relative: differences below it are ties. Scores reach us through decimal text and sums in another order."""


ROUNDING = 1e-15
"""Absolute: differences of scores below it are sums in another order."""

ALIKE = "every difference is the same: there is no spread that an interval could be built on"
UNTESTABLE = "every difference is the same: there is no spread to test against"


def pointlike(ci: Interval | None) -> bool:
    """An interval without width says that nothing is uncertain, which no sample can."""
    if ci is None:
        return False
    return not ci.high - ci.low > max(TOLERANCE * max(abs(ci.low), abs(ci.high)), ROUNDING)


class Outcome(Record, frozen=True, kw_only=True):
    """One test or one interval. p is None where none can be given, and is never 0."""

    test: str
    n: int
    unit: str
    p: float | None = None
    statistic: float | None = None
    difference: float | None = None
    ci: Interval | None = None
    effect_size: float | None = None
    effect: str = ""
    assumptions: tuple[str, ...] = ()
    signature: str = ""
    details: dict[str, Any] = {}


def stream(seed: int, *names: str) -> np.random.Generator:
    """An independent generator for one named purpose, so that adding a comparison leaves the others' draws alone. Names of
    systems and files are no purpose: the same outcomes give the same p whatever they are called."""
    return np.random.default_rng(np.random.SeedSequence([seed, zlib.crc32("\0".join(names).encode())]))


def entropy(rng: np.random.Generator) -> str:
    """The seed of a generator, as it stands in a signature."""
    seed = getattr(rng.bit_generator, "seed_seq", None)
    value = getattr(seed, "entropy", None)
    return "-".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def signature(**parts: object) -> str:
    """`n:1000|test:mcnemar-exact|…|version:0.1.0`; None parts are left out."""
    return "|".join(f"{k}:{v}" for k, v in {**parts, "version": __version__}.items() if v is not None)


def monte_carlo_p(exceeding: int, resamples: int) -> float:
    """(r + 1) / (R + 1): the observed arrangement is one of those possible, so p is never 0 (Phipson & Smyth 2010)."""
    return (exceeding + 1) / (resamples + 1)


def finite(x: Any) -> Any:
    """JSON-ready: numbers that are not finite become None, numpy's scalars Python's."""
    if isinstance(x, dict):
        return {str(k): finite(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [finite(v) for v in x]
    if isinstance(x, np.generic):
        x = x.item()
    return None if isinstance(x, float) and not np.isfinite(x) else x


def show_p(p: float | None) -> str:
    """`p = 0.0079`, `p < 0.001`; never 0.000."""
    if p is None:
        return "no p"
    if p < 1e-3:
        return "p < 0.001"
    return f"p = {p:.4f}" if p < 0.01 else f"p = {min(p, 1.0):.3f}" if p < 0.9995 else "p = 1"
