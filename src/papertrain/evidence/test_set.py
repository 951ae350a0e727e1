"""A result needs a test set: whether the study names one, how it gets one, and how a finished run predicts it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from papertrain.core.commands import line, quoted
from papertrain.core.files import json_object
from papertrain.core.outputs import outputs
from papertrain.core.workspace import Data, Run, Study, Workspace

TOPIC = "test-set"
FILES = "[datasets]"
"""Under which generated.json keeps the data files that the generated files name."""
_HELD = re.compile(r"(^|[_.-])(test|held[_-]?out)([_.-]|$)", re.I)


def lacks_test(work: Workspace, data: str | None = None) -> Data | None:
    """The first data set of the study (or the named one) without a test file, where a training of ours is scored on it."""
    if not any(m.kind == "train" for m in work.study.methods):
        return None
    return next((d for d in work.study.datasets if not d.test and data in (None, d.name)), None)


def named_files(study: Study) -> dict[str, dict[str, str]]:
    """Validation and test files by data set, as study.toml names them."""
    named = {d.name: {"validation": d.validation, "test": d.test} for d in study.datasets}
    return {name: {what: file for what, file in files.items() if file} for name, files in named.items()}


def adding(work: Workspace) -> str:
    """The line that adds a test set: with the file that lies beside the training data, else the words on how."""
    lacking = lacks_test(work)
    beside = _beside(work, lacking) if lacking is not None and len(work.study.datasets) == 1 else None
    if beside is not None:
        return line("papertrain", "plan", work.root, "--test", beside)
    return line("papertrain", "explain", TOPIC, "--plan", work.root)


def _beside(work: Workspace, data: Data) -> Path | None:
    if not data.train:
        return None
    inside = work.root / data.train
    train = inside if inside.exists() else Path(data.train)
    if not train.is_file():
        return None
    near = sorted(p for p in train.parent.iterdir() if p.suffix == train.suffix and p != train and p.is_file())
    found = [p for p in near if _HELD.search(p.name)]
    return Path(os.path.relpath(found[0])) if len(found) == 1 else None


def unpredicted(work: Workspace, run: Run) -> bool:
    """Whether a finished run left nothing that could be scored."""
    return run.state == "done" and not any(outputs(work, run.id))


def predicting(work: Workspace, run: Run) -> str | None:
    """The line by which a finished run predicts the study's test file, without training again; None where none is known."""
    test = work.study.data(run.data).test
    try:
        record = json_object(work.run_path(run.id) / "record.json") or {}
        words, target = [str(w) for w in record["words"]], record.get("target")
    except (KeyError, TypeError):
        return None
    script = f"configs/{run.method}/script/evaluate.py"
    if not test or target != "script" or not words or not (work.root / script).is_file():
        return None
    beside = Path(words[0]).parent / "python"
    python = words[0] if Path(words[0]).name.startswith("python") else str(beside) if beside.is_file() else "python"
    seen = test if (work.root / test).exists() else str(Path(test).absolute())
    return f"(cd {quoted(work.root)} && {line(python, script, 'runs/' + run.id, seen)})"
