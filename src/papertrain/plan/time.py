"""How long a step takes: floating-point work, memory traffic, launches, communication, the optimizer.

    seconds per micro-batch = largest of (compute, launches, communication) with a residue of the others
    seconds per step        = micro-batch × accumulation + gradients over the link + optimizer

The coefficients are fitted on published runs (bench/speed.py, one group left out at a time); everything else is counted.
"""

from __future__ import annotations

from papertrain.core.training import Duration
from papertrain.core.values import Estimate, Value
from papertrain.plan.memory import Recipe, cached
from papertrain.plan.memory_state import State, optimizer_name
from papertrain.plan.setup import Setup
from papertrain.plan.time_processor import duration_on_processor


class Speed(Value, frozen=True, kw_only=True):
    """What the hardware and the software reach. Shares of the dense peak, multiples, seconds."""

    matmul: float = 0.998
    """Share of MATMUL that the matmuls of wide models reach."""
    width: float = 616.0
    """Hidden size at which half of it is lost."""
    rows: float = 281.0
    """Tokens of a micro-batch at which half of it is lost."""
    attention: float = 0.435
    """Share of ATTENTION."""
    eager_attention: float = 0.659
    traffic: float = 4.77
    """How often a layer's kept bytes cross memory in forward and backward, unfused."""
    fused_traffic: float = 0.573
    """The same, relative, when kernels are fused or compiled."""
    logits: float = 3.38
    launch: float = 0.00295
    """Seconds per layer and micro-batch on the host, eager, with recompute."""
    launch_adapters: float = 1.35
    launch_fused: float = 0.618
    adapters: float = 1.13
    nf4: float = 0.00877
    """Seconds per 10^9 quantised parameters and micro-batch."""
    gptq: float = 0.0312
    overlap: float = 0.914
    """Share of the shorter one of compute and communication that stays visible."""
    link: float = 0.279
    """Share of the nominal link that collectives reach inside a node, over NVLink and its like."""
    pcie: float = 0.396
    """The same over PCIe."""
    network: float = 0.272
    """The same between nodes."""
    model_parallel: float = 1.48
    """Bubbles and all-reduces of a model that is cut because it cannot lie on one card."""
    optimizer: float = 1.83
    """Over the bytes that an optimizer step must move."""
    offload_adam: float = 2990000000.0
    """Parameters per second of the optimizer on the host."""


SPEED = Speed()

# Share of the dense peak that a large bf16 (V100, T4: fp16) matmul reaches, measured on the cards themselves with
# PyTorch (community tables; rules.md section 13). A card without a measurement is taken to reach 0.85.
MATMUL = {
    "a100": 0.85, "a800": 0.85, "h100": 0.80, "h800": 0.80, "h200": 0.80, "gh200": 0.84, "h20": 0.96, "b200": 0.76, "gb200": 0.73,
    "mi300x": 0.51, "mi325x": 0.60, "rtx-3080-ti": 1.0, "rtx-3090": 1.07, "rtx-4090": 0.98, "rtx-5090": 1.10, "v100": 0.71,
    "rtx-2080-ti": 0.83, "rtx-6000-ada": 0.60, "l40s": 0.62, "l40": 0.62,
}  # fmt: skip
# Share of the dense peak that flash attention (2) reaches forward and backward together, by compute capability: its
# published figures for A100, H100 and 4090; cards without tensor-core flash kernels fall back to memory-efficient ones.
ATTENTION = {"7": 0.25, "8.0": 0.60, "8": 0.75, "9": 0.38, "10": 0.25, "12": 0.6}
NETWORK = {"7": 3e9, "8": 25e9, "9": 50e9, "10": 50e9}
"""Bytes per second per device between nodes where none is stated: what nodes of that generation are sold with."""
PCIE = 20e9  # bytes per second that host and device exchange over PCIe 4 x16 in one direction
SPREAD = (1.35, 1.35)
UNKNOWN_SPREAD = 1.6


