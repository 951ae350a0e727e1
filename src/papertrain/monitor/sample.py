"""The samples of the rules: one log as it stands, or several files as `head -n … *` prints them.

==> trainer_log.jsonl <==
{"current_steps": 10, "loss": 2.0}
==> checkpoint-10/ <==
==> run-1.wandb (gzip, base64) <==
H4sIA…
==> plan <==
learning_rate=2e-05 total_steps=100
"""

from __future__ import annotations

import base64
import gzip
import re
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from papertrain.core.training import TrainingPlan
from papertrain.core.values import Decision, Source
from papertrain.monitor.history import History
from papertrain.monitor.ranks import of_run
from papertrain.monitor.run import Examination, examine_text, judge, watched

HEAD = re.compile(r"^==> (\S+?)( \(gzip, base64\))? <==$", re.M)


def examine_sample(text: str) -> Examination:
    """The state of the run in a sample."""
    heads = list(HEAD.finditer(text))
    if not heads:
        return examine_text(text)
    plan = None
    with tempfile.TemporaryDirectory() as top:
        for head, after in zip(heads, [*heads[1:], None]):
            body = text[head.end() : after.start() if after else None].strip("\n")
            if head[1] == "plan":
                plan = sample_plan(dict(pair.split("=", 1) for pair in body.split()))
                continue
            file = Path(top) / head[1]
            if head[1].endswith("/"):
                file.mkdir(parents=True)
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(gzip.decompress(base64.b64decode(body)) if head[2] else (body + "\n").encode())
        w = watched(Path(top))[0]
        w.poll()
        run = History("sample", w.tables, plan)
        run.ranks = of_run(Path(top), living=False)
        return judge(run)


def sample_plan(values: dict[str, str]) -> TrainingPlan:
    """A plan in which only these knobs mean anything."""
    source = Source(kind="assumed", ref="a sample")
    knobs: dict[str, Any] = {}
    for field in msgspec.structs.fields(TrainingPlan):
        if "Decision" in str(field.type) and field.required:
            text = values.get(field.name, "0")
            value = float(text) if re.search(r"[.e]", text) else int(text)
            knobs[field.name] = Decision(name=field.name, value=value, why="given in the sample", source=source)
    if "lr_scheduler" in values:
        knobs["lr_scheduler"] = Decision(
            name="lr_scheduler", value=values["lr_scheduler"], why="given in the sample", source=source
        )
    return TrainingPlan(task="sft", model=None, dataset=None, compute=None, fits="unknown", **knobs)  # type: ignore[arg-type]
