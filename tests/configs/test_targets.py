"""Targets: every decision written or listed, only known keys, the same bytes for the same plan, whole golden files."""

from __future__ import annotations

import ast
import itertools
import json
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from plans import make_job, make_plan  # noqa: E402

from papertrain.configs.generating import generate, targets  # noqa: E402
from papertrain.configs.target import Job, Target, seen_from  # noqa: E402
from papertrain.core import yaml  # noqa: E402
from papertrain.core.redact import holds_secret, redact  # noqa: E402
from papertrain.facts.frameworks.load import framework  # noqa: E402

GOLDEN = HERE.parent / "golden"
SHARED = HERE.parents[1] / "../shared/research/fw"
sys.path.insert(0, str(GOLDEN))
from cases import CASES  # noqa: E402


def seeded_jobs(count: int, seed: int = 0) -> list[Job]:
    """Plans over models, cards, tasks and methods: what the planner may decide."""
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        task = rng.choice(
            ["sft", "sft", "sft", "pt", "dpo", "kto", "orpo", "simpo", "rm", "ppo", "grpo", "classification"]
        )
        method = rng.choice(["full", "lora", "qlora", "dora", "rslora"])
        stage = rng.choice([0, 0, 1, 2, 3]) if method != "qlora" else 0
        card, cards = rng.choice([("a100", 8), ("a100", 1), ("4090", 4), ("v100", 2), ("910b", 8), ("cpu", 1)])
        if cards == 1:
            stage = 0
        found.append(make_job(
            model="minilm" if task == "classification" else rng.choice(["qwen", "smollm"]), card=card, cards=cards, nodes=rng.choice([1, 1, 2]) if cards > 1 else 1,
            task=task, method=method, zero_stage=stage, offload=rng.choice(["none", "optimizer", "params+optimizer"]) if stage == 3 else "none",
            precision="fp32" if card == "cpu" else "fp16" if card == "v100" else rng.choice(["bf16", "pure_bf16"]),
            optimizer=rng.choice(["adamw", "adamw_fused", "adamw_8bit", "paged_adamw_8bit", "adafactor"]), lr_scheduler=rng.choice(["cosine", "linear", "constant_with_warmup"]),
            packing=task in ("sft", "pt") and rng.random() < 0.3, gradient_checkpointing=rng.choice(["none", "full", "selective"]),
            attention=rng.choice(["eager", "sdpa", "flash"]), early_stopping_patience=rng.choice([0, 3]), eval_steps=rng.choice([None, 50, 100]),
            save_steps=rng.choice([None, 100, 200]), total_steps=rng.choice([None, 1926]), warmup_steps=rng.choice([None, 0, 193]),
            lora_targets=rng.choice(["all-linear", ["q_proj", "v_proj"]]), seed=rng.randrange(1000), template=rng.choice([None, "qwen"]),
            micro_batch_size=rng.choice([1, 2, 4]), gradient_accumulation_steps=rng.choice([1, 3, 4]), confirmed=rng.random() < 0.5,
            validation=rng.choice([None, "../valid.jsonl"]), test=rng.choice([None, "../test.jsonl"]),
        ))  # fmt: skip
    return found


LLAMAFACTORY = ("model", "data", "training", "finetuning", "generating")
JOBS = seeded_jobs(60)


def pairs() -> list[tuple[Target, Job]]:
    return [(t, j) for t, j in itertools.product(targets().values(), JOBS) if t.applies(j) is None]


@pytest.mark.parametrize("target", sorted(targets()), ids=str)
def test_every_decision_is_written_or_listed_as_inexpressible(target: str) -> None:
    jobs = [job for t, job in pairs() if t.id == target]
    assert len(jobs) >= 5
    for job in jobs:
        one = targets()[target]
        said, unsaid = dict(one.says(job)), dict(one.cannot_say(job))
        names = {d.name for d in job.plan.decisions()}
        assert not set(said) & set(unsaid)
        assert names <= set(said) | set(unsaid), sorted(names - set(said) - set(unsaid))
        text = "\n".join(t for f, t in one.files(job).items() if not f.endswith(("README.md", "evaluate.py")))
        for name in names & set(said):
            assert re.search(rf"(?<![\w]){re.escape(said[name])}\b", text), (name, said[name])


