"""Forms that people publish and that run: read in more than a thousand public files, written here in small. No error."""

from __future__ import annotations

from pathlib import Path

import pytest

from papertrain.configs.checking.document import ConfigDocument
from papertrain.configs.checking.engine import inspect
from papertrain.configs.checking.read import read_source
from papertrain.configs.checking.world import World
from papertrain.core.findings import Finding

AXOLOTL = "base_model: Qwen/Qwen3-0.6B\nsequence_len: 1024\nmicro_batch_size: 1\nnum_epochs: 1\nlearning_rate: 1e-4\n"
SEQ2SEQ = """from transformers import Seq2SeqTrainingArguments
args = Seq2SeqTrainingArguments(output_dir="o", eval_strategy="steps", predict_with_generate=True, generation_max_length=225, save_steps=100)
"""
UNSLOTH = """from unsloth import FastLanguageModel
from trl import SFTConfig, SFTTrainer
trainer = SFTTrainer(model=m, tokenizer=t, args=SFTConfig(output_dir="o", max_seq_length=2048, per_device_train_batch_size=2))
"""
STRATEGY = """from transformers import TrainingArguments
args = TrainingArguments(output_dir="o", eval_strategy=options.evaluate, load_best_model_at_end=True, save_steps=100, eval_steps=50)
"""
MS_SWIFT = "model: Qwen/Qwen2.5-7B-Instruct\ntuner_type: lora\ndataset: swift/self-cognition#1000\ntarget_modules: all-linear\nlora_rank: 8\nper_device_train_batch_size: 1\nlearning_rate: 1e-4\ndeepspeed: zero3\n"
OWN_OPTIONS = (
    "torchrun --nproc_per_node=8 scripts/train.py configs/c.yaml --seed=1 --activation_checkpointing=one_in_two\n"
)
UNKNOWN_NODES = """NNODES=$WORLD_SIZE torchrun --nproc_per_node=8 --nnodes=${WORLD_SIZE} --node_rank=${RANK} --master_addr=$MASTER_ADDR rlhf.py \\
  --per_device_train_batch_size 4 --gradient_accumulation_steps 1 --num_generations 48 --learning_rate 1e-6
"""
NODE_0 = "torchrun --nproc_per_node 4 --nnodes 2 --node_rank 0 --master_addr 127.0.0.1 train.py --num_train_epochs 1\n"
STORED_SECRET = (
    "gantry run --env-secret WANDB_API_KEY=WANDB_API_KEY --env-secret R2_URL_ID=TEAM_R2_URL_ID -- torchrun train.py\n"
)
AFTER_DASHES = "axolotl train c.yaml --launcher torchrun -- --nproc_per_node=8 --nnodes 2 --rdzv_backend c10d --rdzv_endpoint node0:29500\n"
WRITES_ANOTHER = """#!/bin/bash
#SBATCH --nodes=1
srun python convert.py
cat <<EOT > eval.slurm
#!/bin/bash
#SBATCH --nodes=2
srun python eval.py \\
    --task a
EOT
sbatch eval.slurm
"""
FINE = {
    "fp16 of accelerate's first files": ("a.yaml", "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_processes: 2\nnum_machines: 1\nfp16: true\n"),
    "a sub group of 0, as Axolotl ships it": ("z3.json", '{"zero_optimization": {"stage": 3, "sub_group_size": 0}, "train_batch_size": "auto"}'),
    "ZeRO as a truth value": ("old.json", '{"zero_optimization": true, "train_batch_size": 8, "optimizer": {"type": "Adam"}}'),
    "generation arguments of Seq2Seq": ("s.py", SEQ2SEQ),
    "unsloth takes what TRL has given up": ("u.py", UNSLOTH),
    "a strategy that only running tells": ("b.py", STRATEGY),
    "a file of ms-swift": ("swift.yaml", MS_SWIFT),
    "an option that a script calls like the Trainer's": ("own.sh", OWN_OPTIONS),
    "as many nodes as the cluster says": ("dlc.sh", UNKNOWN_NODES),
    "node 0 meets itself": ("node0.sh", NODE_0),
    "a secret that is only named": ("gantry.sh", STORED_SECRET),
    "options of Axolotl's launcher": ("axolotl.sh", AFTER_DASHES),
    "a script that writes a script": ("w.slurm", WRITES_ANOTHER),
    "data that a plugin brings": ("gym.yaml", AXOLOTL + "rl: grpo\nplugins:\n  - axolotl.integrations.nemo_gym.NemoGymPlugin\n"),
    "values that are filled in later": ("template.yaml", AXOLOTL + "datasets: [{path: d, type: alpaca}]\neval_steps: ${EVAL_STEPS}\nevals_per_epoch: ${EVALS}\nwarmup_steps: ${W}\nwarmup_ratio: ${R}\n"),
}  # fmt: skip


