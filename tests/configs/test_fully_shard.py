"""torch's fully_shard on a mesh of processors under the custom script's own steps: the losses are those of one process."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from environments import HERE, folder
from patience import LIMIT
from plans import make_job

from papertrain.configs.generating import generate

pytestmark = [pytest.mark.slow, pytest.mark.train]


@pytest.mark.parametrize("method", ["full", "lora"])
def test_two_shards_train_as_one_process_does(method: str, tmp_path: Path) -> None:
    env = folder("train")
    kept = os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "TOKENIZERS_PARALLELISM": "false"}  # fmt: skip

    def start(*words: str) -> list[str]:
        done = subprocess.run(words, cwd=tmp_path, env=kept, capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout.splitlines()

    def losses(run: str) -> list[float]:
        lines = [json.loads(line) for line in (tmp_path / run / "train_log.jsonl").read_text().splitlines()]
        return [x["loss"] for x in lines if "loss" in x]

    start(str(env / "bin/python"), str(HERE / "tiny_model.py"), str(tmp_path))
    options = {"model": "smollm", "card": "cpu", "cards": 2, "method": method, "precision": "fp32", "model_path": "model", "train": "train.jsonl", "micro_batch_size": 4,
               "gradient_accumulation_steps": 2, "learning_rate": 3e-3, "epochs": 1.0, "total_steps": 5, "warmup_steps": 1, "eval_steps": 5, "save_steps": 5,
               "sequence_length": 96, "early_stopping_patience": 0, "gradient_checkpointing": "none", "lora_dropout": 0.0}  # fmt: skip
    for name, text in generate([make_job(**options)], ["script"]).files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    script = "configs/ours/script/train.py"
    start(str(env / "bin/python"), script, "--output_dir", "one")
    said = start(str(env / "bin/python"), "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2",
                 str(HERE / "fully_shard_on_cpu.py"), script, "--output_dir", "two")  # fmt: skip
    shards = [json.loads(line) for line in said if line.startswith('{"rank"')]
    assert len(shards) == 2 and all(s["all"] and 0.4 < s["here"] / s["whole"] < 0.6 for s in shards)
    assert sum(s["here"] for s in shards) == shards[0]["whole"]
    assert len(losses("one")) == len(losses("two")) >= 5
    assert losses("two") == pytest.approx(losses("one"), abs=1e-4)
