"""`diagnose` on loose files, folders, streams and workspaces."""

from __future__ import annotations

import gzip
import json
import sys
import time
from pathlib import Path

import pytest
from patience import quick
from workspaces import make_workspace

from papertrain.core.errors import PapertrainError
from papertrain.verbs.diagnose import diagnose

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.02 GiB is free.\n"
NAN = (
    "{'loss': 1.71, 'grad_norm': 7.9, 'learning_rate': 1.2e-07, 'epoch': 0.01}\n"
    "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 2.4e-07, 'epoch': 0.02}\n{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 3.6e-07, 'epoch': 0.03}\n"
)
DS = '{\n  "bf16": {"enabled": true},\n  "zero_optimization": {\n    "stage": 2,\n    "overlap_comm": true\n  }\n}\n'
YAML = """### model
model_name_or_path: meta-llama/Llama-3-8B   # local copy
finetuning_type: lora
cutoff_len: 2048
per_device_train_batch_size: 8  # fits?
gradient_accumulation_steps: 2
learning_rate: 1.0e-4
"""


def put(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def best(report: object) -> dict:  # type: ignore[type-arg]
    return report.data["diagnoses"][0]  # type: ignore[attr-defined, no-any-return]


def test_the_contract_s_keys_are_all_there(tmp_path: Path) -> None:
    log, ds = put(tmp_path, "train.log", NAN), put(tmp_path, "ds.json", DS)
    report = diagnose([log], config=[ds])
    found = best(report)
    assert set(found) >= {
        "id",
        "class",
        "benign",
        "branch",
        "title",
        "cause",
        "confidence",
        "evidence",
        "ruled_out",
        "next_check",
        "fixes",
    }
    assert set(found["fixes"][0]) >= {"id", "title", "effect", "patch", "edits", "commands", "proof", "applies_to"}
    assert set(found["evidence"][0]) == {"file", "line", "text"} and set(found["ruled_out"][0]) == {"class", "because"}
    assert found["class"] == "nan-deepspeed-overlap-comm" and found["fixes"][0]["id"] == "D1.F1"
    assert report.exit_code() == 0 and json.dumps(report.envelope())


def test_a_patch_changes_one_line_and_keeps_the_comments(tmp_path: Path) -> None:
    log, config = put(tmp_path, "train.log", OOM), put(tmp_path, "sft.yaml", YAML)
    fix = best(diagnose([log], config=[config]))["fixes"][0]
    changed = [x for x in fix["patch"].splitlines() if x[:1] in "+-" and x[:3] not in ("---", "+++")]
    assert changed == [
        "-per_device_train_batch_size: 8  # fits?",
        "-gradient_accumulation_steps: 2",
        "+per_device_train_batch_size: 4  # fits?",
        "+gradient_accumulation_steps: 4",
    ]
    assert fix["effect"] == "execution" and [e["new"] for e in fix["edits"]] == [4, 4]


def test_execution_comes_before_experiment(tmp_path: Path) -> None:
    log, config = put(tmp_path, "train.log", OOM), put(tmp_path, "sft.yaml", YAML)
    effects = [f["effect"] for f in best(diagnose([log], config=[config]))["fixes"]]
    assert effects == sorted(effects, key=lambda e: e == "experiment") and set(effects) == {"execution", "experiment"}


def test_a_batch_of_one_has_no_half(tmp_path: Path) -> None:
    log, config = put(tmp_path, "train.log", OOM), put(tmp_path, "sft.yaml", YAML.replace("size: 8", "size: 1"))
    assert all("micro-batch" not in f["title"] for f in best(diagnose([log], config=[config]))["fixes"])


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "train.py",
            "args = TrainingArguments(\n    output_dir='o',\n    per_device_train_batch_size=8,  # keep\n)\n",
            "+    per_device_train_batch_size=4,  # keep",
        ),
        (
            "run.sh",
            "#!/bin/bash\ntorchrun train.py --per_device_train_batch_size 8 --lr 1\n",
            "+torchrun train.py --gradient_accumulation_steps 2 --per_device_train_batch_size 4 --lr 1",
        ),
        (
            "train.py",
            "p.add_argument('--per_device_train_batch_size', type=int, default=8)\n",
            "+p.add_argument('--per_device_train_batch_size', type=int, default=4)",
        ),
    ],
    ids=["keyword", "flag", "argparse"],
)
def test_scripts_are_patched_where_the_value_stands(tmp_path: Path, name: str, text: str, expected: str) -> None:
    log, config = put(tmp_path, "train.log", OOM), put(tmp_path, name, text)
    assert expected in best(diagnose([log], config=[config]))["fixes"][0]["patch"]


