"""The geometry of one venue, from `venues.toml`."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path

import msgspec

from papertrain.core.errors import PapertrainError, nearest
from papertrain.core.values import Record

SYNONYMS = {
    "emnlp": "acl",
    "naacl": "acl",
    "eacl": "acl",
    "iccv": "cvpr",
    "kdd": "acm",
    "colm": "iclr",
    "tmlr": "default",
    "jmlr": "default",
}


class Venue(Record, frozen=True, kw_only=True):
    title: str
    source: str
    year: int
    text_pt: float
    column_pt: float
    body_pt: float
    caption: str
    floor_pt: float
    figure_pt: float = 8


@lru_cache
def venues() -> dict[str, Venue]:
    raw = tomllib.loads(Path(__file__).with_name("venues.toml").read_text("utf-8"))
    return {k: msgspec.convert(v, Venue) for k, v in raw.items()}


def venue(name: str) -> Venue:
    """Raises PapertrainError with the nearest name; an empty name is an ordinary article."""
    key = "".join(c for c in name.lower() if c.isalpha()) or "default"
    key = SYNONYMS.get(key, key)
    if key not in venues():
        raise PapertrainError(
            f"no venue style {name!r} (known: {', '.join(venues())})",
            code="unknown-style",
            nearest=nearest(key, [*venues(), *SYNONYMS]),
        )
    return venues()[key]
