"""Measure real training steps on this machine's CUDA device, on random weights, and write rows like the data files'.

Ten minutes at most, one process per run so that no allocator sees another's cache. Stacks: a plain PyTorch loop over a
transformers model, the Hugging Face Trainer, TRL's SFTTrainer, LLaMA-Factory; a stack that is not installed is skipped
and named. Per run: torch's peak of allocated and reserved bytes, the driver's peak (nvidia-smi), seconds per step.

    python bench/device.py -o rows.jsonl [--seconds 600] [--stacks script,trainer,trl,llamafactory] [--python PYTHON]
    python bench/device.py --dry-run            the grid with what is predicted for it; nothing is measured
    python bench/device.py --rehearse           every stack once, tiny, on the CPU; nothing is measured

Then: python bench/memory.py --cases rows.jsonl; python bench/speed.py --cases rows.jsonl
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
GIB = 2**30
STEPS = 6
"""Optimizer steps per run; the first two warm up."""

# name: layers, hidden, heads, kv heads, ffn, vocabulary, tied; shapes of released models
SHAPES: dict[str, tuple[int, int, int, int, int, int, bool]] = {
    "Qwen/Qwen2.5-0.5B-Instruct": (24, 896, 14, 2, 4864, 151936, True),
    "meta-llama/Llama-3.2-1B": (16, 2048, 32, 8, 8192, 128256, True),
    "Qwen/Qwen2.5-3B-Instruct": (36, 2048, 16, 2, 11008, 151936, True),
    "meta-llama/Llama-3.1-8B": (32, 4096, 32, 8, 14336, 128256, False),
}
TINY = (2, 64, 4, 2, 128, 512, True)
FRAMEWORKS = {
    "script": "pytorch loop on transformers",
    "trainer": "hf-trainer",
    "trl": "trl (hf-trainer)",
    "llamafactory": "llamafactory",
}
NEEDS = {
    "script": ("torch", "transformers"),
    "trainer": ("accelerate",),
    "trl": ("trl", "peft"),
    "llamafactory": ("llamafactory", "peft"),
}


def grid() -> list[dict[str, Any]]:
    """The runs, most telling first: where the clock stops, what is left out matters least."""
    one_b, three_b, eight_b = "meta-llama/Llama-3.2-1B", "Qwen/Qwen2.5-3B-Instruct", "meta-llama/Llama-3.1-8B"
    cells: list[tuple[str, str, str, str, int, int, str]] = []
    for stack in ("llamafactory", "trl", "trainer", "script"):
        cells += [(stack, one_b, "lora", "full", 4, 1024, "sdpa"), (stack, one_b, "full", "full", 2, 1024, "sdpa"),
                  (stack, three_b, "qlora", "full", 2, 2048, "sdpa")]  # fmt: skip
    for stack in ("llamafactory", "script"):
        cells += [(stack, one_b, "lora", "none", 4, 1024, "sdpa"), (stack, one_b, "full", "none", 2, 1024, "sdpa"),
                  (stack, eight_b, "lora", "full", 1, 4096, "sdpa"), (stack, eight_b, "qlora", "full", 4, 2048, "sdpa"),
                  (stack, three_b, "lora", "full", 8, 512, "sdpa"), (stack, one_b, "lora", "none", 2, 1024, "eager")]  # fmt: skip
    cells += [
        ("script", "Qwen/Qwen2.5-0.5B-Instruct", "lora", "full", b, n, "sdpa")
        for b, n in ((1, 512), (8, 512), (1, 8192))
    ]
    return [
        {
            "id": f"device-{stack}-{model.rpartition('/')[2].lower()}-{method}-{checkpointing}-b{batch}-s{length}-{attention}",
            "group": "device", "use": "score", "outcome": "measured", "stack": stack, "framework": FRAMEWORKS[stack], "model": model,
            "method": method, "base_quantization": "nf4-double" if method == "qlora" else "none", "weights_dtype": "bf16",
            "trainable_dtype": None if stack == "llamafactory" else "bf16" if method == "full" else "fp32",
            "autocast": "none" if stack == "script" else "bf16", "upcast_for_kbit_training": False if method == "qlora" else None,
            "lora_rank": None if method == "full" else 16, "lora_targets": None if method == "full" else "all-linear",
            "modules_to_save": [], "optimizer": "adamw", "optimizer_in_backward": False, "micro_batch_size": batch,
            "gradient_accumulation_steps": 1, "global_batch_size": batch, "sequence_length": length,
            "gradient_checkpointing": checkpointing, "attention": attention, "loss": "full_logits", "compiled": False, "float8": False,
            "n_gpus": 1, "n_nodes": 1, "sharding": "none", "context_parallel": 1, "engine": "torch", "offload": "none",
        }
        for stack, model, method, checkpointing, batch, length, attention in cells
    ]  # fmt: skip


# ---- the parent: one process per run, the driver's reading beside it


def used_by_driver() -> int | None:
    """Bytes in use on the first card, as nvidia-smi shows them."""
    with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):
        out = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "-i", "0"],
                             capture_output=True, text=True, timeout=10, check=True)  # fmt: skip
        return int(out.stdout.split()[0]) * 2**20
    return None


@contextlib.contextmanager
def watched(peak: list[int]) -> Iterator[None]:
    stop = threading.Event()

    def look() -> None:
        while not stop.wait(0.1):
            peak[0] = max(peak[0], used_by_driver() or 0)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def run_one(row: dict[str, Any], python: str, device: str, limit: float) -> dict[str, Any]:
    """The child's last line as a dict; `skipped` or `failed` where there is none."""
    before = used_by_driver() or 0
    peak = [before]
    env = dict(
        os.environ, HF_HUB_OFFLINE="1", WANDB_DISABLED="true", TOKENIZERS_PARALLELISM="false", DISABLE_VERSION_CHECK="1"
    )
    if device == "cpu":
        env["CUDA_VISIBLE_DEVICES"] = ""
    try:
        with watched(peak):
            p = subprocess.run(
                [python, __file__, "--one", json.dumps(row), "--device", device],
                capture_output=True,
                text=True,
                timeout=limit,
                env=env,
            )
    except subprocess.TimeoutExpired:
        return {"failed": f"longer than {limit:.0f} s"}
    lines = [x for x in p.stdout.splitlines() if x.startswith("RESULT ")]
    if not lines:
        return {"failed": (p.stderr.strip().splitlines() or [f"exit {p.returncode}"])[-1][:300]}
    result = json.loads(lines[-1].removeprefix("RESULT "))
    if result.get("allocated") and peak[0] > before:
        result["device"] = peak[0] - before
    return dict(result)


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("-o", "--output", type=Path)
    ap.add_argument("--seconds", type=float, default=600)
    ap.add_argument("--stacks", default="llamafactory,trl,trainer,script")
    ap.add_argument("--python", default=sys.executable, help="the training environment's interpreter")
    ap.add_argument("--dry-run", action="store_true")
    ap.add_argument("--rehearse", action="store_true")
    ap.add_argument("--one", help=argparse.SUPPRESS)
    ap.add_argument("--device", default="cuda", help=argparse.SUPPRESS)
    args = ap.parse_args()
    if args.one:
        return child(json.loads(args.one), args.device)
    rows = [r for r in grid() if r["stack"] in args.stacks.split(",")]
    if args.dry_run:
        return show(rows)
    if args.rehearse:
        return rehearse(rows, args.python)
    if used_by_driver() is None:
        print(
            "no CUDA device that nvidia-smi knows: nothing is measured (--dry-run shows the grid, --rehearse runs it tiny on the CPU)"
        )
        return 2
    if args.output is None:
        ap.error("-o FILE: where the rows go")
    start, written = time.monotonic(), 0
    with args.output.open("a", encoding="utf-8") as out:
        for row in rows:
            left = args.seconds - (time.monotonic() - start)
            if left < 30:
                print(f"out of time: {row['id']} and those after it were not run")
                break
            found = run_one(row, args.python, "cuda", min(left, 150))
            if "allocated" not in found:
                print(f"{row['id']}: {found.get('skipped') or found.get('failed')}")
                continue
            out.write(json.dumps(finished(row, found)) + "\n")
            out.flush()
            written += 1
            print(
                f"{row['id']}: allocated {found['allocated'] / GIB:.2f} GiB, {found['seconds']:.3f} s a step",
                flush=True,
            )
    print(f"{written} rows measured, in {args.output}")
    return 0 if written else 1


