"""A smoke run with two processes on the processor: killed, resumed, measured on every rank; and the nodes' pre-flight."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "configs"))
from environments import folder
from patience import LIMIT
from plans import tiny_workspace

from papertrain.verbs.launch import launch

pytestmark = [pytest.mark.slow, pytest.mark.train]
ROOT = Path(__file__).resolve().parents[2]


def test_two_processes_are_killed_together_resume_together_and_each_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    train = folder("train")
    work = tiny_workspace(tmp_path, train, cards=2, total_steps=40, epochs=2.0, eval_steps=20, save_steps=20)
    report = launch(work, smoke=True, yes=True, env=str(train))
    assert report.exit_code() == 0, (work / "smoke/ours/stdout.log").read_text()[-3000:]
    log = [json.loads(line) for line in (work / "smoke/ours/train_log.jsonl").read_text().splitlines() if line.endswith("}")]  # fmt: skip
    assert log[0]["devices"] == 2 and any(x.get("event") == "resume" and x["from_step"] >= 5 for x in log)
    assert [x["step"] for x in log if "loss" in x][-1] == 10
    measured = report.data["measured"]
    assert measured["step_seconds"] > 0 and measured["checkpoint_bytes"] > 0
    assert {"host_bytes_rank0", "host_bytes_rank1"} <= set(measured) and min(measured["host_bytes_rank0"], measured["host_bytes_rank1"]) > 1e8  # fmt: skip
    assert measured["host_bytes"] == pytest.approx(measured["host_bytes_rank0"] + measured["host_bytes_rank1"], rel=0.3)
    assert "rank1" in report.body and not (work / "runs").exists()


def test_the_preflight_passes_on_like_nodes_and_names_the_one_that_differs(tmp_path: Path) -> None:
    python = folder("train") / "bin/python"
    script = ROOT / "src/papertrain/configs/targets/script_files/preflight.py"
    env = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    data = tmp_path / "data.jsonl"
    data.write_text("{}\n")

    def start(*words: str) -> tuple[int, dict[str, object]]:
        done = subprocess.run([str(python), "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", *words], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=LIMIT)  # fmt: skip
        line = next(x for x in done.stdout.splitlines() if '"preflight"' in x)
        return done.returncode, json.loads(line)

    code, said = start(str(script), "data.jsonl")
    assert (code, said["preflight"], said["processes"], said["wrong"]) == (0, "passed", 2, [])
    # The second process stands for a node with another file of that name.
    other = tmp_path / "other"
    other.mkdir()
    (other / "data.jsonl").write_text('{"a": 1}\n')
    (tmp_path / "two.py").write_text(f"import os, runpy\nif os.environ['RANK'] == '1': os.chdir({str(other)!r})\nrunpy.run_path({str(script)!r}, run_name='__main__')\n")  # fmt: skip
    code, said = start("two.py", "data.jsonl")
    assert code != 0 and said["preflight"] == "failed" and "files differ" in str(said["wrong"])
    code, said = start(str(script), "absent.jsonl")
    assert code != 0 and "absent.jsonl is missing" in str(said["wrong"])
