"""Jobs that start and then hang, stop early, or read files that are not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from papertrain.configs.checking.engine import Choice, hits
from papertrain.configs.checking.read import read_file
from papertrain.configs.checking.world import World
from papertrain.core.findings import Finding


def findings(folder: Path, name: str, text: str) -> list[Finding]:
    (folder / name).write_text(text)
    world = World(read_file(folder / name))
    return [h.finding for h in hits(world, choice=Choice(preview=True))]


JOB = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n#SBATCH --gres=gpu:4\n#SBATCH --time=24:00\nsrun torchrun --nnodes 2 --nproc_per_node 4 --rdzv_backend c10d --rdzv_endpoint {where} train.py\n"


def test_nodes_never_meet_at_localhost(tmp_path: Path) -> None:
    seen = findings(tmp_path, "j.sbatch", JOB.format(where="localhost:29500"))
    assert [f.level for f in seen if "never meet" in f.says] == ["error"]
    seen = findings(tmp_path, "j.sbatch", JOB.format(where="$HEAD:29500"))
    assert not any("never meet" in f.says for f in seen)


def test_a_time_of_two_numbers_is_minutes(tmp_path: Path) -> None:
    seen = findings(tmp_path, "j.sbatch", JOB.format(where="$HEAD:29500"))
    assert [(f.level, f.line) for f in seen if "24 minutes" in f.says] == [("note", 5)]
    seen = findings(tmp_path, "j.sbatch", JOB.replace("24:00", "24:00:00").format(where="$HEAD:29500"))
    assert not any("minutes" in f.says for f in seen)


def test_a_script_that_is_not_there_is_named(tmp_path: Path) -> None:
    seen = findings(
        tmp_path, "r.sh", "torchrun --nproc_per_node 2 nowhere.py --deepspeed ds_none.json --bf16 true --output_dir o\n"
    )
    assert any("nowhere.py" in f.says for f in seen) and any("ds_none.json" in f.says for f in seen)
    (tmp_path / "train.py").write_text("pass\n")
    seen = findings(tmp_path, "r.sh", "torchrun --nproc_per_node 2 train.py --bf16 true\n")
    assert not any("train.py" in f.says for f in seen)


def test_two_precisions_on_one_command_line(tmp_path: Path) -> None:
    seen = findings(tmp_path, "r.sh", "accelerate launch --mixed_precision fp16 train.py --bf16 --output_dir o\n")
    assert any(f.rule == "TR303" and "mixed_precision" in f.says for f in seen)
    seen = findings(tmp_path, "r.sh", "accelerate launch --mixed_precision bf16 train.py --bf16 --output_dir o\n")
    assert not any(f.rule == "TR303" for f in seen)


LF = "model_name_or_path: Qwen/Qwen3-4B\nstage: sft\ndo_train: true\nfinetuning_type: lora\ntemplate: qwen3\ndataset: a\noutput_dir: o\n"


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ("max_steps: 100\nsave_steps: 500\n", "no checkpoint"),
        ("num_train_epochs: 300\n", "300"),
        ("resume_from_checkpoint: saves/none/checkpoint-10\n", "checkpoint-10"),
    ],
)
def test_a_run_that_leaves_nothing_or_never_ends(more: str, word: str, tmp_path: Path) -> None:
    assert any(word in f.says for f in findings(tmp_path, "t.yaml", LF + more))


def test_ordinary_values_pass(tmp_path: Path) -> None:
    said = findings(tmp_path, "t.yaml", LF + "max_steps: 1000\nsave_steps: 500\n") + findings(
        tmp_path, "t.yaml", LF + "num_train_epochs: 10\n"
    )
    assert [f.says for f in said if f.rule == "TR357"] == []


@pytest.mark.parametrize("written", ["/", "~/", "/home", "/home/", "/tmp", "/tmp/"])
def test_a_folder_of_the_machine_is_no_output_folder(written: str, tmp_path: Path) -> None:
    seen = findings(tmp_path, "t.yaml", LF.replace("output_dir: o", f"output_dir: {written}"))
    assert any(f.level == "error" and "`output_dir`" in f.says for f in seen)
    seen = findings(tmp_path, "t.yaml", LF.replace("output_dir: o", "output_dir: /tmp/run"))
    assert not any("`output_dir`" in f.says for f in seen)


def test_axolotl_data_that_is_not_there_and_a_type_that_is_gone(tmp_path: Path) -> None:
    text = (
        "base_model: a/b\ndatasets:\n  - path: ./chat.jsonl\n    type: sharegpt\nmicro_batch_size: 1\nadapter: lora\n"
    )
    seen = findings(tmp_path, "a.yaml", text)
    assert any("./chat.jsonl" in f.says for f in seen) and any(
        "sharegpt" in f.says and "chat_template" in f.instead for f in seen
    )
    (tmp_path / "chat.jsonl").write_text("{}\n")
    fine = findings(tmp_path, "a.yaml", text.replace("sharegpt", "chat_template"))
    assert not any(("chat.jsonl" in f.says and f.rule == "TR307") or "sharegpt" in f.says for f in fine)


def test_deepspeed_numbers_as_text(tmp_path: Path) -> None:
    text = '{"train_micro_batch_size_per_gpu": "4", "gradient_clipping": "1.0", "zero_optimization": {"stage": "2"}}'
    said = " ".join(f.says for f in findings(tmp_path, "ds.json", text))
    assert all(
        f"`{key}`" in said for key in ("train_micro_batch_size_per_gpu", "gradient_clipping", "zero_optimization.stage")
    )


def test_the_tokenizer_argument_of_trainers_is_gone(tmp_path: Path) -> None:
    text = "from trl import SFTConfig, SFTTrainer\nargs = SFTConfig(output_dir='o', learning_rate=2e-5)\ntrainer = SFTTrainer('m', args=args,\n    tokenizer=None)\n"
    (seen,) = [f for f in findings(tmp_path, "t.py", text) if f.rule == "TR359"]
    assert seen.line == 4 and "processing_class" in seen.instead and "+    processing_class=None)" in seen.patch
    assert not any(
        f.rule == "TR359" for f in findings(tmp_path, "t.py", text.replace("tokenizer=", "processing_class="))
    )
