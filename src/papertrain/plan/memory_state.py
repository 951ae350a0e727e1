"""What is there all the time: weights, adapters, gradients, optimizer states, and the temporaries of their step."""

from __future__ import annotations

from papertrain.core.models import Linear, ModelSpec
from papertrain.core.values import Value
from papertrain.plan.memory_dtypes import FSDP, ZERO, Dtypes
from papertrain.plan.setup import Setup

LIVE_PARAMETERS = 1e9  # DeepSpeed stage3_max_live_parameters
BUCKET = 5e8  # DeepSpeed reduce_bucket_size, allgather_bucket_size

# bytes of state per trainable parameter, as multiples of the trained dtype or as absolute bytes
_BY_DTYPE = {
    "adamw": 2.0,
    "adamw_fused": 2.0,
    "adam": 2.0,
    "lion": 1.0,
    "sgd_momentum": 1.0,
    "muon": 1.0,
    "adam_mini": 1.0,
}
_FIXED = {"adamw_8bit": 2.016, "adamw_4bit": 1.06, "lion_8bit": 1.008, "adafactor": 0.01, "sgd": 0.0, "paged_adamw_8bit": 0.0,
          "paged_adamw": 0.0, "paged_lion_8bit": 0.0, "cpu_adamw": 0.0}  # fmt: skip
_PAGED = {"paged_adamw_8bit": 2.016, "paged_adamw": 8.0, "paged_lion_8bit": 1.008}


def optimizer_name(words: str | None, default: str = "adamw") -> str:
    """`adamw_torch_fused`, `paged_adamw_32bit`, `adamw_8bit (bitsandbytes)` → the project's word."""
    if words is None:
        return default
    o = words.lower().replace("-", "_")
    if "cpu" in o or ("offload" in o and "adam" in o):
        return "cpu_adamw"
    if o in _BY_DTYPE or o in _FIXED:
        return o
    paged = "paged_" if "paged" in o else ""
    if "adafactor" in o:
        return "adafactor"
    if "lion" in o:
        return f"{paged}lion_8bit" if "8bit" in o or paged else "lion"
    if "muon" in o:
        return "muon"
    if "mini" in o:
        return "adam_mini"
    if "sgd" in o:
        return "sgd_momentum" if "momentum" in o else "sgd"
    if "8bit" in o or "bnb" in o:
        return f"{paged}adamw_8bit"
    if "4bit" in o:
        return "adamw_4bit"
    if "fused" in o:
        return "adamw_fused"
    return f"{paged}adamw" if paged else "adamw"


def old_stack(s: Setup) -> bool:
    """Trainer runs on cards before Ampere were published with torch 1.x: no foreach optimizer, gradients zeroed but
    kept, kernels loaded eagerly."""
    old = s.gpu is not None and (s.gpu.compute_capability or "9").startswith(("6", "7"))
    return old and "hf-trainer" in (s.framework or "")


class State(Value, frozen=True, kw_only=True):
    """Bytes per GPU, and the counts they come from."""

    trainable: float
    linear_weights: float
    table_weights: float
    weights: float
    gradients: float
    optimizer: float
    paged: float
    step_temporary: float
    root: float
    gathered: float
    gathered_last: float
    gathered_gradients: float
    late_gradients: float
    autocast_copy: float
    dequantised: float
    largest_matrix: float
    layer_gradients: float
    root_gradients: float


def matched(model: ModelSpec, targets: tuple[str, ...] | str | None) -> tuple[Linear, ...]:
    """The matrices that LoRA adapts. None = the PEFT default of most families: query and value."""
    inside = tuple(x for x in model.linears if x.place in ("attention", "mlp", "expert"))
    if isinstance(targets, str):
        targets = "all-linear" if targets.lower().replace("_", "-") in ("all-linear", "all", "linear") else (targets,)
    if targets == "all-linear":
        return tuple(x for x in inside if x.place != "router")
    names = (
        set(targets)
        if targets
        else {"q_proj", "v_proj", "query", "value", "c_attn", "query_key_value", "qkv_proj", "Wqkv"}
    )
    found = tuple(x for x in model.linears if x.name in names or x.name.rpartition(".")[2] in names)
    return found or tuple(x for x in inside if x.place == "attention")


def adapter_parameters(model: ModelSpec, rank: int, targets: tuple[str, ...] | str | None, dora: bool = False) -> float:
    """Sum over the matched matrices of rank × (inputs + outputs)."""
    return sum(
        max(x.count, x.active if x.place == "head" else 0)
        * (rank * (x.inputs + x.outputs) + (x.outputs if dora else 0))
        for x in matched(model, targets)
    )


