"""A weight is a ZeRO-3 placeholder where a matrix is needed."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR548",
    "zero3-weight-must-be-2d",
    "deepspeed-parallel",
    title="A weight is a ZeRO-3 placeholder where a matrix is needed",
    why="A second model (reference, teacher, reward) or a frozen part is not managed by ZeRO, or the saved file holds placeholders.",
    sig=(
        "size of tensor a (0) ~ size of tensor a \\(0\\) must match the size of tensor b",
        "'weight' must be 2-D",
        "weight must be 2-D",
        "mat2 must be a matrix, got 1-D tensor",
        "tensor([], device='cuda",
    ),
    confidence=0.92,
    next_check="grep -n '\"stage\"' ds*.json",
    fixes=(
        fix("ZeRO-2 for this run", sets={"zero_stage": 2}, proof="the first forward passes"),
        fix(
            "give the second model to DeepSpeed too",
            "deepspeed.initialize(model=ref_model, config=…)   # or: with deepspeed.zero.GatheredParameters(…)",
        ),
        fix("save with the trainer, which gathers", "trainer.save_model(output_dir)"),
    ),
    fires="RuntimeError: 'weight' must be 2-D",
    quiet="weight matrices: 224, all 2-D",
)
