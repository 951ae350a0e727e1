"""launch --supervise: what is a failure, what may be done by itself, and that nothing is lost on the way."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from workspaces import make_workspace

from papertrain.core.errors import PapertrainError
from papertrain.run import slurm_jobs
from papertrain.run.checkpoints import checkpoints, keep_good
from papertrain.verbs.launch import launch
from papertrain.verbs.launching import guard

RUN = "base.toy.1"
COUNT = """import json, os, pathlib, sys, time
out = pathlib.Path(sys.argv[2])
n = pathlib.Path('count'); i = int(n.read_text()) if n.exists() else 0; n.write_text(str(i + 1))
def step(k, loss=1.5, norm=1.0):
    line = json.dumps({'step': k, 'total_steps': 40, 'loss': loss, 'grad_norm': norm, 'learning_rate': 1e-5})
    with (out / 'train_log.jsonl').open('a') as f: f.write(line + chr(10))
    print(line, flush=True)
def save(k, whole=True):
    c = out / f'checkpoint-{k}'; c.mkdir(exist_ok=True)
    (c / 'progress.json').write_text('{"step": %d}' % k if whole else '{"ste')
"""


def study(tmp_path: Path, code: str) -> Path:
    work = make_workspace(tmp_path, command="{python} base.py {seed} {out}")
    (work / "base.py").write_text(COUNT + code)
    return work


def attempts(work: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((work / f"runs/{RUN}/supervised.json").read_text())["attempts"]
    return found


def starts(work: Path) -> int:
    return int((work / "count").read_text())


def test_by_default_a_failure_is_diagnosed_and_nothing_is_started_again(tmp_path: Path) -> None:
    work = study(tmp_path, "step(1); save(1); print('RuntimeError: CUDA error: uncorrectable ECC error encountered'); sys.exit(1)")  # fmt: skip
    report = launch(work, run=RUN, yes=True, supervise=True)
    assert report.exit_code() == 1 and starts(work) == 1
    (only,) = attempts(work)
    assert only["failure"] == "hardware-gpu-ecc" and only["did"] == "stopped" and "--requeue" in only["why"]
    assert "hardware-gpu-ecc" in report.result and (work / f"runs/{RUN}/checkpoint-1").is_dir()


def test_a_good_run_under_supervision_is_one_attempt_without_a_failure(tmp_path: Path) -> None:
    work = study(tmp_path, "[step(k, 2 - k / 40) for k in range(1, 41)]")
    report = launch(work, run=RUN, yes=True, requeue=True, repair="execution")
    assert report.exit_code() == 0 and starts(work) == 1
    assert attempts(work)[0]["failure"] == "" and attempts(work)[0]["step"] == 40


def test_a_process_that_somebody_kills_is_started_again_from_its_checkpoint(tmp_path: Path) -> None:
    work = study(tmp_path, "step(i * 5 + 1); save(i * 5 + 1)\nif i < 2: os.kill(os.getpid(), 9)")
    assert launch(work, run=RUN, yes=True, requeue=True).exit_code() == 0
    first, second, third = attempts(work)
    assert (first["failure"], first["did"]) == ("killed-from-outside", "requeued") and "step 1" in first["why"]
    assert second["step"] == 6 and third["failure"] == "" and "finished" in second["outcome"]
    assert [c.step for c in checkpoints(work / f"runs/{RUN}")] == [1, 6, 11], "no checkpoint was lost"


def test_the_same_failure_at_the_same_step_twice_ends_it(tmp_path: Path) -> None:
    work = study(tmp_path, "step(3); os.kill(os.getpid(), 9)")
    report = launch(work, run=RUN, yes=True, requeue=True, restarts=10)
    assert report.exit_code() == 1 and starts(work) == 2
    assert "same failure twice" in attempts(work)[-1]["why"]


def test_progress_between_failures_is_not_a_loop_but_the_count_ends_it(tmp_path: Path) -> None:
    work = study(tmp_path, "step(i + 1); save(i + 1); os.kill(os.getpid(), 9)")
    launch(work, run=RUN, yes=True, requeue=True, restarts=4)
    assert starts(work) == 5 and "4 times" in attempts(work)[-1]["why"]


def test_a_failure_of_the_code_is_never_requeued(tmp_path: Path) -> None:
    work = study(tmp_path, "step(1); raise KeyError('instruction')")
    launch(work, run=RUN, yes=True, requeue=True)
    assert starts(work) == 1 and attempts(work)[0]["did"] == "stopped"


def test_a_damaged_checkpoint_is_set_aside_and_the_one_before_is_used(tmp_path: Path) -> None:
    work = study(tmp_path, "step(9)\nif i == 0: save(4); save(8, whole=False); os.kill(os.getpid(), 9)")
    assert launch(work, run=RUN, yes=True, requeue=True).exit_code() == 0
    place = work / f"runs/{RUN}"
    assert [c.step for c in checkpoints(place)] == [4]
    assert (place / "aside/checkpoint-8.1/progress.json").is_file(), "moved, not removed"
    assert "checkpoint-8 is set aside" in attempts(work)[0]["set_aside"][0]


def test_a_run_whose_loss_is_not_finite_is_ended_before_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "LOOK_SECONDS", 0.2)
    code = "[step(k) for k in range(1, 11)]; save(10)\n[step(k, float('nan'), float('nan')) for k in range(11, 16)]; save(15)\ntime.sleep(900)"
    work = study(tmp_path, code)
    report = launch(work, run=RUN, yes=True, supervise=True)
    (only,) = attempts(work)
    assert report.exit_code() == 1 and only["stopped_by_watch"].startswith("loss is nan since step 11")
    assert only["failure"].startswith("nan-") and only["seconds"] < 800 and only["detected_at_step"] >= 11


def test_a_run_that_ended_well_with_a_loss_that_is_not_finite_has_not_ended_well(tmp_path: Path) -> None:
    work = study(tmp_path, "[step(k) for k in range(1, 4)]; [step(k, float('nan'), float('nan')) for k in range(4, 9)]")
    report = launch(work, run=RUN, yes=True, supervise=True)
    assert report.exit_code() == 1 and attempts(work)[0]["failure"].startswith("nan-")


def test_checkpoints_saved_after_the_loss_broke_are_not_gone_on_from(tmp_path: Path) -> None:
    for k in (10, 20, 30):
        (tmp_path / f"checkpoint-{k}").mkdir()
        (tmp_path / f"checkpoint-{k}/progress.json").write_text("{}")
    good, told = keep_good(tmp_path, before=15)
    assert good is not None and good.step == 10 and len(told) == 2
    assert sorted(p.name for p in (tmp_path / "aside").iterdir()) == ["checkpoint-20.1", "checkpoint-30.1"]


def test_a_variable_that_mends_the_execution_is_set_and_recorded(tmp_path: Path) -> None:
    text = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.24 GiB. GPU 3 has a total capacity of 79.15 GiB of which 1.31 GiB is free. "
        "Of the allocated memory 54.02 GiB is allocated by PyTorch, and 21.70 GiB is reserved by PyTorch but unallocated."
    )
    code = f"step(2); save(2)\nif 'expandable' not in str(os.environ): print({text!r}); sys.exit(1)"
    work = study(tmp_path, code)
    report = launch(work, run=RUN, yes=True, repair="execution")
    first, second = attempts(work)
    assert report.exit_code() == 0 and first["did"] == "repaired" and first["failure"] == "oom-fragmentation"
    assert "expandable_segments:True" in first["fix"]["diff"] and first["fix"]["effect"] == "execution"
    assert "finished" in first["outcome"] and second["failure"] == ""


def test_what_changes_the_experiment_is_never_applied_by_itself(tmp_path: Path) -> None:
    code = "[print({'loss': 1.5 + k * k / 8, 'grad_norm': 2.0 * 3 ** k, 'learning_rate': 0.01, 'epoch': k / 10}) for k in range(7)]; [print({'loss': float('nan'), 'grad_norm': float('nan'), 'learning_rate': 0.01, 'epoch': 0.8}) for _ in range(3)]; sys.exit(1)"
    work = study(tmp_path, code)
    launch(work, run=RUN, yes=True, repair="execution")
    assert starts(work) == 1 and "yours to decide" in attempts(work)[0]["why"]


def test_restarts_below_zero_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PapertrainError, match="count"):
        launch(study(tmp_path, ""), run=RUN, yes=True, restarts=-1)


# ------------------------------------------------------------------------------------------------ Slurm, played by scripts

SBATCH = """#!/bin/sh
echo "sbatch $*" >> "$SLURM_PLAY/asked"
n=$(cat "$SLURM_PLAY/n" 2>/dev/null || echo 0); n=$((n+1)); echo $n > "$SLURM_PLAY/n"
echo $((1000+n))
"""
SQUEUE = "#!/bin/sh\nexit 1\n"
SACCT = """#!/bin/sh
n=$(cat "$SLURM_PLAY/n"); echo "step log of job $n" >> "$SLURM_PLAY/log"
if [ "$n" = 1 ]; then echo 'NODE_FAIL|1:0|gpu[03-04]'; else echo 'COMPLETED|0:0|gpu[05-06]'; fi
"""
SCONTROL = """#!/bin/sh
if [ "$1 $2" = "show hostnames" ]; then exit 1; fi
echo "JobId=1001 JobState=NODE_FAIL ExitCode=1:0 NodeList=gpu[03-04] FailedNode=gpu04"
"""


def test_a_slurm_job_whose_node_fails_is_submitted_again_without_that_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    tools, play = tmp_path / "tools", tmp_path / "play"
    tools.mkdir()
    play.mkdir()
    for name, text in (("sbatch", SBATCH), ("squeue", SQUEUE), ("sacct", SACCT), ("scontrol", SCONTROL)):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_PLAY", str(play))
    monkeypatch.setattr(slurm_jobs, "EVERY_SECONDS", 0.01)
    work = study(tmp_path, "")
    report = launch(work, run=RUN, launcher="slurm", yes=True, requeue=True)
    first, second = (play / "asked").read_text().splitlines()
    assert "--exclude" not in first and "--exclude=gpu04" in second
    one, two = attempts(work)
    assert one["failure"] == "hardware-node-failure" and one["excluded_nodes"] == ["gpu04"] and one["did"] == "requeued"
    assert report.exit_code() == 0 and two["failure"] == ""


def test_a_variable_that_mends_the_execution_stands_in_the_job_that_is_submitted_again(tmp_path: Path) -> None:
    from papertrain.core.workspace import Workspace
    from papertrain.verbs.launching.ready import ready

    space = Workspace.open(study(tmp_path, ""))
    cell = next(r for r in space.grid() if r.id == RUN)
    one = ready(space, cell, None, target=None, launcher="slurm", resume=False, more=(), added={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"})  # fmt: skip
    lines = one.start.script.splitlines()
    assert lines.count("export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True") == 1
    assert lines.index("export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True") < next(
        i for i, row in enumerate(lines) if row.startswith("srun")
    )


def test_node_lists_are_read_with_and_without_slurms_own_tool() -> None:
    assert slurm_jobs.hosts("gpu[01-03,07],login1", {"PATH": "/nonexistent"}) == ("gpu01", "gpu02", "gpu03", "gpu07", "login1")  # fmt: skip
    assert slurm_jobs.hosts("a1,b2", {}) == ("a1", "b2")


# ------------------------------------------------------------------------------------------------ a plan's own knobs

OOM = """{'loss': 2.1, 'grad_norm': 1.0, 'learning_rate': 1e-05, 'epoch': 0.01}
  File "/e/transformers/models/qwen2/modeling_qwen2.py", line 341, in forward
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 2.00 GiB is free. Of the allocated memory 75.10 GiB is allocated by PyTorch, and 120.00 MiB is reserved by PyTorch but unallocated.
"""


def planned(tmp_path: Path) -> Path:
    from papertrain.verbs.generate import generate
    from papertrain.verbs.plan import plan

    rows = [json.dumps({"instruction": f"question {i} " * 20, "output": f"answer {i} " * 20}) for i in range(400)]
    (tmp_path / "train.jsonl").write_text("\n".join(rows) + "\n")
    work = tmp_path / "work"
    plan("Qwen/Qwen2.5-0.5B-Instruct", data=tmp_path / "train.jsonl", gpu="A100-80GB", output=work, sets=["micro_batch_size=16", "global_batch_size=32"])  # fmt: skip
    generate(work)
    return work


def test_in_a_workspace_the_micro_batch_is_halved_and_nothing_else_of_the_experiment_moves(tmp_path: Path) -> None:
    from papertrain.core.workspace import Workspace
    from papertrain.verbs.diagnose import diagnose
    from papertrain.verbs.launching import repairs

    space = Workspace(planned(tmp_path))
    run = space.grid()[0].id
    place = space.run_path(run)
    place.mkdir(parents=True)
    (place / "stdout.log").write_text(OOM)
    before = space.plan("ours").values()
    found = diagnose([place]).data["diagnoses"][0]
    done = repairs.mend(space, run, found, "quick")
    after = space.plan("ours").values()
    assert isinstance(done, dict) and done["effect"] == "execution" and "micro_batch_size" in done["diff"], done
    assert after["micro_batch_size"] * after["gradient_accumulation_steps"] == before["micro_batch_size"] * before["gradient_accumulation_steps"]  # fmt: skip
    moved = {k for k in before if before[k] != after[k]}
    assert moved and moved <= repairs.FREE_TO_CHANGE, moved
    assert Path(done["note"]).is_file() and Path(done["reverse"]).is_file()


def test_a_plan_that_was_changed_has_its_way_back_where_nothing_can_be_tried(tmp_path: Path) -> None:
    from papertrain.core.workspace import Workspace
    from papertrain.verbs.diagnose import diagnose
    from papertrain.verbs.fix import fix

    space = Workspace(planned(tmp_path))
    shutil.rmtree(space.root / "configs")  # without files of a framework nothing starts
    place = space.run_path(space.grid()[0].id)
    place.mkdir(parents=True)
    (place / "stdout.log").write_text(OOM)
    fixes = diagnose([place]).data["diagnoses"][0]["fixes"]
    id = next(f["id"] for f in fixes if f["effect"] == "execution" and f["edits"])
    done = fix(place, id, yes=True, try_=True).data
    assert "not tried: " in done["proof"] and Path(done["reverse"]).is_file()


def test_a_change_that_would_move_another_decision_is_not_applied(tmp_path: Path) -> None:
    from papertrain.core.workspace import Workspace
    from papertrain.verbs.launching import repairs

    space = Workspace(planned(tmp_path))
    assert "learning_rate" in repairs.other_decisions(space, "ours", [{"key": "learning_rate", "new": 1e-3}])
    assert repairs.other_decisions(space, "ours", [{"key": "micro_batch_size", "new": 8}]) == []


def test_a_run_that_ended_with_exit_0_and_diverged_is_told_as_a_failure(tmp_path: Path) -> None:
    code = "[step(k, 2.5 - 0.03 * k, 1.0) for k in range(1, 26)]; [step(k, 1.75 * 1.25 ** (k - 25), 1.0 * 1.3 ** (k - 25)) for k in range(26, 61)]"
    work = study(tmp_path, code)
    report = launch(work, run=RUN, yes=True, supervise=True)
    (only,) = attempts(work)
    assert report.exit_code() == 1 and only["failure"].startswith("divergence") and only["did"] == "stopped"