def state(s: Setup, d: Dtypes) -> State:
    """Sizes of everything that does not grow with the batch."""
    m, p = s.model, d.profile
    n = max(1, s.n_gpus)
    tp = max(1, s.tensor_parallel)
    linear = float(sum(x.parameters for x in m.linears if x.place in ("attention", "mlp", "expert")))
    head = float(sum(x.parameters for x in m.linears if x.place == "head"))
    table = float(m.embedding_parameters) + head
    head_rows = float(sum(x.outputs * x.active for x in m.linears if x.place == "head"))
    rest = max(0.0, m.parameters - linear - table)
    if p.untied_head and m.tied:
        table += m.hidden * m.vocab
        head = float(m.hidden * m.vocab)
    base = linear + table + rest
    if d.quantised is None:
        weights = base * d.weights
    elif p.quantised_head:
        weights = d.quantised * (linear + head) + d.weights * (table - head + rest)
    else:
        weights = d.quantised * linear + d.table * (table + rest)
    t, extra = d.trained, 0.0
    if s.trainable_parameters is not None:
        trainable = float(s.trainable_parameters)
        if d.adapters:
            extra = trainable * t
    elif d.adapters:
        trainable = float(adapter_parameters(m, s.lora_rank or 8, s.lora_targets, s.method == "dora"))
        extra = trainable * t
    else:
        trainable = base
    if d.adapters and s.modules_to_save:
        saved = _saved(m, s.modules_to_save)
        trainable += saved
        extra += saved * d.weights
    if s.reference_copy and not d.adapters:
        extra += base * min(d.weights, 2.0)
    o = optimizer_name(s.optimizer, p.optimizer)
    per = _BY_DTYPE[o] * t if o in _BY_DTYPE else _FIXED.get(o, 2 * t)
    zero, fsdp = s.sharding in ZERO, s.sharding in FSDP
    gradients = trainable * t
    optimizer = trainable * per
    paged = trainable * _PAGED.get(o, 0.0)
    temporary = (
        trainable * t
        if o in ("adamw", "adam", "lion", "sgd_momentum", "muon", "adam_mini") and not old_stack(s)
        else 0.0
    )
    largest = float(
        max((x.inputs * x.outputs for x in m.linears if x.place in ("attention", "mlp", "expert")), default=0)
    )
    if zero:
        # DeepSpeed trains an fp32 master copy whatever the module holds, and copies its gradient shard to fp32.
        optimizer = trainable * (
            4.0 + (8.0 if o in ("adamw", "adamw_fused", "adam", "cpu_adamw") else per * 2 if o in _BY_DTYPE else per)
        )
        gradients = 2.0 * trainable if t == 2.0 else 4.0 * trainable
        temporary = 4.0 * trainable if o in ("adamw", "adam") else 0.0
    shared = n if s.sharding != "none" and s.sharding != "ddp" else 1
    if p.flat_adapters and fsdp and d.adapters:
        gradients = d.weights * base
    layers = max(1, m.layers)
    layer_bytes = (linear + rest) / layers * (d.quantised if d.quantised is not None else min(d.weights, d.compute))
    root_bytes = table * min(d.table, d.compute)
    root = gathered = gathered_last = gathered_gradients = late = 0.0
    if fsdp:
        root = root_bytes * p.gathers_root
        gathered, gathered_last = root + 2 * layer_bytes, root + layer_bytes
        if not d.adapters:
            # first: one layer and the head; last: one layer and the root, whose own shard is not there yet
            gathered_gradients = d.compute * ((linear + rest) / layers + table / 2)
            late = d.compute * ((linear + rest) / layers + table) - t * table / n
        weights, extra = weights / n, extra / n
    elif s.sharding == "zero3":
        per_weight = d.quantised if d.quantised is not None else d.weights
        gathered = (
            min(LIVE_PARAMETERS * 2, linear * per_weight)
            + max(head, table / 2) * min(d.table, d.compute)
            + 2 * min(BUCKET, trainable)
        )
        root = gathered_last = gathered
        if not d.adapters:
            gathered_gradients = late = d.compute * table
        weights, extra = weights / n, extra / n
    elif zero:
        # the bucket is allocated in full, however few parameters are trained; a second one while the first is sent
        gathered = 2 * BUCKET * (2 if n > 1 else 1)
        root = gathered_last = gathered
    elif s.sharding == "ddp" and n > 1:
        root = gathered = gathered_last = t * trainable
    if fsdp or s.sharding in ("zero2", "zero3"):
        gradients /= n
    optimizer, temporary, paged = optimizer / shared, temporary / shared, paged / shared
    if s.optimizer_in_backward:
        gradients = largest * t
        temporary = min(temporary, largest * t)
    if s.offload in ("optimizer", "params+optimizer") or o == "cpu_adamw":
        optimizer = temporary = paged = 0.0
        if zero:
            gradients = 0.0 if s.sharding != "zero1" else gradients
    if s.offload in ("params", "params+optimizer"):
        weights = extra = gradients = optimizer = temporary = paged = 0.0
    # autocast keeps a 16-bit copy of every fp32 matrix that it has multiplied with, the head included
    copy = (
        2.0 * (linear + m.hidden * head_rows)
        if d.engine == "torch" and d.autocast and d.weights == 4.0 and d.quantised is None
        else 0.0
    )
    dequantised = 0.0
    if d.quantised is not None:
        dequantised = p.dequantised_bytes * largest
    return State(
        trainable=trainable, linear_weights=linear, table_weights=table, weights=(weights + extra) / tp, gradients=gradients / tp,
        optimizer=optimizer / tp, paged=paged / tp, step_temporary=temporary / tp, root=root / tp,
        gathered=gathered / tp, gathered_last=gathered_last / tp, gathered_gradients=gathered_gradients / tp, late_gradients=late / tp, autocast_copy=copy / tp, dequantised=dequantised / tp, largest_matrix=largest / tp,
        layer_gradients=(linear + rest) / layers * t / tp, root_gradients=table * t / tp,
    )  # fmt: skip


def _saved(m: ModelSpec, names: tuple[str, ...]) -> float:
    total = 0.0
    for name in names:
        word = name.rpartition(".")[2]
        found = [x for x in m.linears if x.name == word]
        if found:
            total += sum(x.inputs * x.outputs * max(1, x.count) for x in found)
        elif word in ("wte", "embed_tokens", "embedding", "word_embeddings", "tok_embeddings"):
            total += m.embedding_parameters
    return total
