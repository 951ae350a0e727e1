"""Ordinary mistakes, planted in files of the kind that people publish: each is found on its line, with what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from papertrain.verbs.check import check

LF = """model_name_or_path: Qwen/Qwen3-4B-Instruct-2507
stage: sft
do_train: true
finetuning_type: lora
lora_rank: 8
lora_target: all
dataset: identity
template: qwen3_nothink
cutoff_len: 2048
output_dir: saves/a
save_steps: 500
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
learning_rate: 1.0e-4
num_train_epochs: 3.0
bf16: true
"""
AXOLOTL = """base_model: Qwen/Qwen3-0.6B
datasets:
  - path: a/b
    type: alpaca
adapter: lora
sequence_len: 1024
micro_batch_size: 1
gradient_accumulation_steps: 2
num_epochs: 1
learning_rate: 0.0002
warmup_ratio: 0.1
"""
GRPO = """model_name_or_path: Qwen/Qwen2.5-1.5B-Instruct
dataset_name: a/b
num_generations: 16
max_completion_length: 1024
per_device_train_batch_size: 16
gradient_accumulation_steps: 4
learning_rate: 2.0e-05
output_dir: o
"""
ACCELERATE = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n"
TRAINER = """from transformers import TrainingArguments
args = TrainingArguments(
    output_dir="out",
    per_device_train_batch_size=8,
    learning_rate=5e-5,
    eval_strategy="epoch",
    save_strategy="epoch",
    load_best_model_at_end=True,
    bf16=True,
)
"""
Z2 = '{\n  "train_batch_size": "auto",\n  "gradient_clipping": "auto",\n  "zero_optimization": {\n    "stage": 2,\n    "overlap_comm": false\n  }\n}\n'
NODES = (
    "FORCE_TORCHRUN=1 NNODES=2 NODE_RANK=0 MASTER_ADDR=10.0.0.1 MASTER_PORT=29500 llamafactory-cli train missing.yaml\n"
)
SLURM = """#!/bin/bash
#SBATCH --job-name=sft
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
srun torchrun --nnodes 2 --nproc_per_node 4 --rdzv_backend c10d --rdzv_id 1 --rdzv_endpoint $MASTER_ADDR:29500 train.py --num_train_epochs 1
"""
RUN = "torchrun --nproc_per_node 4 train.py --learning_rate 1e-5\n"

# what: (file, text, words that are replaced, by what, the rule, words of the line, words of what to write, cards)
PLANTED: dict[str, tuple[str, str, str, str, str, str, str, str]] = {
    "a misspelt key": ("s.yaml", LF, "lora_rank", "lora_rnak", "TR201", "lora_rnak", "lora_rank: 8", ""),
    "text for a number": ("s.yaml", LF, "save_steps: 500", "save_steps: often", "TR204", "save_steps", "a number", ""),
    "a name that is gone": ("s.yaml", LF, "bf16: true", "evaluation_strategy: steps", "TR211", "evaluation_strategy", "eval_strategy: steps", ""),
    "two precisions": ("s.yaml", LF, "bf16: true", "bf16: true\nfp16: true", "TR303", "fp16", "fp16", ""),
    "another model's template": ("s.yaml", LF, "qwen3_nothink", "llama3", "TR304", "template", "qwen3_nothink", ""),
    "a template of nobody": ("s.yaml", LF, "qwen3_nothink", "qwen33", "TR306", "template", "qwen3_nothink", ""),
    "a key twice": ("s.yaml", LF, "bf16: true", "lora_rank: 16", "TR203", "lora_rank: 16", "keep one", ""),
    "bf16 on a V100": ("s.yaml", LF, "save_steps: 500", "save_steps: 400", "TR302", "bf16", "fp16", "8x V100-32GB"),
    "a file that is not there": ("s.yaml", LF, "bf16: true", "deepspeed: z9.json", "TR307", "deepspeed", "path", ""),
    "quantised and full": ("s.yaml", LF, "finetuning_type: lora", "finetuning_type: full\nquantization_bit: 4", "TR318", "quantization_bit", "lora", ""),
    "a method that is none": ("s.yaml", LF, "finetuning_type: lora", "finetuning_type: qlora", "TR206", "qlora", "finetuning_type: lora", ""),
    "no without quotes": ("s.yaml", LF, "save_steps: 500", "save_strategy: no", "TR209", "save_strategy", '"no"', ""),
    "the best model without evaluation": ("s.yaml", LF, "bf16: true", "load_best_model_at_end: true", "TR309", "load_best", "eval_strategy", ""),
    "a warm-up longer than the run": ("s.yaml", LF, "bf16: true", "max_steps: 100\nwarmup_steps: 200", "TR311", "warmup_steps", "warmup_steps", ""),
    "a rate without its exponent": ("s.yaml", LF, "1.0e-4", "1.0", "TR335", "learning_rate", "between", ""),
    "no accumulation at all": ("s.yaml", LF, "steps: 8", "steps: 0", "TR207", "accumulation", "1 or more", ""),
    "two ways to evaluate": ("s.yaml", LF, "bf16: true", "val_size: 0.1\neval_dataset: identity", "TR326", "val_size", "remove", ""),
    "a batch that is no product": ("d.json", Z2, '"train_batch_size": "auto"', '"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 3', "TR301", "train_batch_size", "96", "8x A100-80GB"),
    "a misspelt key of ZeRO": ("d.json", Z2, "overlap_comm", "overlap_com", "TR201", "overlap_com", "overlap_comm", ""),
    "a misspelt key that is passed over": ("d.json", Z2, "gradient_clipping", "gradient_cliping", "TR201", "gradient_cliping", "gradient_clipping", ""),
    "the stage as text": ("d.json", Z2, '"stage": 2', '"stage": "2"', "TR204", "stage", '"stage": 2', ""),
    "parameters off the card at stage 2": ("d.json", Z2, '"overlap_comm": false', '"offload_param": {"device": "cpu"}', "TR315", "offload_param", "stage", ""),
    "Axolotl's key misspelt": ("a.yml", AXOLOTL, "micro_batch_size", "micro_batchsize", "TR201", "micro_batchsize", "micro_batch_size", ""),
    "QLoRA without its bits": ("a.yml", AXOLOTL, "adapter: lora", "adapter: qlora", "TR327", "adapter", "load_in_4bit: true", ""),
    "two warm-ups": ("a.yml", AXOLOTL, "num_epochs: 1", "num_epochs: 1\nwarmup_steps: 10", "TR327", "warmup_ratio", "remove", ""),
    "a prompt format misspelt": ("a.yml", AXOLOTL, "alpaca", "alpacca", "TR358", "alpacca", "type: alpaca", ""),
    "groups that do not fit": ("g.yaml", GRPO, "num_generations: 16", "num_generations: 12", "TR313", "num_generations", "num_generations: 8", "8x H100"),
    "TRL's key misspelt": ("g.yaml", GRPO, "num_generations", "num_generation", "TR201", "num_generation", "num_generations: 16", ""),
    "accelerate's key misspelt": ("a.yaml", ACCELERATE, "mixed_precision", "mixed_precison", "TR201", "mixed_precison", "mixed_precision", ""),
    "a precision of no name": ("a.yaml", ACCELERATE, "bf16", "bfloat16", "TR206", "bfloat16", "bf16", ""),
    "more processes than cards": ("a.yaml", ACCELERATE, "num_machines: 1", "num_machines: 1", "TR346", "num_processes", "num_processes: 4", "4x A100-80GB"),
    "an argument that is gone": ("t.py", TRAINER, "eval_strategy", "evaluation_strategy", "TR211", "evaluation_strategy", "eval_strategy=", ""),
    "strategies that differ": ("t.py", TRAINER, 'save_strategy="epoch"', 'save_strategy="steps"', "TR309", "load_best", "save_strategy", ""),
    "an argument misspelt": ("t.py", TRAINER, "learning_rate", "learing_rate", "TR201", "learing_rate", "learning_rate", ""),
    "a number in quotes": ("t.py", TRAINER, "5e-5", '"5e-5"', "TR204", "learning_rate", "learning_rate=", ""),
    "CUDA_VISIBLE_DEVICE": ("r.sh", RUN, "torchrun", "CUDA_VISIBLE_DEVICE=0,1 torchrun", "TR420", "CUDA", "CUDA_VISIBLE_DEVICES=0,1", ""),
    "NCCL_SOCKET_IFNAM": ("r.sh", RUN, "torchrun", "export NCCL_SOCKET_IFNAM=eth0\ntorchrun", "TR420", "IFNAM", "NCCL_SOCKET_IFNAME=eth0", ""),
    "RANK for NODE_RANK": ("r.sh", NODES, "NODE_RANK", "RANK", "TR402", "RANK", "NODE_RANK=0", ""),
    "WORLD_SIZE for LLaMA-Factory": ("r.sh", NODES, "FORCE", "WORLD_SIZE=8 FORCE", "TR402", "WORLD_SIZE", "remove", ""),
    "WORLD_SIZE for torchrun": ("r.sh", RUN, "torchrun", "export WORLD_SIZE=8\ntorchrun", "TR402", "WORLD_SIZE", "remove", ""),
    "NNODES for torchrun": ("r.sh", RUN, "torchrun", "NNODES=2 torchrun", "TR402", "NNODES", "--nnodes 2", ""),
    "no place to meet": ("r.sh", NODES, "MASTER_ADDR=10.0.0.1 ", "", "TR408", "llamafactory-cli", "MASTER_ADDR=", ""),
    "fewer cards shown than processes": ("r.sh", RUN, "torchrun", "CUDA_VISIBLE_DEVICES=0,1 torchrun", "TR406", "nproc", "2 processes", ""),
    "deepspeed --deepspeed": ("r.sh", RUN, "torchrun --nproc_per_node 4", "deepspeed --deepspeed ds.json --num_gpus 4", "TR419", "deepspeed", "train.py --deepspeed", ""),
    "the number of processes behind the script": ("r.sh", RUN, "--nproc_per_node 4 train.py", "train.py --nproc_per_node 4", "TR419", "nproc", "torchrun --nproc_per_node", ""),
    "accelerate's option behind the script": ("r.sh", RUN, "torchrun --nproc_per_node 4 train.py", "accelerate launch train.py --num_processes 4", "TR419", "num_processes", "accelerate --num_processes", ""),
    "torchrun's option misspelt": ("r.sh", RUN, "--nproc_per_node", "--nproc_per_nodes", "TR419", "nproc", "--nproc_per_node", ""),
    "a token": ("r.sh", RUN, "--learning_rate 1e-5", "--hub_token hf_" + "aB3dE5gH7jK9" * 3, "TR451", "hub_token", "remove", ""),
    "a lost backslash": ("r.sh", RUN, "--learning_rate 1e-5", "\\\n  --seed 1\n  --learning_rate 1e-5", "TR409", "--seed", "backslash", ""),
    "a port beyond the last": ("r.sh", RUN, "--nproc_per_node 4", "--nproc_per_node 4 --master_port 99999", "TR405", "99999", "MASTER_PORT", ""),
    "no srun": ("j.slurm", SLURM, "srun torchrun", "torchrun", "TR411", "torchrun", "srun", ""),
    "a launcher for each card": ("j.slurm", SLURM, "ntasks-per-node=1", "ntasks-per-node=4", "TR411", "ntasks", "ntasks-per-node=1", ""),
    "more processes than Slurm gives": ("j.slurm", SLURM, "--nproc_per_node 4", "--nproc_per_node 8", "TR406", "nproc", "4 processes", ""),
    "more nodes than Slurm gives": ("j.slurm", SLURM, "--nnodes 2", "--nnodes 4", "TR408", "nnodes", "--nnodes 2", ""),
    "a directive below the command": ("j.slurm", SLURM, "num_train_epochs 1\n", "num_train_epochs 1\n#SBATCH --mem=64G\n", "TR418", "mem", "above", ""),
    "a directive misspelt": ("j.slurm", SLURM, "--job-name", "--jobname", "TR418", "jobname", "--job-name", ""),
}  # fmt: skip


@pytest.mark.parametrize("what", PLANTED)
def test_a_planted_mistake_is_found_on_its_line_with_what_to_write(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, text, old, new, rule, line, instead, cards = PLANTED[what]
    monkeypatch.chdir(tmp_path)
    text = text.replace(old, new, 1)
    Path(name).write_text(text)
    found = [f for f in check([Path(name)], gpu=cards or None).data["findings"] if f["rule"] == rule]
    hits = [f for f in found if line in text.splitlines()[f["line"] - 1] and f["level"] in ("error", "warning")]
    assert hits, found
    assert instead in hits[0]["instead"] or instead in hits[0]["patch"], hits[0]["instead"]


@pytest.mark.parametrize("name", ["MUSA_VISIBLE_DEVICES=0", "PYTORCH_NPU_ALLOC_CONF=x", "NVIDIA_VISIBLE_DEVICES=all", "NCCL_IB_ENABLE=1", "HF_HUB_ENABLE_HF_TRANSFER=1", "WANDB_PROJECTS=a"])  # fmt: skip
def test_a_variable_of_another_maker_is_no_slip(name: str, tmp_path: Path) -> None:
    (tmp_path / "r.sh").write_text(f"{name} {RUN}")
    found = check([tmp_path / "r.sh"]).data["findings"]
    assert not [f for f in found if f["rule"] == "TR420" and f["level"] == "error"]
    assert not [f for f in found if f["rule"] == "TR420"] or name.startswith("WANDB_PROJECTS")
