"""The cases that must come out right: what a person asked about, what the program answers, and that the change mends it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from papertrain.configs.checking.engine import Choice, Hit, hits
from papertrain.configs.checking.patches import apply
from papertrain.configs.checking.read import read_file
from papertrain.configs.checking.world import World
from papertrain.facts.hardware import parse_compute

HEAD = "stage: sft\ndo_train: true\nmodel_name_or_path: Qwen/Qwen2.5-7B-Instruct\ndataset: identity\ntemplate: qwen\nfinetuning_type: lora\n"


def check(folder: Path, files: dict[str, str], *, gpu: str = "", versions: dict[str, str] | None = None) -> list[Hit]:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    documents = [
        d for name in files if not name.endswith((".jsonl", "dataset_info.json")) for d in read_file(folder / name)
    ]
    return hits(
        World(documents, compute=parse_compute(gpu) if gpu else None, versions=versions), choice=Choice(preview=True)
    )


def said(found: list[Hit]) -> str:
    return "\n".join(f"{h.finding.says} {h.finding.instead} {h.finding.patch}" for h in found)


# (what is added to a good file, rule, what the answer must name)
BAD_LLAMAFACTORY = [
    ("lora_rankk: 8", "TR201", "lora_rank: 8"),
    ("micro_batch_size: 4", "TR201", "per_device_train_batch_size: 4"),
    ("num_epochs: 3", "TR201", "num_train_epochs: 3"),
    ("lr: 1.0e-4", "TR201", "learning_rate"),
    ("max_seq_length: 1024", "TR201", "cutoff_len: 1024"),
    ("lora_r: 8", "TR201", "lora_rank: 8"),
    ("gradient_acumulation_steps: 8", "TR201", "gradient_accumulation_steps: 8"),
    ("evaluation_strategy: steps\nval_size: 0.1", "TR211", "eval_strategy: steps"),
    ("group_by_length: true", "TR211", "train_sampling_strategy: group_by_length"),
    ("no_cuda: true", "TR211", "use_cpu: true"),
    ("per_gpu_train_batch_size: 4", "TR211", "per_device_train_batch_size: 4"),
    ("save_safetensors: true", "TR210", "remove `save_safetensors`"),
    ("include_tokens_per_second: true", "TR210", "remove `include_tokens_per_second`"),
    ("learning_rate: abc", "TR204", "learning_rate"),
    ('learning_rate: "1e-4"', "TR204", "1.0e-4"),
    ("lora_rank: 8.5", "TR204", "whole number"),
    ("max_steps: 2e3", "TR204", "max_steps: 2000"),
    ("lora_rank: eight", "TR204", "whole number"),
    ('bf16: "true"', "TR204", "bf16: true"),
    ("packing: maybe", "TR204", "true or false"),
    ("flash_attn: xx", "TR206", "fa2"),
    ("lr_scheduler_type: cosin", "TR206", "cosine"),
    ("optim: adamw", "TR206", "adamw_torch"),
    ("quantization_bit: 5", "TR206", "4"),
    ("quantization_method: foo", "TR206", "bnb"),
    ("save_strategy: step", "TR206", "steps"),
    ("mix_strategy: concatenate", "TR206", "concat"),
    ("lora_rank: 0", "TR207", "1 or more"),
    ("cutoff_len: -5", "TR207", "1 or more"),
    ("per_device_train_batch_size: 0", "TR207", "1 or more"),
    ("gradient_accumulation_steps: 0", "TR207", "1 or more"),
    ("learning_rate: -1", "TR207", "0 or more"),
    ("lora_dropout: 1.5", "TR207", "below 1"),
    ("max_samples: -3", "TR207", "1 or more"),
    ('eval_strategy: no', "TR209", '"no"'),
    ("bf16: true\nfp16: true", "TR303", "fp16"),
    ("learning_rate: 1.0e-4\nlearning_rate: 1.0e-5", "TR203", "learning_rate"),
    ("learning_rate: 3", "TR335", "exponent"),
    ("lr_scheduler_type: cosine_with_min_lr", "TR336", "min_lr_rate"),
    ("max_steps: 50\nwarmup_steps: 100", "TR311", "50"),
    ("deepspeed: ds_z3.json", "TR307", "ds_z3.json"),
    ("train_on_prompt: true\nmask_history: true", "TR326", "mask_history"),
    ("neat_packing: true\ntrain_sampling_strategy: group_by_length", "TR312", "group_by_length"),
    ("load_best_model_at_end: true\nval_size: 0.1\neval_strategy: epoch", "TR309", "save_strategy: epoch"),
    ("do_eval: true", "TR323", "val_size"),
    ("use_galore: true", "TR326", "use_galore"),
    ("infer_backend: vllm", "TR326", "infer_backend"),
    ("hub_token: hf_" + "q7Zk" * 8, "TR450", "HF_TOKEN"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "rule", "want"), BAD_LLAMAFACTORY, ids=[f"{r}-{line.split(':')[0]}" for line, r, _ in BAD_LLAMAFACTORY]
)
def test_a_bad_line_is_named_and_its_change_silences_it(line: str, rule: str, want: str, tmp_path: Path) -> None:
    text = HEAD + line + "\noutput_dir: out\n"
    found = [h for h in check(tmp_path, {"t.yaml": text}) if h.finding.rule == rule]
    assert found and want in said(found), said(check(tmp_path, {"t.yaml": text}))
    if found[0].edits:
        new = apply(found[0].document, text, found[0].edits)
        assert new is not None
        assert [h.finding.says for h in check(tmp_path, {"t.yaml": new}) if h.finding.rule == rule] == []


DEEPSPEED = [
    ('{"train_batch_size": 8, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 3}', "TR301", '"train_batch_size": '),
    ('{"train_micro_batch_size_per_gpu": 2, "zero_optimisation": {"stage": 2}}', "TR201", "zero_optimization"),
    ('{"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_step": 4}', "TR201", "gradient_accumulation_steps"),
    ('{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}}}', "TR315", "stage 3"),
    ('{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 3, "reduce_bucket_size": 3686.4}}', "TR204", "3686"),
    ('{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 4}}', "TR206", "0, 1, 2, 3"),
    ('{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 2, "overlap_com": true}}', "TR201", "overlap_comm"),
    ('{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "gpu"}}}', "TR206", "cpu"),
    ('{"train_micro_batch_size_per_gpu": 2, "bf16": true, "zero_optimization": {"stage": 2}}', "TR204", "bf16"),
    ('{"train_micro_batch_size_per_gpu": 2, "bf16": {"enabled": true}, "fp16": {"enabled": true}}', "TR303", "fp16"),
    ('{"train_micro_batch_size_per_gpu": 2, "optimizer": {"type": "AdamX"}, "zero_optimization": {"stage": 2}}', "TR206", "adam"),
    ('{"train_micro_batch_size_per_gpu": 2, "optimizer": {"type": "AdamW", "params": {"lr": 5}}}', "TR335", "exponent"),
    ('{"train_micro_batch_size_per_gpu": 2, "optimizer": {"type": "AdamW", "params": {"learning_rate": 1e-5}}}', "TR201", '"lr"'),
    ('{"train_micro_batch_size_per_gpu": 2, "stage": 3}', "TR202", "zero_optimization"),
    ('{"train_micro_batch_size_per_gpu": "two", "zero_optimization": {"stage": 2}}', "TR204", "whole number"),
    ('{"train_micro_batch_size_per_gpu": 2, "train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2}}', "TR203", "twice"),
    ('{"train_micro_batch_size_per_gpu": 2, "gradient_clipping": NaN, "zero_optimization": {"stage": 2}}', "TR216", "NaN"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "rule", "want"), DEEPSPEED, ids=[f"{i}-{r}" for i, (_, r, _) in enumerate(DEEPSPEED)])
def test_a_bad_deepspeed_file_is_named(text: str, rule: str, want: str, tmp_path: Path) -> None:
    found = [h for h in check(tmp_path, {"ds.json": text}) if h.finding.rule == rule]
    assert found and want in said(found), said(check(tmp_path, {"ds.json": text}))


def test_split_test_in_an_evaluation_file_is_part_of_the_task(tmp_path: Path) -> None:
    text = "model_name_or_path: m\nadapter_name_or_path: a\nfinetuning_type: lora\ntask: mmlu\nsplit: test\ntemplate: fewshot\nlang: en\nn_shot: 5\nbatch_size: 4\n"
    found = check(tmp_path, {"eval.yaml": text})
    answers = said(found)
    assert "task: mmlu_test" in answers and "gone in LLaMA-Factory" in answers
    unknown = next(h for h in found if h.finding.rule == "TR201")
    assert "split" not in str(apply(unknown.document, text, unknown.edits))


def test_max_samples_is_said_as_a_share_and_does_not_fail(tmp_path: Path) -> None:
    files = {
        "s.yaml": HEAD.replace("identity", "rows") + "dataset_dir: .\nmax_samples: 1000\n",
        "dataset_info.json": '{"rows": {"file_name": "rows.jsonl"}}',
        "rows.jsonl": '{"instruction": "a", "input": "", "output": "b"}\n' * 2143,
    }
    found = check(tmp_path, files)
    cut = next(h.finding for h in found if h.finding.rule == "TR305")
    assert (
        "1,000 of 2,143" in cut.says and "46.7 %" in cut.says and cut.level == "warning" and cut.effect == "experiment"
    )
    assert [h.finding.says for h in found if h.finding.level == "error"] == []


def test_packed_pretraining_counts_agree_with_the_run_that_was_asked_about() -> None:
    # LLaMA-Factory: 1,042,224 rows gave "Num examples = 35,038" and 3,285 steps: 35,038 / (4 × 8 cards) × 3 epochs.
    from papertrain.configs.checking.accounting import _steps
    from papertrain.configs.checking.document import ConfigDocument
    from papertrain.core.models import DatasetProfile

    settings = {
        "stage": "pt",
        "do_train": True,
        "cutoff_len": 2048,
        "per_device_train_batch_size": 4,
        "num_train_epochs": 3.0,
    }
    document = ConfigDocument(
        file="pt.yaml", path=None, kind="llamafactory", format="yaml", text="", settings=settings, role="train"
    )
    data = DatasetProfile(path="d", sha256="", format="text", rows=1_042_224, examples=1_042_224, tokens=35_038 * 2048)
    counted = _steps(document, World([document], compute=parse_compute("8x A100-80GB")), 1_042_224, 1_042_224, [data])
    assert counted.examples == 35_038 and counted.total_steps == 3_285


def test_a_llama_template_on_a_qwen3_model(tmp_path: Path) -> None:
    found = check(tmp_path, {"i.yaml": "model_name_or_path: Qwen/Qwen3-8B\ntemplate: llama3\ninfer_backend: vllm\n"})
    wrong = next(h.finding for h in found if h.finding.rule == "TR304")
    assert "template: qwen3" in wrong.says and "enable_thinking: false" in wrong.says and wrong.effect == "experiment"


@pytest.mark.parametrize(("model", "used", "right"), [
    ("meta-llama/Llama-3.2-1B-Instruct", "qwen", "llama3"), ("Qwen/Qwen2.5-7B-Instruct", "llama3", "qwen"), ("/data/models/Qwen2.5-7B-Instruct", "chatglm3", "qwen"),
    ("google/gemma-2-9b-it", "llama3", "gemma2"), ("mistralai/Mistral-7B-Instruct-v0.3", "qwen", "mistral"), ("HuggingFaceTB/SmolLM2-135M-Instruct", "llama3", "smollm2"),
    ("me/qwen3-8b-finetuned", "llama3", "qwen3"),
])  # fmt: skip
def test_the_models_own_template_is_named(model: str, used: str, right: str, tmp_path: Path) -> None:
    found = check(
        tmp_path,
        {"t.yaml": HEAD.replace("Qwen/Qwen2.5-7B-Instruct", model).replace("template: qwen", f"template: {used}")},
    )
    assert f"template: {right}" in said([h for h in found if h.finding.rule == "TR304"])


def test_a_template_of_a_base_or_unknown_model_is_nobodys_mistake(tmp_path: Path) -> None:
    for model in ("Qwen/Qwen2.5-7B", "meta-llama/Llama-3.1-8B", "/scratch/mine", "somebody/strange-model"):
        found = check(
            tmp_path,
            {"t.yaml": HEAD.replace("Qwen/Qwen2.5-7B-Instruct", model).replace("template: qwen", "template: llama3")},
        )
        assert [h.finding.says for h in found if h.finding.rule == "TR304"] == []


def test_processes_that_are_shown_no_card_are_held_against_none(tmp_path: Path) -> None:
    """A run on the processor, on a machine that has cards: of any number of processes, and no card is idle by mistake."""
    for shown, said in (("CUDA_VISIBLE_DEVICES=''", False), ("CUDA_VISIBLE_DEVICES=", False), ("", True)):
        found = check(tmp_path, {"r.sh": f"{shown} torchrun --nproc_per_node 2 t.py\n"}, gpu="4x A100-80GB")
        assert any(h.finding.rule == "TR406" for h in found) is said, shown


GRPO = "model_name_or_path: m\ndataset_name: d\nnum_generations: 8\nper_device_train_batch_size: 1\nuse_vllm: true\n"


@pytest.mark.parametrize(("version", "ways"), [
    ("1.16.0", ("num_generations: 7", "gradient_accumulation_steps: 8")), ("0.17.0", ("num_generations: 7", "gradient_accumulation_steps: 8")),
    ("0.15.2", ("num_generations: 7", "per_device_train_batch_size: 8")),
])  # fmt: skip
def test_seven_cards_and_eight_generations_have_two_ways_out_by_version(
    version: str, ways: tuple[str, str], tmp_path: Path
) -> None:
    found = check(tmp_path, {"g.yaml": GRPO}, gpu="7x A100-80GB", versions={"trl": version})
    wrong = next(h.finding for h in found if h.finding.rule == "TR313")
    assert (
        all(way in wrong.instead for way in ways)
        and wrong.effect == "experiment"
        and "change the algorithm" in wrong.says
    )
    assert [
        h
        for h in check(tmp_path, {"g.yaml": GRPO}, gpu="8x A100-80GB", versions={"trl": version})
        if h.finding.rule == "TR313"
    ] == []


def test_accumulation_makes_whole_groups_in_new_versions_only(tmp_path: Path) -> None:
    text = GRPO + "gradient_accumulation_steps: 8\n"
    for version, fires in (("1.16.0", False), ("0.15.2", True)):
        assert (
            any(
                h.finding.rule == "TR313"
                for h in check(tmp_path, {"g.yaml": text}, gpu="7x A100-80GB", versions={"trl": version})
            )
            is fires
        )


def test_grpo_on_a_command_line_counts_the_processes_that_it_starts(tmp_path: Path) -> None:
    text = "accelerate launch --num_processes 7 grpo.py --num_generations 8 --per_device_train_batch_size 1 --learning_rate 1e-6\n"
    wrong = [h.finding for h in check(tmp_path, {"run.sh": text}) if h.finding.rule == "TR313"]
    assert "num_generations 7" in wrong[0].instead and wrong[0].effect == "experiment"
    assert [
        h for h in check(tmp_path, {"run.sh": text.replace("processes 7", "processes 8")}) if h.finding.rule == "TR313"
    ] == []


AXOLOTL = "base_model: NousResearch/Llama-3.2-1B\ndatasets: [{path: d, type: alpaca}]\nsequence_len: 2048\nmicro_batch_size: 1\nnum_epochs: 1\nlearning_rate: 0.0002\n"
OTHERS = [
    (AXOLOTL + "adapter: qlora\n", "TR327", "load_in_4bit: true"), (AXOLOTL + "warmup_steps: 10\nwarmup_ratio: 0.1\n", "TR327", "warmup_ratio"),
    (AXOLOTL + "sample_packing: true\nrl: dpo\n", "TR327", "sample_packing"), (AXOLOTL + "val_set_size: 0\neval_steps: 10\n", "TR327", "val_set_size: 0.1"),
    (AXOLOTL + "load_in_4bit: true\n", "TR318", "qlora"), (AXOLOTL + "adapter: lorra\n", "TR206", "lora"), (AXOLOTL + "sample_pakcing: true\n", "TR201", "sample_packing: true"),
    (AXOLOTL + "evaluation_strategy: steps\n", "TR211", "eval_strategy"), (AXOLOTL + "micro_batch_size: 2\n", "TR203", "twice"), (AXOLOTL.replace("2048", "long"), "TR204", "whole number"),
    ("model_name_or_path: m\ndataset_name: d\nuse_peft: true\nlora_r: 16\nmax_seq_length: 512\n", "TR211", "max_length: 512"),
    ("model_name_or_path: m\ndataset_name: d\nuse_peft: true\nlearning_rate: 1e-5\n", "TR205", "1.0e-5"),
    ("model_name_or_path: m\ndataset_name: d\nload_in_4bit: true\nlora_r: 16\n", "TR318", "use_peft: true"),
    ("model_name_or_path: m\ndataset_name: d\nuse_peft: true\nlora_rank: 16\n", "TR201", "lora_r: 16"),
    ("compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n  fsdp_reshard_after_forward: FULL_SHARD\n", "TR342", "true"),
    ("compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  fsdp_auto_wrap_polcy: NO_WRAP\n", "TR201", "fsdp_auto_wrap_policy"),
    ("compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPUS\nnum_processes: 2\n", "TR206", "MULTI_GPU"),
    ("compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 4\n", "TR206", "0, 1, 2, 3"),
    ("compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_process: 2\n", "TR201", "num_processes: 2"),
    ("compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_offload_params: true\n", "TR202", "fsdp_config"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "rule", "want"), OTHERS, ids=[f"{i}-{r}" for i, (_, r, _) in enumerate(OTHERS)])
def test_bad_files_of_the_other_frameworks_are_named(text: str, rule: str, want: str, tmp_path: Path) -> None:
    found = check(tmp_path, {"a.yaml": text})
    assert want in said([h for h in found if h.finding.rule == rule]), said(found)


COMMANDS = [
    ("FORCE_TORCHRUN=1 NNODES=2 RANK=0 MASTER_ADDR=10.0.0.5 MASTER_PORT=29501 llamafactory-cli train a.yaml", "TR402", "NODE_RANK=0"),
    ("export NNODES=2 RANK=1 MASTER_ADDR=10.0.0.5 FORCE_TORCHRUN=1\nllamafactory-cli train a.yaml", "TR402", "NODE_RANK=1"),
    ("FORCE_TORCHRUN=1 NNODES=2 NODE_RANK=0 MASTER_ADDRESS=10.0.0.5 llamafactory-cli train a.yaml", "TR402", "MASTER_ADDR=10.0.0.5"),
    ("FORCE_TORCHRUN=1 NPROC_PER_NODES=4 llamafactory-cli train a.yaml", "TR402", "NPROC_PER_NODE=4"),
    ("NNODES=2\nFORCE_TORCHRUN=1 NODE_RANK=0 MASTER_ADDR=10.0.0.5 llamafactory-cli train a.yaml", "TR402", "export NNODES=2"),
    ("llamafactory-cli trian a.yaml", "TR403", "train"),
    ("llamafactory-cli finetune a.yaml", "TR403", "exits with 0"),
    ("llamafactory-cli eval e.yaml", "TR404", "gone"),
    ("MASTER_PORT=29501 llamafactory-cli train a.yaml &\nMASTER_PORT=29501 llamafactory-cli train b.yaml &\nwait", "TR405", "29501"),
    ("torchrun --master_port 99999 --nproc_per_node 2 t.py", "TR405", "99999"),
    ("CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node 4 t.py", "TR406", "2 cards"),
    ("FORCE_TORCHRUN=1 NNODES=2 NODE_RANK=0 llamafactory-cli train a.yaml", "TR408", "MASTER_ADDR"),
    ("FORCE_TORCHRUN=1 NNODES=2 NODE_RANK=2 MASTER_ADDR=10.0.0.5 MASTER_PORT=29500 llamafactory-cli train a.yaml", "TR408", "from 0 to 1"),
    ("FORCE_TORCHRUN=1 NNODES=2 NODE_RANK=0 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 llamafactory-cli train a.yaml", "TR408", "never meet"),
    ("torchrun --nnodes 2 --nproc_per_node 8 t.py", "TR408", "node_rank"),
    ("torchrun --nproc_per_node 2 t.py \\ \n  --learning_rate 1e-4", "TR409", "backslash"),
    ("torchrun --nproc_per_node 2 t.py\n  --learning_rate 1e-4 --bf16", "TR409", "backslash"),
    ("torchrun --nproc_per_node 2 t.py \\\n  # the rate\n  --learning_rate 1e-4 --bf16", "TR409", "comment"),
    ("llamafactory-cli train a.json", "TR412", "a.yaml"),
    ("python train.py --report_to wandb --push_to_hub --hub_token hf_" + "q7Zk" * 8, "TR451", "WANDB_API_KEY"),
    ("WANDB_API_KEY=" + "0123456789abcdef" * 2 + "01234567 python train.py", "TR451", "process list"),
    ("trl sft --model_name_or_path m --dataset_name d --max_sequence_length 5", "TR201", "max_length"),
    ("llamafactory-cli train a.yaml lora_rankk=8", "TR201", "lora_rank"),
    ("torchrun --nproc_per_node 2 t.py --per_device_train_batch_size 0 --gradient_accumulation_steps 2", "TR207", "1 or more"),
    ("torchrun --nproc_per_node 2 t.py --evaluation_strategy steps --save_strategy steps", "TR211", "--eval_strategy steps"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "rule", "want"), COMMANDS, ids=[f"{i}-{r}" for i, (_, r, _) in enumerate(COMMANDS)])
def test_a_bad_command_is_named(text: str, rule: str, want: str, tmp_path: Path) -> None:
    found = check(tmp_path, {"run.sh": text + "\n"})
    assert want in said([h for h in found if h.finding.rule == rule]), said(found)
    assert "q7Zk" not in said(found) and "89abcdef0" not in said(found)


def test_an_environment_block_for_a_launcher(tmp_path: Path) -> None:
    text = "export NNODES=2\nexport RANK=1\nexport MASTER_ADDR=10.0.0.5\nexport MASTER_PORT=29500\n"
    found = [h for h in check(tmp_path, {"env.sh": text}) if h.finding.rule == "TR402"]
    assert found[0].finding.instead == "NODE_RANK=1" and apply(found[0].document, text, found[0].edits) == text.replace(
        "RANK", "NODE_RANK"
    )
    assert check(tmp_path, {"env.sh": text + "export WORLD_SIZE=2\n"}) == []


def test_a_slurm_script_with_a_launcher_per_card(tmp_path: Path) -> None:
    text = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=8\n#SBATCH --gres=gpu:a100:8\nsrun torchrun --nnodes 2 --nproc_per_node 8 --rdzv_backend c10d --rdzv_endpoint $H:29500 t.py\n"
    assert "one task per node" in said(check(tmp_path, {"job.slurm": text}))
    assert "Slurm is asked for 4 cards" in said(
        check(tmp_path, {"job.slurm": text.replace("a100:8", "a100:4").replace("=8\n#", "=1\n#")})
    )


def test_values_that_contradict_each_other_across_files(tmp_path: Path) -> None:
    files = {
        "t.yaml": HEAD + "per_device_train_batch_size: 4\nbf16: true\ndeepspeed: z.json\n",
        "z.json": '{"train_micro_batch_size_per_gpu": 8, "bf16": {"enabled": false}, "zero_optimization": {"stage": 2}}',
    }
    found = [h for h in check(tmp_path, files) if h.finding.rule == "TR337"]
    assert [h.finding.file.rpartition("/")[2] for h in found] == [
        "z.json",
        "z.json",
    ] and "per_device_train_batch_size" in said(found)
    fixed = apply(found[0].document, files["z.json"], [e for h in found for e in h.edits])
    assert (
        json.loads(str(fixed))["train_micro_batch_size_per_gpu"] == "auto"
        and json.loads(str(fixed))["bf16"]["enabled"] == "auto"
    )


def test_quantised_weights_and_zero_3(tmp_path: Path) -> None:
    files = {
        "t.yaml": HEAD + "quantization_bit: 4\ndeepspeed: z3.json\n",
        "z3.json": '{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 3}}',
    }
    assert any(h.finding.rule == "TR314" for h in check(tmp_path, files))


def test_what_a_card_does_not_have(tmp_path: Path) -> None:
    text = HEAD + "bf16: true\nflash_attn: fa2\n"
    assert {"TR302", "TR317"} <= {h.finding.rule for h in check(tmp_path, {"t.yaml": text}, gpu="2x V100-32GB")}
    assert not {"TR302", "TR317"} & {h.finding.rule for h in check(tmp_path, {"t.yaml": text}, gpu="2x RTX 4090")}


def test_both_directions_of_a_rename_follow_the_installed_version(tmp_path: Path) -> None:
    old, new = (
        '{"per_device_train_batch_size": 1, "num_train_epochs": 1, "evaluation_strategy": "steps"}',
        '{"per_device_train_batch_size": 1, "num_train_epochs": 1, "eval_strategy": "steps"}',
    )
    for text, version, rule in (
        (old, "4.57.6", "TR211"),
        (new, "4.40.2", "TR212"),
        (old, "4.40.2", None),
        (new, "5.24.0", None),
    ):
        found = {h.finding.rule for h in check(tmp_path, {"a.json": text}, versions={"transformers": version})} & {
            "TR201",
            "TR210",
            "TR211",
            "TR212",
        }
        assert found == ({rule} if rule else set()), (text, version)
    ratio = '{"per_device_train_batch_size": 1, "num_train_epochs": 1, "warmup_ratio": 0.1}'
    assert "warmup_steps" in said(check(tmp_path, {"a.json": ratio}, versions={"transformers": "5.24.0"}))
    assert [
        h for h in check(tmp_path, {"a.json": ratio}, versions={"transformers": "4.57.6"}) if h.finding.rule == "TR211"
    ] == []


def test_arguments_of_a_python_call_are_mended_in_place(tmp_path: Path) -> None:
    text = "import transformers\nargs = transformers.TrainingArguments(\n    output_dir='é',  # keep\n    evaluation_strategy='steps',\n    no_cuda=False, per_device_train_batch_size=0,\n)\n"
    found = check(tmp_path, {"train.py": text}, versions={"transformers": "5.24.0"})
    assert {"TR211", "TR207"} <= {h.finding.rule for h in found}
    renamed = next(h for h in found if "eval_strategy" in h.finding.instead)
    assert renamed.finding.line == 4
    assert apply(renamed.document, text, renamed.edits) == text.replace("evaluation_strategy", "eval_strategy")


def test_a_data_file_that_the_registry_promises_and_that_is_missing(tmp_path: Path) -> None:
    (tmp_path / "dataset_info.json").write_text('{"rows": {"file_name": "rows.jsonl"}}')
    found = check(tmp_path, {"t.yaml": HEAD.replace("identity", "rows") + "dataset_dir: .\n"})
    assert [(h.finding.level, h.finding.line) for h in found if "rows.jsonl" in h.finding.says] == [("error", 4)]


def test_a_missing_registry_is_a_note_only_where_the_folder_is_the_default(tmp_path: Path) -> None:
    assert [h.finding.level for h in check(tmp_path, {"t.yaml": HEAD}) if h.finding.rule == "TR307"] == ["note"]
    assert [
        h.finding.level
        for h in check(tmp_path, {"t.yaml": HEAD + "dataset_dir: nowhere\n"})
        if h.finding.rule == "TR307"
    ] == ["error"]


def test_bom_crlf_and_anchors_are_simply_read(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_bytes(
        b"\xef\xbb\xbf" + (HEAD + "x-common: &c\n  a: 1\nlearning_rate: 1e-5\n").replace("\n", "\r\n").encode()
    )
    assert [h.finding.says for h in hits(World(read_file(tmp_path / "t.yaml"))) if h.finding.level == "error"] == []


def test_a_finding_can_be_silenced_with_its_reason(tmp_path: Path) -> None:
    text = (
        HEAD
        + "lora_rank: 0  # papertrain: ignore[TR207] a test of ranks\n# papertrain: ignore[out-of-range] the line below\ncutoff_len: 0\n"
    )
    assert [h.finding.says for h in check(tmp_path, {"t.yaml": text}) if h.finding.rule == "TR207"] == []
    assert [
        h
        for h in check(tmp_path, {"t.yaml": HEAD + "lora_rank: 0  # papertrain: ignore[TR305]\n"})
        if h.finding.rule == "TR207"
    ]


def test_auto_is_an_error_where_a_script_hands_the_file_to_deepspeed_itself(tmp_path: Path) -> None:
    text = '{"train_micro_batch_size_per_gpu": "auto", "bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2}}'
    alone = check(tmp_path, {"ds.json": text})
    assert [h for h in alone if h.finding.rule == "TR214"] == []
    found = check(tmp_path, {"ds.json": text, "run.sh": "deepspeed train.py --deepspeed_config ds.json\n"})
    assert [(h.finding.level, h.finding.line) for h in found if h.finding.rule == "TR214"] == [
        ("error", 1),
        ("warning", 1),
    ]
