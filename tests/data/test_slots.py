"""LLaMA-Factory's templates as we write them, beside what it encodes itself."""

from __future__ import annotations

import pytest

from papertrain.data.slots import SlotTemplate, slot_templates

CHATS = (
    [("user", "ASK"), ("assistant", "SAY")],
    [("user", "A1"), ("assistant", "S1"), ("user", "A2"), ("assistant", "<think>\nx\n</think>\n\nS2")],
)


class Letters:
    """A tokenizer that keeps the text, so that what was encoded can be read back."""

    bos_token, eos_token, bos_token_id, eos_token_id, add_bos_token = "<s>", "</s>", 1, 2, False

    def encode(self, text, add_special_tokens=False):
        return [("text", text)]

    def convert_tokens_to_ids(self, token):
        return ("text", token)

    def read(self, ids):
        return "".join({1: self.bos_token, 2: self.eos_token}[i] if isinstance(i, int) else i[1] for i in ids)


@pytest.mark.frameworks
@pytest.mark.parametrize("system", [None, "SYS"])
@pytest.mark.parametrize("name", sorted(slot_templates()))
def test_the_pieces_are_those_that_llama_factory_encodes(name, system):
    module = pytest.importorskip("llamafactory.data.template", reason="needs the environment of LLaMA-Factory")
    theirs = module.TEMPLATES.get(name)
    if theirs is None:
        pytest.skip("not in this version")
    for chat in CHATS:
        tokenizer = Letters()
        if theirs.replace_eos and theirs.stop_words:
            tokenizer.eos_token = theirs.stop_words[0]
        pairs = theirs.encode_multiturn(tokenizer, [{"role": r, "content": c} for r, c in chat], system, None)
        end = tokenizer.eos_token if theirs.efficient_eos else ""
        messages = ([{"role": "system", "content": system}] if system else []) + [
            {"role": r, "content": c} for r, c in chat
        ]
        answers = {i for i, m in enumerate(messages) if m["role"] == "assistant"}
        ours = list(SlotTemplate(name, {"bos_token": "<s>", "eos_token": "</s>"}).pieces(messages, answers))
        assert "".join(p.text for p in ours) == "".join(tokenizer.read(a) + tokenizer.read(b) for a, b in pairs) + end
        assert "".join(p.text for p in ours if p.trained) == "".join(tokenizer.read(b) for _, b in pairs) + end


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
