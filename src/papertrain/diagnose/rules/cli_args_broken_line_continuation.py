"""The command ended early: a line does not end in a backslash."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR570",
    "cli-args-broken-line-continuation",
    "data-template",
    title="The command ended early: a line does not end in a backslash",
    why="A slash, a missing backslash or a blank after it cuts the command; the rest is run as commands of its own or is never seen.",
    sig=(
        "command not found ~ --\\w+: command not found",
        "No such file or directory ~ --\\w+: No such file or directory",
        "the following arguments are required ~ the following arguments are required",
        "HfArgumentParser: ['/",
        "unrecognized arguments: / ",
        "unrecognized arguments: \\",
    ),
    confidence=0.9,
    early=True,
    next_check="cat -A run.sh | grep -nE '(/|\\\\ +|[^\\\\])\\$$'   # lines that should end in \\ and do not",
    fixes=(
        fix(
            "a backslash, and nothing after it, at the end of every line but the last",
            "papertrain check run.sh",
            proof="bash -n run.sh; the run prints all its arguments",
        ),
    ),
    fires="run.sh: line 7: --dataset: command not found\nValueError: Cannot find valid samples",
    quiet="bash run.sh --dataset alpaca",
)
