"""Tiny models with random weights and their tokenizer, for trainings of seconds: python faults_model.py FOLDER."""

import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

WORDS = 200
TEMPLATE = "{% for m in messages %}{{ m['role'] }} {{ m['content'] }} {% endfor %}{% if add_generation_prompt %}assistant {% endif %}"


def tokenizer(pad=True, template=True):
    vocab = {
        w: i for i, w in enumerate(["[PAD]", "[UNK]", "[EOS]", "user", "assistant", *(f"w{i}" for i in range(WORDS))])
    }
    t = Tokenizer(models.WordLevel(vocab, unk_token="[UNK]"))
    t.pre_tokenizer = pre_tokenizers.Whitespace()
    more = {"pad_token": "[PAD]"} if pad else {}
    found = PreTrainedTokenizerFast(
        tokenizer_object=t, unk_token="[UNK]", eos_token="[EOS]", model_max_length=64, **more
    )
    if template:
        found.chat_template = TEMPLATE
    return found


def main(folder):
    torch.manual_seed(0)
    size = WORDS + 5
    llama = LlamaConfig(vocab_size=size, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4,
                        max_position_embeddings=64, pad_token_id=0, eos_token_id=2, bos_token_id=2, tie_word_embeddings=False)  # fmt: skip
    bert = BertConfig(
        vocab_size=size,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
        num_labels=3,
    )
    gpt2 = GPT2Config(
        vocab_size=size, n_embd=32, n_layer=2, n_head=4, n_positions=64, num_labels=3, eos_token_id=2, bos_token_id=2
    )
    for name, model, template in (
        ("llama", LlamaForCausalLM(llama), True),
        ("base", LlamaForCausalLM(llama), False),
        ("bert", BertForSequenceClassification(bert), True),
        ("gpt2", GPT2ForSequenceClassification(gpt2), True),
    ):
        model.save_pretrained(Path(folder) / name)
        tokenizer(template=template).save_pretrained(Path(folder) / name)


if __name__ == "__main__":
    main(sys.argv[1])
