"""119 configurations went through LLaMA-Factory's real parser: what it refused is an error here, what it ran is none."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from papertrain.configs.checking.engine import inspect
from papertrain.configs.checking.read import read_source
from papertrain.configs.checking.world import World
from papertrain.core.yaml import dump_scalar, load

SHARED = Path(__file__).resolve().parents[3] / "shared/research/fw"
OUTCOMES = SHARED / "lf_validate_cases.out"
pytestmark = pytest.mark.skipif(not OUTCOMES.is_file(), reason="needs the outcomes of the real parser")

# Refused because of that machine: a package that was not installed, no card.
OF_THE_MACHINE = ("PackageNotFoundError", "does not support", "doesn't support")
# Accepted by the parser, and wrong all the same: each fails when the run gets there, or means nothing.
WRONG_LATER = {
    "learning_rate", "stage", "template", "quantization_bit", "quantization_method", "pref_loss", "dataset_dir", "dataset", "flash_attn", "rope_scaling", "lora_rank",
    "cutoff_len", "per_device_train_batch_size", "num_train_epochs", "warmup_ratio", "early_stopping_steps", "infer_backend",
}  # fmt: skip


def cases() -> list[tuple[bool, dict[str, Any], str]]:
    found = []
    for line in OUTCOMES.read_text().splitlines():
        if (m := re.match(r"(OK|ERR)\s+(\{.*?\})\s+(?=\w+Error|[\d.]+$)(.*)", line)) and not any(
            w in m[3] for w in OF_THE_MACHINE
        ):
            found.append((m[1] == "OK", ast.literal_eval(m[2]), m[3]))
    return found


def errors_of(changes: dict[str, Any]) -> list[str]:
    base = load((SHARED / "lf_yaml/sft_lora.yaml").read_text(), "base.yaml").value | changes
    text = "".join(f"{k}: {dump_scalar(v)}\n" for k, v in base.items())
    return [f"{f.rule} {f.says}" for f in inspect(World(read_source(text, "t.yaml"))) if f.level == "error"]


def test_there_are_a_hundred_cases() -> None:
    assert len(cases()) > 90


def test_what_the_real_parser_refuses_is_an_error() -> None:
    missed = [(changes, why[:80]) for ok, changes, why in cases() if not ok and not errors_of(changes)]
    assert missed == []


def test_what_the_real_parser_accepts_and_runs_is_no_error() -> None:
    wrong = [
        (changes, found)
        for ok, changes, _ in cases()
        if ok and not WRONG_LATER & set(changes) and (found := errors_of(changes))
    ]
    assert wrong == []


@pytest.mark.parametrize("changes", [
    {"stage": "foo"}, {"stage": "dpo", "pref_loss": "zzz"}, {"flash_attn": "xx"}, {"rope_scaling": "foo"}, {"quantization_bit": 4, "quantization_method": "foo"}, {"quantization_bit": 5},
    {"learning_rate": "abc"}, {"learning_rate": -1}, {"lora_rank": 8.5}, {"lora_rank": 0}, {"template": "nope"}, {"cutoff_len": -5}, {"cutoff_len": 0}, {"per_device_train_batch_size": 0},
    {"num_train_epochs": "three"}, {"mix_strategy": "foo"}, {"optim": "foo"}, {"lr_scheduler_type": "foo"}, {"save_strategy": "foo"},
], ids=str)  # fmt: skip
def test_what_the_real_parser_lets_pass_and_the_run_does_not_is_an_error(changes: dict[str, Any]) -> None:
    assert errors_of(changes)
