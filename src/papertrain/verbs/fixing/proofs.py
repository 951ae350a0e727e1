"""The proof of a change: the framework's own parser reads the file, and a few real steps are run."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from papertrain.core.environment import of_a_child
from papertrain.core.errors import PapertrainError
from papertrain.core.texts import say

if TYPE_CHECKING:
    from papertrain.core.environment import Environment
    from papertrain.diagnose.configs import Config

PARSE_SECONDS, TRY_SECONDS, ROWS = 240, 600, 3
READERS = {
    "llamafactory": ("llamafactory", "import sys, yaml\nfrom llamafactory.hparams import get_train_args\nget_train_args(yaml.safe_load(open(sys.argv[1])))"),
    "hf": ("transformers", "import dataclasses, sys, yaml\nfrom transformers import TrainingArguments\nd = yaml.safe_load(open(sys.argv[1]))\n"
           "known = {f.name for f in dataclasses.fields(TrainingArguments) if f.init}\nTrainingArguments(**{k: v for k, v in d.items() if k in known})"),
    "deepspeed": ("deepspeed", "import json, os, sys\nos.environ.setdefault('DS_ACCELERATOR', 'cpu')\nfrom deepspeed.runtime.config import DeepSpeedConfig\n"
                  "def told(v):\n    return {k: told(x) for k, x in v.items() if x != 'auto'} if isinstance(v, dict) else v\n"
                  "d = told(json.load(open(sys.argv[1])))\nd['train_batch_size'] = d.setdefault('train_micro_batch_size_per_gpu', 1) * d.setdefault('gradient_accumulation_steps', 1)\n"
                  "DeepSpeedConfig(d)"),
    "accelerate": ("accelerate", "import sys\nfrom accelerate.commands.config.config_args import load_config_from_file\nload_config_from_file(sys.argv[1])"),
}  # fmt: skip
"""kind of config → (package, what its own code does with such a file first)."""
FEW = {"max_steps": ROWS, "logging_steps": 1, "save_strategy": "no", "eval_strategy": "no", "do_eval": False, "report_to": "none", "plot_loss": False, "overwrite_output_dir": True, "resume_from_checkpoint": None}  # fmt: skip


def environment_near(path: Path, env: str | None) -> Environment | None:
    """`--env`, else one near the file."""
    from papertrain.core.environment import read_environment

    return read_environment(env) if env not in (None, "auto") else read_environment("auto", near=path.absolute().parent)


def parsed(paths: Iterable[Path], environment: Environment | None) -> list[str]:
    """What each file's own framework says of it, one sentence each; nothing for kinds that no framework here reads."""
    told = []
    for path in paths:
        config = _config(path)
        if config is None or config.kind not in READERS:
            continue
        package, code = READERS[config.kind]
        version = environment.version(package) if environment is not None else None
        if environment is None or environment.python is None or version is None:
            told.append(say("{package} is not installed here: its own parser has not read {file}", package=package, file=path.name))  # fmt: skip
            continue
        code_, said = _run(
            [environment.python, "-c", code, str(path.absolute())], path.absolute().parent, PARSE_SECONDS
        )
        if code_ == 0:
            told.append(say("{package} {version} itself reads {file} without an error", package=package, version=version, file=path.name))  # fmt: skip
        elif code_ is None:
            told.append(say("{package} {version} did not end reading {file} in time", package=package, version=version, file=path.name))  # fmt: skip
        else:
            told.append(say("{package} {version} itself refuses {file}: {said}", package=package, version=version, file=path.name, said=last_line(said)))  # fmt: skip
    return told


def _config(path: Path) -> Config | None:
    from papertrain.core.files import read_text
    from papertrain.diagnose.configs import try_read

    try:
        return try_read(path, read_text(path, limit=2**20))
    except PapertrainError:
        return None


def _run(words: Sequence[str], folder: Path, seconds: float) -> tuple[int | None, str]:
    environment = {"HF_HUB_OFFLINE": "1"} | of_a_child()
    try:
        done = subprocess.run(list(words), cwd=folder, capture_output=True, text=True, errors="replace", timeout=seconds, env=environment, stdin=subprocess.DEVNULL)  # fmt: skip
    except subprocess.TimeoutExpired:
        return None, ""
    except OSError as error:
        return 127, error.strerror or str(error)
    return done.returncode, done.stderr + done.stdout


