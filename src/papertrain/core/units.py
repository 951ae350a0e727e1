"""Base units inside, words at the edge."""

from __future__ import annotations

import re

from papertrain.core.errors import PapertrainError

KIB, MIB, GIB, TIB = 2**10, 2**20, 2**30, 2**40
_SIZE = {"": 1, "b": 1, "k": 10**3, "kb": 10**3, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9, "t": 10**12, "tb": 10**12,
         "kib": KIB, "mib": MIB, "gib": GIB, "tib": TIB}  # fmt: skip


def parse_bytes(text: str) -> int:
    """`512GB` → 512_000_000_000, `64GiB` → 68_719_476_736. Raises PapertrainError."""
    m = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([a-zA-Z]*)\s*", text)
    if not m or m[2].lower() not in _SIZE:
        raise PapertrainError(f"{text!r} is not a size: write it as 512GB or 64GiB", code="bad-size")
    size = float(m[1]) * _SIZE[m[2].lower()]
    if size > 1e24:
        raise PapertrainError(f"{text[:20]} … is more than any machine has", code="bad-size")
    return int(size)


def show_bytes(n: float | None) -> str:
    """Device memory as drivers and torch print it (powers of 1024), one decimal; `unknown` for None."""
    if n is None:
        return "unknown"
    for unit, size in (("TiB", TIB), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
        if round(abs(n) / size, 2) >= 1:  # 1022.3 MiB are 1.0 GiB, as they are where all is said in GiB
            return f"{n / size:.1f} {unit}"
    return f"{n:.0f} B"


def show_size(n: float | None) -> str:
    """Host memory, disks and files as their labels say (powers of 1000), one decimal; `unknown` for None."""
    if n is None:
        return "unknown"
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(n) >= size:
            return f"{n / size:.1f} {unit}"
    return f"{n:.0f} B"


def show_count(n: float | None) -> str:
    """41107 → `41,107`; 12_400_000 → `12.4 M`; 7_615_616_512 → `7.6 B`."""
    if n is None:
        return "unknown"
    for unit, size in (("T", 1e12), ("B", 1e9), ("M", 1e6)):
        if abs(n) >= size:
            return f"{n / size:.1f} {unit}"
    return f"{n:,.0f}"


def show_seconds(s: float | None) -> str:
    """Seconds as a person would say them: `0.8 s`, `3 min 20 s`, `3 h 40 min`, `2.1 days`."""
    if s is None:
        return "unknown"
    if s < 1:
        return f"{s:.2f} s"
    if s < 90:
        return f"{s:.1f} s" if s < 10 else f"{s:.0f} s"
    if s < 3600:
        return f"{int(s // 60)} min" + (f" {int(s % 60)} s" if s < 600 else "")
    if s < 48 * 3600:
        return f"{int(s // 3600)} h {int(s % 3600 // 60)} min"
    return f"{s / 86400:.1f} days"


def show_number(x: object) -> str:
    """A decision's value for a person: 0.0002 → `2.0e-4`, 1926 → `1,926`, lists joined."""
    if isinstance(x, bool) or x is None:
        return {True: "yes", False: "no", None: "unknown"}[x]
    if isinstance(x, int):
        return f"{x:,}"
    if isinstance(x, float):
        if x == 0:
            return "0"
        if abs(x) < 1e-2:
            mantissa, exponent = f"{x:.2e}".split("e")
            mantissa = mantissa[:-1] if mantissa.endswith("0") else mantissa
            return f"{mantissa}e{int(exponent)}"
        return f"{x:g}"
    if isinstance(x, (list, tuple)):
        return ", ".join(map(str, x))
    return str(x)


def significant(x: float, digits: int = 2) -> float:
    """x rounded to some significant digits: 0.000214 → 0.00021."""
    return float(f"{x:.{digits}g}")
