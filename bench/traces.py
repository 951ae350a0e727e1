"""The memory formulas against torch's own memory tracker on fake tensors: no GPU, no weights, no real memory.

A step of 2 and of 4 layers is traced (memory is affine in the layers while the peak stays in one phase). Covered: full and LoRA,
one dtype and autocast, checkpointing off and full, eager and SDPA, ten families. Not covered by fake tensors: 4-bit
weights, ZeRO and FSDP, fused kernels, CUDA's allocator. Dropout is off. The CPU's attention kernel repeats grouped keys,
which CUDA's does not: 3-4 bytes per token, unit of width and layer, seen with SDPA only.

    python bench/traces.py                                   compare with the traces on record
    python bench/traces.py --record [--python PYTHON]        trace again (needs torch, transformers, peft; a quarter of an hour)
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "src/papertrain/facts/runs/traces.jsonl"
GIB = 2**30
BATCH, LENGTH = 2, 1024

# model_type, and the fields of its config that matter; layers come from the trace
FAMILIES: dict[str, dict[str, Any]] = {
    "llama": {"model_type": "llama", "hidden_size": 2048, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 8192, "vocab_size": 32000},
    "llama-tied": {"model_type": "llama", "hidden_size": 2048, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 8192,
                   "vocab_size": 128256, "tie_word_embeddings": True},
    "qwen2": {"model_type": "qwen2", "hidden_size": 1536, "num_attention_heads": 12, "num_key_value_heads": 2, "intermediate_size": 8960, "vocab_size": 32000},
    "qwen3": {"model_type": "qwen3", "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 6144, "vocab_size": 32000},
    "mistral": {"model_type": "mistral", "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 4, "intermediate_size": 7168, "vocab_size": 32000},
    "gemma2": {"model_type": "gemma2", "hidden_size": 2304, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "intermediate_size": 9216, "vocab_size": 32000},
    "phi3": {"model_type": "phi3", "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 16, "intermediate_size": 8192, "vocab_size": 32064},
    "gpt2": {"model_type": "gpt2", "n_embd": 1024, "n_head": 16, "vocab_size": 50257, "n_positions": 1024},
    "opt": {"model_type": "opt", "hidden_size": 2048, "num_attention_heads": 32, "ffn_dim": 8192, "vocab_size": 50272, "word_embed_proj_dim": 2048},
    "gpt_neox": {"model_type": "gpt_neox", "hidden_size": 2048, "num_attention_heads": 16, "intermediate_size": 8192, "vocab_size": 50304},
}  # fmt: skip
LAYERS = {"gpt2": "n_layer"}
MODES = ("full", "lora", "full-amp", "lora-amp")


def grid() -> list[dict[str, Any]]:
    cells = [(f, m, c, "sdpa") for c in ("none", "full") for m in MODES for f in FAMILIES]
    cells += [(f, m, "none", "eager") for m in ("full", "lora") for f in ("llama", "qwen2", "mistral", "gpt2")]
    return [{"family": f, "mode": m, "gradient_checkpointing": c, "attention": a} for f, m, c, a in cells]


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--record", action="store_true")
    ap.add_argument("--python", default=str(ROOT / ".envs/train/bin/python"))
    ap.add_argument("--child", help=argparse.SUPPRESS)
    ap.add_argument("--check", action="store_true")
    args = ap.parse_args()
    if args.child:
        return child(json.loads(args.child))
    if args.record:
        return record(args.python)
    return compare(args.check)


def record(python: str) -> int:
    env = dict(os.environ, HF_HUB_OFFLINE="1")
    cells = grid()
    with RECORD.with_suffix(".part").open("w") as out:
        for start in range(0, len(cells), 8):
            p = subprocess.run(
                [python, __file__, "--child", json.dumps(cells[start : start + 8])],
                capture_output=True,
                text=True,
                env=env,
            )
            lines = [x.removeprefix("TRACE ") for x in p.stdout.splitlines() if x.startswith("TRACE ")]
            out.write("".join(x + "\n" for x in lines))
            out.flush()
            print(
                f"{start + 8} of {len(cells)}",
                *(p.stderr.strip().splitlines()[-1:] if len(lines) < len(cells[start : start + 8]) else ()),
                flush=True,
            )
    RECORD.with_suffix(".part").replace(RECORD)
    return 0


def compare(check: bool) -> int:
    sys.path[:0] = [str(ROOT / "src"), str(Path(__file__).resolve().parent)]
    import statistics

    from _score import table

    body, errors = [], []
    for row in (json.loads(x) for x in RECORD.read_text().splitlines()):
        two, four = (max(row["layers"][n].values()) for n in ("2", "4"))
        got_two, got_four = predicted(row, 2), predicted(row, 4)
        errors.append(abs(got_four / four - 1))
        kept, got_kept = (four - two) / 2 / BATCH / LENGTH, (got_four - got_two) / 2 / BATCH / LENGTH
        body.append([f"{row['family']:11} {row['mode']:9} {row['gradient_checkpointing']:5} {row['attention']:5}", f"{four / GIB:.3f}", f"{got_four / GIB:.3f}",
                     f"{100 * (got_four / four - 1):+.1f} %", f"{kept / 1e3:.1f}", f"{got_kept / 1e3:.1f}"])  # fmt: skip
    print(
        table(
            ["family, mode, checkpointing, attention", "traced GiB", "formula", "error", "kB/token/layer", "formula"],
            body,
        )
    )
    ordered = sorted(errors)
    within = statistics.mean(e <= 0.02 for e in errors)
    print(f"\n{len(errors)} traces of 4 layers: median {100 * statistics.median(errors):.1f} %, "
          f"90th {100 * ordered[int(0.9 * len(ordered))]:.1f} %, within 2 %: {100 * within:.0f} %")  # fmt: skip
    return int(check and statistics.median(errors) > 0.02)


def predicted(row: dict[str, Any], layers: int) -> float:
    """The formula's peak for a traced configuration."""
    from papertrain.core.values import Source
    from papertrain.facts.spec import spec_from_config
    from papertrain.plan.memory import predict
    from papertrain.plan.setup import Setup

    mode = row["mode"]
    adapters, amp = mode.startswith("lora"), mode.endswith("-amp")
    config = {**FAMILIES[row["family"]], LAYERS.get(row["family"], "num_hidden_layers"): layers}
    setup = Setup(
        model=spec_from_config(config, name="traced", source=Source(kind="measured", ref="bench/traces.py")), framework="pytorch loop on transformers",
        method="lora" if adapters else "full", quantization="none", weights_dtype="fp32" if amp and not adapters else "bf16",
        trainable_dtype="fp32" if adapters or amp else "bf16", autocast="bf16" if amp else "none", lora_rank=16 if adapters else None,
        lora_targets=tuple(row["targets"]) if adapters else None, optimizer="adamw", micro_batch_size=BATCH, sequence_length=LENGTH,
        gradient_checkpointing=row["gradient_checkpointing"], attention=row["attention"], loss="full_logits",
    )  # fmt: skip
    return float(predict(setup).allocated_bytes.value or 0.0)


