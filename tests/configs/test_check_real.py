"""The good configs of our tests are good to LLaMA-Factory itself, and its parser refuses what `check` calls unknown."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from test_check_good import LLAMAFACTORY

from papertrain.core.yaml import load

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".envs/llamafactory/bin/python"
pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif(not PYTHON.exists(), reason="needs the environment of `make frameworks`"),
]

# One process for all: the import takes seconds, a configuration a hundredth.
READER = """
import json, sys
from llamafactory.hparams import get_infer_args, get_train_args
outcomes = []
for settings in json.load(sys.stdin):
    try:
        (get_infer_args if {"export_dir", "infer_backend"} & set(settings) else get_train_args)(settings)
        outcomes.append("")
    except BaseException as error:
        outcomes.append(f"{type(error).__name__}: {error}"[:300])
print("OUTCOMES" + json.dumps(outcomes))
"""
OF_THE_MACHINE = ("PackageNotFoundError", "does not support", "doesn't support")
HEAD = {
    "stage": "sft",
    "do_train": True,
    "model_name_or_path": "m",
    "dataset": "identity",
    "template": "qwen",
    "finetuning_type": "lora",
    "output_dir": "o",
}


def real(many: list[dict[str, Any]]) -> list[str]:
    """What LLaMA-Factory's parser says to each: nothing where it accepts."""
    prepared = []
    for settings in many:
        settings = {k: v for k, v in settings.items() if k != "deepspeed"}
        if not {"export_dir", "infer_backend"} & set(settings):
            settings["use_cpu"] = True
        prepared.append(settings)
    env = os.environ | {"HF_HUB_OFFLINE": "1", "LLAMAFACTORY_VERBOSITY": "ERROR"}
    done = subprocess.run(
        [PYTHON, "-c", READER], input=json.dumps(prepared), capture_output=True, text=True, env=env, timeout=300
    )
    line = next((x for x in done.stdout.splitlines() if "OUTCOMES" in x), None)
    assert line is not None, done.stderr[-2000:]
    found: list[str] = json.loads(line.partition("OUTCOMES")[2])
    return found


KEYS = ("lora_rankk", "evaluation_strategy", "group_by_length", "save_safetensors", "no_cuda", "micro_batch_size", "max_seq_length", "split", "include_tokens_per_second")  # fmt: skip
GOOD = {n: load(t, n).value for n, t in LLAMAFACTORY.items() if "train_dataset" not in t}


@pytest.fixture(scope="module")
def outcomes() -> dict[str, str]:
    names = [*GOOD, *KEYS]
    return dict(zip(names, real([*GOOD.values(), *(HEAD | {key: "x"} for key in KEYS)])))


def test_the_real_parser_accepts_our_good_configs(outcomes: dict[str, str]) -> None:
    refused = {n: outcomes[n] for n in GOOD if outcomes[n] and not any(w in outcomes[n] for w in OF_THE_MACHINE)}
    assert refused == {}


@pytest.mark.parametrize("key", KEYS)
def test_the_real_parser_refuses_what_check_calls_unknown_renamed_or_removed(
    key: str, outcomes: dict[str, str]
) -> None:
    from papertrain.configs.checking.engine import inspect
    from papertrain.configs.checking.read import read_source
    from papertrain.configs.checking.world import World

    text = "".join(f"{k}: {str(v).lower() if isinstance(v, bool) else v}\n" for k, v in (HEAD | {key: "x"}).items())
    assert {f.rule for f in inspect(World(read_source(text, "t.yaml"))) if f.level == "error"} & {
        "TR201",
        "TR210",
        "TR211",
    }
    assert key in outcomes[key]
