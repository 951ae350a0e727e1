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
_ADAM = ("adamw", "adamw_fused", "adam", "cpu_adamw")
_FOREACH = ("adamw", "adam", "lion", "sgd_momentum", "muon", "adam_mini")
_PAGED = {"paged_adamw_8bit": 2.016, "paged_adamw": 8.0, "paged_lion_8bit": 1.008}


def is_optimizer(words: str) -> bool:
    """Whether the words name an optimizer at all; one that they do not name would be taken for AdamW."""
    known = ("adam", "lion", "muon", "mini", "sgd", "adafactor", "8bit", "4bit", "bnb")
    return any(k in words.lower() for k in known) or words.lower().replace("-", "_") in {*_BY_DTYPE, *_FIXED}


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


class Counts(Value, frozen=True, kw_only=True):
    """Parameters by kind, before any sharding, and the bytes of weights that they lie in.

    linear: inside the blocks. table: embeddings and head. rest: norms, biases, positions. resident: bytes of the base
    as loaded. extra: bytes of adapters, of fully trained modules beside their frozen originals, of a reference model.
    """

    linear: float
    head: float
    table: float
    rest: float
    largest: float
    trainable: float
    resident: float
    extra: float

    @property
    def base(self) -> float:
        return self.linear + self.table + self.rest


class Update(Value, frozen=True, kw_only=True):
    """Bytes of gradients, of optimizer states, of paged states, and of the step's temporary copies."""

    gradients: float
    optimizer: float
    paged: float
    temporary: float


class InFlight(Value, frozen=True, kw_only=True):
    """Bytes that sharding gathers for a while: always, at the first and the last layer of the backward pass."""

    root: float = 0.0
    first: float = 0.0
    last: float = 0.0
    first_gradients: float = 0.0
    last_gradients: float = 0.0


def state(s: Setup, d: Dtypes) -> State:
    """Sizes of everything that does not grow with the batch."""
    m = s.model
    c = counts(s, d)
    u = shared(s, d, c, update(s, d, c))
    f = in_flight(s, d, c)
    tp = max(1, s.tensor_parallel)
    sharded = s.sharding in FSDP or s.sharding == "zero3"
    weights = (c.resident + c.extra) / (max(1, s.n_gpus) if sharded else 1)
    if s.offload in ("params", "params+optimizer"):
        weights = 0.0
    part = min(1.0, c.trainable / c.base) if not d.adapters else 1.0
    # autocast keeps a 16-bit copy of every fp32 matrix that it has multiplied with, the head included
    copies = d.engine == "torch" and d.autocast and d.quantised is None
    head_rows = float(sum(x.outputs * x.active for x in m.linears if x.place == "head"))
    copied = (c.linear if d.weights == 4.0 else 0.0) + (m.hidden * head_rows if d.table == 4.0 else 0.0)
    return State(
        trainable=c.trainable,
        linear_weights=c.linear,
        table_weights=c.table,
        weights=weights / tp,
        gradients=u.gradients / tp,
        optimizer=u.optimizer / tp,
        paged=u.paged / tp,
        step_temporary=u.temporary / tp,
        root=f.root / tp,
        gathered=f.first / tp,
        gathered_last=f.last / tp,
        gathered_gradients=f.first_gradients * part / tp,
        late_gradients=f.last_gradients * part / tp,
        autocast_copy=2.0 * copied / tp if copies else 0.0,
        dequantised=d.profile.dequantised_bytes * c.largest / tp if d.quantised is not None else 0.0,
        largest_matrix=c.largest / tp,
        layer_gradients=(c.linear + c.rest) / max(1, m.layers) * d.trained * part / tp,
        root_gradients=c.table * d.trained * part / tp,
    )


def counts(s: Setup, d: Dtypes) -> Counts:
    m, p = s.model, d.profile
    inside = [x for x in m.linears if x.place in ("attention", "mlp", "expert")]
    linear = float(sum(x.parameters for x in inside))
    head = float(sum(x.parameters for x in m.linears if x.place == "head"))
    table = float(m.embedding_parameters) + head
    rest = max(0.0, m.parameters - linear - table)
    if p.untied_head and m.tied:
        head = float(m.hidden * m.vocab)
        table += head
    base = linear + table + rest
    if d.quantised is None:
        resident = (linear + rest) * d.weights + table * d.table
    elif p.quantised_head:
        resident = d.quantised * (linear + head) + d.weights * (table - head + rest)
    else:
        resident = d.quantised * linear + d.table * (table + rest)
    trainable, extra = base, 0.0
    if s.trainable_parameters is not None:
        trainable = float(s.trainable_parameters)
    elif d.adapters:
        trainable = float(adapter_parameters(m, s.lora_rank or 8, s.lora_targets, s.method == "dora"))
    if d.adapters:
        extra = trainable * d.trained
        saved = _saved(m, s.modules_to_save)
        trainable += saved
        extra += saved * d.weights
    elif s.reference_copy:
        extra = base * min(d.weights, 2.0)
    return Counts(
        linear=linear,
        head=head,
        table=table,
        rest=rest,
        largest=float(max((x.inputs * x.outputs for x in inside), default=0)),
        trainable=trainable,
        resident=resident,
        extra=extra,
    )


