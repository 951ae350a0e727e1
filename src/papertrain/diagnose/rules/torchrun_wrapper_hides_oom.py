"""Only the launcher's summary is in this log: the cause is not."""

import re

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix


def judge(case: Case) -> Match | None:
    hits = case.find(
        "ChildFailedError",
        "Root Cause (first observed failure)",
        "CalledProcessError ~ CalledProcessError.*returned non-zero exit status",
        "error_file: <N/A>",
        "exitcode  : 1",
        "exits with return code = 1",
        "exitcode: 1",
    )
    if not hits or case.root is not None:
        return None
    if case.find("exitcode: -9", "exitcode  : -9", "SIGKILL", "exitcode: -7", "exitcode  : -7", "Signal 7"):
        return None
    if any(re.search(r"^(?:[\w.]+\.)?[A-Z]\w+Error\b", e.type) and not e.wrapper for e in case.exceptions):
        return None
    return RULE.found(0.8, hits[:2])


RULE = cause(
    "TR592",
    "torchrun-wrapper-hides-oom",
    "environment",
    last_resort=True,
    title="Only the launcher's summary is in this log: the cause is not",
    why="ChildFailedError says that a process died, never why; no exception stands above it.",
    judge=judge,
    sig=(
        "ChildFailedError",
        "Root Cause (first observed failure)",
        "CalledProcessError",
        "error_file: <N/A>",
        "exitcode  : 1",
        "exitcode: 1",
        "exits with return code = 1",
        "exitcode: -9",
        "exitcode  : -9",
        "SIGKILL",
        "exitcode: -7",
        "exitcode  : -7",
        "Signal 7",
    ),
    next_check="torchrun --tee 3 --log_dir logs …   # keeps each rank's own output; then: papertrain diagnose logs/",
    fixes=(
        fix(
            "keep every rank's output, and start once more",
            "torchrun --tee 3 --log_dir logs …",
            env={"TORCHELASTIC_ERROR_FILE": "error.json"},
            proof="logs/ holds the first failing rank's traceback",
        ),
    ),
    fires="torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n============================================================\ntrain.py FAILED\nRoot Cause (first observed failure):\n  rank      : 1 (local_rank: 1)\n  exitcode  : 1 (pid: 4711)\n  error_file: <N/A>",
    quiet="torchrun: all 4 processes finished",
)
