"""launch on a real one-node Slurm cluster and on a local Ray cluster, both started for the test on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import clusters
from environments import folder
from patience import LIMIT, until
from plans import make_job, tiny_workspace
from workspaces import make_workspace

from papertrain.configs.generating import generate as make
from papertrain.core.workspace import Workspace
from papertrain.verbs.launch import launch
from papertrain.verbs.status import status

pytestmark = [pytest.mark.slow, pytest.mark.cluster]

CODE = """
import os, pathlib, signal, sys, time
out = pathlib.Path(sys.argv[2])
signal.signal(signal.SIGTERM, lambda n, f: ((out / "checkpoint-1").mkdir(exist_ok=True), sys.exit(143)))
print("seed", sys.argv[1], "restart", os.environ.get("SLURM_RESTART_COUNT", "0"), "resumes", (out / "checkpoint-1").exists(), flush=True)
if os.environ.get("SLOW") and not (out / "checkpoint-1").exists():
    time.sleep(300)
(out / "result.txt").write_text(sys.argv[3])
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[dict[str, str]]:
    with tempfile.TemporaryDirectory() as root, clusters.slurm(Path(root) / "slurm") as found:
        yield found


@pytest.fixture
def study(tmp_path: Path) -> Path:
    work = make_workspace(tmp_path, command="{python} base.py {seed} {out} {data_train}")
    (work / "base.py").write_text(CODE)
    return work


def use(monkeypatch: pytest.MonkeyPatch, found: dict[str, str]) -> None:
    for name, value in found.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PAPERTRAIN_SITE", "")


