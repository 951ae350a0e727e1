"""No input breaks the rules: random settings, random text, random commands."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papertrain.configs.checking.engine import Choice, inspect
from papertrain.configs.checking.read import read_source
from papertrain.configs.checking.world import World
from papertrain.core.errors import PapertrainError
from papertrain.facts.frameworks.load import framework
from papertrain.facts.hardware import parse_compute
from papertrain.verbs.check import check

KEYS = sorted(
    {
        k
        for name in ("llamafactory", "trl", "axolotl", "accelerate", "deepspeed", "transformers")
        for k in framework(name).known()
    }
    | {"evaluation_strategy", "group_by_length", "warmup_ratio", "lora_rankk", "zero_optimisation"}
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | st.text(max_size=12)
    | st.sampled_from(["auto", "no", "1e-5", "lora", "qwen", "sft", "", "cpu", "nvme", "$X", "steps", "../..", "\x00"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=6), inner, max_size=4),
    max_leaves=6,
)  # fmt: skip
SIGNS = st.sampled_from([{"stage": "sft", "template": "qwen"}, {"zero_optimization": {"stage": 2}}, {"base_model": "m", "sequence_len": 1}, {"dataset_name": "d", "use_peft": True, "num_generations": 8}, {"distributed_type": "FSDP", "fsdp_config": {}}, {}])  # fmt: skip
CARDS = parse_compute("7x V100-32GB")


def look(text: str, name: str) -> None:
    try:
        documents = read_source(text, name)
    except PapertrainError as error:
        assert "\n" not in error.one_line()
        return
    for finding in inspect(World(documents, compute=CARDS), choice=Choice(preview=True)):
        assert finding.says and finding.line >= 0


@settings(max_examples=250, deadline=None)
@given(SIGNS, st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=8))
def test_random_settings_never_break_a_rule(signs: dict[str, object], more: dict[str, object]) -> None:
    look(json.dumps(signs | more), "x.json")


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=200), st.sampled_from(["x.yaml", "x.json", "x.sh", "x.py", "x.toml", "x", "x.slurm", "x.log"]))
def test_random_text_is_read_or_refused(text: str, name: str) -> None:
    look(text, name)


WORDS = st.sampled_from(["llamafactory-cli", "train", "torchrun", "accelerate", "launch", "srun", "NNODES=2", "RANK=0", "MASTER_PORT=x", "--nproc_per_node", "--nproc_per_node=4", "8", "x.yaml", "--lr", "'", '"', "\\\n", "\\ \n", "\n", "&", "&&", "$X", "${X:-1}", "$(a b)", "#", "<<EOF\n", "EOF\n", "export", "=", "--hub_token", "-m", "python", "--config=", "CUDA_VISIBLE_DEVICES=0,1", "#SBATCH --nodes=2\n", "#SBATCH --gres=gpu:8\n"])  # fmt: skip


@settings(max_examples=250, deadline=None)
@given(st.lists(WORDS, max_size=25))
def test_random_commands_never_break_a_rule(words: list[str]) -> None:
    look(" ".join(words), "x.sh")


def test_odd_files_end_in_time(tmp_path: Path) -> None:
    look("a" * 500_000, "x.sh")
    look("\\\n" * 100_000, "x.sh")
    look("'" * 20_001, "x.sh")
    look("$(" * 20_000, "x.sh")
    look("a=(" * 20_000, "x.sh")
    look("--a | " * 20_000, "x.sh")
    look("<<E\n" * 3_000, "x.sh")
    look("x=1 " * 50_000, "x.sh")
    look("{" * 100_000, "x.yaml")
    look("f(" * 5_000, "x.py")


@pytest.mark.parametrize("name", ["fifo.yaml", "fifo.jsonl", "fifo.json", "loop.yaml", "gone.yaml", "raw.yaml"])
def test_what_cannot_be_read_is_one_line_that_names_it(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    if name.startswith("fifo"):
        os.mkfifo(file)
    elif name == "loop.yaml":
        file.symlink_to(file)
    elif name == "raw.yaml":
        file.write_bytes(b"\xff\xfe\x00\x01\x02")
    with pytest.raises(PapertrainError) as caught:
        check([file])
    assert name in caught.value.one_line() and "\n" not in caught.value.one_line() and caught.value.exit == 2


def test_pipes_and_folders_that_a_config_names_are_findings_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    os.mkfifo(tmp_path / "data/dataset_info.json")
    (tmp_path / "z3.json").mkdir()
    text = f"stage: sft\ntemplate: qwen\nfinetuning_type: lora\ndataset: d\ndataset_dir: {tmp_path}/data\ndeepspeed: {tmp_path}/z3.json\n"
    (tmp_path / "sft.yaml").write_text(text)
    found = {f["rule"]: f for f in check([tmp_path / "sft.yaml"]).data["findings"]}
    assert found["TR353"]["line"] == 6 and "folder" in found["TR353"]["says"] and found["TR307"]["line"] == 5
