"""This card has no bf16."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR591",
    "bf16-unsupported-gpu",
    "nan-overflow",
    title="This card has no bf16",
    branch="crash",
    why="Cards before Ampere (V100, T4, P100, RTX 20) have none, whatever the versions in the message say; on a machine without a GPU use_cpu is missing.",
    sig=(
        "Your setup doesn't support bf16",
        "bf16 mixed precision requires PyTorch",
        "--tf32 requires Ampere",
        "bf16 requires Ampere",
        "Bfloat16 is only supported on GPUs with compute capability",
        "Current device does not support bfloat16",
        "Device does not support bfloat16",
        "does not support bf ~ (?i)(?:device|gpu|card)s? does not support bf(?:loat)?16",
        "Your device doesn't support bf16",
        "bfloat16 is not supported on",
    ),
    confidence=0.96,
    early=True,
    next_check="nvidia-smi --query-gpu=name,compute_cap --format=csv   # 8.0 and above has bf16",
    fixes=(
        fix(
            "fp16 in the training arguments and in the DeepSpeed file",
            sets={"bf16": False, "fp16": True, "tf32": False},
            effect="experiment",
            proof="the run starts; watch the loss scale",
        ),
        fix("without a GPU: say so", sets={"use_cpu": True}),
    ),
    kinds=(
        (
            "CUBLAS_STATUS_NOT_SUPPORTED|(?:bf16|bfloat16).{0,80}(?:not supported|not support|require|only).{0,60}(?:GPU|device|compute|capability|hardware)?|Type bf16 is not supported",
            "ValueError: Type bf16 is not supported.",
        ),
        (
            "fp16.{0,120}can only be used on CUDA",
            "ValueError: FP16 Mixed precision training with AMP or APEX (`--fp16`) and FP16 half precision evaluation (`--fp16_full_eval`) can only be used on CUDA devices.",
        ),
    ),
    kind_confidence=0.48,
    fires="ValueError: Your setup doesn't support bf16/gpu. You need torch>=1.10, using Ampere GPU with cuda>=11.0",
    quiet="bf16 on NVIDIA A100",
)
