"""ZeRO-3 fetched parameters that the forward pass then did not use in the order it had recorded."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR673",
    "zero3-params-inflight",
    "deepspeed-parallel",
    title="Under ZeRO-3 the modules do not run in the order that was recorded",
    why="Stage 3 fetches weights ahead, in the order of an earlier pass. A branch that depends on the data, a module of experts, or a pass without gradients between two with them breaks that order.",
    sig=(
        "still have inflight params",
        "param.ds_status == ZeroParamStatus.AVAILABLE",
        "not param.ds_active_sub_modules",
        "'status': 'INFLIGHT' ~ (?:AssertionError|RuntimeError).*'status': 'INFLIGHT'",
        "'status': 'NOT_AVAILABLE' ~ AssertionError.*'status': 'NOT_AVAILABLE'",
        "already in registry ~ ds_shape.*already in registry",
    ),
    confidence=0.88,
    next_check="the same run under ZeRO-2: if it passes, the order of modules was the reason",
    fixes=(
        fix(
            "modules whose inside depends on the data (experts, adapters of a branch) fetched as one",
            "deepspeed.utils.set_z3_leaf_modules(model, [<class of the experts>])",
            proof="the step at which it stopped passes",
        ),
        fix("ZeRO-2, where the weights fit", sets={"zero_stage": 2}, proof="the step at which it stopped passes"),
        fix(
            "every batch full: rows that the global batch divides, the last short batch dropped",
            sets={"dataloader_drop_last": True},
            proof="the end of the epoch passes",
        ),
        fix("a newer DeepSpeed: several such orders were mended", "pip install -U deepspeed"),
    ),
    fires="RuntimeError: still have inflight params [{'id': 11, 'status': 'AVAILABLE', 'numel': 4096, 'ds_numel': 4096}]",
    quiet="stage3: all parameters available",
)
