"""Commands that evaluate the methods of a study, all with the same settings."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from papertrain.core.commands import line

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
    predict = sorted((work.root / "configs" / run.method / "llamafactory").glob("*predict*.y*ml"))
    folder = work.run_path(run.id)
    test = str(work.root / test) if (work.root / test).is_file() else test
    if predict and not script.is_file():
        return {
            "run": run.id,
            "with": "LLaMA-Factory predict",
            "command": f"llamafactory-cli train {shlex.quote(str(predict[0]))}",
            "because": _because(run),
        }
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
