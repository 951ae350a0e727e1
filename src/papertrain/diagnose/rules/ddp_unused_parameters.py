"""Some parameters take no part in the loss, and DDP waits for their gradients."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR537",
    "ddp-unused-parameters",
    "index-dtype-graph",
    title="Some parameters take no part in the loss, and DDP waits for their gradients",
    why="A branch, a frozen part or an unused head produced no gradient in this step.",
    sig=(
        "Expected to have finished reduction in the prior iteration",
        "parameters that were not used in producing the loss",
        "Parameter indices which did not receive grad",
    ),
    confidence=0.96,
    next_check="TORCH_DISTRIBUTED_DEBUG=DETAIL torchrun …   # names the parameters",
    fixes=(
        fix("let DDP look for them", sets={"ddp_find_unused_parameters": True}, proof="the second step passes"),
        fix("freeze or remove what is not used", "param.requires_grad_(False)", effect="experiment"),
    ),
    kinds=(
        (
            "find_unused_parameters|unused param|did not receive grad",
            "RuntimeError: set find_unused_parameters=True: some did not receive gradients",
        ),
    ),
    fires="RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that your module has parameters that were not used in producing loss.",
    quiet="DDP reducer: 24 buckets",
)
