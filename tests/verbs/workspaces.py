"""Small workspaces for the tests of verbs that read one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "configs"))
from msgspec import structs
from plans import make_plan

from papertrain.core.training import write_plan

STUDY = """
[study]
ours = "ours"
baselines = ["base"]
seeds = [1, 2]
{more}
[methods.ours]
[methods.base]
kind = "command"
command = "{command}"
seeds = [1]
[datasets.toy]
train = "../train.jsonl"
test = "../test.jsonl"
"""


def make_workspace(root: Path, *, command: str = "", more: str = "", **plan: Any) -> Path:
    """A workspace with a plan; with `command`, a study with a baseline of that command."""
    work = root / "work"
    (root / "train.jsonl").write_text('{"instruction": "a", "input": "", "output": "b"}\n')
    (root / "test.jsonl").write_text('{"instruction": "a", "input": "", "output": "b"}\n')
    file = work / "plans/ours/plan.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    made = make_plan(**plan)
    assert made.dataset is not None
    file.write_text(write_plan(structs.replace(made, dataset=structs.replace(made.dataset, path="../train.jsonl"))))
    if command:
        (work / "study.toml").write_text(STUDY.format(command=command, more=more))
    return work
