"""What a newcomer would trip over in `plan`: names of one model, data of another task, numbers that are read as meant."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from papertrain.core.errors import PapertrainError, Refused
from papertrain.core.gate import confirmation
from papertrain.core.workspace import Workspace
from papertrain.facts.frameworks.load import registered
from papertrain.verbs.generate import generate
from papertrain.verbs.plan import plan
from papertrain.verbs.status import status


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    file = tmp_path / "chat.jsonl"
    rows = (
        {"messages": [{"role": "user", "content": f"Add {i}."}, {"role": "assistant", "content": "The sum. " * 9}]}
        for i in range(40)
    )
    file.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return file


def values(data: dict[str, Any]) -> dict[str, Any]:
    return {d["name"]: d["value"] for d in data["decisions"]}


@pytest.mark.parametrize(
    ("name", "template"),
    [
        ("meta-llama/Llama-3.1-70B-Instruct", "llama3"),
        ("Meta-Llama-3.1-70B-Instruct", "llama3"),
        ("unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit", "llama3"),
        ("somebody/Qwen2.5-7B-Instruct-GPTQ-Int4", "qwen"),
        ("Qwen2.5-9B-Instruct", "qwen"),
        ("meta-llama/Llama-3.1-8B", None),
        ("unheard/of-9B-chat", None),
    ],
)
def test_every_spelling_of_a_model_has_the_template_of_its_family(name: str, template: str | None) -> None:
    assert registered(name)[0] == template


def test_two_names_of_one_model_have_the_same_plan(chat: Path) -> None:
    both = [
        plan(name, data=chat, gpu="A100 80GB").data
        for name in ("meta-llama/Llama-3.1-8B-Instruct", "Meta-Llama-3.1-8B-Instruct", "meta-llama/Meta-Llama-3.1-8B-Instruct")
    ]  # fmt: skip
    assert values(both[0]) == values(both[1]) == values(both[2])
    assert values(both[0])["template"] == "llama3"
    assert both[0]["memory"]["gpu"] == both[1]["memory"]["gpu"] == both[2]["memory"]["gpu"]


def test_a_chat_model_without_a_known_template_is_warned_of_in_plan_and_generate(tmp_path: Path, chat: Path) -> None:
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 512, "intermediate_size": 1024,
              "num_hidden_layers": 4, "num_attention_heads": 8, "vocab_size": 32000, "max_position_embeddings": 2048}  # fmt: skip
    folder = tmp_path / "Nobody-Knows-Chat"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    report = plan(str(folder), data=chat, gpu="A100 80GB", output=tmp_path / "w")
    assert any("template is not known" in w and "--set template=" in w for w in report.warnings)
    assert any("template: default" in w for w in generate(tmp_path / "w", target=("llamafactory",)).warnings)
    plan(str(folder), data=chat, gpu="A100 80GB", output=tmp_path / "w", sets=["template=llama3"])
    assert not any("template" in w for w in generate(tmp_path / "w", target=("llamafactory",)).warnings)


@pytest.mark.parametrize("task", ["dpo", "orpo", "simpo", "rm", "kto"])
def test_chats_without_pairs_are_refused_with_what_pairs_look_like(chat: Path, task: str) -> None:
    with pytest.raises(PapertrainError) as caught:
        plan("Qwen/Qwen2.5-7B-Instruct", data=chat, gpu="A100 80GB", task=task)
    said = " ".join((caught.value.one_line(), *caught.value.ask))
    assert "messages" in said and ('"label"' if task == "kto" else '"rejected"') in said


def test_a_rate_far_off_a_length_that_cuts_and_a_card_of_two_sizes_are_warned_of(chat: Path) -> None:
    said = plan("Qwen/Qwen2.5-7B-Instruct", data=chat, gpu="A100", sets=["learning_rate=0.1"], seq_len=16).warnings
    assert any(w.startswith("learning_rate 0.1 is 1,000 times above") for w in said)
    assert any("longer than 16 tokens" in w for w in said) and any(w.startswith("A100 read as") for w in said)
    quiet = plan("Qwen/Qwen2.5-7B-Instruct", data=chat, gpu="A100 80GB", sets=["learning_rate=2e-4"]).warnings
    assert not any("times above" in w or "longer than" in w or "read as" in w for w in quiet)


def test_a_folder_with_another_models_plan_is_not_taken_over(tmp_path: Path, chat: Path) -> None:
    w = tmp_path / "w"
    plan("Qwen/Qwen2.5-7B-Instruct", data=chat, gpu="A100 80GB", output=w)
    before = (w / "plans/ours/plan.json").read_bytes()
    with pytest.raises(Refused, match=r"Qwen/Qwen2\.5-7B-Instruct") as caught:
        plan("Qwen/Qwen2.5-0.5B-Instruct", data=chat, gpu="A100 80GB", output=w)
    assert "--name" in (caught.value.command or "") and (w / "plans/ours/plan.json").read_bytes() == before
    plan("Qwen/Qwen2.5-7B-Instruct", data=chat, gpu="A100 80GB", output=w, sets=["learning_rate=1e-4"])
    plan("Qwen/Qwen2.5-0.5B-Instruct", data=chat, gpu="A100 80GB", output=w, name="small")
    plan("Qwen/Qwen2.5-0.5B-Instruct", data=chat, gpu="A100 80GB", output=w, overwrite=True)
    assert Workspace(w).plan("ours").model.name == "Qwen/Qwen2.5-0.5B-Instruct"


def test_a_sweep_names_the_plans_that_it_wrote(tmp_path: Path, chat: Path) -> None:
    r = plan("Qwen/Qwen2.5-0.5B-Instruct", data=chat, gpu="A100 80GB", output=tmp_path / "w", sweep="learning_rate")
    assert Workspace(tmp_path / "w").methods() == sorted(Workspace(tmp_path / "w").methods())
    assert all(name in r.body for name in Workspace(tmp_path / "w").methods()) and len(r.data["sweep"]) == 3


def test_the_page_of_a_plan_says_that_it_is_confirmed_unless_a_person_edited_it(tmp_path: Path, chat: Path) -> None:
    w = tmp_path / "w"
    plan("Qwen/Qwen2.5-0.5B-Instruct", data=chat, gpu="A100 80GB", output=w)
    page = w / "plans/ours/plan.md"
    assert "**unconfirmed**" in page.read_text()
    status(w, confirm="derive")
    assert "Status: **confirmed at " in page.read_text() and "unconfirmed" not in page.read_text()
    assert confirmation(Workspace(w), "ours") is not None
    page.write_text(page.read_text() + "mine\n")
    edited = page.read_text()
    status(w, confirm="derive")
    assert page.read_text() == edited and confirmation(Workspace(w), "ours") is not None


def test_what_would_make_it_fit_comes_before_what_hangs_on_the_hosts_memory(chat: Path) -> None:
    r = plan("meta-llama/Llama-3.1-8B-Instruct", data=chat, gpu="1x 4090", method="lora", seq_len=8192)
    ways = " ".join(r.body.partition("to make it fit")[2].split())
    told = re.findall(r": (fits|tight|not known to fit|does not fit), ", ways)
    assert told and "does not fit" not in told
    assert told == sorted(told, key=lambda word: word == "not known to fit")
