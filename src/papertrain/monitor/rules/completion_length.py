"""TR127: answers hit the limit of length, or shrink to nothing."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source
from papertrain.monitor.history import History
from papertrain.monitor.rules import _onset
from papertrain.monitor.rules._say import show, verdict
from papertrain.monitor.stats import mean, median
from papertrain.monitor.verdict import State, Verdict

POINTS = 5


def check(run: History) -> Iterator[Verdict]:
    if run.task not in ("grpo", "ppo"):
        return
    cut = run.one("clipped_ratio")
    if cut is not None and len(cut.finite()) >= 2 * POINTS:
        f = cut.finite()
        late = f.values[-POINTS:]
        if min(late) > 0.5:
            level: State = "critical" if min(late) >= 0.95 else "warning"
            yield verdict(
                RULE.id,
                "reward_margin",
                level,
                say("{percent:.0f} % of the answers are cut at the limit", percent=100 * mean(late)),
                f,
                [_onset.trailing(f.values, [v > 0.5 for v in f.values]), -1],
                cls="eos-not-learned",
            )
            return
    length = run.one("completion_length")
    if length is None or len(length.finite()) < 40:
        return
    f = length.finite()
    start, now = median(f.values[:20]), median(f.values[-20:])
    if start > 20 and now < 0.15 * start and max(f.values[-20:]) < 0.4 * start:
        first = _onset.kink([-v for v in f.values], -start)
        says = say(
            "answers shrank from {start} to {now} tokens, smoothed, since {unit} {step}",
            start=show(start),
            now=show(now),
            step=f.steps[first],
            unit=f.word,
        )
        yield verdict(RULE.id, "reward_margin", "critical", says, f, [first, -1], cls="grpo-zero-advantage")


RULE = Rule(
    id="TR127",
    name="completion-length",
    level="warning",
    check=check,
    applies="GRPO and PPO.",
    what="At the last five rows more than half of the answers are cut at the limit (95 %: critical); or the median length of the last 20 rows is below 15 % of "
    "that of the first 20 (critical).",
    why="A cut answer has no end and rarely a reward; an answer of a few tokens games the reward.",
    known_problems="Recipes for long reasoning filter cut answers, and live with many of them.",
    source=Source(kind="code", ref="axolotl-ai-cloud/axolotl docs: training stability, table of GRPO signals"),
    fires="\n".join(
        f"{{'loss': 0.0, 'reward': 0.2, 'reward_std': 0.2, 'completions/clipped_ratio': {min(1.0, 0.1 * i):.2f}, 'epoch': {i / 100}}}"
        for i in range(1, 41)
    ),
    quiet="\n".join(
        f"{{'loss': 0.0, 'reward': 0.2, 'reward_std': 0.2, 'completions/clipped_ratio': {0.6 if i == 20 else 0.1:.2f}, 'epoch': {i / 100}}}"
        for i in range(1, 41)
    ),
)
