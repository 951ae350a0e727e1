"""Faults under `papertrain launch --supervise`: the generated script, a plan, and nobody at the keyboard."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from faults import TRAIN, Outcome
from papertrain.core.workspace import Workspace
from papertrain.run.checkpoints import checkpoints
from papertrain.verbs.fix import fix
from papertrain.verbs.generate import generate
from papertrain.verbs.launch import launch
from papertrain.verbs.plan import plan


def workspace(root: Path, models: Path, seed: int, *sets: str) -> tuple[Path, str]:
    """A plan of the tiny encoder on a few rows, its files written. Returns the workspace and the run's id."""
    r = random.Random(seed)
    root.mkdir(parents=True, exist_ok=True)
    with (root / "train.jsonl").open("w") as f:
        for _ in range(160):
            y = r.randrange(3)
            f.write(
                json.dumps(
                    {
                        "text": " ".join(f"w{r.randrange(60) + 60 * y}" for _ in range(r.randrange(6, 14))),
                        "label": f"c{y}",
                    }
                )
                + "\n"
            )
    work = root / "work"
    plan(str(models / "bert"), data=root / "train.jsonl", gpu="cpu", task="classification", output=work,
         sets=["method=full", "epochs=6", "save_steps=10", "eval_steps=10", "global_batch_size=8", "micro_batch_size=8", *(sets or ("learning_rate=0.003",))])  # fmt: skip
    generate(work)
    return work, Workspace(work).grid()[0].id


def attempts(work: Path, run: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((work / "runs" / run / "supervised.json").read_text())["attempts"]
    return found


def when(place: Path, step: int, act: Callable[[int], None]) -> threading.Thread:
    """Do something to the run's process once it has saved a checkpoint of that step."""

    def wait() -> None:
        end = time.monotonic() + 240
        while time.monotonic() < end:
            if (place / f"checkpoint-{step}/progress.json").is_file():
                with contextlib.suppress(OSError, ValueError, KeyError):
                    act(int(json.loads((place / "record.json").read_text())["pid"]))
                return
            time.sleep(0.01)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def outcome(name: str, work: Path, run: str, right: set[str], did: str, code: int) -> Outcome:
    found = attempts(work, run)
    first, last = found[0], found[-1]
    at = f"+{max(0, (first['detected_at_step'] or 0) - first['step'])}"
    return Outcome(
        name,
        at,
        first["failure"] or "none",
        first["failure"] in right,
        first["did"] == did,
        "supervised",
        code == 0 and not last["failure"],
        bool(first["failure"]),
    )


def killed(root: Path, models: Path, seed: int) -> Outcome:
    work, run = workspace(root, models, seed)
    when(work / "runs" / run, 20, lambda pid: os.killpg(pid, signal.SIGKILL))
    report = launch(work, run=run, yes=True, requeue=True, env=str(TRAIN.parent.parent))
    return outcome("process killed -9", work, run, {"killed-from-outside"}, "requeued", report.exit_code())


def cut_and_killed(root: Path, models: Path, seed: int) -> Outcome:
    work, run = workspace(root, models, seed)
    place = work / "runs" / run

    def act(pid: int) -> None:
        os.killpg(pid, signal.SIGKILL)
        time.sleep(0.1)
        newest = checkpoints(place)[-1].path
        content = (newest / "optimizer.pt").read_bytes()
        (newest / "optimizer.pt").write_bytes(content[: len(content) // 2])

    when(place, 30, act)
    report = launch(work, run=run, yes=True, requeue=True, env=str(TRAIN.parent.parent))
    o = outcome(
        "killed while saving, checkpoint cut", work, run, {"killed-from-outside"}, "requeued", report.exit_code()
    )
    return o._replace(fixed=o.fixed and bool(attempts(work, run)[0]["set_aside"]))


def rate(root: Path, models: Path, seed: int) -> Outcome:
    """Not finite, so it is ended at once; what mends it changes the experiment, so a person says yes."""
    work, run = workspace(root, models, seed, "learning_rate=30.0", "max_grad_norm=0", "warmup_steps=0")
    report = launch(work, run=run, yes=True, supervise=True, repair="execution", env=str(TRAIN.parent.parent))
    o = outcome(
        "learning rate x10000, planned",
        work,
        run,
        {"nan-lr-too-high", "divergence-lr-too-high"},
        "stopped",
        report.exit_code(),
    )
    finished = False
    with contextlib.suppress(Exception):
        done = fix(work / "runs" / run, "D1.F1", yes=True)
        if done.data["applied"]:
            again = launch(work, run=run, yes=True, supervise=True, overwrite=True, env=str(TRAIN.parent.parent))
            finished = again.exit_code() == 0
    return o._replace(finished=finished, how="tool")


SUPERVISED = {
    "process killed -9": killed,
    "killed while saving, checkpoint cut": cut_and_killed,
    "learning rate x10000, planned": rate,
}
