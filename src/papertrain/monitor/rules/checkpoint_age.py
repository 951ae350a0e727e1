"""TR123: the last checkpoint is old, or broken."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from papertrain.core.findings import Rule, Signal
from papertrain.core.texts import say
from papertrain.monitor.history import History
from papertrain.monitor.rules._say import PROPOSAL
from papertrain.monitor.stats import median
from papertrain.monitor.verdict import State, Verdict


def check(run: History) -> Iterator[Verdict]:
    if len(run.files) == 1 and not any(t.reader in ("hf_trainer_state", "llamafactory", "jsonl") for t in run.tables):
        return
    folder = run.folder
    if not folder.is_dir():
        return
    found = sorted(
        (int(p.name.rpartition("-")[2]), p)
        for p in folder.glob("checkpoint-*")
        if p.name.rpartition("-")[2].isdigit() and p.is_dir()
    )
    if not found:
        return
    step, newest = found[-1]
    empty = next(
        (
            f
            for f in sorted(newest.glob("*"))
            if f.is_file() and f.suffix in (".safetensors", ".bin", ".pt") and f.stat().st_size == 0
        ),
        None,
    )
    if empty is not None:
        seen = Signal(name="bytes", value=0.0, step=step, file=str(empty))
        yield Verdict(rule=RULE.id, signal="checkpoint", level="critical", says=say("{name} in checkpoint-{step} is empty", name=empty.name, step=step),
                      since_step=step, seen=(seen,), cls="checkpoint-truncated-disk-full")  # fmt: skip
        return
    every = run.fact("save_steps") or (
        median([b - a for (a, _), (b, _) in itertools.pairwise(found)]) if len(found) > 1 else None
    )
    age = run.last_step - step
    seen = Signal(name="checkpoint", value=float(step), step=step, file=str(newest))
    # The age of a checkpoint is known in steps only.
    if every and every >= 1 and age > 2 * every and not run.ended and run.unit == "step":
        level: State = "critical" if age > 4 * every else "warning"
        says = say("the last checkpoint is {age:,} steps old; one every {every:.0f} was meant", age=age, every=every)
        yield Verdict(
            rule=RULE.id,
            signal="checkpoint",
            level=level,
            says=says,
            since_step=step,
            seen=(seen,),
            cls="disk-full-checkpoint",
        )
    else:
        yield Verdict(
            rule=RULE.id,
            signal="checkpoint",
            level="normal",
            says=say("checkpoint-{step} is the newest", step=step),
            seen=(seen,),
        )


RULE = Rule(
    id="TR123",
    name="checkpoint-old",
    level="warning",
    check=check,
    applies="Every task that saves.",
    what="The newest checkpoint folder is more than two save intervals old (four: critical) while the run goes on, or a weight file in it is empty (critical).",
    why="A crash now loses everything since then.",
    known_problems="Only `checkpoint-<step>` folders beside the log are seen; rotation may have deleted all but the newest.",
    source=PROPOSAL,
    fires="==> trainer_log.jsonl <==\n"
    + "\n".join(f'{{"current_steps": {i * 10}, "total_steps": 1000, "loss": {2 - 0.01 * i:.2f}}}' for i in range(1, 71))
    + "\n==> checkpoint-100/ <==\n==> checkpoint-200/ <==",
    quiet="step=1 loss=2.0\nstep=2 loss=1.9",
)
