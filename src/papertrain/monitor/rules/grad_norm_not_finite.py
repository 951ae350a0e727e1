"""TR113: the gradient norm is NaN or infinite."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.monitor.history import History
from papertrain.monitor.rules._say import PROPOSAL, show, verdict
from papertrain.monitor.verdict import Verdict


def check(run: History) -> Iterator[Verdict]:
    c = run.one("grad_norm")
    if c is None or not len(c):
        return
    odd = list(c.odd())
    if not odd:
        return
    n = len(c)
    late = [i for i in odd if i >= min(20, n // 4)]
    last = trailing(odd, n)
    row = longest(late)
    n_late = max(1, n - min(20, n // 4))
    # fp16 skips its first steps, and one step each time its scale grows: isolated, finite at once afterwards.
    strong = last >= 3 or len(odd) == n >= 2 or row[1] >= 5 or (len(late) > 0.05 * n_late and len(late) >= 5)
    isolated = row[1] <= 1 and last <= 1 and len(late) <= max(3, 0.05 * n)
    if not strong and (isolated or not late):
        return
    first = n - last if last >= 3 else (late or odd)[0] if row[1] < 5 else row[0]
    says = say(
        "gradient norm is {value} at {unit} {step}, {n} of {rows} rows in all",
        value=show(c.values[first]),
        step=c.steps[first],
        n=len(odd),
        rows=n,
        unit=c.word,
    )
    cls = "nan-deepspeed-overlap-comm" if first <= 5 else "nan-lr-too-high"
    yield verdict(
        RULE.id, "grad_norm", "critical" if strong else "warning", says, c, [first, first - 1, n - 1], cls=cls
    )


def trailing(odd: list[int], n: int) -> int:
    """How many rows at the end are not finite."""
    count = 0
    for i in reversed(odd):
        if i != n - 1 - count:
            break
        count += 1
    return count


def longest(odd: list[int]) -> tuple[int, int]:
    """Start and length of the longest run of consecutive points."""
    best, begin, size = (0, 0), -1, 0
    for i in odd:
        begin, size = (begin, size + 1) if size and i == begin + size else (i, 1)
        if size > best[1]:
            best = (begin, size)
    return best


RULE = Rule(
    id="TR113",
    name="grad-norm-not-finite",
    level="critical",
    check=check,
    applies="Every task.",
    what="The gradient norm is NaN or infinite. Critical: the last three rows, five in a row, more than 5 % of the rows after start-up, or all. "
    "Warning: two or more in a row. Isolated ones, up to 5 % of the rows, are normal.",
    why="It is the earliest honest sign of NaN: the loss follows one step later, or is hidden.",
    known_problems="In fp16 the first steps overflow while the loss scale settles, and single steps do so each time it grows: they are skipped on purpose.",
    source=PROPOSAL,
    status="stable",
    fires="\n".join(f"step={i} loss=1.67 grad_norm={'nan' if i > 22 else '0.9'}" for i in range(1, 31)),
    quiet="\n".join(
        f"step={i} loss={2 - 0.02 * i:.2f} grad_norm={'inf' if i in (1, 2) else '0.9'}" for i in range(1, 31)
    ),
)
