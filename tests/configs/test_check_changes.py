"""What `--fix` may do by itself: nothing that is a guess, nothing that changes what is trained."""

from __future__ import annotations

from pathlib import Path

import pytest

from papertrain.configs.checking.engine import Choice, Hit, hits
from papertrain.configs.checking.read import read_file
from papertrain.configs.checking.world import World
from papertrain.facts.hardware import parse_compute
from papertrain.verbs.check import check

HEAD = "stage: sft\ndo_train: true\nmodel_name_or_path: Qwen/Qwen2.5-7B-Instruct\ndataset: identity\ntemplate: qwen\nfinetuning_type: lora\n"
AXOLOTL = "base_model: NousResearch/Llama-3.2-1B\ndatasets:\n  - path: a.jsonl\n    type: alpaca\nmicro_batch_size: 2\nlearning_rate: 2.0e-4\nflash_attention: true\n"
ZERO2 = '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}'


def found(folder: Path, files: dict[str, str], *, only: str = "", gpu: str = "") -> list[Hit]:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    documents = read_file(folder / next(iter(files)))
    compute = parse_compute(gpu) if gpu else None
    return [
        h
        for h in hits(World(documents, compute=compute), choice=Choice(preview=True))
        if h.finding.rule.startswith(only)
    ]


def automatic(seen: list[Hit]) -> list[tuple[str, str]]:
    """What --fix would write."""
    return [(h.finding.rule, h.finding.patch) for h in seen if h.finding.patch and h.finding.effect == "execution" and h.finding.level in ("error", "warning")]  # fmt: skip


def test_a_missing_deepspeed_file_is_never_replaced_by_a_data_file(tmp_path: Path) -> None:
    files = {
        "l.yaml": HEAD + "deepspeed: ds_missing.json\n",
        "dataset_info.json": '{"identity": {"file_name": "a.json"}}',
        "ds_missin.json": '[{"instruction": "a", "output": "b"}]',
    }
    wrong = found(tmp_path, files, only="TR307")
    missing = next(h for h in wrong if "ds_missing.json" in h.finding.says)
    assert missing.finding.patch == "" and missing.edits == ()
    assert "ds_missin.json" not in missing.finding.says and "dataset_info" not in missing.finding.says
    check([tmp_path / "l.yaml"], fix=True)
    assert "deepspeed: ds_missing.json" in (tmp_path / "l.yaml").read_text()


def test_a_file_of_the_right_kind_in_the_same_folder_is_named_and_not_written(tmp_path: Path) -> None:
    files = {"l.yaml": HEAD + "deepspeed: ds_z3.json\n", "ds_z2.json": ZERO2}
    missing = next(h for h in found(tmp_path, files, only="TR307") if "ds_z3" in h.finding.says)
    assert "nearest is ds_z2.json" in missing.finding.says and missing.finding.patch == ""


def test_a_file_of_another_folder_is_not_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "ds_1.json").write_text(ZERO2)
    wrong = found(tmp_path, {"in/sub/l.yaml": HEAD + "deepspeed: ds.json\n"}, only="TR307")
    wrong += found(tmp_path, {"in/sub/m.yaml": HEAD + "deepspeed: ../../ds.json\n"}, only="TR307")
    wrong += found(tmp_path, {"in/t.sh": "torchrun --nproc_per_node 2 train.py --deepspeed ds.json --bf16 true --output_dir o --learning_rate 1e-4\n"}, only="TR307")  # fmt: skip
    assert len(wrong) >= 3 and not any("ds_1" in h.finding.says + h.finding.instead for h in wrong)


def test_a_missing_data_file_is_named_and_not_replaced(tmp_path: Path) -> None:
    files = {"dataset_info.json": '{"a": {"file_name": "train_v1.jsonl"}}', "train_v2.jsonl": "{}\n"}
    (missing,) = found(tmp_path, files, only="TR307")
    assert "train_v2.jsonl" in missing.finding.says and missing.finding.patch == ""


@pytest.mark.parametrize(
    "text", ['{"mychat": {"file_name": "chat.jsonl"}}', '[{"instruction": "a"}]', '{"learning_rate": 1}']
)
def test_a_file_under_deepspeed_that_is_no_deepspeed_config_is_seen(text: str, tmp_path: Path) -> None:
    for config in (HEAD, AXOLOTL):
        wrong = found(tmp_path, {"l.yaml": config + "deepspeed: other.json\n", "other.json": text}, only="TR353")
        assert len(wrong) == 1 and wrong[0].finding.level == "error" and "other.json" in wrong[0].finding.says
        assert wrong[0].finding.patch == ""


def test_a_broken_file_under_deepspeed_says_what_is_wrong_with_it(tmp_path: Path) -> None:
    (wrong,) = found(tmp_path, {"l.yaml": HEAD + "deepspeed: d.json\n", "d.json": '{"zero_optimization": {"stage": 2,,}}'}, only="TR353")  # fmt: skip
    assert "d.json" in wrong.finding.says and "line 1" in wrong.finding.says


@pytest.mark.parametrize("text", [ZERO2, '{"fp16": {"enabled": "auto"}}', '{"zero_optimization": {"stage": 3}}'])
def test_a_small_deepspeed_config_is_one(text: str, tmp_path: Path) -> None:
    assert found(tmp_path, {"l.yaml": HEAD + "deepspeed: d.json\n", "d.json": text}, only="TR353") == []