@pytest.mark.parametrize("target", ["llamafactory", "trl", "axolotl"])
def test_yaml_holds_only_keys_that_the_framework_knows(target: str) -> None:
    if target not in targets():
        pytest.skip(f"no target {target}")
    sections = {"llamafactory": LLAMAFACTORY, "axolotl": ("main",)}
    for t, job in pairs():
        if t.id != target:
            continue
        for name, text in t.files(job).items():
            if not name.endswith(".yaml"):
                continue
            document = yaml.load(text, name)
            assert not document.problems
            where = sections.get(target) if target in sections else (Path(name).stem,)
            known = framework(target, t.version).keys(*(where or ()))
            assert set(document.value) <= set(known), sorted(set(document.value) - set(known))
            for key, value in document.value.items():
                kinds = known[key].types
                fits = {bool: "bool", int: "int", float: "float", str: "str", dict: "dict", list: "list"}[type(value)]
                assert (
                    fits in kinds
                    or "any" in kinds
                    or (fits == "int" and "float" in kinds)
                    or (fits == "dict" and "str" in kinds)
                ), (key, value, kinds)
                if known[key].choices and fits == "str" and known[key].default in (None, *known[key].choices):
                    assert value in known[key].choices, (key, value)


def test_llamafactory_values_equal_those_of_the_plan() -> None:
    plan = make_plan(learning_rate=1e-4, micro_batch_size=2, gradient_accumulation_steps=8)
    job = make_job(learning_rate=1e-4, micro_batch_size=2, gradient_accumulation_steps=8)
    text = targets()["llamafactory"].files(job)["configs/ours/llamafactory/train.yaml"]
    held = yaml.load(text, "train.yaml").value
    assert "learning_rate: 1.0e-4" in text  # PyYAML reads 1e-4 as text, OmegaConf as a number; both read 1.0e-4
    assert held["learning_rate"] == plan.learning_rate.value == 1e-4
    assert held["per_device_train_batch_size"] * held["gradient_accumulation_steps"] * 4 == plan.global_batch_size.value
    assert (held["lora_rank"], held["lora_alpha"], held["cutoff_len"], held["warmup_steps"]) == (16, 32, 2048, 193)


def test_no_target_puts_the_examples_in_an_order_of_its_own() -> None:
    """Steps of examples of similar length end at a higher loss (docs/benchmarks.md): the plan decides on them, or nobody."""
    job = make_job(model="smollm", card="cpu", cards=1)
    for name, text in generate([job], sorted(targets())).files.items():
        said = re.findall(r"""(?:group_by_length|train_sampling_strategy)["']?[:=,] ?(\w+)""", text)
        assert set(said) <= {"False", "false", "random"}, name


def test_a_processor_is_said_to_the_frameworks() -> None:
    job = make_job(model="smollm", card="cpu", cards=1, precision="fp32")
    text = targets()["llamafactory"].files(job)["configs/ours/llamafactory/train.yaml"]
    held = yaml.load(text, "train.yaml").value
    assert held["use_cpu"] is True and held["bf16"] is False
    assert targets()["deepspeed"].applies(job) is not None


def test_save_steps_are_a_multiple_of_eval_steps_where_the_best_checkpoint_is_loaded() -> None:
    job = make_job(eval_steps=60, save_steps=100, early_stopping_patience=2)
    held = yaml.load(targets()["llamafactory"].files(job)["configs/ours/llamafactory/train.yaml"], "t").value
    assert held["load_best_model_at_end"] and held["save_steps"] % held["eval_steps"] == 0


@pytest.mark.parametrize("stage", [0, 1, 2, 3])
def test_deepspeed_numbers_agree_with_each_other(stage: int) -> None:
    for offload in ("none", "optimizer", "params+optimizer"):
        job = make_job(cards=8, nodes=2, zero_stage=stage, offload=offload if stage == 3 else "none")
        files = targets()["deepspeed"].files(job)
        whole = json.loads(files[f"configs/ours/deepspeed/ds_zero{stage}_standalone.json"])
        assert (
            whole["train_batch_size"]
            == whole["train_micro_batch_size_per_gpu"] * whole["gradient_accumulation_steps"] * 16
        )
        auto = json.loads(files[f"configs/ours/deepspeed/ds_zero{stage}.json"])
        assert auto["train_batch_size"] == auto["bf16"]["enabled"] == "auto"
        assert "auto" not in json.dumps(whole), "plain DeepSpeed does not know auto"
        schema = framework("deepspeed", "0.19.8")
        for document in (whole, auto):
            assert set(document) <= set(schema.keys("top"))
            assert set(document["zero_optimization"]) <= set(schema.keys("zero_optimization"))
            assert all(
                isinstance(v, int) or v == "auto" for k, v in document["zero_optimization"].items() if "bucket" in k
            )
        assert ("offload_param" in whole["zero_optimization"]) == (stage == 3 and offload == "params+optimizer")