class Work(Value, frozen=True, kw_only=True):
    """Counts per token and per micro-batch; nothing here depends on the device."""

    flops: float
    attention_flops: float
    traffic: float
    logits_traffic: float
    layers: float
    adapters: bool
    fused: bool
    dequantised: float
    gptq: bool
    gathered_bytes: float
    reduced_bytes: float
    step_bytes: float
    offloaded: float
    update_bytes: float


def work(r: Recipe) -> Work:
    """What one token costs, forward, backward and recompute."""
    s, d, st, m = r.setup, r.dtypes, r.state, r.setup.model
    active = float(sum(x.active_parameters for x in m.linears))
    if m.kind in ("encoder", "vision"):
        active = float(sum(x.active_parameters for x in m.linears if x.place in ("attention", "mlp", "expert")))
    head = float(sum(x.active * x.inputs * x.outputs for x in m.linears if x.place == "head")) if active else 0.0
    body = active - head if m.kind not in ("encoder", "vision") else active
    checkpointing = s.gradient_checkpointing or d.profile.checkpointing
    passes = 2.0 if d.adapters else 3.0
    again = 1.0 if checkpointing == "full" else 0.35 if checkpointing == "selective" else 0.0
    width = float(m.heads * m.head_dim) * m.layers
    causal = 2.0 if m.kind == "causal" else 4.0
    tp = max(1, s.tensor_parallel)
    fused = s.compiled or s.loss in (*d.profile.fused_norms_with, "chunked_ce") or d.profile.norms == "fused"
    traffic = r.layer.kept * m.layers
    n = max(1, s.n_gpus)
    linear = st.linear_weights * (
        d.quantised if d.quantised is not None else min(2.0, d.weights) if d.compute == 2.0 else d.weights
    )
    everything = linear + st.table_weights * min(d.table, d.compute)
    gathered = reduced = 0.0
    t_bytes = st.trainable * min(d.compute, 2.0 if d.compute == 2.0 else 4.0)
    if s.sharding in ("zero3", "fsdp1", "fsdp2") and n > 1:
        gathered = 2.0 * everything
        reduced = t_bytes
    elif s.sharding in ("zero2",) and n > 1:
        reduced = t_bytes
    o = optimizer_name(s.optimizer, d.profile.optimizer)
    # foreach kernels cross memory about 20 times per element, a fused one 7 times
    state_bytes = 4.0 if d.engine in ("deepspeed", "fsdp") and not d.adapters else d.trained
    update = 8.0 if "8bit" in o or "4bit" in o else 7.0 * state_bytes if "fused" in o else 20.0 * state_bytes
    step_link = (
        2.0 * t_bytes
        if s.sharding in ("ddp", "zero1") and n > 1
        else t_bytes
        if s.sharding == "zero2" and n > 1
        else 0.0
    )
    return Work(
        flops=2.0 * (body * (passes + again) + head * passes) / tp, attention_flops=causal * width * (3.0 + again) / tp,
        traffic=traffic * (1.0 + 0.3 * again) / tp, logits_traffic=r.loss.per_token, layers=float(m.layers) * (1.0 + 0.35 * again),
        adapters=d.adapters, fused=fused, dequantised=st.linear_weights * (2.0 + again) / 3.0 if d.quantised is not None else 0.0,
        gptq=str(s.quantization).startswith(("gptq", "awq")), gathered_bytes=gathered, reduced_bytes=reduced, step_bytes=step_link,
        offloaded=st.trainable / n if s.offload in ("optimizer", "params+optimizer") else 0.0, update_bytes=update,
    )  # fmt: skip


class Pace(Value, frozen=True, kw_only=True):
    """The work of a recipe on its device, in seconds; what is left to do per case is a dozen operations."""

    per_token: float
    rows: float
    per_token_position: float
    moved: float
    moved_position: float
    fixed: float
    stretch: float
    launches: float
    link: float
    overlap: float
    step: float
    window: float
    scale: float