# ---- the child: in an environment with torch


def child(cells: list[dict[str, Any]]) -> int:
    import warnings

    warnings.filterwarnings("ignore")
    for cell in cells:
        start = time.perf_counter()
        try:
            two, targets = trace(cell, 2)
            four, _ = trace(cell, 4)
        except Exception as error:  # a family that fake tensors cannot run is named, not fatal
            print(f"{cell}: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        seconds = round(time.perf_counter() - start, 1)
        print(
            "TRACE " + json.dumps({**cell, "targets": targets, "layers": {"2": two, "4": four}, "seconds": seconds}),
            flush=True,
        )
    return 0


def trace(cell: dict[str, Any], layers: int) -> tuple[dict[str, float], list[str]]:
    """Peak bytes of each phase of a steady step, and the names of the adapted modules."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.distributed._tools.mem_tracker import MemTracker
    from transformers import AutoConfig, AutoModelForCausalLM

    frozen_hooks_do_nothing(torch)
    adapters, amp = cell["mode"].startswith("lora"), cell["mode"].endswith("-amp")
    config = AutoConfig.for_model(
        **{**FAMILIES[cell["family"]], LAYERS.get(cell["family"], "num_hidden_layers"): layers}
    )
    config.use_cache = False
    for field in (
        "attention_dropout",
        "attn_pdrop",
        "resid_pdrop",
        "embd_pdrop",
        "dropout",
        "hidden_dropout",
        "residual_dropout",
    ):
        if hasattr(config, field):
            setattr(config, field, 0.0)
    dtype = torch.float32 if amp and not adapters else torch.bfloat16
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation=cell["attention"])
    targets: list[str] = []
    if adapters:
        from peft import LoraConfig, get_peft_model

        wanted = linear_names(model, torch)
        with torch.device("meta"):
            model = get_peft_model(
                model, LoraConfig(r=16, lora_alpha=32, lora_dropout=0.0, target_modules=wanted, task_type="CAUSAL_LM")
            )
            for p in model.parameters():
                if p.requires_grad:
                    p.data = p.data.float()
        targets = wanted
    if cell["gradient_checkpointing"] == "full":
        base = model.get_base_model() if adapters else model
        base.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        if adapters:
            model.enable_input_require_grads()
    with FakeTensorMode(allow_non_fake_inputs=True):
        faked(model, torch)
        model.train()
        optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4, foreach=True)
        ids = torch.empty((BATCH, LENGTH), dtype=torch.long)
        tracker = MemTracker()
        tracker.track_external(model, optimizer, ids)
        phases: dict[str, float] = {}

        def note(name: str) -> None:
            found = tracker.get_tracker_snapshot("peak")
            phases[name] = float(
                sum(
                    next(v for k, v in s.items() if getattr(k, "value", str(k)) == "Total" or str(k) == "Total")
                    for d, s in found.items()
                    if d.type == "cpu"
                )
            )
            tracker._peak_mem.clear()
            tracker._peak_mem_snap.clear()

        with tracker:
            for step in range(2):
                if step:
                    tracker.reset_mod_stats()
                with torch.autocast("cpu", dtype=torch.bfloat16) if amp else nullcontext():
                    output = model(input_ids=ids, labels=ids)
                note("forward")
                output.loss.backward()
                note("backward")
                del output
                optimizer.step()
                note("optimizer_step")
                optimizer.zero_grad(set_to_none=True)
    return phases, targets


def linear_names(model: Any, torch: Any) -> list[str]:
    kinds = (torch.nn.Linear, *(k for k in {type(m) for m in model.modules()} if k.__name__ == "Conv1D"))
    names = {n.rpartition(".")[2] for n, m in model.named_modules() if isinstance(m, kinds)}
    return sorted(names - {"lm_head", "embed_out"})


def faked(model: Any, torch: Any) -> None:
    """Meta parameters and buffers become fake ones on the CPU; tied weights stay tied."""
    seen: dict[int, Any] = {}
    for module in model.modules():
        for name, p in list(module._parameters.items()):
            if p is not None:
                if id(p) not in seen:
                    seen[id(p)] = (
                        torch.nn.Parameter(torch.empty(p.shape, dtype=p.dtype), requires_grad=p.requires_grad),
                        p,
                    )
                module._parameters[name] = seen[id(p)][0]
        for name, b in list(module._buffers.items()):
            if b is not None:
                module._buffers[name] = torch.empty(b.shape, dtype=b.dtype)
                setattr(module, name, module._buffers[name])


def frozen_hooks_do_nothing(torch: Any) -> None:
    """MemTracker hooks frozen parameters too, which torch refuses."""
    if getattr(torch.Tensor, "_frozen_ok", False):
        return

    class Nothing:
        def remove(self) -> None:
            pass

    def allowing(fn: Any) -> Any:
        return lambda self, hook: fn(self, hook) if self.requires_grad else Nothing()

    for name in ("register_hook", "register_post_accumulate_grad_hook"):
        setattr(torch.Tensor, name, allowing(getattr(torch.Tensor, name)))
    torch.Tensor._frozen_ok = True


if __name__ == "__main__":
    raise SystemExit(main())
