"""The scheduler in the checkpoint has other settings than this run."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR608",
    "resume-lr-scheduler-mismatch",
    "resume",
    title="The scheduler in the checkpoint has other settings than this run",
    why="Megatron compares the schedule of the checkpoint with the command line and refuses a difference.",
    sig=(
        "AnnealingLR: class input value",
        "OptimizerParamScheduler: class input value",
        "class input value ~ class input value .* checkpoint value .* (do|does) not match",
    ),
    confidence=0.97,
    next_check="grep -nE 'lr|decay|warmup' of both commands",
    fixes=(
        fix(
            "say which one counts",
            "--use-checkpoint-opt_param-scheduler   # the checkpoint's;  --override-opt_param-scheduler: this command's",
            proof="the run continues",
        ),
    ),
    fires="AssertionError: OptimizerParamScheduler: class input value 0.0001 and checkpoint value 0.00015 for learning rate do not match",
    quiet="learning rate schedule restored",
)
