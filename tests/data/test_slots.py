"""LLaMA-Factory's templates as we write them, and TRL's, beside what the two encode themselves: token ids and labels."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "configs"))
from environments import folder

from papertrain.data.labels import MASKED, apart, together
from papertrain.data.render import Renderer
from papertrain.data.slots import SlotTemplate
from papertrain.data.template import ChatTemplate
from papertrain.facts.frameworks.load import slot_templates

HERE = Path(__file__).resolve().parent
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>"}
U, A = "user", "assistant"
CHATS = (
    [(U, "What is 2 + 2?"), (A, "It is 4.")],
    [("system", "Be brief."), (U, "  A1\n"), (A, "S1\n"), (U, "A2 <b>"), (A, "<think>\nwhy\n</think>\n\nS2 ")],
    [(U, "一加一?"), (A, "<think>\n想\n</think>\n\n二。"), (U, "And two?"), (A, "Four é.")],
)


def messages(chat: list[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"role": role, "content": content} for role, content in chat]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A byte-level tokenizer in which every special word of every template is one token, as in the models they were made for."""
    words = {"<s>", "</s>", "<unk>", "<think>", "</think>"}
    for table in slot_templates().values():
        words |= set(table.get("stop_words") or [])
        for slots in (v for v in table.values() if isinstance(v, list)):
            words |= {s["token"] for s in slots if isinstance(s, dict) and "token" in s}
            words |= {w for s in slots if isinstance(s, str) for w in re.findall(r"<[|｜][^<>]*?[|｜]>", s)}
    place = tmp_path_factory.mktemp("tokenizer")
    t = Tokenizer(models.BPE())
    t.pre_tokenizer, t.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    text = [json.dumps(CHATS, ensure_ascii=False), json.dumps(slot_templates())] * 3
    t.train_from_iterator(text, trainers.BpeTrainer(vocab_size=1500, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=sorted(words)))  # fmt: skip
    t.add_special_tokens([AddedToken(w, special=True, normalized=False) for w in sorted(words)])
    t.save(str(place / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "clean_up_tokenization_spaces": False}  # fmt: skip
    (place / "tokenizer_config.json").write_text(json.dumps(config))
    return place


def asked(environment: str, script: str, *words: Path) -> list[dict]:
    env = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([str(folder(environment) / "bin/python"), str(HERE / script), *map(str, words)], capture_output=True, text=True, env=env, timeout=300)  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")][1:]


@pytest.mark.slow
@pytest.mark.frameworks
def test_token_ids_and_labels_are_those_of_llama_factory_on_every_template(tokenizer: Path, tmp_path: Path) -> None:
    cases = [
        {"template": name, "thinking": thinking, "messages": messages(chat), "rejected": rejected}
        for name, table in slot_templates().items()
        for thinking in ((True, False, None) if table.get("class", "").endswith("ReasoningTemplate") else (True,))
        for chat in CHATS
        for rejected in ("", "No.")
    ]
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    theirs = asked("llamafactory", "encode_llamafactory.py", tokenizer, tmp_path / "cases.json")
    assert len(theirs) == len(cases) and len(slot_templates()) > 100
    t = Tokenizer.from_file(str(tokenizer / "tokenizer.json"))
    wrong, compared = [], set()
    for case, line in zip(cases, theirs):
        if line["added"]:  # a token that this tokenizer lacks
            continue
        slots = SlotTemplate(case["template"], SPECIAL, thinking=case["thinking"])
        segments = Renderer(None, SPECIAL, "", slots).conversation(case["messages"], last_only=bool(case["rejected"]))
        ours = apart(t, [segments])[0]
        compared.add(case["template"])
        if (ours.ids, ours.labels) != (line["ids"], line["labels"]):
            wrong.append((case["template"], case["thinking"], bool(case["rejected"]), "".join(s.text for s in segments)[:300], t.decode(line["ids"], skip_special_tokens=False)[:300]))  # fmt: skip
    assert len(compared) > 100
    assert not wrong, (len(wrong), sorted({w[0] for w in wrong}), wrong[:3])


@pytest.mark.slow
@pytest.mark.frameworks
def test_token_ids_and_labels_are_those_of_trl_on_its_own_templates(tokenizer: Path, tmp_path: Path) -> None:
    system, question, answer = messages([("system", "Be brief."), (U, "What is 2 + 2?"), (A, "It is 4.")])
    chat = messages([(U, "What is 2 + 2?"), (A, "It is 4."), (U, "And 3 + 3?"), (A, "It is 6.")])
    compared = marked = 0
    wrong = []
    t = Tokenizer.from_file(str(tokenizer / "tokenizer.json"))
    for prompt in ([question], [system, question]):
        (tmp_path / "case.json").write_text(json.dumps({"prompt": prompt, "completion": [answer], "chat": chat}))
        for line in asked("trl", "encode_trl.py", tokenizer, tmp_path / "case.json"):
            if "refused" in line:
                continue
            ours = together(t, Renderer(ChatTemplate(line["source"], SPECIAL), SPECIAL).conversation([*prompt, answer]))
            labels = [MASKED] * line["prompt"] + line["ids"][line["prompt"] :]
            compared += 1
            if (ours.ids, ours.labels) != (line["ids"], labels):
                wrong.append((line["template"], "completion", t.decode(line["ids"], skip_special_tokens=False)[-200:], t.decode([x for x in labels if x >= 0], skip_special_tokens=False), t.decode([x for x in ours.labels if x >= 0], skip_special_tokens=False)))  # fmt: skip
            if "mask" in line:
                ours = together(t, Renderer(ChatTemplate(line["source"], SPECIAL), SPECIAL).conversation(chat))
                labels = [i if m else MASKED for i, m in zip(line["chat"], line["mask"])]
                marked += 1
                if (ours.ids, ours.labels) != (line["chat"], labels):
                    wrong.append((line["template"], "chat", t.decode([x for x in labels if x >= 0], skip_special_tokens=False), t.decode([x for x in ours.labels if x >= 0], skip_special_tokens=False)))  # fmt: skip
    assert compared >= 40 and marked >= 20
    assert not wrong, (len(wrong), wrong[:5])


def test_a_template_without_a_system_prompt_writes_none():
    pieces = list(
        SlotTemplate("llama3", {"bos_token": "<|begin_of_text|>"}).pieces(
            [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes"}], {1}
        )
    )
    assert "".join(p.text for p in pieces) == (
        "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nYes<|eot_id|>"
    )
    assert [p.text for p in pieces if p.trained] == ["Yes<|eot_id|>"]