def test_the_filled_script_is_valid_python_with_the_plans_values_as_defaults() -> None:
    for target, job in pairs():
        if target.id != "script":
            continue
        text = target.files(job)[f"{job.folder('script')}/train.py"]
        calls = {ast.literal_eval(c.args[0]): ast.literal_eval(c.args[1]) for c in ast.walk(ast.parse(text))
                 if isinstance(c, ast.Call) and isinstance(c.func, ast.Name) and c.func.id == "arg"}  # fmt: skip
        assert calls["--learning_rate"] == job.plan.learning_rate.value
        assert calls["--global_batch_size"] == job.plan.global_batch_size.value
        assert calls["--method"] == job.plan.method.value
        assert calls["--output_dir"] == job.run
        assert redact(text, terminal=True) == text, "the writer would change the script"
        assert "papertrain" not in {
            n.name.partition(".")[0] for i in ast.walk(ast.parse(text)) if isinstance(i, ast.Import) for n in i.names
        }


def test_the_same_plan_gives_the_same_bytes_and_no_secret() -> None:
    for job in JOBS:
        first, second = generate([job]).files, generate([job]).files
        assert first == second
        assert not any(holds_secret(text) for text in first.values())


def test_an_unconfirmed_plan_is_marked_in_every_page_yaml_and_shell_file() -> None:
    for confirmed in (False, True):
        files = generate([make_job(confirmed=confirmed)]).files
        for name, text in files.items():
            if name.endswith((".md", ".yaml", ".sh", ".sbatch", "train.py")):
                assert ("unconfirmed" in text.lower()) != confirmed, name


def test_paths_are_relative_near_the_workspace_and_stay_absolute_far_from_it(tmp_path: Path) -> None:
    work = tmp_path / "work"
    assert seen_from(work, tmp_path / "data/train.jsonl") == "../data/train.jsonl"
    assert seen_from(work, work / "data.csv") == "data.csv"
    assert seen_from(Path("/a/b/c/d/e/f/g"), "/models/llama").startswith("/models")


def test_shell_files_parse_and_list_every_way(tmp_path: Path) -> None:
    for job in JOBS[:20]:
        files = generate([job]).files
        script = tmp_path / "commands.sh"
        script.write_text(files["commands.sh"])
        listed = subprocess.run(["bash", str(script)], capture_output=True, text=True, check=True).stdout.split()
        assert all(f"`{name}`" in files["commands.md"] for name in listed)
        for name, text in files.items():
            if name.endswith((".sh", ".sbatch")):
                assert subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True).stderr == "", name


def test_a_card_without_peer_to_peer_gets_its_variables() -> None:
    text = generate([make_job(card="4090")]).files["commands.sh"]
    assert "NCCL_P2P_DISABLE=1" in text and "NCCL_IB_DISABLE=1" in text
    assert "NCCL_P2P_DISABLE" not in generate([make_job(card="a100")]).files["commands.sh"]
    assert "has no bf16" in generate([make_job(card="v100", precision="fp16")]).files["commands.md"]
    assert "ASCEND_RT_VISIBLE_DEVICES=0,1,2,3" in generate([make_job(card="910b")]).files["commands.sh"]


def test_on_another_number_of_devices_the_global_batch_is_kept() -> None:
    page = generate([make_job(cards=4)]).files["commands.md"]  # 4 × 4 × 4 = 64
    assert "llamafactory-cli train configs/ours/llamafactory/train.yaml gradient_accumulation_steps=16" in page


def test_several_nodes_are_told_their_number_in_the_variable_that_is_read() -> None:
    files = generate([make_job(cards=8, nodes=2, zero_stage=3)]).files
    parts = files["commands.sh"].split(" ;;\n")
    many = [part for part in parts if "NNODES=2" in part or "MASTER_ADDR:?" in part]
    assert any("NNODES=2" in part for part in many)
    assert not [part for part in many if re.search(r"(?<!NODE_)\bRANK=", part)], "RANK is that of one process"
    slurm = files["configs/ours/slurm/script.sbatch"]
    assert "--rdzv_backend c10d" in slurm and "#SBATCH --nodes=2" in slurm and "#SBATCH --gpus-per-node=8" in slurm


@pytest.mark.parametrize("case", sorted(CASES), ids=str)
def test_golden_folders_are_the_whole_text(case: str) -> None:
    """Changed on purpose? `make golden` (tests/golden/update.py) prints the difference and writes the new text."""
    files = CASES[case]()
    folder = GOLDEN / case
    kept = {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}
    assert sorted(kept) == sorted(files)
    for name, text in files.items():
        assert kept[name] == text, f"{case}/{name}"


@pytest.mark.skipif(
    not (SHARED / "llamafactory_args.json").is_file(), reason="the dump of LLaMA-Factory's arguments lies in ../shared"
)
def test_the_keys_on_record_are_those_of_the_dumped_dataclasses() -> None:
    dumped = json.loads((SHARED / "llamafactory_args.json").read_text())
    names = {name for group, fields in dumped.items() if not group.startswith("_") for name in fields}
    assert set(framework("llamafactory", "0.9.5").keys(*LLAMAFACTORY)) <= names
