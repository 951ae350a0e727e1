"""What can be wrong with the numbers and claims of a manuscript; `papertrain explain TR801` prints them."""

from __future__ import annotations

from typing import Literal

from papertrain.core.findings import Rule
from papertrain.core.values import Source

HOUSE = Source(
    kind="rule", ref="a number in a paper leads to the file it was measured in, and a claim of significance to its test"
)


def _checked_elsewhere(*_: object) -> None:
    """These rules look at a whole manuscript with its evidence: `results/manuscript/held.py` and `claims.py`."""


def _rule(
    id: str,
    name: str,
    level: Literal["warning", "error"],
    what: str,
    why: str,
    known: str = "",
    fires: str = "",
    quiet: str = "",
) -> Rule:
    return Rule(
        id=id,
        name=name,
        level=level,
        check=_checked_elsewhere,
        status="stable",
        what=what,
        why=why,
        known_problems=known,
        source=HOUSE,
        fires=fires,
        quiet=quiet,
    )


CONTRADICTS = _rule(
    "TR801", "number-contradicts-evidence", "error", "A number in the manuscript differs from the measurement that its row, column or sentence names.",
    "A number that was typed or copied before the last run is the most frequent error that a reviewer can prove.",
    "What a number is about is read from its row and column, or from the names in its sentence; a number of another system in the same sentence is accepted.",
    "Ours reaches 81.9 accuracy. (E12: 81.7)", "Ours reaches 81.7 accuracy. (E12: 81.7)",
)  # fmt: skip
UNTESTED = _rule(
    "TR802", "significance-without-test", "error", "The text says significant where no test was made, or where the test says otherwise.",
    "A difference between two numbers is no evidence of a difference between two methods.",
    "`significant` without a comparison in its sentence is only noted.", "Ours is significantly better. (no test)", "Ours is significantly better. (exact McNemar, p = 0.008)",
)  # fmt: skip
NO_EVIDENCE = _rule(
    "TR803", "number-without-evidence", "warning", "A number stands beside the name of a method or metric of this work, and nothing that was measured is near it.",
    "What no file holds cannot be checked, by you or by anybody else.", "Numbers of other papers are passed over where their row or sentence cites them.",
    "Ours reaches 55.5 accuracy. (nothing near)", "Others report 55.5 accuracy \\\\citep{them}.",
)  # fmt: skip
ZERO_P = _rule(
    "TR804", "p-of-zero", "error", "A p-value is printed as 0.", "No test gives certainty; a small p is printed as a bound.", "", "$p = 0.000$", "$p < 0.001$",
)  # fmt: skip
STALE = _rule(
    "TR805", "evidence-is-stale", "warning", "A number agrees with evidence whose source file has changed since it was read.", "The file may say something else now.",
    "", "81.7 (E12; its predictions.csv was written again)", "81.7 (E12; its file is the one that was read)",
)  # fmt: skip
NO_MACRO = _rule(
    "TR806", "unknown-number-macro", "error", "A macro of tables/numbers.tex is used that is not defined there.", "LaTeX stops, or the number of a renamed method is lost.",
    "Looked for only where numbers.tex is read by the manuscript.", "\\\\ptOursAcuracy", "\\\\ptOursAccuracy",
)  # fmt: skip
RULES = (CONTRADICTS, UNTESTED, NO_EVIDENCE, ZERO_P, STALE, NO_MACRO)
