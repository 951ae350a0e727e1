"""Too many open files."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR588",
    "too-many-open-files",
    "environment",
    title="Too many open files",
    why="Each tensor handed over by a worker keeps a descriptor open; the limit of the shell is reached.",
    sig=("Too many open files", "received 0 items of ancdata", "Errno 24", "OSError: [Errno 24]"),
    confidence=0.96,
    next_check="ulimit -n",
    fixes=(
        fix(
            "hand tensors over through the file system",
            "torch.multiprocessing.set_sharing_strategy('file_system')",
            proof="an epoch passes",
        ),
        fix("a higher limit", "ulimit -n 65535"),
    ),
    fires="OSError: [Errno 24] Too many open files: '/tmp/pymp-1l9k'",
    quiet="open files: 214 of 65535",
)