def last_line(text: str) -> str:
    lines = [x.strip() for x in text.splitlines() if x.strip()]
    named = [x for x in lines if "Error" in x or "Exception" in x]
    return (named or lines or ["-"])[-1][:200]


def start_words(path: Path, environment: Environment | None, place: Path) -> list[str] | None:
    """What starts a few steps of the run that reads this file: a script itself, LLaMA-Factory with a copy that is short."""
    config = _config(path)
    if config is None or environment is None or environment.python is None:
        return None
    if config.kind == "python":
        return [environment.python, str(path.absolute())]
    if config.kind == "shell":
        return ["bash", str(path.absolute())]
    if config.kind == "llamafactory" and environment.version("llamafactory") is not None and isinstance(config.value, dict):  # fmt: skip
        import json

        short: dict[str, Any] = {**config.value, **FEW, "output_dir": str(place / "out")}
        (place / "try.json").write_text(json.dumps(short))
        return [str(Path(environment.python).with_name("llamafactory-cli")), "train", str(place / "try.json")]
    return None


def tried(path: Path, environment: Environment | None) -> str:
    """A few real steps with the changed file: what came of them, in one sentence. Raises PapertrainError where nothing
    here can start the run."""
    with tempfile.TemporaryDirectory(prefix="papertrain-try-") as folder:
        words = start_words(path, environment, Path(folder))
        if words is None:
            raise PapertrainError(
                f"--try: what starts a run that reads {path.name} is not known here", code="cannot-try", file=path,
                ask=["name the start script as the file, or a workspace", "--env PATH of the training environment"],
            )  # fmt: skip
        log = Path(folder) / "train.log"
        code, rows = few_steps(words, path.absolute().parent, log, environment)
        return _said(log, code, rows)


def few_steps(words: Sequence[str], folder: Path, log: Path, environment: Environment | None) -> tuple[int | None, int]:
    """Started, watched until it has logged a few losses or has ended. (exit code, None where it was ended here; rows)."""
    own = [str(Path(environment.python).absolute().parent)] if environment is not None and environment.python else []
    variables = of_a_child(*own) | {"WANDB_MODE": "disabled"}
    with log.open("wb") as out:
        try:
            process = subprocess.Popen(list(words), cwd=folder, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=variables, start_new_session=True)  # fmt: skip
        except OSError as error:
            raise PapertrainError(f"cannot start {words[0]}: {(error.strerror or str(error)).lower()}", code="cannot-start") from None  # fmt: skip
        end = time.monotonic() + TRY_SECONDS
        while process.poll() is None and time.monotonic() < end and losses(log) < ROWS:
            time.sleep(0.3)
        if process.poll() is not None:
            return process.returncode, losses(log)
        for number, patience in ((signal.SIGTERM, 20.0), (signal.SIGKILL, 20.0)):
            try:
                os.killpg(process.pid, number)
                process.wait(timeout=patience)
                break
            except (ProcessLookupError, subprocess.TimeoutExpired):
                continue
    return None, losses(log)


def losses(log: Path) -> int:
    """Rows with a finite training loss so far."""
    from papertrain.diagnose.look import look_at_text

    return len(look_at_text(log.read_text("utf-8", errors="replace")[-200_000:]).curve)


def _said(log: Path, code: int | None, rows: int) -> str:
    from papertrain.verbs.diagnose import diagnose

    try:
        found = [d for d in diagnose([log]).data["diagnoses"] if not d["benign"] and d["branch"] == "crash"]
    except PapertrainError:
        found = []
    if code in (None, 0) and rows:
        return say("tried: {n} real steps logged a finite loss", n=rows)
    if code is None:
        return say("tried: no step was logged in {seconds} s", seconds=TRY_SECONDS)
    why = found[0]["class"] if found else last_line(log.read_text("utf-8", errors="replace"))
    return say("tried: it ended with exit code {code}: {why}", code=code, why=why)
