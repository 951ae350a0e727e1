"""Sentences that say significant, held against the tests that were made."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from papertrain.core.findings import Finding
from papertrain.results.manuscript import rules
from papertrain.results.manuscript.held import (
    Context,
    datasets_in,
    finding,
    methods_said,
    metrics_in,
    speaks,
)
from papertrain.results.manuscript.known import Claimed, Ground
from papertrain.results.manuscript.numbers import sentences
from papertrain.results.manuscript.tex import Page

WORD = re.compile(
    r"\b(?:statistically\s+)?(?:in)?significan(?:t|tly|ce)\b(?!\s+(?:figures?|digits?|bits?|level|test))", re.I
)
NEGATED = re.compile(
    r"\b(?:no|not|nor|without|non|never|neither|lacks?|n't)\b[\s\w,-]{0,40}$|\bnon-?$|n't\s+(?:\w+\s+){0,2}$", re.I
)
COMPARES = re.compile(
    r"\b(?:improv|outperform|better|worse|higher|lower|gain|differ|exceed|surpass|beat|over\b|than\b|against|compared|increas|decreas|reduc|drop|degrad|margin|result|boost|superior|inferior)|\bp\s*\$?\s*[<=>]",
    re.I,
)


def claims(pages: Sequence[Page], ground: Ground) -> list[Finding]:
    return [f for page in pages for f in _of_page(page, ground)]


def _of_page(page: Page, ground: Ground) -> Iterator[Finding]:
    for a, b in sentences(page.seen):
        text = page.seen[a:b]
        for m in WORD.finditer(text):
            says = _claim(m[0], text, text[: m.start()], ground)
            if says is not None:
                level = "error" if COMPARES.search(text) or "statistic" in m[0].lower() else "note"
                yield finding(rules.UNTESTED, page, a + m.start(), says, level=level)  # type: ignore[arg-type]
            break


def _claim(word: str, text: str, before: str, ground: Ground) -> str | None:
    """What is wrong with the claim, or None. Its tests are those of the methods, metrics and data sets that it names."""
    methods = methods_said(text, ground)
    c = Context(
        methods=methods,
        datasets=datasets_in(text, ground),
        metrics=metrics_in(text, ground),
        cited=False,
        compares=True,
        means=False,
    )
    spoken = [t for t in ground.tests if t.primary and speaks(t.a, t.b, t.metric, t.dataset, c)]
    if not spoken and "cite" in text and not methods:
        return None
    word = " ".join(word.split())
    made = [t for t in spoken if not t.refused and t.significant is not None]
    if not made:
        refused = next((t for t in spoken if t.refused), None)
        if refused is not None:
            return f"“{word}”, but the test of {refused.a} against {refused.b} was refused: {refused.refused}"
        between = f" of {', '.join(sorted(methods))}" if methods else ""
        return f"“{word}”, but the evidence holds no test{between}"
    negated = word.lower().startswith("insign") or bool(NEGATED.search(before))
    if negated:
        against = [t for t in made if t.significant]
        return f"“not {word}”, but {_test(against[0])}" if len(against) == len(made) else None
    lost = [t for t in made if not t.significant]
    if len(lost) == len(made):
        return f"“{word}”, but {_test(lost[0])}"
    return None


def _test(t: Claimed) -> str:
    p = t.corrected
    shown = "" if p is None else "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
    return f"{t.test} of {t.a} against {t.b} ({t.metric}{' on ' + t.dataset if t.dataset else ''}) says {shown}"
