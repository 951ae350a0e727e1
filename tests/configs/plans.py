"""Plans built by hand, for tests of what is made from a plan."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from papertrain.configs.target import Job
from papertrain.core.models import Compute, DatasetProfile, Gpu, LengthProfile, ModelSpec
from papertrain.core.training import Duration, Memory, TrainingPlan, write_plan
from papertrain.core.values import Decision, Estimate, Source

BY_HAND = Source(kind="user", ref="a test")

MODELS: dict[str, dict[str, Any]] = {
    "qwen": {"name": "Qwen2.5-7B-Instruct", "architecture": "Qwen2ForCausalLM", "kind": "causal", "layers": 28, "hidden": 3584, "heads": 28, "kv_heads": 4,
             "head_dim": 128, "ffn": 18944, "vocab": 152064, "parameters": 7_615_616_512},
    "smollm": {"name": "SmolLM2-135M-Instruct", "architecture": "LlamaForCausalLM", "kind": "causal", "layers": 30, "hidden": 576, "heads": 9, "kv_heads": 3,
               "head_dim": 64, "ffn": 1536, "vocab": 49152, "parameters": 134_515_008},
    "minilm": {"name": "all-MiniLM-L6-v2", "architecture": "BertModel", "kind": "encoder", "layers": 6, "hidden": 384, "heads": 12, "kv_heads": 12,
               "head_dim": 32, "ffn": 1536, "vocab": 30522, "parameters": 22_713_216},
}  # fmt: skip

CARDS: dict[str, dict[str, Any]] = {
    "a100": {"id": "a100-sxm-80gb", "label": "A100-80GB", "names": ("NVIDIA A100-SXM4-80GB",), "vendor": "nvidia", "memory_bytes": 85_899_345_920,
             "peak_bf16_dense_flops": 312e12, "compute_capability": "8.0"},
    "4090": {"id": "rtx-4090", "label": "RTX 4090", "names": ("NVIDIA GeForce RTX 4090",), "vendor": "nvidia", "memory_bytes": 25_757_220_864,
             "peak_bf16_dense_flops": 165e12, "compute_capability": "8.9", "peer_to_peer": False},
    "v100": {"id": "v100", "label": "V100-32GB", "names": ("Tesla V100-SXM2-32GB",), "vendor": "nvidia", "memory_bytes": 34_359_738_368,
             "peak_fp16_dense_flops": 125e12, "compute_capability": "7.0"},
    "910b": {"id": "ascend-910b3", "label": "Ascend 910B3", "names": ("910B3",), "vendor": "huawei", "memory_bytes": 68_719_476_736, "peak_bf16_dense_flops": 313e12},
    "cpu": {"id": "cpu", "label": "CPU", "names": ("cpu",), "vendor": "other", "memory_bytes": 25_000_000_000, "peer_to_peer": False},
}  # fmt: skip

KNOBS: dict[str, Any] = {
    "method": "lora", "micro_batch_size": 4, "gradient_accumulation_steps": 4, "global_batch_size": 64, "learning_rate": 2e-4,
    "lr_scheduler": "cosine", "epochs": 3.0, "total_steps": 1926, "warmup_steps": 193, "weight_decay": 0.01, "optimizer": "adamw",
    "precision": "bf16", "gradient_checkpointing": "full", "zero_stage": 0, "offload": "none", "attention": "sdpa", "packing": False,
    "sequence_length": 2048, "max_grad_norm": 1.0, "seed": 42, "eval_steps": 100, "save_steps": 200, "early_stopping_patience": 3,
    "template": "qwen", "lora_rank": 16, "lora_alpha": 32, "lora_dropout": 0.05, "lora_targets": "all-linear",
}  # fmt: skip
COLUMNS = {
    "classification": {"text": "text", "label": "label"},
    "sft": {"prompt": "instruction", "query": "input", "response": "output"},
    "pt": {"text": "text"},
    "kto": {"prompt": "prompt", "response": "completion", "label": "label"},
    **{key: {"prompt": "prompt", "chosen": "chosen", "rejected": "rejected"} for key in ("dpo", "orpo", "simpo", "rm")},
}
WHY = {
    "learning_rate": "base 2e-4 for LoRA SFT at batch 64 × sqrt(64/64)",
    "warmup_steps": "10 % of 1,926 steps",
    "micro_batch_size": "5 would need 21.9 GB and leave less than the margin of 10 %, which is kept for fragmentation and for the longest examples of the data",
}


def decision(name: str, value: Any, why: str = "") -> Decision[Any]:
    return Decision(name=name, value=value, why=why or WHY.get(name, f"chosen for the test of {name}"), source=BY_HAND)


def make_plan(
    *,
    model: str = "qwen",
    card: str = "a100",
    cards: int = 4,
    nodes: int = 1,
    task: str = "sft",
    name: str = "ours",
    **knobs: Any,
) -> TrainingPlan:
    """A plan with the given knobs; the rest as in KNOBS, made to agree with each other."""
    values = KNOBS | ({"beta": 0.1} if task in ("dpo", "kto", "orpo", "simpo") else {}) | knobs
    if "global_batch_size" not in knobs:
        values["global_batch_size"] = values["micro_batch_size"] * values["gradient_accumulation_steps"] * cards * nodes
    if values["method"] not in ("lora", "qlora", "dora", "rslora"):
        values = {k: v for k, v in values.items() if not k.startswith("lora_")}
    if task == "classification":
        values.pop("template", None)
    gb = Estimate(value=20.3e9, low=18.9e9, high=22.0e9, unit="B")
    profile = DatasetProfile(
        path="train.jsonl", sha256="0" * 64, rows=41213, examples=41107, tokens=12_400_000, trainable_tokens=3_100_000, exact=True, truncated_examples=740,
        format="classification (jsonl)" if task == "classification" else "alpaca (jsonl)", labels={"fresh": 1100, "rotten": 900} if task == "classification" else {},
        lengths=LengthProfile(mean=301.7, p50=240, p90=700, p95=1100, p99=1900, longest=4021),
columns=COLUMNS.get(task, COLUMNS["sft"]),
    )  # fmt: skip
    return TrainingPlan(
        name=name, task=task, model=ModelSpec(**MODELS[model], active_parameters=MODELS[model]["parameters"], source=BY_HAND), dataset=profile,
        compute=Compute(gpu=Gpu(**CARDS[card]), gpus_per_node=cards, nodes=nodes, said=f"{cards * nodes}x {CARDS[card]['label']}"), fits="yes",
        memory=Memory(allocated_bytes=gb, reserved_bytes=gb, device_bytes=gb, capacity_bytes=CARDS[card]["memory_bytes"], components={}, peak_phase="backward",
                      host_bytes=gb, disk_bytes=gb),
        duration=Duration(step_seconds=Estimate(value=6.9, low=5.0, high=9.0, unit="s"), total_seconds=Estimate(value=13200.0, low=10000.0, high=18000.0, unit="s"),
                          tokens_per_second_per_gpu=Estimate(value=2000.0)),
        **{name: decision(name, value) for name, value in values.items()},
    )  # fmt: skip


def make_job(**options: Any) -> Job:
    """A job around `make_plan`; `confirmed`, `validation`, `test`, `model_path`, `train` are the job's own."""
    own = {k: options.pop(k) for k in ("confirmed", "validation", "test", "model_path", "train") if k in options}
    plan = make_plan(**options)
    return Job(
        plan=plan, model=own.get("model_path", f"../{plan.model.name}"), train=own.get("train", "../train.jsonl"), name=plan.name, data_name="train",
        run=f"runs/{plan.name}.train.42", confirmed=own.get("confirmed", True), validation=own.get("validation"), test=own.get("test"),
    )  # fmt: skip


def tiny_workspace(root: Path, environment: Path, **knobs: Any) -> Path:
    """A workspace in `root` whose custom script really trains the model of tiny_model.py, made there by that environment."""
    from papertrain.verbs.generate import generate

    tiny = Path(__file__).with_name("tiny_model.py")
    subprocess.run([str(environment / "bin/python"), str(tiny), str(root)], check=True, capture_output=True)
    plan = make_plan(model="smollm", card="cpu", method="lora", precision="fp32", micro_batch_size=2, gradient_accumulation_steps=1, warmup_steps=1,
                     sequence_length=96, gradient_checkpointing="none", early_stopping_patience=0, **knobs)  # fmt: skip
    assert plan.dataset is not None
    plan = replace(plan, model=replace(plan.model, local_path="../model"), dataset=replace(plan.dataset, path="../train.jsonl"))  # fmt: skip
    work = root / "work"
    (work / "plans/ours").mkdir(parents=True)
    (work / "plans/ours/plan.json").write_text(write_plan(plan))
    generate(work, target=["script"])
    return work
