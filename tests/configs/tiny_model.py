"""A tiny random Llama with a chat template, and toy rows: python tiny_model.py FOLDER. Runs in the training environment."""

import json
import random
import sys
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, set_seed

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def main(root: Path) -> None:
    rng = random.Random(0)
    set_seed(0)
    colours, things = (
        ["red", "blue", "green", "black", "white", "small", "large"],
        ["cat", "dog", "car", "tree", "house"],
    )
    rows = [
        {"instruction": f"Describe the {t}.", "input": c, "output": f"The {t} is {c}." + " Very." * rng.randrange(6)}
        for c in colours
        for t in things
    ] * 3
    rng.shuffle(rows)
    root.mkdir(parents=True, exist_ok=True)
    for name, part in (("train", rows[:80]), ("test", rows[80:100])):
        (root / f"{name}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in part))
    special = ["<|pad|>", "<|im_start|>", "<|im_end|>", "<|end|>"]
    t = Tokenizer(models.BPE())
    t.pre_tokenizer, t.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    words = [json.dumps(r) for r in rows] + ["user assistant system"] * 20
    t.train_from_iterator(
        words,
        trainers.BpeTrainer(
            vocab_size=600, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
        ),
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=t, eos_token=special[2], pad_token=special[0])
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(root / "model")
    config = LlamaConfig(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, vocab_size=len(tokenizer),
                         max_position_embeddings=512, eos_token_id=2, pad_token_id=0, bos_token_id=None, tie_word_embeddings=False)  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(root / "model")


main(Path(sys.argv[1]))
