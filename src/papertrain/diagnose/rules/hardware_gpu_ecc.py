"""The card reports an uncorrectable memory error."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR527",
    "hardware-gpu-ecc",
    "hardware",
    title="The card reports an uncorrectable memory error",
    why="ECC found a fault that it cannot repair; every further result from this card is in doubt.",
    sig=(
        "uncorrectable ECC",
        "Uncorrectable ECC",
        "double bit ECC",
        "cudaErrorECCUncorrectable",
        "ECC page retirement",
    ),
    confidence=0.97,
    early=True,
    next_check="nvidia-smi -q -d ECC,ROW_REMAPPER",
    fixes=(
        fix(
            "drain the node, reset or replace the card, restart from the last checkpoint before it",
            "scontrol update nodename=<node> state=drain reason=ecc",
            "nvidia-smi --gpu-reset -i <card>",
            proof="dcgmi diag -r 3 passes on that card",
        ),
    ),
    fires="RuntimeError: CUDA error: uncorrectable ECC error encountered",
    quiet="ECC mode: enabled, 0 errors",
)
