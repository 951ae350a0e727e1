"""What proves a change: the framework's own parser, and a few real steps."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from papertrain.core.environment import read_environment
from papertrain.verbs.fix import fix
from papertrain.verbs.fixing import proofs

TRAIN = Path(__file__).resolve().parents[2] / ".envs" / "train"
SCRIPT = """import sys, time
from dataclasses import dataclass
@dataclass
class TrainingArguments:
    per_device_train_batch_size: int = 8
    gradient_accumulation_steps: int = 1
args = TrainingArguments(per_device_train_batch_size=32, gradient_accumulation_steps=1)
if args.per_device_train_batch_size > 16:
    print("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.00 GiB. GPU 0 has a total capacity of 23.60 GiB of which 2.00 GiB is free.")
    sys.exit(1)
for k in range(1, 1000):
    print({'loss': 2.0 - k / 1000, 'grad_norm': 1.0, 'learning_rate': 1e-5, 'epoch': k / 1000}, flush=True)
    time.sleep(0.05)
"""


def failed(folder: Path) -> tuple[Path, Path]:
    script, log = folder / "train.py", folder / "train.log"
    script.write_text(SCRIPT)
    log.write_text(
        '  File "/e/transformers/models/llama/modeling_llama.py", line 341, in forward\n'
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.00 GiB. GPU 0 has a total capacity of 23.60 GiB of which 2.00 GiB is free. "
        "Of the allocated memory 20.10 GiB is allocated by PyTorch, and 120.00 MiB is reserved by PyTorch but unallocated.\n"
    )
    return script, log


def test_a_script_is_really_started_with_the_change_and_its_steps_are_counted(tmp_path: Path) -> None:
    script, log = failed(tmp_path)
    report = fix(script, "D1.F1", log=[log], yes=True, try_=True, env=sys.prefix)
    assert "per_device_train_batch_size=16" in script.read_text()
    assert "real steps logged a finite loss" in report.data["proof"], report.data["proof"]
    note = Path(report.data["reverse"]).with_suffix(".md").read_text()
    assert "## Proved" in note and "finite loss" in note


def test_a_change_that_does_not_help_is_said_to_end_as_before(tmp_path: Path) -> None:
    script, log = failed(tmp_path)
    script.write_text(SCRIPT.replace("> 16", "> 4"))
    report = fix(script, "D1.F1", log=[log], yes=True, try_=True, env=sys.prefix)
    assert "ended with exit code 1: oom-" in report.data["proof"], report.data["proof"]


def test_a_config_that_nothing_here_can_start_is_applied_and_said_not_to_be_tried(tmp_path: Path) -> None:
    config, log = tmp_path / "train.yaml", failed(tmp_path)[1]
    config.write_text("per_device_train_batch_size: 32\ngradient_accumulation_steps: 1\nlearning_rate: 1.0e-5\n")
    report = fix(config, "D1.F1", log=[log], yes=True, try_=True, env=sys.prefix)
    assert report.data["applied"] and "not tried" in report.data["proof"] and "transformers is not installed here" in report.data["proof"]  # fmt: skip


@pytest.mark.slow
@pytest.mark.train
@pytest.mark.skipif(not TRAIN.exists(), reason="make train sets it up")
def test_transformers_itself_reads_or_refuses_the_file(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text("per_device_train_batch_size: 4\nlearning_rate: 1.0e-5\nuse_cpu: true\noutput_dir: out\n")
    bad.write_text("per_device_train_batch_size: 4\nlearning_rate: 1.0e-5\nuse_cpu: true\neval_strategy: 'no'\nload_best_model_at_end: true\n")  # fmt: skip
    said = proofs.parsed([good, bad], read_environment(str(TRAIN)))
    assert "itself reads good.yaml without an error" in said[0]
    assert "itself refuses bad.yaml" in said[1] and "save and eval strategy to match" in said[1]


@pytest.mark.frameworks
def test_llamafactory_and_deepspeed_themselves_read_their_files(tmp_path: Path) -> None:
    envs = TRAIN.parent
    if not ((envs / "llamafactory").exists() and (envs / "deepspeed").exists()):
        pytest.skip("make frameworks sets them up")
    sft, ds = tmp_path / "sft.yaml", tmp_path / "ds.json"
    sft.write_text("model_name_or_path: none\nstage: sft\ndo_train: true\nfinetuning_type: lora\ndataset: identity\ntemplate: qwen\noutput_dir: out\nuse_cpu: true\n")  # fmt: skip
    ds.write_text('{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4, "train_batch_size": 64}')  # fmt: skip
    assert "without an error" in proofs.parsed([sft], read_environment(str(envs / "llamafactory")))[0]
    assert "without an error" in proofs.parsed([ds], read_environment(str(envs / "deepspeed")))[0]
    sft.write_text(sft.read_text() + "lora_rnk: 8\n")
    assert "refuses" in proofs.parsed([sft], read_environment(str(envs / "llamafactory")))[0]