def finished(row: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """The row with what was read, in the form of memory_cases.jsonl and throughput_cases.jsonl together."""
    measured = {f"{k}_gib": round(found[k] / GIB, 4) for k in ("allocated", "reserved", "device") if found.get(k)}
    tokens = row["micro_batch_size"] * row["sequence_length"]
    measured["tokens_per_second_per_gpu"] = round(tokens / found["seconds"], 1)
    source = f"bench/device.py on this machine; {found['versions']}"
    more = {
        "n_params": found["parameters"],
        "gpu": found["gpu"],
        "measured": measured,
        "measured_unit_ambiguous": False,
        "source": source,
    }
    return {k: v for k, v in row.items() if k != "stack"} | more


def show(rows: list[dict[str, Any]]) -> int:
    sys.path.insert(0, str(ROOT / "src"))
    from papertrain.plan.answers import answers

    said = answers(json.dumps({**r, "gpu": "H200"}).encode() for r in rows)
    print(f"{'run':84} {'allocated':>10} {'device':>8}  predicted, GiB")
    for row, a in zip(rows, said, strict=True):
        print(f"{row['id']:84} {a['allocated_bytes']['value'] / GIB:10.2f} {a['device_bytes']['value'] / GIB:8.2f}")
    print(f"{len(rows)} runs of {STEPS} steps. Dry run: nothing is measured.")
    return 0


def rehearse(rows: list[dict[str, Any]], python: str) -> int:
    """One tiny run per stack and method on the CPU, to find what breaks before a device is there."""
    bad, seen = 0, set()
    for row in rows:
        if (row["stack"], row["method"]) in seen:
            continue
        seen.add((row["stack"], row["method"]))
        found = run_one({**row, "tiny": True, "sequence_length": 64, "micro_batch_size": 2}, python, "cpu", 300)
        ok = "seconds" in found or "skipped" in found
        bad += not ok
        print(
            f"{row['stack']:13} {row['method']:6} "
            + (found.get("skipped") or found.get("failed") or f"ran {found['steps']} steps"),
            flush=True,
        )
    print("Rehearsal on the CPU: nothing is measured.")
    return int(bad > 0)


# ---- the child: one run in a process of its own


def child(row: dict[str, Any], device: str) -> int:
    import importlib.util

    missing = [m for s in ("script", row["stack"]) for m in NEEDS[s] if importlib.util.find_spec(m) is None]
    if row["method"] == "lora" and importlib.util.find_spec("peft") is None:
        missing.append("peft")
    if row["method"] == "qlora" and (device == "cpu" or importlib.util.find_spec("bitsandbytes") is None):
        missing.append("bitsandbytes on a CUDA device")
    if missing:
        print("RESULT " + json.dumps({"skipped": f"skipped: {', '.join(dict.fromkeys(missing))} not installed"}))
        return 0
    import torch

    with tempfile.TemporaryDirectory() as folder:
        seconds, steps, parameters = RUNNERS[row["stack"]](row, device, Path(folder))
    found: dict[str, Any] = {"seconds": seconds, "steps": steps, "parameters": parameters, "versions": versions()}
    if device == "cuda":
        found |= {
            "allocated": torch.cuda.max_memory_allocated(),
            "reserved": torch.cuda.max_memory_reserved(),
            "gpu": torch.cuda.get_device_name(0),
        }
    print("RESULT " + json.dumps(found))
    return 0


def versions() -> str:
    from importlib.metadata import PackageNotFoundError, version

    found = []
    for name in ("torch", "transformers", "peft", "trl", "llamafactory", "bitsandbytes"):
        with contextlib.suppress(PackageNotFoundError):
            found.append(f"{name} {version(name)}")
    return ", ".join(found)


def config_of(row: dict[str, Any]) -> Any:
    from transformers import LlamaConfig

    layers, hidden, heads, kv, ffn, vocab, tied = TINY if row.get("tiny") else SHAPES[row["model"]]
    config = LlamaConfig(
        num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads, num_key_value_heads=kv, intermediate_size=ffn,
        vocab_size=vocab, tie_word_embeddings=tied, max_position_embeddings=max(8192, row["sequence_length"]), pad_token_id=0, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    config.use_cache = False
    return config


def model_of(row: dict[str, Any], device: str) -> Any:
    """Random weights in bf16 on the device; 4-bit for qlora; adapters in fp32 where there are any."""
    import torch
    from transformers import AutoModelForCausalLM

    config = config_of(row)
    with torch.device("cpu" if row["method"] == "qlora" else device):
        model = AutoModelForCausalLM.from_config(config, attn_implementation=row["attention"], dtype=torch.bfloat16)
    if row["method"] == "qlora":
        quantise(model, device)
        model.to(device)
    if row["gradient_checkpointing"] == "full":
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": True})
        model.enable_input_require_grads()
    if row["method"] != "full" and row["stack"] != "trl":
        from peft import get_peft_model

        model = get_peft_model(model, adapters_of(row))
    model.train()
    return model


def quantise(model: Any, device: str) -> None:
    """Every linear layer but the head as bitsandbytes' nf4 with double quantisation."""
    import bitsandbytes as bnb
    import torch

    for name, module in list(model.named_modules()):
        for key, layer in list(module.named_children()):
            if isinstance(layer, torch.nn.Linear) and key != "lm_head":
                packed = bnb.nn.Linear4bit(layer.in_features, layer.out_features, bias=layer.bias is not None, compute_dtype=torch.bfloat16,
                                           compress_statistics=True, quant_type="nf4")  # fmt: skip
                packed.weight = bnb.nn.Params4bit(
                    layer.weight.data, requires_grad=False, quant_type="nf4", compress_statistics=True
                )
                setattr(module if name else model, key, packed.to(device))
    for p in model.parameters():
        p.requires_grad_(False)


def adapters_of(row: dict[str, Any]) -> Any:
    from peft import LoraConfig

    return LoraConfig(
        r=row["lora_rank"],
        lora_alpha=2 * row["lora_rank"],
        lora_dropout=0.0,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )


def data_of(row: dict[str, Any], vocab: int, rows: int) -> list[dict[str, list[int]]]:
    """Rows of full length: a fixed-length batch, so that the longest row is every row."""
    import random

    rng = random.Random(7)
    ids = [[rng.randrange(3, vocab) for _ in range(row["sequence_length"])] for _ in range(rows)]
    return [{"input_ids": x, "labels": list(x), "attention_mask": [1] * len(x)} for x in ids]


def script(row: dict[str, Any], device: str, folder: Path) -> tuple[float, int, int]:
    """A bare loop: no autocast, torch's own AdamW."""
    import torch

    model = model_of(row, device)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-5)
    batch = data_of(row, model.config.vocab_size, row["micro_batch_size"])
    ids = torch.tensor([b["input_ids"] for b in batch], device=device)
    times = []
    for _ in range(STEPS):
        start = time.perf_counter()
        output = model(input_ids=ids, labels=ids)
        output.loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if device == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return median(times[2:]), len(times), count(model)


def trainer(row: dict[str, Any], device: str, folder: Path) -> tuple[float, int, int]:
    from transformers import DataCollatorForSeq2Seq, Trainer, TrainingArguments

    model = model_of(row, device)
    if row["method"] == "qlora":
        model.is_loaded_in_4bit = True
    clock = timer()
    args = TrainingArguments(**arguments(row, device, folder))
    data = data_of(row, model.config.vocab_size, row["micro_batch_size"] * STEPS)
    Trainer(
        model=model,
        args=args,
        train_dataset=data,
        data_collator=DataCollatorForSeq2Seq(tokenizer_of(folder)),
        callbacks=[clock],
    ).train()
    return median(clock.times[2:]), len(clock.times), count(model)


def trl(row: dict[str, Any], device: str, folder: Path) -> tuple[float, int, int]:
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    model = model_of(row, device)
    if row["method"] == "qlora":
        model.is_loaded_in_4bit = True
    clock = timer()
    args = SFTConfig(
        **arguments(row, device, folder),
        max_length=row["sequence_length"],
        dataset_kwargs={"skip_prepare_dataset": True},
    )
    data = Dataset.from_list(
        [
            {"input_ids": r["input_ids"], "labels": r["labels"]}
            for r in data_of(row, model.config.vocab_size, row["micro_batch_size"] * STEPS)
        ]
    )
    peft = None if row["method"] == "full" else adapters_of(row)
    worker = SFTTrainer(
        model=model,
        args=args,
        train_dataset=data,
        processing_class=tokenizer_of(folder),
        peft_config=peft,
        callbacks=[clock],
    )
    worker.train()
    return median(clock.times[2:]), len(clock.times), count(worker.model)


def llamafactory(row: dict[str, Any], device: str, folder: Path) -> tuple[float, int, int]:
    """The real `llamafactory` on a folder with a config and a tokenizer: `train_from_scratch` makes the weights."""
    import importlib.machinery
    import importlib.util
    import types

    if importlib.util.find_spec("torchaudio") is None:
        # imported for audio models only; its wheels do not load beside a torch without CUDA
        sys.modules["torchaudio"] = types.ModuleType("torchaudio")
        sys.modules["torchaudio"].__spec__ = importlib.machinery.ModuleSpec("torchaudio", None)
    from llamafactory.train.tuner import run_exp

    config = config_of(row)
    base = folder / "model"
    if row["method"] == "qlora":
        model_of({**row, "method": "full", "gradient_checkpointing": "none"}, "cpu").save_pretrained(base)
    config.save_pretrained(base)
    tokenizer_of(folder).save_pretrained(base)
    word = " ".join(f"w{i % 90}" for i in range(row["sequence_length"]))
    examples = [{"instruction": word, "input": "", "output": word} for _ in range(row["micro_batch_size"] * STEPS)]
    (folder / "data.json").write_text(json.dumps(examples))
    (folder / "dataset_info.json").write_text(json.dumps({"data": {"file_name": "data.json"}}))
    clock = timer()
    args = {
        k: v
        for k, v in arguments(row, device, folder).items()
        if k not in ("gradient_checkpointing", "gradient_checkpointing_kwargs", "label_names")
    }
    args |= {
        "stage": "sft", "do_train": True, "model_name_or_path": str(base), "train_from_scratch": row["method"] != "qlora",
        "finetuning_type": "full" if row["method"] == "full" else "lora", "template": "empty", "dataset": "data", "dataset_dir": str(folder),
        "cutoff_len": row["sequence_length"], "overwrite_cache": True, "flash_attn": "disabled" if row["attention"] == "eager" else "sdpa",
        "disable_gradient_checkpointing": row["gradient_checkpointing"] == "none", "preprocessing_num_workers": None,
    }  # fmt: skip
    if row["method"] != "full":
        args |= {"lora_rank": row["lora_rank"], "lora_target": "all", "lora_dropout": 0.0}
    if row["method"] == "qlora":
        args |= {"quantization_bit": 4, "quantization_method": "bnb", "double_quantization": True}
    run_exp(args=args, callbacks=[clock])
    return median(clock.times[2:]), len(clock.times), clock.parameters


def arguments(row: dict[str, Any], device: str, folder: Path) -> dict[str, Any]:
    return {
        "output_dir": str(folder / "out"), "max_steps": STEPS, "per_device_train_batch_size": row["micro_batch_size"], "gradient_accumulation_steps": 1,
        "learning_rate": 1e-5, "bf16": True, "optim": "adamw_torch", "logging_steps": 1000, "save_strategy": "no", "report_to": "none",
        "use_cpu": device == "cpu", "gradient_checkpointing": row["gradient_checkpointing"] == "full",
        "gradient_checkpointing_kwargs": {"use_reentrant": True}, "dataloader_num_workers": 0, "remove_unused_columns": False,
    }  # fmt: skip


def tokenizer_of(folder: Path) -> Any:
    """A word-level tokenizer of a hundred words: the model's vocabulary is what its logits have."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {"<pad>": 0, "<s>": 1, "</s>": 2, "<unk>": 3} | {f"w{i}": 4 + i for i in range(90)}
    raw = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


def timer() -> Any:
    """A Trainer callback that times optimizer steps and counts parameters."""
    import torch
    from transformers import TrainerCallback

    class Clock(TrainerCallback):
        def __init__(self) -> None:
            self.times: list[float] = []
            self.parameters = 0
            self.start = 0.0

        def on_step_begin(self, args: Any, state: Any, control: Any, model: Any = None, **kw: Any) -> None:
            self.parameters = self.parameters or (count(model) if model is not None else 0)
            self.start = time.perf_counter()

        def on_step_end(self, args: Any, state: Any, control: Any, **kw: Any) -> None:
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            self.times.append(time.perf_counter() - self.start)

    return Clock()


def count(model: Any) -> int:
    """Parameters of the base, packed 4-bit weights unpacked, adapters left out."""
    total = 0
    for name, p in model.named_parameters():
        if "lora_" not in name:
            total += p.numel() * (2 if p.__class__.__name__ == "Params4bit" else 1)
    return total


def median(values: list[float]) -> float:
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


RUNNERS = {"script": script, "trainer": trainer, "trl": trl, "llamafactory": llamafactory}


if __name__ == "__main__":
    raise SystemExit(main())
