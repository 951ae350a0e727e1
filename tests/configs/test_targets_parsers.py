"""TRL's, accelerate's and Axolotl's own parsers read what was generated, and hold the plan's values afterwards."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from environments import HERE, folder, read_by
from patience import LIMIT
from plans import make_job
from test_targets import seeded_jobs

from papertrain.configs.programs import deepspeed_file
from papertrain.configs.target import Job
from papertrain.configs.targets.accelerate import TARGET as ACCELERATE
from papertrain.configs.targets.axolotl import TARGET as AXOLOTL
from papertrain.configs.targets.trl import TARGET as TRL
from papertrain.configs.targets.trl import VERBS, completions
from papertrain.configs.words import optimizer, scheduler

pytestmark = [pytest.mark.slow, pytest.mark.frameworks]
LINES = {"trl": "5.", "hf4": "4.57"}
"""The current release of transformers, and the last line before transformers 5."""


def pairs(target: Any, count: int, seed: int, tasks: tuple[str, ...] = ()) -> dict[str, Job]:
    jobs = [j for j in seeded_jobs(count, seed=seed) if target.applies(j) is None and (not tasks or j.task in tasks)]
    return {f"{i:04}": job for i, job in enumerate(jobs)}


def same(held: dict[str, Any], wanted: dict[str, Any], where: str) -> None:
    wrong = {k: (held.get(k), v) for k, v in wanted.items() if held.get(k) != v}
    assert not wrong, (where, wrong)


@pytest.mark.parametrize("environment", sorted(LINES))
def test_trl_and_accelerate_hold_the_values_of_the_plan(environment: str, tmp_path: Path) -> None:
    jobs, sharded = pairs(TRL, 900, seed=3), dict(list(pairs(ACCELERATE, 200, seed=5).items())[:60])
    for number, job in jobs.items():
        (tmp_path / f"{number}.processes").write_text(str(job.devices))
        (tmp_path / f"{number}.trl.{VERBS[job.task]}.yaml").write_text(next(iter(TRL.files(job).values())))
    for number, job in sharded.items():
        (tmp_path / f"9{number}.processes").write_text(str(job.devices))
        (tmp_path / f"9{number}.accelerate.yaml").write_text(next(iter(ACCELERATE.files(job).values())))
    versions, lines = read_by(environment, "parse_trl.py", tmp_path)
    assert versions["transformers"].startswith(LINES[environment])
    refused = [line for line in lines if "refused" in line]
    assert not refused, refused[:3]
    assert {job.task for job in jobs.values()} == set(VERBS) and len(lines) == len(jobs) + len(sharded) > 400
    for line in lines:
        number, kind = line["file"].split(".")[:2]
        if kind == "trl":
            same(line["held"], by_trl(jobs[number]), line["file"])
        else:
            job = sharded[number[1:]]
            same(line["held"], by_accelerate(job), line["file"])


def by_trl(job: Job) -> dict[str, Any]:
    v = job.plan.values()
    wanted = {
        "learning_rate": v["learning_rate"], "per_device_train_batch_size": v["micro_batch_size"], "gradient_accumulation_steps": v["gradient_accumulation_steps"],
        "num_train_epochs": v["epochs"], "weight_decay": v["weight_decay"], "max_grad_norm": v["max_grad_norm"], "seed": v["seed"], "optim": optimizer(job),
        "lr_scheduler_type": scheduler(job), "bf16": v["precision"] in ("bf16", "pure_bf16"), "fp16": v["precision"] == "fp16",
        "gradient_checkpointing": v["gradient_checkpointing"] != "none", "use_peft": job.adapters, "model_name_or_path": job.model, "output_dir": job.run,
        "max_completion_length" if job.task == "grpo" else "max_length": v["sequence_length"], "data_files": [job.train],
    }  # fmt: skip
    if v["warmup_steps"] is not None:
        wanted["warmup_steps"] = v["warmup_steps"]
    if job.task == "sft":
        wanted["packing"] = v["packing"]
    if job.task in ("dpo", "kto"):
        wanted["beta"] = v["beta"]
    if job.adapters:
        wanted |= {"lora_r": v["lora_rank"], "lora_alpha": v["lora_alpha"], "lora_dropout": v["lora_dropout"], "load_in_4bit": v["method"] == "qlora",
                   "use_dora": v["method"] == "dora", "use_rslora": v["method"] == "rslora",
                   "lora_target_modules": "all-linear" if v["lora_targets"] == "all-linear" else v["lora_targets"]}  # fmt: skip
    return wanted


def by_accelerate(job: Job) -> dict[str, Any]:
    """ZeRO-3 is FSDP2 in accelerate's words, with all of it on the host or none; what lies between is told by DeepSpeed's own file."""
    v = job.plan.values()
    stage, offload = v["zero_stage"], v["offload"] or "none"
    fully = stage == 3 and offload in ("none", "params+optimizer")
    by_deepspeed = stage > 0 and not fully
    return {
        "distributed_type": "FSDP" if fully else "DEEPSPEED" if by_deepspeed else "MULTI_GPU", "processes": job.devices, "machines": job.nodes,
        "mixed_precision": "no" if by_deepspeed else {"bf16": "bf16", "fp16": "fp16"}.get(v["precision"], "no"),
        "use_fsdp": fully, "fsdp_version": 2 if fully else None,
        "use_deepspeed": by_deepspeed, "deepspeed_file": deepspeed_file(job, "script") if by_deepspeed else None,
    }  # fmt: skip


def test_the_real_parsers_refuse_what_is_wrong(tmp_path: Path) -> None:
    """Else their yes to our files says nothing."""
    text = next(iter(TRL.files(make_job(task="sft")).values()))
    changes = {"0001": ("lora_alpha:", "lora_alphaa:"), "0002": ("learning_rate: ", "learning_rate: much-"), "0003": ("optim: adamw_torch", "optim: adamm")}  # fmt: skip
    for number, (old, new) in changes.items():
        assert old in text
        (tmp_path / f"{number}.processes").write_text("4")
        (tmp_path / f"{number}.trl.sft.yaml").write_text(text.replace(old, new, 1))
    assert ["refused" in line for line in read_by("trl", "parse_trl.py", tmp_path)[1]] == [True, True, True]


def test_a_group_of_generations_fills_the_step_or_there_is_no_file() -> None:
    assert "one completion" in (TRL.applies(make_job(task="grpo", card="a100", cards=1, micro_batch_size=1, gradient_accumulation_steps=1)) or "")  # fmt: skip
    for job in pairs(TRL, 900, seed=6, tasks=("grpo",)).values():
        text = next(iter(TRL.files(job).values()))
        n = int(text.partition("num_generations: ")[2].split()[0])
        assert n >= 2 and completions(job) % n == 0, (completions(job), n)


def test_axolotls_schema_holds_the_values_of_the_plan(tmp_path: Path) -> None:
    jobs = dict(list(pairs(AXOLOTL, 1000, seed=4).items())[:300])
    for number, job in jobs.items():
        card = (job.plan.compute.gpu.compute_capability or "9.0").replace(".", "")
        (tmp_path / f"{number}.card").write_text(f"sm_{card} {job.per_node}")
        (tmp_path / f"{number}.yaml").write_text(next(iter(AXOLOTL.files(job).values())))
    whole = (tmp_path / "0000.yaml").read_text()
    for number, (old, new) in {"9001": ("micro_batch_size: ", "micro_batch_size: few-"), "9002": ("\nadapter: ", "\nadapter: no"), "9003": ("datasets:", "dataset:")}.items():  # fmt: skip
        (tmp_path / f"{number}.card").write_text("sm_80 1")
        (tmp_path / f"{number}.yaml").write_text(whole.replace(old, new, 1))
    versions, lines = read_by("axolotl", "parse_axolotl.py", tmp_path)
    assert versions["axolotl"] == AXOLOTL.version and len(jobs) == 300
    assert ["refused" in line for line in lines if line["file"] > "9"] == [True, "adapter:" in whole, True]
    for line in (line for line in lines if line["file"] < "9"):
        assert "refused" not in line and not line["lost"], line
        job = jobs[line["file"].removesuffix(".yaml")]
        v = job.plan.values()
        wanted = {
            "micro_batch_size": v["micro_batch_size"], "gradient_accumulation_steps": v["gradient_accumulation_steps"], "num_epochs": v["epochs"],
            "learning_rate": v["learning_rate"], "lr_scheduler": scheduler(job), "weight_decay": v["weight_decay"], "optimizer": optimizer(job),
            "max_grad_norm": v["max_grad_norm"], "seed": v["seed"], "sequence_len": v["sequence_length"], "sample_packing": v["packing"],
            "bf16": v["precision"] in ("bf16", "pure_bf16"), "adapter": None if not job.adapters else "qlora" if v["method"] == "qlora" else "lora",
        }  # fmt: skip
        if job.adapters:
            wanted |= {"lora_r": v["lora_rank"], "lora_alpha": v["lora_alpha"], "lora_dropout": v["lora_dropout"]}
        same(line["held"], wanted, line["file"])


def test_the_script_trains_under_the_last_line_before_transformers_5_with_the_same_losses(tmp_path: Path) -> None:
    from papertrain.configs.generating import generate

    train, older = folder("train") / "bin/python", folder("hf4") / "bin/python"
    env = os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "TOKENIZERS_PARALLELISM": "false"}  # fmt: skip

    def start(*words: str) -> None:
        done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode == 0, done.stderr[-3000:]

    start(str(train), str(HERE / "tiny_model.py"), str(tmp_path))
    # As a model of that line is saved: transformers 5 writes a class into it that only it has.
    config = tmp_path / "model/tokenizer_config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"tokenizer_class": "PreTrainedTokenizerFast"}))
    options = {"model": "smollm", "card": "cpu", "cards": 1, "method": "lora", "precision": "fp32", "model_path": "model", "train": "train.jsonl", "micro_batch_size": 8,
               "gradient_accumulation_steps": 2, "epochs": 1.0, "total_steps": 5, "warmup_steps": 1, "eval_steps": 5, "save_steps": 5, "sequence_length": 96,
               "early_stopping_patience": 0, "gradient_checkpointing": "none", "lora_dropout": 0.0}  # fmt: skip
    for name, text in generate([make_job(**options)], ["script"]).files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    losses = {}
    for python, version in ((train, "5."), (older, "4.57")):
        start(str(python), "configs/ours/script/train.py", "--output_dir", version)
        lines = [json.loads(line) for line in (tmp_path / version / "train_log.jsonl").read_text().splitlines()]
        assert lines[0]["versions"]["transformers"].startswith(version)
        losses[version] = [x["loss"] for x in lines if "loss" in x]
    assert losses["4.57"] == pytest.approx(losses["5."], abs=1e-4)
