"""A guard in accelerate refuses RTX 4000 cards without two variables."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR515",
    "nccl-p2p-rtx40-guard",
    "nccl-hang",
    title="A guard in accelerate refuses RTX 4000 cards without two variables",
    why="This is not NCCL failing: accelerate stops because these cards have no peer-to-peer path.",
    sig=("Using RTX 4000 series doesn't support faster communication", "Using RTX 3090 or 4000 series"),
    confidence=0.97,
    next_check="accelerate env",
    fixes=(
        fix(
            "set the two variables (accelerate launch does it by itself)",
            env={"NCCL_P2P_DISABLE": "1", "NCCL_IB_DISABLE": "1"},
            proof="the run starts",
        ),
    ),
    fires='NotImplementedError: Using RTX 4000 series doesn\'t support faster communication broadband via P2P or IB. Please set `NCCL_P2P_DISABLE="1"` and `NCCL_IB_DISABLE="1"` or use `accelerate launch` which will do this automatically.',
    quiet="4 x RTX 4090 found",
)