def test_a_renamed_argument_is_renamed_in_the_script(tmp_path: Path) -> None:
    log = put(
        tmp_path,
        "train.log",
        "TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'evaluation_strategy'\n",
    )
    config = put(
        tmp_path,
        "t.py",
        "args = TrainingArguments(output_dir='o', evaluation_strategy='steps')  # evaluation_strategy\n",
    )
    fix = best(diagnose([log], config=[config]))["fixes"][0]
    assert "+args = TrainingArguments(output_dir='o', eval_strategy='steps')  # evaluation_strategy" in fix["patch"]


def test_the_wrong_variable_is_renamed_in_the_start_script(tmp_path: Path) -> None:
    log = put(
        tmp_path,
        "train.log",
        "torch.distributed.DistStoreError: Timed out after 901 seconds waiting for clients. 1/2 clients joined.\n",
    )
    run = put(
        tmp_path,
        "run.sh",
        "#!/bin/bash\n# RANK=0 on the first node\nFORCE_TORCHRUN=1 NNODES=2 RANK=1 MASTER_ADDR=10.0.0.1 llamafactory-cli train sft.yaml\n",
    )
    found = best(diagnose([log], config=[run]))
    assert found["class"] == "launch-env-ignored"
    assert (
        "+FORCE_TORCHRUN=1 NNODES=2 NODE_RANK=1 MASTER_ADDR=10.0.0.1 llamafactory-cli train sft.yaml"
        in found["fixes"][0]["patch"]
    )


def test_without_a_file_the_lines_to_write_are_said(tmp_path: Path) -> None:
    fix = best(diagnose([put(tmp_path, "train.log", OOM)]))["fixes"][0]
    assert fix["patch"] is None and any("per_device_train_batch_size" in c for c in fix["commands"])


def test_a_known_unknown_is_exit_one_and_a_healthy_log_exit_zero(tmp_path: Path) -> None:
    bad = diagnose(
        [
            put(
                tmp_path,
                "a.log",
                'Traceback (most recent call last):\n  File "a.py", line 1, in f\nValueError: wibble\n',
            )
        ]
    )
    assert bad.exit_code() == 1 and bad.data["diagnoses"] == [] and "wibble" in bad.data["unexplained"]
    good = diagnose([put(tmp_path, "b.log", "{'loss': 1.0, 'grad_norm': 1.0, 'learning_rate': 1e-5, 'epoch': 1.0}\n")])
    assert (
        good.exit_code() == 0
        and good.data["diagnoses"] == []
        and not good.data["unexplained"]
        and "no failure" in good.explanation
    )


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    binary = tmp_path / "bin"
    binary.write_bytes(bytes(range(256)) * 40)
    for paths in ([tmp_path / "nowhere"], [binary], []):
        with pytest.raises(PapertrainError):
            diagnose(paths)
    with pytest.raises(PapertrainError, match="JSON"):
        diagnose([put(tmp_path, "t.log", OOM)], config=[put(tmp_path, "broken.json", "{")])


def test_a_folder_of_rank_logs_and_a_compressed_one(tmp_path: Path) -> None:
    for rank in range(3):
        put(tmp_path, f"logs/rank{rank}.log", "waiting\n")
    with gzip.open(tmp_path / "logs/rank3.log.gz", "wt") as f:
        f.write("a\nb\n" + OOM)
    evidence = best(diagnose([tmp_path / "logs"]))["evidence"][0]
    assert evidence["file"].endswith("rank3.log.gz") and evidence["line"] == 3


def test_a_file_in_a_folder_that_is_no_text_is_passed_over(tmp_path: Path) -> None:
    put(tmp_path, "run/train.log", OOM)
    (tmp_path / "run/core.log").write_bytes(bytes(range(256)) * 40)
    assert best(diagnose([tmp_path / "run"]))["class"].startswith("oom-")


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = put(tmp_path, "in", OOM).open("rb")

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert best(diagnose([Path("-")]))["evidence"][0]["file"] == "<stdin>"


