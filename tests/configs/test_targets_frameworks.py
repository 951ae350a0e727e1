"""The real frameworks read what was generated, and hold the plan's values afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from patience import LIMIT
from test_targets import seeded_jobs

from papertrain.configs.target import Job
from papertrain.configs.targets.llamafactory import TARGET, template
from papertrain.configs.words import optimizer, scheduler

HERE = Path(__file__).resolve().parent
ENV = HERE.parents[1] / ".envs/llamafactory"
PYTHON = ENV / "bin/python"

pytestmark = [pytest.mark.slow, pytest.mark.frameworks]


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Job, dict[str, object]]]:
    if not PYTHON.exists():
        pytest.skip("no .envs/llamafactory (requirements/llamafactory.txt)")
    folder = tmp_path_factory.mktemp("yaml")
    jobs = [j for j in seeded_jobs(600, seed=1) if TARGET.applies(j) is None][:320]
    for i, job in enumerate(jobs):
        predict = TARGET.files(job).get(f"{job.folder('llamafactory')}/predict.yaml")
        if predict is not None:
            (folder / f"{i:03}-predict.yaml").write_text(predict)
        (folder / f"{i:03}.yaml").write_text(TARGET.files(job)[f"{job.folder('llamafactory')}/train.yaml"])
    done = subprocess.run(
        [str(PYTHON), str(HERE / "parse_llamafactory.py"), str(folder)],
        capture_output=True,
        text=True,
        env=os.environ | {"CUDA_VISIBLE_DEVICES": ""},
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    by_name = {line["file"]: line for line in lines}
    found = [(job, by_name.pop(f"{i:03}.yaml")) for i, job in enumerate(jobs)]
    assert len(found) >= 300 and len(by_name) >= 100
    return found + [(jobs[int(name[:3])], line) for name, line in by_name.items()]


def test_llamafactory_accepts_every_generated_file_on_both_of_its_paths(
    read: list[tuple[Job, dict[str, object]]],
) -> None:
    refused = [
        (line["file"], job.task, job.plan.method.value, line[way])
        for job, line in read
        for way in ("dict", "argv")
        if isinstance(line[way], str)
    ]
    # Packages that are not installed here say nothing about the file.
    refused = [r for r in refused if "PackageNotFoundError" not in str(r[3]) and "ImportError" not in str(r[3])]
    assert not refused, refused[:5]


def test_llamafactory_holds_the_values_of_the_plan(read: list[tuple[Job, dict[str, object]]]) -> None:
    compared = 0
    for job, line in read:
        for way in ("dict", "argv"):
            held = line[way]
            if not isinstance(held, dict) or "predict" in str(line["file"]):
                continue
            compared += 1
            v = job.plan.values()
            assert (
                held["learning_rate"] == v["learning_rate"]
                and held["per_device_train_batch_size"] == v["micro_batch_size"]
            )
            assert (
                held["gradient_accumulation_steps"] == v["gradient_accumulation_steps"]
                and held["num_train_epochs"] == v["epochs"]
            )
            assert held["lr_scheduler_type"] == scheduler(job) and held["optim"] == optimizer(job)
            assert (
                held["seed"] == v["seed"]
                and held["cutoff_len"] in (v["sequence_length"], v["sequence_length"] - int(v["packing"]))
                and held["template"] == template(job)
            )
            assert (
                held["fp16"] == (v["precision"] == "fp16")
                and held["weight_decay"] == v["weight_decay"]
                and held["max_grad_norm"] == v["max_grad_norm"]
            )
            if v["warmup_steps"] is not None:
                assert held["warmup_steps"] == v["warmup_steps"]
            if "lora_rank" in v:
                assert (held["lora_rank"], held["lora_alpha"], held["lora_dropout"]) == (
                    v["lora_rank"],
                    v["lora_alpha"],
                    v["lora_dropout"],
                )
                assert held["use_dora"] == (v["method"] == "dora") and held["quantization_bit"] == (
                    4 if v["method"] == "qlora" else None
                )
    assert compared >= 500, f"{compared} files compared"


DEEPSPEED = HERE.parents[1] / ".envs/deepspeed/bin/python"


@pytest.mark.skipif(
    not DEEPSPEED.exists(), reason="no .envs/deepspeed (deepspeed 0.19.8 beside the training environment)"
)
def test_deepspeed_accepts_every_file_and_the_trainer_fills_every_auto(tmp_path: Path) -> None:
    from papertrain.configs.targets.deepspeed import TARGET as DS
    from papertrain.configs.targets.deepspeed import for_script

    jobs = [j for j in seeded_jobs(150, seed=2) if DS.applies(j) is None]
    by_name = {}
    for i, job in enumerate(jobs):
        for name, text in {**DS.files(job), "script.json": json.dumps(for_script(job))}.items():
            if not name.endswith(".json"):
                continue
            kind = "standalone" if "standalone" in name else "script" if name == "script.json" else "auto"
            (tmp_path / f"{i:03}_{kind}.json").write_text(text)
            by_name[f"{i:03}_{kind}.json"] = job
        v = job.plan.values()
        args = {"per_device_train_batch_size": v["micro_batch_size"], "gradient_accumulation_steps": v["gradient_accumulation_steps"], "max_grad_norm": v["max_grad_norm"],
                "learning_rate": v["learning_rate"], "bf16": v["precision"] in ("bf16", "pure_bf16"), "fp16": v["precision"] == "fp16"}  # fmt: skip
        (tmp_path / f"{i:03}_args.json").write_text(json.dumps(args))
    done = subprocess.run(
        [str(DEEPSPEED), str(HERE / "parse_deepspeed.py"), str(tmp_path)], capture_output=True, text=True, timeout=LIMIT
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(lines) == len(by_name) >= 300
    assert not [line for line in lines if "refused" in line], [line for line in lines if "refused" in line][:3]
    for line in lines:
        v = by_name[line["file"]].plan.values()
        assert not line.get("left_auto"), line
        assert (line["stage"], line["micro"], line["clipping"]) == (
            v["zero_stage"],
            v["micro_batch_size"],
            v["max_grad_norm"],
        )
        assert line["accumulation"] == (1 if "_script" in line["file"] else v["gradient_accumulation_steps"])
        assert line["bf16"] == (v["precision"] in ("bf16", "pure_bf16")) and line["fp16"] == (v["precision"] == "fp16")
        assert line["offload"] == (v["offload"] != "none" and v["zero_stage"] > 0)
        assert not (line["stage"] in (1, 2) and line["overlap"])


@pytest.mark.skipif(
    not DEEPSPEED.exists(), reason="no .envs/deepspeed (deepspeed 0.19.8 beside the training environment)"
)
def test_the_script_under_zero_1_2_and_3_has_the_losses_of_one_process_also_after_a_resume(tmp_path: Path) -> None:
    """Two processes with real shards, the second half from their checkpoint. The first time DeepSpeed compiles an operator."""
    import shutil

    from plans import make_job

    from papertrain.configs.generating import generate

    train_env = HERE.parents[1] / ".envs/train/bin"
    kept = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "DS_ACCELERATOR": "cpu", "CUDA_VISIBLE_DEVICES": "", "TOKENIZERS_PARALLELISM": "false",
            "PATH": f"{DEEPSPEED.parent}:{train_env}:{os.environ['PATH']}"}  # fmt: skip

    def start(*words: str) -> None:
        done = subprocess.run(words, cwd=tmp_path, env=os.environ | kept, capture_output=True, text=True, timeout=LIMIT)
        assert done.returncode == 0, done.stderr[-3000:]

    def losses(run: str) -> list[float]:
        lines = [json.loads(line) for line in (tmp_path / run / "train_log.jsonl").read_text().splitlines()]
        assert run == "one" or (lines[0]["distributed"] == "DEEPSPEED" and lines[0]["devices"] == 2)
        return [v for _, v in sorted({x["step"]: x["loss"] for x in lines if "loss" in x}.items())]

    start(str(train_env / "python"), str(HERE / "tiny_model.py"), str(tmp_path))
    options = {"model": "smollm", "card": "cpu", "cards": 2, "method": "lora", "precision": "fp32", "model_path": "model", "train": "train.jsonl", "micro_batch_size": 4,
               "gradient_accumulation_steps": 2, "learning_rate": 3e-3, "epochs": 1.0, "total_steps": 5, "warmup_steps": 1, "eval_steps": 3, "save_steps": 3,
               "sequence_length": 96, "early_stopping_patience": 0, "gradient_checkpointing": "none", "lora_dropout": 0.0}  # fmt: skip
    for stage in (1, 2, 3):
        for name, text in generate([make_job(zero_stage=stage, **options)]).files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
    script = "configs/ours/script/train.py"
    start(str(train_env / "python"), script, "--output_dir", "one")
    for stage in (1, 2, 3):
        run = f"zero{stage}"
        # As every startup command of a sharded plan: torchrun, and accelerate's variables that name the file.
        kept |= {"ACCELERATE_USE_DEEPSPEED": "true", "ACCELERATE_DEEPSPEED_CONFIG_FILE": f"configs/ours/script/ds_zero{stage}.json"}  # fmt: skip
        words = [str(DEEPSPEED), "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", str(HERE / "deepspeed_on_cpu.py"), script, "--output_dir", run]  # fmt: skip
        start(*words)
        assert (tmp_path / run / "checkpoint-3/shards").is_dir()
        assert losses(run) == pytest.approx(losses("one"), abs=1e-4)
        if stage == 1:  # its shards are saved as those of stage 2
            continue
        shutil.rmtree(tmp_path / run / "checkpoint-5")
        start(*words, "--resume")
        assert losses(run) == pytest.approx(losses("one"), abs=1e-4)
