"""The generated YAML through the real `llamafactory-cli` on this machine's processor: SFT with LoRA and full, DPO, predictions, merge."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from environments import HERE, folder
from patience import LIMIT
from plans import make_job

from papertrain.configs.generating import generate

pytestmark = [pytest.mark.slow, pytest.mark.frameworks]
OPTIONS: dict[str, Any] = {
    "model": "smollm", "card": "cpu", "cards": 1, "precision": "fp32", "model_path": "./model", "train": "train.jsonl", "micro_batch_size": 4,
    "gradient_accumulation_steps": 2, "learning_rate": 3e-3, "epochs": 1.0, "warmup_steps": 1, "sequence_length": 128, "gradient_checkpointing": "none",
    "early_stopping_patience": 0, "template": "chatml", "validation": "test.jsonl", "test": "test.jsonl",
}  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model made by the framework's own transformers, with rows to answer and pairs to prefer."""
    root = tmp_path_factory.mktemp("llamafactory")
    subprocess.run([str(folder("llamafactory") / "bin/python"), str(HERE / "tiny_model.py"), str(root)], check=True, capture_output=True)  # fmt: skip
    rows = [json.loads(line) for line in (root / "train.jsonl").read_text().splitlines()]
    pairs = [{"prompt": f"{r['instruction']} {r['input']}", "chosen": r["output"], "rejected": "No."} for r in rows[:40]]  # fmt: skip
    (root / "pairs.jsonl").write_text("".join(json.dumps(p) + "\n" for p in pairs))
    return root


def write(place: Path, **options: Any) -> None:
    for name, text in generate([make_job(**OPTIONS | options)], ["llamafactory"]).files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)


def cli(place: Path, *words: str, **more: str) -> None:
    programs = folder("llamafactory") / "bin"
    env = os.environ | {"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1", "PATH": f"{programs}:{os.environ['PATH']}"} | more  # fmt: skip
    done = subprocess.run([str(programs / "llamafactory-cli"), *words], cwd=place, env=env, capture_output=True, text=True, timeout=LIMIT)  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


def log(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "trainer_log.jsonl").read_text().splitlines()]


def test_lora_learns_predicts_held_out_rows_and_is_merged(place: Path) -> None:
    write(place, name="lora", method="lora", total_steps=10, eval_steps=5, save_steps=5)
    here, run = "configs/lora/llamafactory", place / "runs/lora.train.42"
    cli(place, "train", f"{here}/train.yaml")
    losses = [x["loss"] for x in log(run) if "loss" in x]
    assert losses[-1] < losses[0] and (run / "adapter_model.safetensors").is_file()
    assert [x["eval_loss"] for x in log(run) if "eval_loss" in x]
    cli(place, "train", f"{here}/predict.yaml")
    rows = (run / "predictions/generated_predictions.jsonl").read_text().splitlines()
    assert len(rows) == 20 and set(json.loads(rows[0])) == {"prompt", "predict", "label"}
    cli(place, "export", f"{here}/export.yaml")
    assert list(place.rglob("model*.safetensors"))


def test_full_training_on_two_processes_makes_half_the_steps_at_the_same_accumulation(place: Path) -> None:
    write(place, name="full", method="full", cards=2, gradient_accumulation_steps=1, total_steps=10, eval_steps=None, save_steps=10)  # fmt: skip
    cli(place, "train", "configs/full/llamafactory/train.yaml", FORCE_TORCHRUN="1", NPROC_PER_NODE="2")
    run = place / "runs/full.train.42"
    state = json.loads((run / "trainer_state.json").read_text())
    assert state["max_steps"] == 10 and (run / "model.safetensors").is_file()


def test_preferences_are_learned(place: Path) -> None:
    write(place, name="dpo", method="lora", task="dpo", train="pairs.jsonl", validation=None, test=None, total_steps=5, eval_steps=None, save_steps=5)  # fmt: skip
    cli(place, "train", "configs/dpo/llamafactory/train.yaml")
    losses = [x["loss"] for x in log(place / "runs/dpo.train.42") if "loss" in x]
    assert losses[0] == pytest.approx(0.693, abs=0.05) and losses[-1] < losses[0]
