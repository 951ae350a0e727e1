"""TR132: the loss is higher after a resume than before."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.monitor.history import History
from papertrain.monitor.rules._say import LOSS_COUNTS, PROPOSAL, show, verdict
from papertrain.monitor.stats import median, sigma
from papertrain.monitor.verdict import Verdict


def check(run: History) -> Iterator[Verdict]:
    c = run.loss
    if c is None or not c.resumed or not run.loss_counts:
        return
    for s in c.resumed[-5:]:
        i = next((k for k, x in enumerate(c.steps) if x >= s), None)
        if i is None or i < 8 or len(c) - i < 8:
            continue
        before, after = c.values[i - 8 : i], c.values[i : i + 8]
        low, high = median(before), median(after)
        if high > 1.3 * low + 0.1 and high - low > 4 * sigma(before) and min(after) > low:
            says = say(
                "loss is {high} after the resume at {unit} {step}, {low} before, smoothed",
                high=show(high),
                step=s,
                low=show(low),
                unit=c.word,
            )
            yield verdict(
                RULE.id, "train_loss", "warning", says, c, [i, i - 1, i + 7], cls="resume-loss-spike-optimizer-state"
            )
            return


RULE = Rule(
    id="TR132",
    name="resume-loss-jump",
    level="warning",
    check=check,
    applies=LOSS_COUNTS,
    what="The median of the eight rows after a resume is above 1.3 times that of the eight before, beyond four sigma, and none of the eight is as low.",
    why="Optimizer state, schedule or order of the data were not restored.",
    known_problems="Only resumes that write into the same log, with steps that go back, are seen.",
    source=PROPOSAL,
    fires="\n".join(f"step={i} loss={2 - 0.01 * i:.3f}" for i in range(1, 61))
    + "\n"
    + "\n".join(f"step={i} loss={2.9 - 0.01 * i:.3f}" for i in range(50, 70)),
    quiet="\n".join(f"step={i} loss={2 - 0.01 * i:.3f}" for i in range(1, 61))
    + "\n"
    + "\n".join(f"step={i} loss={2 - 0.01 * i:.3f}" for i in range(50, 70)),
)
