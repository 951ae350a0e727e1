"""The checkpoint to resume from is not there, or not complete."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR665",
    "resume-checkpoint-missing",
    "resume",
    title="The checkpoint to resume from is not there, or not complete",
    why="resume_from_checkpoint points to a folder without the Trainer's files, or is true while the output folder holds no checkpoint.",
    sig=(
        "Can't find a valid checkpoint",
        "Tried to find ~ Tried to find \\S+ but folder does not exist",
        "No such file or directory ~ No such file or directory: '[^']*checkpoint-\\d+/[^']*'",
        "No valid checkpoint found in output directory",
        "Can't find a checkpoint index",
    ),
    confidence=0.93,
    next_check="ls -d */checkpoint-* checkpoint-*",
    fixes=(
        fix(
            "name a checkpoint that exists",
            sets={"resume_from_checkpoint": "<checkpoint folder>"},
            proof="the log says Continuing training from",
        ),
        fix("or begin anew", sets={"resume_from_checkpoint": None}, proof="training starts at step 0"),
    ),
    kinds=(
        (
            "(?:checkpoint|ckpt|resume\\w*)\\b.{0,80}(?:not found|does(?: not|n't) exist|no such|cannot be found|is missing)|(?:can ?not|can't|couldn't|could not|unable to|failed to) (?:find|load|locate|open)(?: any| the| a)?.{0,30}(?:checkpoint|ckpt)|No such file or directory: '[^']*(?:ckpt|checkpoint)[^']*'",
            "RuntimeError: Unable to find any checkpoint in runs/base",
        ),
    ),
    fires="ValueError: Can't find a valid checkpoint at out/checkpoint-500",
    quiet="Resuming training from out/checkpoint-500",
)
