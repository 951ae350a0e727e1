"""A GPU is asked for that the process cannot see."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR681",
    "gpu-index-not-there",
    "environment",
    title="A GPU is asked for that the process cannot see",
    why="More processes than visible GPUs, or an index counted on the machine where CUDA_VISIBLE_DEVICES counts anew from 0.",
    sig=(
        "invalid device ordinal",
        "AssertionError: Invalid device id",
        "CUDA_ERROR_INVALID_DEVICE",
        "Invalid device ordinal",
        "device < num_gpus",
    ),
    confidence=0.9,
    next_check="echo $CUDA_VISIBLE_DEVICES; nvidia-smi -L | wc -l",
    fixes=(
        fix(
            "as many processes as GPUs that are seen",
            "torchrun --nproc_per_node=$(python -c 'import torch; print(torch.cuda.device_count())') train.py …",
            proof="every rank takes a device",
        ),
        fix(
            "or make the GPUs visible that the ids name",
            "export CUDA_VISIBLE_DEVICES=0,1   # the ids in the script then count from 0",
            proof="torch.cuda.device_count() is larger than the largest id",
        ),
    ),
    fires="RuntimeError: CUDA error: invalid device ordinal",
    quiet="using device cuda:0 of 2",
)
