"""How fast a data set is counted, and how much memory it takes: `python bench/data.py [--megabytes 200] [--tokenizer]`.

The file is made on the spot. Each case runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

WORDS = ["the", "model", "learns", "to", "answer", "a", "question", "about", "films", "books", "rivers", "and", "numbers",
         "that", "nobody", "has", "asked", "before"]  # fmt: skip


def rows(rng: random.Random, kind: str) -> Iterator[dict[str, object]]:
    """Made rows, about 0.6 kB each."""
    while True:
        question = " ".join(rng.choices(WORDS, k=rng.randint(5, 40)))
        answer = " ".join(rng.choices(WORDS, k=rng.randint(5, 160)))
        if kind == "messages":
            yield {"messages": [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]}
        elif kind == "alpaca":
            yield {"instruction": question, "input": "", "output": answer}
        else:
            yield {"text": question + answer, "label": rng.randint(0, 4)}


def write_jsonl(file: Path, size: int, kind: str) -> None:
    made = rows(random.Random(7), kind)
    block = [json.dumps(next(made)) + "\n" for _ in range(20_000)]
    with gzip.open(file, "wt", compresslevel=1) if file.suffix == ".gz" else file.open("w") as out:
        written, n = 0, 0
        while written < size:
            # The number makes every row its own, so that the duplicates are really counted.
            line = block[n % len(block)].replace("the ", f"the {n} ", 1)
            written += out.write(line)
            n += 1


def write_array(file: Path, size: int, kind: str) -> None:
    made = rows(random.Random(7), kind)
    block = [json.dumps(next(made), indent=1) for _ in range(20_000)]
    with file.open("w") as out:
        written, n = out.write("["), 0
        while written < size:
            written += out.write((",\n" if n else "") + block[n % len(block)].replace("the ", f"the {n} ", 1))
            n += 1
        out.write("]")


def tokenizer_folder(folder: Path) -> Path:
    """A model folder with a byte-level BPE of 8,000 words trained on the made text, and a ChatML template."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made = rows(random.Random(1), "text")
    trainer = trainers.BpeTrainer(
        vocab_size=8000,
        special_tokens=["<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator((str(next(made)["text"]) for _ in range(2000)), trainer)
    folder.mkdir()
    tokenizer.save(str(folder / "tokenizer.json"))
    shape = {
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "vocab_size": 8000,
    }
    (folder / "config.json").write_text(json.dumps({"model_type": "llama", **shape}))
    template = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<|im_end|>", "chat_template": template}))
    return folder


def measure(file: str, model: str) -> None:
    """Runs in its own process."""
    from papertrain.data.profile import profile
    from papertrain.facts.models import find_model

    start = time.perf_counter()
    found = profile(file, model=find_model(model) if model else None, cutoff=2048)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(
        json.dumps(
            {
                "seconds": seconds,
                "peak": peak,
                "rows": found.rows,
                "examples": found.examples,
                "duplicates": found.duplicates,
            }
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--tokenizer", action="store_true", help="count exactly too (slower)")
    parser.add_argument("--measure", nargs=2, metavar=("FILE", "MODEL"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        measure(*args.measure)
        return
    size = args.megabytes * 10**6
    cases: list[tuple[str, str, str, Callable[[Path, int, str], None]]] = [
        ("alpaca jsonl", "a.jsonl", "alpaca", write_jsonl),
        ("messages jsonl", "m.jsonl", "messages", write_jsonl),
        ("classification jsonl", "c.jsonl", "classification", write_jsonl),
        ("messages json array", "m.json", "messages", write_array),
        ("alpaca jsonl.gz", "a.jsonl.gz", "alpaca", write_jsonl),
    ]
    with tempfile.TemporaryDirectory() as place:
        model = str(tokenizer_folder(Path(place) / "model")) if args.tokenizer else ""
        print(f"{'case':<34}{'MB':>7}{'rows':>11}{'MB/s':>8}{'peak MB':>9}")
        for label, name, kind, write in cases:
            file = Path(place) / name
            write(file, size, kind)
            for shown, path in (
                (label, ""),
                *([(label + ", exact tokens", model)] if model and kind != "classification" else []),
            ):
                done = subprocess.run(
                    [sys.executable, __file__, "--measure", str(file), path], capture_output=True, text=True, check=True
                )
                r = json.loads(done.stdout)
                print(
                    f"{shown:<34}{size / 1e6:>7.0f}{r['rows']:>11,}{size / 1e6 / r['seconds']:>8.1f}{r['peak'] / 1e6:>9.0f}",
                    flush=True,
                )
            file.unlink()


if __name__ == "__main__":
    main()