CHANGES_THE_EXPERIMENT = [
    ("a.yaml", AXOLOTL + "train_on_input: true\n", "", "TR201"),  # was passed over; would add loss on prompts
    ("a.yaml", AXOLOTL + "weight_deca: 0.1\n", "", "TR201"),
    ("a.yaml", AXOLOTL + "noisy_embedding_alpha: 5\n", "", "TR211"),
    ("a.yaml", AXOLOTL + "max_packed_sequence_len: 2048\n", "", "TR211"),
    ("ds.json", '{"train_micro_batch_size_per_gpu": 2, "gradient_cliping": 1.0, "zero_optimization": {"stage": 2}}', "", "TR201"),
    ("run.sh", "CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=4 train.py\n", "", "TR406"),
    ("acc.yaml", "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_processes: 4\nnum_machines: 1\n", "2x A100-80GB", "TR346"),
    ("acc.yaml", "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_processes: 3\nnum_machines: 2\n", "", "TR346"),
    ("l.yaml", HEAD.replace("lora", "full") + "fsdp: full_shard auto_wrap\ndeepspeed: ds_z2.json\n", "", "TR339"),
    ("l.yaml", HEAD + "quantization_bit: 8\ndeepspeed: ds_z3.json\n", "", "TR314"),
    ("ds.json", '{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}}}', "", "TR315"),
    ("acc.yaml", "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nnum_processes: 2\nnum_machines: 1\ndeepspeed_config:\n  zero_stage: 2\n  offload_param_device: cpu\n", "", "TR315"),
    ("l.yaml", HEAD + "quantization_bit: 5\n", "", "TR206"),
    ("l.yaml", HEAD + "optim: adamw\n", "", "TR206"),
    ("l.yaml", HEAD + "lora_rank: 8.5\n", "", "TR204"),
    ("l.yaml", HEAD + "learning_rate: '1,5'\n", "", "TR204"),
    ("l.yaml", HEAD + "warmup_rate: 0.1\n", "", "TR201"),
    ("l.yaml", HEAD + "dropout_everywhere: 0.1\n", "", "TR201"),
    ("run.sh", "torchrun --nproc_per_node=2 train.py \\ \n  --learning_rate 1e-5\n", "", "TR409"),
    ("run.sh", "NNODES=2 NUM_GPUS=4 MASTER_ADDR=10.0.0.1 FORCE_TORCHRUN=1 llamafactory-cli train a.yaml\n", "", "TR402"),
    ("l.yaml", HEAD + "load_best_model_at_end: true\neval_strategy: steps\nsave_strategy: epoch\nval_size: 0.1\n", "", "TR309"),
    ("l.yaml", HEAD + "packing: true\ngroup_by_length: true\n", "", "TR312"),
    ("l.yaml", HEAD + "neat_packing: true\nflash_attn: fa2\n", "1x V100-32GB", "TR317"),
    ("l.yaml", HEAD + "learning_rate: 1.0e-4\ndeepspeed: ds_lr.json\n", "", "TR337"),
    ("run.sh", "FORCE_TORCHRUN=1 llamafactory-cli zzz a.yaml\n", "", "TR403"),
    ("l.yaml", HEAD + "per_gpu_train_batch_size: 4\nper_device_train_batch_size: 2\n", "", "TR211"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "gpu", "rule"), CHANGES_THE_EXPERIMENT, ids=[f"{r}-{i}" for i, (*_, r) in enumerate(CHANGES_THE_EXPERIMENT)])  # fmt: skip
def test_what_could_change_the_training_is_not_written_by_itself(
    name: str, text: str, gpu: str, rule: str, tmp_path: Path
) -> None:
    beside = {
        "ds_z2.json": ZERO2,
        "ds_z3.json": ZERO2.replace("2}", "3}"),
        "ds_lr.json": '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}, "optimizer": {"type": "AdamW", "params": {"lr": 5e-5}}}',
    }
    seen = found(tmp_path, {name: text} | beside, gpu=gpu)
    assert rule in {h.finding.rule for h in seen}
    assert [a for a in automatic(seen) if a[0] == rule] == []


HARMLESS = [
    ("l.yaml", HEAD + "logging_step: 10\n", "TR201"),
    ("l.yaml", HEAD + "save_safetensors: true\n", "TR210"),
    ("l.yaml", HEAD + "max_steps: 2e3\n", "TR204"),
    ("l.yaml", HEAD + "evaluation_strategy: steps\nval_size: 0.1\n", "TR211"),
    ("a.yaml", AXOLOTL + "save_total_limits: 2\n", "TR201"),
    ("run.sh", "NNODES=2 RANK=0 MASTER_ADDR=10.0.0.1 MASTER_PORT=29500 FORCE_TORCHRUN=1 llamafactory-cli train a.yaml\n", "TR402"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "rule"), HARMLESS)
def test_what_only_lets_the_run_start_is_written(name: str, text: str, rule: str, tmp_path: Path) -> None:
    assert rule in [r for r, _ in automatic(found(tmp_path, {name: text}))]


def test_a_broken_registry_is_called_broken(tmp_path: Path) -> None:
    text = HEAD + f"dataset_dir: {tmp_path}\n"
    seen = found(tmp_path, {"l.yaml": text, "dataset_info.json": '{"identity": {,}'}, only="TR307")
    assert [h.finding.level for h in seen] == ["error"] and "dataset_info.json" in seen[0].finding.says
    assert "cannot be read" in seen[0].finding.says
