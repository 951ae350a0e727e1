"""What other programs say for the same run, each re-implemented from its own formulas; `bench/memory.py` prints them.

None knows adapters or quantised optimizers: all weights count as trained, as its user would read it off.
"""

from __future__ import annotations

from collections.abc import Callable

from papertrain.plan.memory_dtypes import BYTES, FSDP
from papertrain.plan.setup import Setup

Peer = Callable[[Setup], float]


def accelerate_adam(s: Setup) -> float:
    """`accelerate estimate-memory`, column "Training using Adam": four times the weights in their dtype."""
    return 4.0 * s.model.parameters * BYTES.get(s.weights_dtype or "bf16", 2.0)


def deepspeed_zero2_cold(s: Setup) -> float:
    """`estimate_zero2_model_states_mem_needs_all_cold`: 4 bytes and a share of 16; 2 with the optimizer on the host."""
    n = s.model.parameters
    return 2.0 * n if s.offload != "none" else 4.0 * n + 16.0 * n / s.n_gpus


def deepspeed_zero3_cold(s: Setup) -> float:
    """`estimate_zero3_model_states_mem_needs_all_cold`: the largest layer in fp32, and a share of 18 bytes."""
    largest = 4.0 * max([s.model.embedding_parameters, *(x.inputs * x.outputs for x in s.model.linears)])
    if s.offload == "params+optimizer":
        return largest
    return largest + (2.0 if s.offload == "optimizer" else 18.0) * s.model.parameters / s.n_gpus


def llm_analysis(s: Setup) -> float:
    """`LLMAnalysis.training` of llm-analysis 0.2.2, "(weight+op_state+grad+act)_memory_per_gpu" for a model that it reads
    from the hub: its MLP is two matrices of four times the width, its head is the embedding, its optimizer Adam with an
    fp32 master copy; activations after Korthikanti et al. (arXiv:2205.05198). FSDP is its ZeRO-3."""
    m = s.model
    stage = {"zero1": 1, "zero2": 2}.get(s.sharding, 3 if s.sharding in ("zero3", *FSDP) else 0)
    tensor = max(1, s.tensor_parallel)
    replicas = max(1, s.n_gpus // tensor)
    h, experts, routed = float(m.hidden), float(max(1, m.experts)), float(max(1, m.experts_per_token))
    layer = (
        2 * h * h + 2 * h * h * m.kv_heads / m.heads + 8 * h * h * experts + (h * experts if m.experts else 0) + 2 * h
    )
    n = (m.layers * layer + m.vocab * h + h) / tensor
    bits = (
        4
        if s.quantization not in (None, "none", "int8") or s.method == "qlora"
        else 8
        if s.quantization == "int8"
        else 16
    )
    held = BYTES.get(s.weights_dtype or "bf16", 2.0) if bits == 16 else bits / 8
    weights = (n - m.vocab * h / tensor) * held + m.vocab * h / tensor * 2.0
    states, gradients = 12.0 * n, 4.0 * n
    weights /= replicas if stage >= 3 else 1
    states /= replicas if stage >= 1 else 1
    gradients /= replicas if stage >= 2 else 1
    tokens = float(s.micro_batch_size * s.sequence_length)
    twice = 2 if s.micro_batch_size == 1 else 1  # at a batch of one it adds logits and last norm a second time
    logits = twice * m.vocab * tokens * 2.0 / tensor
    if s.gradient_checkpointing == "full":
        return weights + states + gradients + m.layers * tokens * h * 2.0 / tensor + logits
    scores = 0.0
    if s.gradient_checkpointing != "selective":
        flash = (2 * tokens * h + 4 * m.heads * tokens) * 2.0
        scores = 2.0 * m.heads * s.sequence_length * tokens * 2.0 if s.attention == "eager" else flash
    attention = (5 * tokens * h) * 2.0 + tokens * h + scores
    mlp = 2.0 * tokens * h * experts * routed + 4.0 * 4 * tokens * h * experts * routed
    norm = tokens * h * 4.0
    return (
        weights + states + gradients + m.layers * (attention + mlp + 2 * norm) / tensor + logits + twice * norm / tensor
    )


PEERS: dict[str, Peer] = {
    "accelerate 4x": accelerate_adam,
    "ZeRO-2 cold": deepspeed_zero2_cold,
    "ZeRO-3 cold": deepspeed_zero3_cold,
    "llm-analysis": llm_analysis,
}