def pace(r: Recipe, w: Work, k: Speed = SPEED) -> Pace | None:
    """Work over rates; None where the device, its peak or its bandwidth is not on record."""
    s, d, st = r.setup, r.dtypes, r.state
    gpu = s.gpu
    peak = _peak(s, d.compute)
    if gpu is None or not gpu.memory_bytes_per_second or not peak:
        return None
    band = gpu.memory_bytes_per_second
    major = (gpu.compute_capability or "8").split(".")[0]
    attention = k.eager_attention if s.attention == "eager" else k.attention * d.profile.attention_speed
    attention *= ATTENTION.get(gpu.compute_capability or "", ATTENTION.get(major, 0.3)) * peak
    reach = 0.92 if d.compute == 4.0 else next((x for name, x in MATMUL.items() if gpu.id.startswith(name)), 0.85)
    # a small matmul is bound by memory: the more so, the more work a card could do per byte (an A100: 153)
    balance = peak / band / 153.0
    wide = s.model.hidden / (s.model.hidden + k.width * balance)
    crossings = k.traffic * (k.fused_traffic if w.fused else 1.0) / band
    launches = w.layers / max(1, s.tensor_parallel // 4) * k.launch
    rate = _rate(s, k)
    n = max(1, s.n_gpus)
    share = (n - 1) / n
    link = (w.gathered_bytes + w.reduced_bytes) * share / rate
    if s.offload in ("params", "params+optimizer"):
        link += 2.0 * st.linear_weights * (d.quantised or d.weights) / n / PCIE
    step = w.step_bytes * share / rate
    if w.offloaded:
        step += w.offloaded / k.offload_adam * max(1, n // max(1, s.n_nodes)) / 8.0 + w.offloaded * 6.0 / PCIE
    else:
        sharded = n if s.sharding not in ("none", "ddp") else 1
        step += st.trainable / sharded * w.update_bytes * k.optimizer / band
    return Pace(
        per_token=w.flops / (peak * reach * wide * k.matmul), rows=k.rows * balance, per_token_position=w.attention_flops / attention,
        moved=crossings * w.traffic + k.logits * w.logits_traffic / band, moved_position=crossings * r.layer.kept_per_position * s.model.layers / max(1, s.tensor_parallel),
        fixed=w.dequantised / 1e9 * (k.gptq if w.gptq else k.nf4), stretch=(k.adapters if w.adapters and not w.fused else 1.0) * (k.model_parallel if cut(s, st) else 1.0),
        launches=launches * (k.launch_fused if w.fused else 1.0) * (k.launch_adapters if w.adapters else 1.0), link=link,
        overlap=k.overlap, step=step, window=float(2 * s.model.sliding_window) if s.model.sliding_window else 1e18,
        scale=s.sequences_per_example / max(1, s.context_parallel),
    )  # fmt: skip


def micro_batch(p: Pace, batch: int, length: float) -> float:
    """Seconds of one micro-batch, forward and backward."""
    tokens = batch * length * p.scale
    span = length if length < p.window else p.window
    compute = (tokens + p.rows) * p.per_token + tokens * (span * (p.per_token_position + p.moved_position) + p.moved)
    compute = compute * p.stretch + p.fixed
    busy = float((compute**3 + p.launches**3) ** (1 / 3))
    return busy + p.overlap * p.link if busy > p.link else p.link + p.overlap * busy


def _peak(s: Setup, compute: float) -> float | None:
    gpu = s.gpu
    if gpu is None:
        return None
    if compute == 4.0:
        if gpu.peak_fp32_flops is None:
            return None
        tf32 = s.weights_dtype is not None and "tf32" in s.weights_dtype and gpu.peak_bf16_dense_flops
        return gpu.peak_bf16_dense_flops / 2 if tf32 and gpu.peak_bf16_dense_flops else gpu.peak_fp32_flops
    return gpu.peak_bf16_dense_flops or gpu.peak_fp16_dense_flops


def _rate(s: Setup, k: Speed) -> float:
    """Bytes per second of the slowest link that the collectives of this run cross."""
    gpu = s.gpu
    inside = s.link_bytes_per_second or (gpu.link_bytes_per_second if gpu is not None else None) or 16e9
    if gpu is not None and not gpu.peer_to_peer:
        inside = min(inside, 20e9)  # through host memory
    inside *= k.link if inside > 100e9 else k.pcie
    if s.n_nodes > 1:
        # all devices of a node share its network; a ring crosses it once per node
        per_node = max(1, s.n_gpus // s.n_nodes)
        major = ((gpu.compute_capability if gpu is not None else None) or "8").split(".")[0]
        network = s.network_bytes_per_second or NETWORK.get(major, 12.5e9)
        return min(inside, network * per_node * k.network)
    return inside


def cut(s: Setup, st: State) -> bool:
    """Whether weights and gradients are too many for one card, so that the model itself must be divided."""
    whole = s.sharding in ("none", "ddp", "zero1", "zero2") and s.offload == "none"
    return s.tensor_parallel > 1 or (whole and s.gpu is not None and st.weights + st.gradients > s.gpu.memory_bytes)


_paces: dict[int, tuple[Recipe, Pace | None]] = {}


def pace_of(r: Recipe) -> Pace | None:
    """The pace of a recipe, worked out once."""
    found = _paces.get(id(r))
    if found is None or found[0] is not r:
        if len(_paces) > 20_000:
            _paces.clear()
        found = _paces[id(r)] = (r, pace(r, work(r)))
    return found[1]


def spread(r: Recipe) -> tuple[float, float]:
    """The 90 % range, as factors down and up."""
    known = r.dtypes.profile.known and r.setup.model.exact
    down, up = SPREAD if known else (UNKNOWN_SPREAD, UNKNOWN_SPREAD)
    return down, up


def tokens_per_second(r: Recipe, p: Pace, batch: int, length: int, accumulation: int = 1) -> float:
    """Per GPU, the optimizer's step included."""
    tokens = batch * r.setup.sequences_per_example * length * accumulation
    seconds = micro_batch(p, batch, length) * accumulation + p.step
    return tokens / seconds / max(1, r.setup.context_parallel * r.setup.tensor_parallel)


def duration(
    s: Setup,
    *,
    total_steps: int | None,
    gradient_accumulation_steps: int,
    evaluations: int = 0,
    saves: int = 0,
    tokens_per_sequence: float | None = None,
) -> Duration:
    """Seconds of a step and of the run. `evaluations` counts forward passes over micro-batches; `saves` checkpoints.

    tokens_per_sequence: mean padded length of the sequences where it is below `sequence_length`.
    """
    r = cached(s)
    length = int(tokens_per_sequence or s.sequence_length) or 1
    if s.gpu is not None and s.gpu.id == "cpu":
        w = work(r)
        return duration_on_processor(
            w.flops + w.attention_flops * length, tokens=s.micro_batch_size * s.sequences_per_example * length,
            accumulation=gradient_accumulation_steps, total_steps=total_steps, evaluations=evaluations,
        )  # fmt: skip
    p = pace_of(r)
    if p is None:
        why = "no device" if s.gpu is None else f"no peak or memory bandwidth on record for {s.gpu.id}"
        gap = Estimate(value=None, unknown=f"{why}: the speed cannot be said", ask="--gpu", unit="s")
        return Duration(step_seconds=gap, total_seconds=gap, tokens_per_second_per_gpu=gap, basis="")
    one = micro_batch(p, s.micro_batch_size, length)
    down, up = spread(r)
    step = one * gradient_accumulation_steps + p.step
    tokens = (
        s.micro_batch_size
        * s.sequences_per_example
        * length
        * gradient_accumulation_steps
        / max(1, s.context_parallel * s.tensor_parallel)
    )
    speed = tokens / step

    def around(x: float, unit: str) -> Estimate:
        return Estimate(value=x, low=x / down, high=x * up, unit=unit)

    total = Estimate(value=None, unknown="the number of steps is not known", ask="--data", unit="s")
    if total_steps is not None:
        saved = r.state.trainable * 12.0 / 1.0e9
        total = around(step * total_steps + evaluations * one / 3.0 + saves * saved, "s")
    basis = "compute, memory traffic, launches, link and optimizer of one step; coefficients fitted on published runs"
    return Duration(
        step_seconds=around(step, "s"),
        total_seconds=total,
        tokens_per_second_per_gpu=around(speed, "tokens/s"),
        basis=basis,
    )
