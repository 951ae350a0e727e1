"""The keys on record are those that the real frameworks have: held against dumps that were made by importing them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from papertrain.facts.frameworks.load import chat_template, framework, history, release, renamed, synonyms, versions

DUMPS = Path(__file__).resolve().parents[3] / "shared/research/fw"
needs_dumps = pytest.mark.skipif(not DUMPS.is_dir(), reason="needs the dumps of the imported frameworks")
NAMES = ("llamafactory", "transformers", "trl", "axolotl", "deepspeed", "accelerate")


@needs_dumps
def test_llamafactory_has_the_keys_types_and_choices_that_its_parser_has() -> None:
    dump = json.loads((DUMPS / "llamafactory_args.json").read_text())
    real = {
        k: v
        for cls, fields in dump.items()
        if not cls.startswith("_")
        for k, v in fields.items()
        if v.get("init", True)
    }
    ours = framework("llamafactory", "0.9.5").known("model", "data", "training", "finetuning", "generating")
    assert set(ours) == set(real)
    for name, entry in real.items():
        if entry.get("choices"):
            assert list(ours[name].choices) == entry["choices"], name
        if entry["type"] in ("int", "float", "bool", "str"):
            assert ours[name].types == {entry["type"]}, name


@needs_dumps
def test_llamafactory_has_the_templates_that_its_registry_has() -> None:
    dump = json.loads((DUMPS / "llamafactory_templates.json").read_text())
    ours = framework("llamafactory", "0.9.5").more
    assert set(ours["templates"]) == set(dump["templates"])
    assert all(ours["models"][repo] == template for repo, template in dump["hub_repo_to_template"].items())


@needs_dumps
@pytest.mark.parametrize("version", ["4.57.6", "5.24.0"])
def test_training_arguments_are_those_of_the_release(version: str) -> None:
    real = set(json.loads((DUMPS / "training_args_by_version.json").read_text())[version])
    assert set(framework("transformers", version).known()) == {k for k in real if not k.startswith("_")}


@pytest.mark.parametrize("name", NAMES)
def test_each_framework_says_from_what_it_was_made(name: str) -> None:
    for version in versions(name):
        found = framework(name, version)
        assert found.version == version and found.made_by and len(found.known()) > 30
        assert all(key.types for key in found.known().values())


def test_versions_compare_as_numbers() -> None:
    assert release("5.24.0") > release("5.6.0") > release("4.57.6+cu12") and release("2.13.0+cpu") == (2, 13, 0)
    assert (
        framework("transformers", "5.10.0").version == "5.6.0" and framework("transformers", "4.1").version == "4.40.2"
    )


def test_the_history_of_names_over_releases() -> None:
    # Read off the sources: eval_strategy came with 4.41, evaluation_strategy went after 4.46; warmup_ratio after 5.6.
    assert history("transformers", "evaluation_strategy") == ("4.46.3", "4.40.2")
    assert history("transformers", "eval_strategy") == ("5.24.0", "4.46.3")
    assert history("transformers", "warmup_ratio")[0] == "5.6.0"
    assert history("transformers", "group_by_length")[0] == "4.57.6"
    change = renamed("trainer", "warmup_ratio")
    assert change is not None and change.new == "warmup_steps" and "lora_r" in synonyms("lora_rank")


def test_what_a_rename_leads_to_exists() -> None:
    from papertrain.facts.frameworks.load import _renames

    for change in _renames()[0]:
        for kind in change.kinds:
            name = {"trainer": "transformers"}.get(kind, kind)
            known = framework(name).known()
            assert not change.new or change.new in known, (change.old, kind)
            assert (
                change.reads
                or change.package == "axolotl"
                or kind == "axolotl"
                or change.old not in known
                or kind == "llamafactory"
                or change.package == "trl"
            ), (change.old, kind)


@pytest.mark.parametrize(("model", "template"), [("Qwen/Qwen3-8B", "qwen3"), ("Qwen/Qwen2.5-7B-Instruct", "qwen"), ("/models/Llama-3.2-1B-Instruct/", "llama3"), ("Qwen/Qwen2.5-7B", None), ("me/none", None)])  # fmt: skip
def test_the_template_of_a_model(model: str, template: str | None) -> None:
    assert chat_template(model) == template