def test_a_notebook_s_saved_output(tmp_path: Path) -> None:
    cell = {
        "cell_type": "code",
        "outputs": [
            {
                "output_type": "error",
                "ename": "OutOfMemoryError",
                "evalue": "x",
                "traceback": ["\x1b[0;31m---\x1b[0m", "\x1b[0;31m" + OOM.strip()],
            }
        ],
    }
    assert best(diagnose([put(tmp_path, "a.ipynb", json.dumps({"cells": [cell]}))]))["class"].startswith("oom-")


def test_a_console_and_a_jsonl_of_one_run_are_one_curve(tmp_path: Path) -> None:
    rows = [{"step": i, "loss": 2.0 * 0.95**i + 0.1, "grad_norm": 1.0, "learning_rate": 1e-5} for i in range(1, 60)]
    put(tmp_path, "run/train_log.jsonl", "".join(json.dumps(r) + "\n" for r in rows))
    put(tmp_path, "run/stdout.log", "".join(str({k: float(f"{v:.4g}") for k, v in r.items()}) + "\n" for r in rows))
    report = diagnose([tmp_path / "run"])
    assert report.data["diagnoses"] == [] and "59 losses" in report.explanation


def test_four_rank_logs_that_wait_name_the_rank_that_differs(tmp_path: Path) -> None:
    line = "[rank{r}]:[E ProcessGroupNCCL.cpp:563] [Rank {r}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={s}, OpType={o}, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600100 milliseconds before timing out.\n"
    for r in range(4):
        rows = (
            "".join(
                f"{{'loss': {1.5 - i / 100}, 'grad_norm': 1.0, 'learning_rate': 1e-5, 'epoch': {i / 100}}}\n"
                for i in range(20)
            )
            if r == 0
            else ""
        )
        put(
            tmp_path,
            f"logs/rank{r}.log",
            rows + line.format(r=r, s=40 if r != 2 else 39, o="ALLREDUCE" if r != 2 else "ALLGATHER"),
        )
    found = best(diagnose([tmp_path / "logs"]))
    assert found["class"] == "nccl-timeout-uneven-data" and "rank 2" in found["cause"]


def test_in_a_workspace_the_change_is_a_knob_of_the_plan(tmp_path: Path) -> None:
    work = make_workspace(tmp_path)
    put(work, "runs/ours.train.42/stdout.log", "step 1\n" + OOM)
    put(work, "runs/ours.train.42/record.json", '{"exit_code": 1}')
    found = best(diagnose([work]))
    edits = [f for f in found["fixes"] if f["edits"]]
    assert found["class"].startswith("oom-") and edits
    assert all(e["file"].endswith("plan.json") for f in edits for e in f["edits"])
    assert edits[0]["commands"][0].startswith(f"papertrain plan {work} --set ") and edits[0]["applies_to"][0]["sha256"]
    diagnose([work])
    assert [p.name for p in (work / "runs/ours.train.42/debug").iterdir()] == ["1.json"], "the same answer is kept once"


def test_a_workspace_without_a_run_says_how_to_start_one(tmp_path: Path) -> None:
    with pytest.raises(PapertrainError, match="no run"):
        diagnose([make_workspace(tmp_path)])


@pytest.mark.slow
def test_a_large_log_is_read_in_one_pass(tmp_path: Path) -> None:
    """Exact line numbers, and far more than one core's 100 MB/s even on a busy machine."""
    line = "{'loss': 1.2345, 'grad_norm': 0.91, 'learning_rate': 1.9e-05, 'epoch': 0.51}\nINFO an ordinary line of ordinary length, with nothing to see\n"
    log = tmp_path / "big.log"
    with log.open("w") as f:
        for _ in range(700):
            f.write(line * 1000)
        f.write(OOM)
        for _ in range(100):
            f.write(line.splitlines(keepends=True)[1] * 1000)
    start = time.process_time()
    found = best(diagnose([log]))
    assert found["evidence"][0]["line"] == 1_400_001
    assert quick(time.process_time() - start, log.stat().st_size / 1e6 / 100), "100 MB a second"
