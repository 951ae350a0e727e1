"""What this machine has for a run: the training environment, its programs, and the variables of the process."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from papertrain.core.commands import line
from papertrain.core.environment import ENVIRONMENT, Environment, of_a_child, read_environment, remembered
from papertrain.core.errors import PapertrainError
from papertrain.core.program import COMES_FROM
from papertrain.core.workspace import Workspace

if TYPE_CHECKING:
    from papertrain.verbs.launching.ready import Ready

INSTALL = "python3 -m venv .envs/train && .envs/train/bin/pip install torch transformers peft accelerate"


def environment_of(work: Workspace, asked: str | None) -> Environment | None:
    """`--env`, else the one that the plan was made for, else one near the workspace, else one near here."""
    asked = asked if asked is not None else remembered(work.state(ENVIRONMENT))
    if asked not in (None, "auto"):
        return read_environment(asked)
    return read_environment("auto", near=work.root.resolve()) or read_environment("auto")


def python_of(environment: Environment | None) -> str:
    """The interpreter as a full path: the run starts in another folder than this."""
    return os.path.abspath(environment.python) if environment is not None and environment.python else sys.executable  # noqa: PTH100


def search(environment: Environment | None) -> tuple[str, ...]:
    """Where programs are looked for first: the training environment, then this tool's own."""
    found = [str(Path(python_of(environment)).parent), str(Path(sys.executable).parent)]
    return tuple(dict.fromkeys(found))


def variables(one: Ready, environment: Environment | None) -> dict[str, str]:
    """The whole environment of the process: this one's, the training environment's programs first, the run's variables."""
    given = {v.name: v.value for v in one.start.environment}
    return of_a_child(*search(environment)) | given | {"PYTHONUNBUFFERED": "1"}


def cannot_start(work: Workspace, one: Ready, environment: Environment | None) -> PapertrainError | None:
    """Why the program of this cell would not even start here: known before anything is written."""
    torch = environment is not None and environment.python is not None and environment.version("torch") is not None
    if one.program.kind == "python" and not torch and not one.start.submits:
        install = " ".join([INSTALL, *(name for name in one.program.needs if "/" not in name)])
        return PapertrainError(
            "no training environment with torch was found", code="no-environment",
            ask=["--env PATH of a venv or conda folder that has torch and transformers", f"or make one: {install}"], command=install,
        )  # fmt: skip
    lacking = _lacking(work, one, environment)
    if lacking is not None:
        return lacking
    word = one.start.words[0]
    if runnable(word, work.root, variables(one, environment)["PATH"]):
        return None
    package = COMES_FROM.get(word)
    pip = None
    if package is not None:
        own = environment is not None and environment.python is not None
        pip = shlex.join([python_of(environment), "-m", "pip", "install", package]) if own else f"{INSTALL} {package}"
    return PapertrainError(
        f"cannot start {one.run.id}: {word} is not installed here; nothing was written", code="no-program",
        ask=["--env PATH of the environment that has it", *([f"or install it: {pip}"] if pip else [])], command=pip,
    )  # fmt: skip


def _lacking(work: Workspace, one: Ready, environment: Environment | None) -> PapertrainError | None:
    """What this way to start needs to carry the plan's sharding: without it the run would need more memory than was planned, or stop."""
    files = [name for name in one.program.needs if "/" in name]
    missing = next((name for name in files if not (work.root / name).is_file()), None)
    if missing is not None:
        return PapertrainError(
            f"cannot start {one.run.id} as planned: {missing}, which shards it, is not there; nothing was written", code="no-sharding",
            ask=["the config files are of an older papertrain, or it was removed: write them again"], command=line("papertrain", "generate", work.root),
        )  # fmt: skip
    if environment is None or environment.python is None or one.start.submits:
        return None
    package = next(
        (name for name in one.program.needs if name not in files and environment.version(name) is None), None
    )
    if package is None:
        return None
    pip = shlex.join([python_of(environment), "-m", "pip", "install", package])
    return PapertrainError(
        f"cannot start {one.run.id} as planned: {package}, which shards it, is not in the training environment; nothing was written", code="no-sharding",
        ask=["--env PATH of the environment that has it", f"or install it: {pip}"], command=pip,
    )  # fmt: skip


def runnable(word: str, folder: Path, path: str) -> bool:
    """Whether a shell in that folder would find the program."""
    if "/" in word:
        return os.access(folder / word, os.X_OK)
    return shutil.which(word, path=path) is not None
