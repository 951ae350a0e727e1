"""How long `check` takes: 200 files in one go, and one small file from the shell.

python bench/check.py
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

GOAL_SECONDS = 2.0
YAML = """### model
model_name_or_path: Qwen/Qwen2.5-7B-Instruct
### method
stage: sft
do_train: true
finetuning_type: lora
lora_rank: {rank}
lora_target: all
### data
dataset: identity
template: {template}
cutoff_len: 2048
### train
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
learning_rate: 1.0e-4
num_train_epochs: 3.0
lr_scheduler_type: cosine
warmup_ratio: 0.1
bf16: true
{extra}
output_dir: saves/{rank}
"""
JSON = '{{"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "zero_optimization": {{"stage": {stage}, "overlap_comm": true, "reduce_bucket_size": 5e8}}}}\n'
SHELL = "export NNODES=2\nFORCE_TORCHRUN=1 NODE_RANK={rank} MASTER_ADDR=10.0.0.5 MASTER_PORT=29500 llamafactory-cli train {rank}.yaml\n"


def write(folder: Path) -> list[Path]:
    """120 YAML, 40 JSON, 40 shell scripts; every third has a fault."""
    files = []
    for i in range(200):
        fault = i % 3 == 0
        if i % 5 < 3:
            file, text = (
                folder / f"{i}.yaml",
                YAML.format(
                    rank=i + 1,
                    template="llama3" if fault else "qwen",
                    extra="evaluation_strategy: steps" if fault else "logging_steps: 10",
                ),
            )
        elif i % 5 == 3:
            file, text = folder / f"{i}.json", JSON.format(stage=4 if fault else 2)
        else:
            file, text = folder / f"{i}.sh", SHELL.format(rank=i % 2)
        file.write_text(text)
        files.append(file)
    return files


def main() -> int:
    program = [sys.executable, "-m", "papertrain", "check", "--json", "--fail-on", "never"]
    with tempfile.TemporaryDirectory() as name:
        files = write(Path(name))
        times = {}
        for label, some in (("1 file", files[:1]), ("200 files", files)):
            runs = []
            for _ in range(3):
                begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
                subprocess.run([*program, *map(str, some)], check=True, stdout=subprocess.DEVNULL)
                used = resource.getrusage(resource.RUSAGE_CHILDREN)
                runs.append((time.perf_counter() - begin, used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime))  # fmt: skip
            times[label], worked = (min(r[i] for r in runs) for i in (0, 1))
            print(
                f"check, {label:<10} {times[label]:6.2f} s, {worked:.2f} s of them work, the whole command, best of 3"
            )
    met = times["200 files"] < GOAL_SECONDS
    if os.getloadavg()[0] > 1.5 * (os.cpu_count() or 1):
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores: the rest is waiting for others")
    print(f"goal: 200 files in {GOAL_SECONDS:g} s: {'met' if met else 'NOT met'}")
    return int(not met)


if __name__ == "__main__":
    raise SystemExit(main())