def found(name: str, text: str) -> tuple[list[ConfigDocument], list[Finding]]:
    documents = read_source(text, name, Path(name))
    return documents, inspect(World(documents))


@pytest.mark.parametrize("what", FINE)
def test_a_form_that_runs_gives_no_error(what: str) -> None:
    _, findings = found(*FINE[what])
    assert [(f.rule, f.line, f.says) for f in findings if f.level == "error"] == []


def test_a_file_of_ms_swift_is_not_taken_for_another_frameworks() -> None:
    documents, _ = found("swift.yaml", MS_SWIFT)
    assert [d.kind for d in documents] == ["text"]


def test_options_of_axolotls_launcher_are_not_its_own() -> None:
    assert [f.says for f in found("a.sh", AFTER_DASHES)[1] if f.rule == "TR201"] == []


def test_the_old_form_of_zero_is_told_and_mended() -> None:
    (one,) = [f for f in found(*FINE["ZeRO as a truth value"])[1] if f.rule == "TR204"]
    assert one.level == "warning" and '"stage": 1' in one.patch


# The other side of each: what looks alike and does not run is still found.
WRONG = {
    "TR201": ("s.py", SEQ2SEQ.replace("Seq2Seq", "")),
    "TR359": ("t.py", UNSLOTH.replace("from unsloth import FastLanguageModel\n", "")),
    "TR309": ("b.py", STRATEGY.replace("options.evaluate", "'epoch'")),
    "TR313": ("dlc.sh", UNKNOWN_NODES.replace("${WORLD_SIZE}", "2")),
    "TR408": ("node1.sh", NODE_0.replace("--node_rank 0", "--node_rank 1")),
    "TR451": ("g.sh", "gantry run --env-secret WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567 -- torchrun t.py\n"),
    "TR418": ("w.slurm", "#!/bin/bash\n#SBATCH --nodes=1\nsrun python convert.py\n#SBATCH --time=1:00:00\n"),
    "TR327": ("a.yaml", AXOLOTL + "rl: grpo\nplugins:\n  - axolotl.integrations.liger.LigerPlugin\n"),
}  # fmt: skip


@pytest.mark.parametrize("rule", WRONG)
def test_what_looks_alike_and_does_not_run_is_found(rule: str) -> None:
    assert rule in {f.rule for f in found(*WRONG[rule])[1] if f.level == "error"}


def test_groups_are_counted_over_all_nodes() -> None:
    two = UNKNOWN_NODES.replace("${WORLD_SIZE}", "2").replace("--num_generations 48", "--num_generations 64")
    assert "TR313" not in {f.rule for f in found("dlc.sh", two)[1]}, (
        "2 nodes of 8 cards with 4 each make one group of 64"
    )


def test_a_blank_after_a_backslash_inside_quotes_is_called_what_it_is() -> None:
    text = '#!/bin/bash\nARGS="--lr 1 \\ \n  --decay 2"\ntorchrun train.py $ARGS\n'
    (one,) = [f for f in found("q.sh", text)[1] if f.rule == "TR409"]
    assert "inside quotes" in one.says and one.line == 2
