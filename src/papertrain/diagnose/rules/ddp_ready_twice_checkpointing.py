"""A parameter became ready twice: reentrant checkpointing under DDP."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR538",
    "ddp-ready-twice-checkpointing",
    "index-dtype-graph",
    title="A parameter became ready twice: reentrant checkpointing under DDP",
    why="Reentrant checkpointing runs the backward of a block on its own; with find_unused_parameters DDP counts its parameters twice.",
    sig=("Expected to mark a variable ready only once", "has been marked as ready twice"),
    confidence=0.96,
    next_check="grep -nE 'find_unused|use_reentrant|gradient_checkpointing' *.yaml *.py *.sh",
    fixes=(
        fix(
            "do not look for unused parameters",
            sets={"ddp_find_unused_parameters": False},
            proof="the first backward passes",
        ),
        fix(
            "the form of checkpointing that is not reentrant",
            "TrainingArguments(…, gradient_checkpointing_kwargs={'use_reentrant': False})",
            sets={"use_reentrant": False},
        ),
    ),
    fires="RuntimeError: Expected to mark a variable ready only once. This error is caused by one of the following reasons: 1) Use of a module parameter outside the `forward` function.",
    quiet="variables marked ready: 201",
)
