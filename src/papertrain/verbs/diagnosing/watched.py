"""What the monitor calls critical, told by `diagnose` in its own words: the two never contradict each other."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from papertrain.core.errors import PapertrainError
from papertrain.core.findings import LogLine

if TYPE_CHECKING:
    from papertrain.diagnose.case import Case
    from papertrain.diagnose.rule import Match
    from papertrain.monitor.verdict import SignalState

CURVES = frozenset(("train_loss", "eval_loss", "learning_rate", "grad_norm", "gpu_utilization", "throughput"))
LARGEST = 128 << 20
"""Bytes: beyond it a second pass over a log costs more than it tells."""
INSTEAD = {"loss-flat-optimizer-not-linked": "underfitting"}
"""A curve alone does not show an optimizer that lost its parameters: where the log speaks of FSDP, the rule says it itself."""
SURE = {"critical": 0.5, "warning": 0.35}


def named(state: SignalState) -> bool:
    """Whether `diagnose` has a name for the state: only then is it sent there."""
    from papertrain.diagnose.catalogue import causes

    return state.cls in causes() and (state.level == "critical" or (state.level == "warning" and state.name in CURVES))


def by_monitor(paths: Sequence[Path]) -> tuple[Match, ...]:
    """The classes that the monitor's rules lead to, best first; nothing for standard input and for what is no curve."""
    from papertrain.diagnose.catalogue import causes
    from papertrain.monitor.run import examine

    found: dict[str, Match] = {}
    for path in paths:
        if (
            str(path) == "-"
            or not Path(path).exists()
            or (Path(path).is_file() and Path(path).stat().st_size > LARGEST)
        ):
            continue
        try:
            states = [s for e in examine([Path(path)]) for s in e.signals if named(s)]
        except PapertrainError:
            continue
        for s in sorted(states, key=lambda s: s.level != "critical"):
            name = INSTEAD.get(s.cls, s.cls)
            if name not in found:
                found[name] = _match(causes()[name], s, path)
    return tuple(sorted(found.values(), key=lambda m: -m.confidence))[:3]


UP = frozenset({"divergence-lr-too-high", "divergence-bad-init", "loss-spike-bad-batch", "nan-lr-too-high"})
BACK, MILD = 1.35, 1.2


def outlived(found: Sequence[Match], case: Case) -> tuple[Match, ...]:
    """Without the classes that the end of the curve speaks against: a loss that ended near its best level did not leave it,
    and an evaluation that ended near its best is no reason to stop sooner."""
    values = [v for _, v in case.curve]
    evaluated = [v for v in case.values("eval_loss") if isfinite(v)]
    width = max(5, len(values) // 10)
    levels = [median(values[i : i + width]) for i in range(0, len(values) - width + 1, width)]
    back = len(values) >= 20 and median(values[-width:]) <= BACK * min(levels)
    mild = len(evaluated) >= 2 and evaluated[-1] <= MILD * min(evaluated)
    return tuple(m for m in found if not (back and m.rule.name in UP) and not (mild and m.rule.name == "overfit-too-many-epochs" and m.confidence < 0.5))  # fmt: skip


def _match(rule: object, state: SignalState, path: Path) -> Match:
    from papertrain.diagnose.rule import Cause, Match

    assert isinstance(rule, Cause)
    lines = [
        LogLine(
            file=x.file or str(path),
            line=x.line,
            text=f"{x.name} = {x.value:g}" + (f" at {x.unit} {x.step}" if x.step is not None else ""),
        )
        for x in state.seen[:3]
    ]
    idle = state.name == "gpu_utilization" and rule.name == "throughput-straggler-gpu"
    title = f"The GPU is underused: {state.says}" if idle else ""
    return Match(
        rule=rule,
        confidence=SURE[state.level],
        evidence=tuple(lines) or (LogLine(file=str(path), line=0, text=state.says),),
        title=title,
        cause="The cards wait for something else than computing: the data loader, the host, or a batch that is too small."
        if idle
        else f"{rule.why} The monitor says: {state.says}.",
        next_check="py-spy dump --pid $(pgrep -of train)" if idle else "",
        remedies=() if idle else None,
    )
