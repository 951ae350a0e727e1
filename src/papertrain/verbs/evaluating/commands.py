"""Commands that evaluate the methods of a study, all with the same settings."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from papertrain.core import yaml
from papertrain.core.commands import line
from papertrain.core.errors import PapertrainError
from papertrain.core.files import json_object, read_text

if TYPE_CHECKING:
    from papertrain.core.workspace import Run, Workspace


def commands(
    work: Workspace, tasks: list[str], shots: int | None, seed: int, more: Sequence[str] = (), only: str | None = None
) -> list[dict[str, Any]]:
    """Per run: the study's own test sets through evaluate.py or LLaMA-Factory, everything else through lm_eval.

    more: words for lm_eval that all methods get alike (`--include_path DIR`, `--device cpu`). only: one run.
    """
    study = work.study
    own = {d.name: d.test for d in study.datasets}
    harness = [t for t in tasks if t not in own]
    out: list[dict[str, Any]] = []
    for run in work.grid():
        if study.method(run.method).kind != "train" or (only is not None and run.id != only):
            continue
        if run.data in tasks and own[run.data]:
            out.append(_own(work, run, str(own[run.data])))
        if harness:
            out.append(_harness(work, run, harness, shots, seed, more))
    return out


def model_folder(work: Workspace, run: str) -> tuple[str, str]:
    """Where the trained model lies, and `adapter` or `model`; the usual place where nothing is there yet."""
    folder = work.run_path(run)
    for place in (folder / "model", folder):
        if (place / "adapter_config.json").is_file():
            return str(place), "adapter"
        if (place / "config.json").is_file():
            return str(place), "model"
    return str(folder / "model"), "model"


def _because(run: Run) -> str:
    return "" if run.state == "done" else f"needs the run first ({run.because or run.state})"


def _own(work: Workspace, run: Run, test: str) -> dict[str, Any]:
    script = work.root / "configs" / run.method / "script" / "evaluate.py"
    here = f"configs/{run.method}/llamafactory"
    predict = (work.root / here / "predict.yaml").is_file()
    folder = work.run_path(run.id)
    test = str(work.root / test) if (work.root / test).is_file() else test
    by = trained_by(work, run.id)
    if predict and (by == "llamafactory" or (not by and not script.is_file())):
        return _llamafactory(work, run, here)
    command = f"python {shlex.quote(str(script))} {shlex.quote(str(folder))} {shlex.quote(test)}"
    because = "; ".join(
        x
        for x in (
            _because(run),
            "" if script.is_file() else f"{line('papertrain', 'generate', work.root)} writes the script",
        )
        if x
    )
    return {"run": run.id, "with": "evaluate.py", "command": command, "because": because}


def trained_by(work: Workspace, run: str) -> str:
    """The target whose files a run was started with, as its record says; "" where none does."""
    return str((json_object(work.run_path(run) / "record.json") or {}).get("target") or "")


def _llamafactory(work: Workspace, run: Run, here: str) -> dict[str, Any]:
    """predict.yaml is written for the first run of a method: model, test set, place and seed of this one are said behind it.

    Its paths are seen from the workspace, so it is started there."""
    place = f"runs/{run.id}"
    model = "adapter_name_or_path" if (work.root / place / "adapter_config.json").is_file() or _adapts(work, here) else "model_name_or_path"  # fmt: skip
    held = f"{run.data}_test"
    words = ["llamafactory-cli", "train", f"{here}/predict.yaml", f"{model}={place}", f"eval_dataset={held}",
             f"output_dir={place}/predictions", f"seed={run.seed}"]  # fmt: skip
    known = held in _datasets(work, here)
    again = "" if known else f"{line('papertrain', 'generate', work.root)} writes {held} into {here}/dataset_info.json"
    return {
        "run": run.id,
        "with": "LLaMA-Factory predict",
        "command": f"(cd {shlex.quote(str(work.root))} && {shlex.join(words)})",
        "words": words,
        "folder": str(work.root),
        "because": "; ".join(x for x in (_because(run), again) if x),
    }


def _adapts(work: Workspace, here: str) -> bool:
    try:
        return "adapter_name_or_path" in yaml.load(read_text(work.root / here / "predict.yaml"), "predict.yaml").value
    except (PapertrainError, TypeError):
        return False


def _datasets(work: Workspace, here: str) -> Any:
    try:
        found = yaml.load_json(read_text(work.root / here / "dataset_info.json"), "dataset_info.json").value
    except PapertrainError:
        return {}
    return found if isinstance(found, dict) else {}


def _harness(
    work: Workspace, run: Run, tasks: list[str], shots: int | None, seed: int, more: Sequence[str]
) -> dict[str, Any]:
    place, kind = model_folder(work, run.id)
    base = ""
    if kind == "adapter":
        plan = work.plan(run.method)
        base = f"pretrained={plan.model.name},peft={place}"
    args = base or f"pretrained={place}"
    few = f" --num_fewshot {shots}" if shots is not None else ""
    command = (
        f"lm_eval --model hf --model_args {shlex.quote(args)} --tasks {shlex.quote(','.join(tasks))}{few} --batch_size auto --seed {seed} "
        f"--log_samples --output_path {shlex.quote(str(work.result_path(run.id)))}"
    ) + "".join(f" {shlex.quote(word)}" for word in more)
    return {"run": run.id, "with": "lm-evaluation-harness", "command": command, "because": _because(run)}