def update(s: Setup, d: Dtypes, c: Counts) -> Update:
    """What the optimizer holds on one card that does everything itself."""
    o = optimizer_name(s.optimizer, d.profile.optimizer)
    t, n = d.trained, c.trainable
    per = _BY_DTYPE[o] * t if o in _BY_DTYPE else _FIXED.get(o, 2 * t)
    if s.sharding in ZERO:
        # DeepSpeed trains an fp32 master copy whatever the module holds, and copies its gradient shard to fp32.
        moments = 8.0 if o in _ADAM else per * 2 if o in _BY_DTYPE else per
        gradients, optimizer = n * (2.0 if t == 2.0 else 4.0), n * (4.0 + moments)
        temporary = 4.0 * n if o in ("adamw", "adam") else 0.0
    else:
        gradients, optimizer = n * t, n * per
        temporary = n * t if o in _FOREACH and not old_stack(s) else 0.0
    if d.profile.flat_adapters and s.sharding in FSDP and d.adapters:
        gradients = d.weights * c.base
    return Update(gradients=gradients, optimizer=optimizer, paged=n * _PAGED.get(o, 0.0), temporary=temporary)


def shared(s: Setup, d: Dtypes, c: Counts, u: Update) -> Update:
    """The same after sharding, a step fused into the backward pass, and offload."""
    n = max(1, s.n_gpus)
    share = 1 if s.sharding in ("none", "ddp") else n
    gradients = u.gradients / (n if s.sharding in ("zero2", "zero3", *FSDP) else 1)
    optimizer, paged, temporary = u.optimizer / share, u.paged / share, u.temporary / share
    if s.optimizer_in_backward:
        gradients = c.largest * d.trained
        temporary = min(temporary, gradients)
    if (
        s.offload in ("optimizer", "params+optimizer")
        or optimizer_name(s.optimizer, d.profile.optimizer) == "cpu_adamw"
    ):
        optimizer = temporary = paged = 0.0
        if s.sharding in ("zero2", "zero3"):
            gradients = 0.0
    if s.offload in ("params", "params+optimizer"):
        gradients = optimizer = temporary = paged = 0.0
    return Update(gradients=gradients, optimizer=optimizer, paged=paged, temporary=temporary)


def in_flight(s: Setup, d: Dtypes, c: Counts) -> InFlight:
    """Gathered weights and gradients: FSDP by units, ZeRO-3 by live parameters, the others by buckets."""
    n, layers = max(1, s.n_gpus), max(1, s.model.layers)
    if s.sharding in FSDP:
        per = d.quantised if d.quantised is not None else min(d.weights, d.compute)
        one = (c.linear + c.rest) / layers
        root = c.table * min(d.table, d.compute) * d.profile.gathers_root
        if d.adapters:
            return InFlight(root=root, first=root + 2 * one * per, last=root + one * per)
        # first: one layer and the head; last: one layer and the root, whose own shard is not there yet
        return InFlight(
            root=root,
            first=root + 2 * one * per,
            last=root + one * per,
            first_gradients=d.compute * (one + c.table / 2),
            last_gradients=d.compute * (one + c.table) - d.trained * c.table / n,
        )
    if s.sharding == "zero3":
        per = d.quantised if d.quantised is not None else d.weights
        live = min(LIVE_PARAMETERS * 2, c.linear * per)
        held = live + max(c.head, c.table / 2) * min(d.table, d.compute) + 2 * min(BUCKET, c.trainable)
        gradients = 0.0 if d.adapters else d.compute * c.table
        return InFlight(root=held, first=held, last=held, first_gradients=gradients, last_gradients=gradients)
    if s.sharding in ZERO:
        # the bucket is allocated in full, however few parameters are trained; a second one while the first is sent
        bucket = 2 * BUCKET * (2 if n > 1 else 1)
        return InFlight(root=bucket, first=bucket, last=bucket)
    if s.sharding == "ddp" and n > 1:
        bucket = d.trained * c.trainable
        return InFlight(root=bucket, first=bucket, last=bucket)
    return InFlight()


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
