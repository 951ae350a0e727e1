"""Who holds what in which dtype: the words of a Setup and the habits of its framework, resolved to bytes."""

from __future__ import annotations

import re

from papertrain.core.models import ModelSpec
from papertrain.core.values import Value
from papertrain.facts.profiles import Profile, find_profile
from papertrain.plan.setup import Setup

BYTES = {
    "fp32": 4.0,
    "tf32": 4.0,
    "float32": 4.0,
    "bf16": 2.0,
    "bfloat16": 2.0,
    "fp16": 2.0,
    "float16": 2.0,
    "fp8": 1.0,
}
ADAPTERS = ("lora", "rslora", "dora", "qlora", "lora-plus", "loraplus", "pissa", "lora-ga")
ZERO = ("zero1", "zero2", "zero3")
FSDP = ("fsdp1", "fsdp2")

# Bytes per weight of a linear matrix, blocks' constants included. nf4: 4 bits + one fp32 absmax per 64; double: the
# absmax is 8-bit, with an fp32 per 256 of them. GPTQ with groups of 128: 4 bits + fp16 scale + packed zero + g_idx.
QUANTISED = {"nf4": 0.5625, "fp4": 0.5625, "nf4-double": 0.5159, "gptq4": 0.5205, "awq4": 0.5195, "int8": 1.0005}


class Dtypes(Value, frozen=True, kw_only=True):
    """Bytes per element. weights: as loaded, unquantised; table: embeddings and head of a quantised base; trained:
    the trained parameters; compute: matmuls; stream: the residual stream between layers; out: what a linear returns.
    """

    profile: Profile
    adapters: bool
    weights: float
    table: float
    quantised: float | None
    trained: float
    compute: float
    stream: float
    out: float
    autocast: bool
    upcast: bool
    engine: str
    """`torch`, `deepspeed` or `fsdp`."""


def resolve(s: Setup) -> Dtypes:
    """Setup and profile → bytes. What the setup states wins over what the framework usually does."""
    p = find_profile(s.framework)
    engine = "deepspeed" if s.sharding in ZERO else "fsdp" if s.sharding in FSDP else "torch"
    adapters = s.method in ADAPTERS
    quantised = None
    if s.quantization not in (None, "none"):
        quantised = QUANTISED.get(str(s.quantization), 0.5625)
    elif s.method == "qlora" and s.quantization is None:
        quantised = QUANTISED.get(p.quantization, QUANTISED["nf4"])
    loaded = s.weights_dtype or (p.weights_dtype if s.autocast != "fp16" else "fp16")
    w = BYTES.get(loaded.split(" ")[0].split("/")[0], 2.0)
    autocast = s.autocast if s.autocast is not None else (p.autocast if p.autocast != "weights" else loaded)
    cast = autocast in ("bf16", "fp16", "bfloat16", "float16", "fp8")
    if s.trainable_dtype is not None:
        t = BYTES.get(s.trainable_dtype.split(" ")[0].split("/")[0], w)
    elif adapters:
        t = 4.0 if (cast and s.autocast is not None) or (cast and p.trainable_dtype == "fp32") else w
        if p.trainable_dtype == "fp32" and quantised is not None:
            t = BYTES[p.quantised_trainable_dtype or "fp32"]
    else:
        raised = p.full_trainable_dtype == "fp32" and s.sharding not in ("zero3", *FSDP)
        t = 4.0 if raised else w
    bnb = s.quantization is None or str(s.quantization).startswith(("nf4", "fp4", "int8"))
    upcast = (
        quantised is not None
        and engine == "torch"
        and (s.upcast is True or (s.upcast is None and bnb and p.prepares_quantised))
    )
    if engine == "deepspeed":
        # DeepSpeed casts the module itself; there is no autocast region, whatever the flag says.
        half = w if s.autocast == "none" and w == 4.0 and s.weights_dtype == "fp32" and not cast else 2.0
        return Dtypes(
            profile=p, adapters=adapters, weights=half, table=half, quantised=quantised, trained=half, compute=half,
            stream=half, out=half, autocast=False, upcast=False, engine=engine,
        )  # fmt: skip
    if engine == "fsdp":
        second = p.fsdp2_trains_in_fp32 if s.sharding == "fsdp2" else None
        if not adapters and cast and (p.fsdp_trains_in_fp32 if second is None else second):
            t = 4.0
        c = 2.0 if cast or w == 2.0 else w
        held = 4.0 if (not adapters and t == 4.0) else w
        return Dtypes(
            profile=p, adapters=adapters, weights=held, table=held, quantised=quantised, trained=t, compute=c, stream=c,
            out=c, autocast=cast, upcast=False, engine=engine,
        )  # fmt: skip
    held = w if adapters else max(w, t) if s.method == "full" else w
    table = 4.0 if upcast or _raises_table(s, p) else held
    stream = 4.0 if upcast else max(held, table)
    compute = 2.0 if cast else w if adapters or quantised else held
    out = 4.0 if upcast and str(s.quantization).startswith(("nf4", "fp4")) else compute
    return Dtypes(
        profile=p, adapters=adapters, weights=held, table=table, quantised=quantised, trained=t if adapters else _mean(s.model, t, table),
        compute=compute, stream=stream, out=out, autocast=cast, upcast=upcast, engine=engine,
    )  # fmt: skip


def _raises_table(s: Setup, p: Profile) -> bool:
    """Embedding and head stay in fp32 under some attentions; a loss that reads the head in 16 bits has them lowered again."""
    return (
        s.method == "full" and (s.attention or "sdpa") in p.full_table_in_fp32_with and s.loss in (None, "full_logits")
    )


def _mean(m: ModelSpec, rest: float, table: float) -> float:
    """Bytes of a trained parameter, where embedding and head are trained in another dtype than the rest."""
    if table <= rest:
        return rest
    share = table_parameters(m) / max(1, m.parameters)
    return rest + (table - rest) * min(1.0, share)


def table_parameters(m: ModelSpec) -> float:
    """Embedding and head."""
    return float(m.embedding_parameters + sum(x.parameters for x in m.linears if x.place == "head"))


def family(m: ModelSpec) -> str:
    """`GPTBigCodeForCausalLM`, `gpt_bigcode` → `gptbigcode`."""
    return re.sub(r"(for[a-z]+|lmheadmodel|model)$", "", m.architecture.lower().replace("_", "").replace("-", ""))


def might_prepare(s: Setup, d: Dtypes) -> float:
    """Share by which a stack that nobody has read may be larger, if it raises embeddings and head to fp32 after all."""
    if d.profile.known or d.quantised is None or d.engine != "torch" or s.upcast is not None:
        return 0.0
    table = table_parameters(s.model)
    return 2.0 * table / (d.quantised * (s.model.parameters - table) + 2.0 * table)
