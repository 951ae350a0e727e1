"""End tokens on which no loss is, and ports that somebody holds right now."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from papertrain.verbs.check import check

COLLATOR = """
from transformers import AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments
tokenizer = AutoTokenizer.from_pretrained("m")
tokenizer.pad_token = tokenizer.eos_token
args = TrainingArguments(output_dir="out")
trainer = Trainer(model="m", args=args, data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False))
"""


def test_an_end_token_that_is_masked_as_padding_is_named_once_and_a_pad_token_of_its_own_is_quiet(tmp_path: Path) -> None:  # fmt: skip
    file = tmp_path / "train.py"
    file.write_text(COLLATOR)
    found = [f for f in check([file]).data["findings"] if f["rule"] == "TR361"]
    assert [f["line"] for f in found] == [4] and "never learns to stop" in found[0]["says"]
    file.write_text(COLLATOR.replace("tokenizer.eos_token\n", "'<|pad|>'\n"))
    assert not [f for f in check([file]).data["findings"] if f["rule"] == "TR361"]


@pytest.mark.parametrize("template, fires", [
    ("{% for m in messages %}{{ m['content'] }}\n{% endfor %}", True),
    ("{% for m in messages %}{{ m['content'] }}{{ eos_token }}{% endfor %}", False),
    ("{% for m in messages %}{{ m['content'] }}<|im_end|>\n{% endfor %}", False),
])  # fmt: skip
def test_a_models_own_template_without_an_end_token_is_named(template: str, fires: bool, tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "tokenizer_config.json").write_text(json.dumps({"eos_token": "</s>", "chat_template": template, "added_tokens_decoder": {"7": {"content": "<|im_end|>"}}}))  # fmt: skip
    (model / "generation_config.json").write_text('{"eos_token_id": [2, 7]}')
    (tmp_path / "sft.yaml").write_text(f"model_name_or_path: {model}\ndataset_name: d\noutput_dir: out\nmax_length: 512\nuse_peft: true\n")  # fmt: skip
    found = [f for f in check([tmp_path / "sft.yaml"]).data["findings"] if f["rule"] == "TR361"]
    assert bool(found) == fires


@pytest.mark.parametrize("template, fires", [("empty", True), ("default", False), ("llama2", False), ("qwen", False)])
def test_an_end_anywhere_behind_the_answer_is_an_end(template: str, fires: bool, tmp_path: Path) -> None:
    """LLaMA-Factory 0.9.5: `default` has the slots content, eos_token, line break; its answers encode with </s> at their end."""
    (tmp_path / "a.yaml").write_text(f"model_name_or_path: Qwen/Qwen2.5-7B\nstage: sft\ndo_train: true\nfinetuning_type: lora\ntemplate: {template}\ndataset: identity\noutput_dir: out\n")  # fmt: skip
    assert any(f["rule"] == "TR361" for f in check([tmp_path / "a.yaml"]).data["findings"]) is fires


def test_a_port_that_is_in_use_here_is_named_and_a_free_one_is_not(tmp_path: Path) -> None:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        port = s.getsockname()[1]
        file = tmp_path / "run.sh"
        file.write_text(f"MASTER_PORT={port} FORCE_TORCHRUN=1 llamafactory-cli train a.yaml\n")
        found = [f for f in check([file]).data["findings"] if f["rule"] == "TR405"]
        assert found and f"port {port} is in use" in found[0]["says"] and found[0]["line"] == 1
        file.write_text(f"MASTER_ADDR=node1 MASTER_PORT={port} FORCE_TORCHRUN=1 llamafactory-cli train a.yaml\n")
        assert not [f for f in check([file]).data["findings"] if f["rule"] == "TR405"], "that is another machine's port"
    file.write_text(f"MASTER_PORT={port} FORCE_TORCHRUN=1 llamafactory-cli train a.yaml\n")
    assert not [f for f in check([file]).data["findings"] if f["rule"] == "TR405"]
