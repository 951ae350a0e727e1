"""Asserts on the device: the assertion's own text decides; where it was not printed, the frames lean one way."""

from __future__ import annotations

import re
from typing import Any

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, by_signature

BARE = "device-side assert triggered"


def judge(case: Case, rule: Any, frames: str) -> Match | None:
    """The rule's own assertion; else a share of a bare assert, larger where the frames speak for this class."""
    strong = by_signature(rule, case)
    if strong is not None:
        return strong
    bare = case.find(BARE)
    if not bare or case.find("Assertion `"):
        return None
    text = " ".join(f for e in case.exceptions for f in e.frames) or case.prose
    return Match(rule=rule, confidence=0.62 if re.search(frames, text) else 0.34, evidence=tuple(bare[:1]))
