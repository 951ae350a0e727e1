"""A small real model folder: a byte-level BPE trained here, with the ChatML template."""

from __future__ import annotations

import json
from pathlib import Path

CHATML = (
    "{% for m in messages %}{% if loop.first and m.role != 'system' %}<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n{% endif %}"
    "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SHAPE = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 1000,
}


def make_model(folder: Path, template: str | None = CHATML, *, special: bool = False) -> Path:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words = [
        "The sum is 7. What is the sum of 3 and 4? Where does the river begin?",
        "A dry comedy that outstays its welcome.",
    ]
    tokenizer.train_from_iterator(
        words * 5,
        trainers.BpeTrainer(
            vocab_size=600,
            special_tokens=["<|im_start|>", "<|im_end|>", "<s>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    if special:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A <s>", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))]
        )
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps(SHAPE))
    config = {"eos_token": "<|im_end|>", **({"chat_template": template} if template else {})}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder
