"""TR139: the ranks are not at the same place, and one holds the others up."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.core.findings import Rule, Signal
from papertrain.core.values import Source
from papertrain.monitor.history import History
from papertrain.monitor.ranks import behind
from papertrain.monitor.verdict import State, Verdict


def check(run: History) -> Iterator[Verdict]:
    """Only where the stacks were asked for (`--stacks`)."""
    if run.ranks is None or not run.ranks:
        return
    b = behind(run.ranks)
    if b is None:
        return
    level: State = "critical" if b.sure else "warning"
    seen = Signal(
        name="rank",
        value=float(b.rank if b.rank is not None else -1),
        step=run.last_step,
        unit=run.unit,
        file=b.file,
        line=b.line,
    )
    yield Verdict(
        rule=RULE.id,
        signal="heartbeat",
        level=level,
        says=b.says,
        since_step=run.last_step or None,
        unit=run.unit,
        seen=(seen,),
        cls=b.cls,
    )


RULE = Rule(
    id="TR139",
    name="ranks-out-of-step",
    level="critical",
    check=check,
    applies="Every task on two or more ranks, where the stacks were asked for.",
    what="With `--stacks`. From torch's flight recorder: in a process group some rank has enqueued fewer collectives than the others, or left no dump while they wait, "
    "or is in another collective (critical). From stacks: at most half of the ranks are elsewhere while the others wait in a collective: critical where two looks "
    "two seconds apart show the same stacks, a warning for a single look.",
    why="A collective ends when the last rank arrives: the rank that does not come is the one to look at, not the many that report the time-out.",
    known_problems="One look is a snapshot: ranks of a healthy run are in different places for moments. Stages of a pipeline do different things by design.",
    source=Source(kind="code", ref="pytorch/pytorch torch/csrc/distributed/c10d/FlightRecorder.hpp, torch/distributed/flight_recorder; benfred/py-spy dump"),
    fires="==> trainer_log.jsonl <==\n"
    + "\n".join(f'{{"current_steps": {i}, "total_steps": 100, "loss": {2 - 0.01 * i:.2f}}}' for i in range(1, 13))
    + "".join(
        f'\n==> stacks/rank{r}.txt <==\nProcess {400 + r}: python train.py\nThread {400 + r} (idle): "MainThread"\n'
        + ("    __getitem__ (data.py:88)\n    train (train.py:31)" if r == 2 else "    all_reduce (torch/distributed/distributed_c10d.py:3252)\n    train (train.py:40)")
        for r in range(4)
    ),
    quiet="==> trainer_log.jsonl <==\n"
    + "\n".join(f'{{"current_steps": {i}, "total_steps": 100, "loss": {2 - 0.01 * i:.2f}}}' for i in range(1, 13))
    + "".join(
        f'\n==> stacks/rank{r}.txt <==\nProcess {400 + r}: python train.py\nThread {400 + r} (active): "MainThread"\n    forward (model.py:12)\n    train (train.py:31)'
        for r in range(4)
    ),
)  # fmt: skip
