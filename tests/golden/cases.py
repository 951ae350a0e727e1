"""The plans whose files are kept as whole text."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "configs"))
from plans import make_job

from papertrain.configs.generating import generate


def lora() -> dict[str, str]:
    """LoRA on four A100: everything that is written by hand for it; the long scripts are read by the other tests."""
    files = generate([make_job(test="../test.jsonl")]).files
    return {name: text for name, text in files.items() if not name.endswith(".py")}


def zero3() -> dict[str, str]:
    """Full fine-tuning on two machines, sharded, unconfirmed."""
    job = make_job(
        cards=8, nodes=2, method="full", zero_stage=3, offload="optimizer", learning_rate=1e-5, confirmed=False
    )
    return {name: text for name, text in generate([job]).files.items() if not name.endswith(".py")}


def classifier() -> dict[str, str]:
    """MiniLM on a processor: the script with its arguments."""
    job = make_job(
        model="minilm", card="cpu", cards=1, task="classification", method="full", precision="fp32", learning_rate=5e-5, micro_batch_size=32,
        gradient_accumulation_steps=1, total_steps=126, warmup_steps=13, epochs=2.0, sequence_length=64, eval_steps=63, save_steps=63, test="../test.csv",
        gradient_checkpointing="none", model_path="../model",
    )  # fmt: skip
    files = generate([job]).files
    whole = files["configs/ours/script/train.py"]
    arguments = whole[whole.index("def parse_args") : whole.index("return parser.parse_args(argv)")]
    return {name: text for name, text in files.items() if not name.endswith(".py")} | {"arguments.txt": arguments}


def preference() -> dict[str, str]:
    """DPO: pairs, a smaller rate, no packing."""
    files = generate(
        [make_job(task="dpo", learning_rate=5e-6, confirmed=True)], ["llamafactory", "trl", "axolotl"]
    ).files
    return {name: text for name, text in files.items() if name.endswith((".yaml", ".json"))}


CASES: dict[str, Callable[[], dict[str, str]]] = {
    "lora": lora,
    "zero3": zero3,
    "classifier": classifier,
    "preference": preference,
}