def test_a_run_is_tested_submitted_and_done_on_a_real_slurm(cluster: dict[str, str], study: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    use(monkeypatch, cluster)
    tried = launch(study, run="base.toy.1", launcher="slurm", dry_run=True)
    assert "to start at" in tried.explanation and not (study / "runs").exists()
    report = launch(study, run="base.toy.1", launcher="slurm", yes=True)
    job = report.data["runs"][0]["job"]
    assert job.isdigit() and report.exit_code() == 0
    said = clusters.finished(cluster, job)
    run = study / "runs/base.toy.1"
    assert "JobState=COMPLETED" in said, said
    assert (run / "result.txt").read_text() == "../train.jsonl" and "seed 1 restart 0" in (
        run / "stdout.log"
    ).read_text()
    assert json.loads((run / "job_end.json").read_text())["exit_code"] == 0
    assert Workspace(study).grid()[-1].state == "done"


def test_the_open_cells_of_a_study_are_one_array(cluster: dict[str, str], study: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    use(monkeypatch, cluster)
    text = (study / "study.toml").read_text()
    text = (
        text.replace("seeds = [1]", "seeds = [1, 2, 3, 4]")
        .replace("[methods.ours]\n", "")
        .replace('ours = "ours"', 'ours = "base"')
    )
    (study / "study.toml").write_text(text)
    (study / "base.py").write_text(CODE + "\nif sys.argv[1] == '2': raise SystemExit(7)\n")
    tried = launch(study, missing=True, max_=3, launcher="slurm", dry_run=True)
    assert "#SBATCH --array=0-2" in tried.body and "to start at" in tried.explanation
    report = launch(study, missing=True, max_=3, launcher="slurm", yes=True)
    job = report.data["job"]
    assert [r["job"] for r in report.data["runs"]] == [f"{job}_0", f"{job}_1", f"{job}_2"]
    assert {r.state for r in Workspace(study).grid()} <= {"running", "done", "failed", "missing"}
    clusters.finished(cluster, job)
    grid = {r.seed: r.state for r in Workspace(study).grid()}
    assert grid == {1: "done", 2: "failed", 3: "done", 4: "missing"}
    assert "seed 3" in (study / "runs/base.toy.3/stdout.log").read_text()
    shown = {r["run"]: r["state"] for r in status(study).data["grid"]}
    assert shown["base.toy.2"] == "failed" and shown["base.toy.4"] == "missing"


def test_before_the_time_limit_the_training_saves_and_the_same_job_goes_on(cluster: dict[str, str], study: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    use(monkeypatch, cluster)
    monkeypatch.setenv("SLOW", "1")
    (study / "site.toml").write_text('[slurm]\nwalltime = "1"\nsignal_seconds = 55\noptions = ["--nice=1"]\n')
    report = launch(study, run="base.toy.1", launcher="slurm", yes=True)
    job = report.data["runs"][0]["job"]
    assert "#SBATCH --time=00:01:00" in (study / "runs/base.toy.1/job.sbatch").read_text()
    log = study / "runs/base.toy.1/stdout.log"

    def resumes() -> bool:
        # Slurm keeps a job that was started again back for two minutes; the test lets it go at once.
        subprocess.run(["scontrol", "update", f"jobid={job}", "starttime=now"], env=os.environ | cluster, capture_output=True, check=False)  # fmt: skip
        return "resumes True" in (log.read_text() if log.exists() else "")

    until(resumes, every=1)
    clusters.finished(cluster, job)
    lines = [line for line in log.read_text().splitlines() if line.startswith("seed")]
    assert lines[0] == "seed 1 restart 0 resumes False" and lines[-1] == "seed 1 restart 1 resumes True"
    assert Workspace(study).grid()[-1].state == "done"


def test_slurm_accepts_the_scripts_of_every_target_on_its_nodes_with_cards(cluster: dict[str, str], tmp_path: Path) -> None:  # fmt: skip
    """And refuses those that ask for more cards than a node has: else its yes says nothing."""
    env = os.environ | cluster

    def asked(text: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["sbatch", "--test-only", "-p", "cards"], input=text, env=env, capture_output=True, text=True, timeout=LIMIT)  # fmt: skip

    seen = 0
    for nodes in (1, 2, 4):
        for name, text in make([make_job(cards=8, nodes=nodes)]).files.items():
            if name.endswith(".sbatch"):
                done = asked(text)
                seen += 1
                assert done.returncode == 0 and "to start at" in done.stderr, (name, done.stderr)
    assert seen >= 12
    script = make([make_job(cards=16, nodes=1)]).files["configs/ours/slurm/script.sbatch"]
    assert asked(script).returncode != 0


def test_a_job_of_a_real_ray_cluster_works_in_the_workspace(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = folder("ray") / "bin"
    with tempfile.TemporaryDirectory(prefix="ray") as root, clusters.ray(Path(root), programs) as found:
        use(monkeypatch, found)
        report = launch(study, run="base.toy.1", launcher="ray", yes=True)
        assert report.exit_code() == 0, (study / "runs/base.toy.1/submit.log").read_text()
        assert report.data["runs"][0]["job"].startswith("raysubmit")
        until((study / "runs/base.toy.1/job_end.json").exists)
    assert Workspace(study).grid()[-1].state == "done"
    assert (study / "runs/base.toy.1/result.txt").read_text() == "../train.jsonl"
    assert "seed 1" in (study / "runs/base.toy.1/stdout.log").read_text()


@pytest.mark.train
def test_the_script_trained_by_slurm_is_told_saves_and_resumes_in_the_same_job(cluster: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    """What happens before a time limit, at once: the batch script gets the signal that Slurm would send it."""
    use(monkeypatch, cluster)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    train = folder("train")
    work = tiny_workspace(tmp_path, train, cards=1, total_steps=2400, epochs=60.0, eval_steps=2400, save_steps=2400)
    job = launch(work, launcher="slurm", yes=True, env=str(train)).data["runs"][0]["job"]
    run, env = work / "runs/ours.train.42", os.environ | cluster

    def log() -> list[dict[str, object]]:
        file = run / "train_log.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        return [json.loads(line) for line in lines if line.endswith("}")]

    def resumes() -> bool:
        subprocess.run(["scontrol", "update", f"jobid={job}", "starttime=now"], env=env, capture_output=True, check=False)  # fmt: skip
        return any(x.get("event") == "resume" for x in log())

    until(lambda: any(int(x.get("step", 0)) >= 10 for x in log() if "loss" in x))  # type: ignore[call-overload]
    subprocess.run(["scancel", "--batch", "--signal=TERM", job], env=env, check=True, timeout=LIMIT)
    until(resumes, going=lambda: not any(x.get("reason") == "finished" for x in log()), every=1)
    clusters.finished(cluster, job)
    resumed = [x for x in log() if x.get("event") == "resume"]
    assert len(resumed) == 1 and 10 <= int(resumed[0]["from_step"]) < int(log()[0]["total_steps"]), (
        run / "stdout.log"
    ).read_text()[-2000:]  # type: ignore[call-overload]
    steps = [int(x["step"]) for x in log() if "loss" in x]  # type: ignore[call-overload]
    assert sorted(steps) == steps and steps[-1] == log()[0]["total_steps"]
    assert Workspace(work).grid()[-1].state == "done"
