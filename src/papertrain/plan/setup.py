"""One way to run a training: what `plan.memory.predict` and `plan.time.duration` are functions of.

    memory = predict(setup)                      # plan.memory  -> core.training.Memory
    fits(memory)                                 # plan.memory  -> "yes" | "tight" | "no" | "unknown"
    duration(setup, total_steps=…, gradient_accumulation_steps=…)   # plan.time -> core.training.Duration

A field that is None was not stated: the framework's profile (`facts/profiles`) says what it then is.
"""

from __future__ import annotations

from typing import Literal

from papertrain.core.models import Gpu, ModelSpec
from papertrain.core.values import Value

Fits = Literal["yes", "tight", "no", "unknown"]
Quantization = Literal["none", "nf4", "nf4-double", "fp4", "gptq4", "awq4", "int8"]
Checkpointing = Literal["none", "full", "selective"]
Attention = Literal["eager", "sdpa", "flash"]
Loss = Literal["full_logits", "fused_ce", "fused_linear_ce", "chunked_ce", "chunked_linear_ce"]
Sharding = Literal["none", "ddp", "zero1", "zero2", "zero3", "fsdp1", "fsdp2"]
Offload = Literal["none", "optimizer", "params", "params+optimizer", "activations"]


class Setup(Value, frozen=True, kw_only=True):
    """Everything that moves the memory or the speed of one run. Words as in `../data/README.md`.

    framework: who runs the loop, in any words (`llamafactory`, `trl (hf-trainer)`, `litgpt`); None = not known.
    method: full, lora, rslora, dora, qlora, freeze.
    weights_dtype, trainable_dtype, autocast: fp32, bf16, fp16 (autocast also `none`).
    upcast: norms, embeddings and head of a quantised base raised to fp32.
    micro_batch_size: sequences per device. sequence_length: tokens of the longest padded one.
    trainable_parameters: overrides what method and targets give (freeze, tuners that are not LoRA).
    reference_copy: a second frozen copy of the weights on the card (DPO without adapters).
    sequences_per_example: 2 for preference pairs.
    network_bytes_per_second: between nodes, per device, one direction; link_bytes_per_second: inside the node.
    """

    model: ModelSpec
    gpu: Gpu | None = None
    n_gpus: int = 1
    n_nodes: int = 1
    framework: str | None = None
    method: str = "full"
    quantization: Quantization | None = None
    weights_dtype: str | None = None
    trainable_dtype: str | None = None
    autocast: str | None = None
    upcast: bool | None = None
    lora_rank: int | None = None
    lora_targets: tuple[str, ...] | str | None = None
    lora_dropout: float | None = None
    modules_to_save: tuple[str, ...] = ()
    optimizer: str | None = None
    optimizer_in_backward: bool = False
    micro_batch_size: int = 1
    sequence_length: int = 2048
    gradient_checkpointing: Checkpointing | None = None
    attention: Attention | None = None
    loss: Loss | None = None
    compiled: bool = False
    float8: bool = False
    sharding: Sharding = "none"
    offload: Offload = "none"
    context_parallel: int = 1
    tensor_parallel: int = 1
    gradient_accumulation_steps: int | None = None
    trainable_parameters: int | None = None
    reference_copy: bool = False
    sequences_per_example: int = 1
    link_bytes_per_second: float | None = None
    network_bytes_per_second: float | None = None
