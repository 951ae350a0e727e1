"""What mends an out of memory, each once: the rules of the group name them in their order of trying.

Changes of the execution come first in every answer, whatever the order here (see `answer.fixes`).
"""

from papertrain.diagnose.rule import fix

HALF = fix(
    "half the micro-batch, twice the accumulation: the same global batch",
    sets={"micro_batch_size": "/2", "gradient_accumulation_steps": "*2"},
    proof="papertrain estimate: the peak of the changed setup against the card",
)
CHECKPOINTING = fix(
    "gradient checkpointing: recompute activations instead of keeping them",
    sets={"gradient_checkpointing": True},
    proof="the first backward passes; steps take about a third longer",
)
ZERO = fix(
    "DeepSpeed ZeRO: spread optimizer, gradients and (stage 3) weights over the cards",
    sets={"zero_stage": "+1"},
    proof="papertrain estimate with the next stage",
)
OFFLOAD = fix(
    "optimizer states in host memory",
    sets={"offload_optimizer": "cpu"},
    proof="free -g shows room for 12 bytes per parameter",
)
ENGINE = fix(
    "leave the generation engine (vLLM) less of the card",
    "GRPOConfig(…, vllm_gpu_memory_utilization=0.3)   # ms-swift: --vllm_gpu_memory_utilization 0.3; verl: rollout.gpu_memory_utilization",
    sets={"vllm_gpu_memory_utilization": 0.3},
    proof="the engine starts, and the first training step fits beside it",
)
SEGMENTS = fix(
    "an allocator that does not fragment",
    env={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
    proof="reserved but unallocated stays below the request",
)
EIGHT_BIT = fix(
    "8-bit optimizer states",
    sets={"optimizer": "adamw_8bit"},
    effect="experiment",
    proof="optimizer states fall to a quarter",
)
SHORTER = fix(
    "shorter sequences",
    sets={"sequence_length": "/2"},
    effect="experiment",
    proof="papertrain check DATA counts what is cut",
)
LORA = fix(
    "LoRA instead of full fine-tuning",
    sets={"method": "lora"},
    effect="experiment",
    proof="papertrain plan … --method lora",
)
FUSED_LOSS = fix(
    "a loss that does not keep all logits",
    sets={"enable_liger_kernel": True},
    proof="the request of batch × length × vocabulary is gone",
)
