"""Ranks are out of step with each other."""

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix
from papertrain.diagnose.rules import _hang as hangs


def judge(case: Case) -> Match | None:
    named = case.find(
        "Detected mismatch between collectives on ranks",
        "Mismatched collective",
        "CollectiveFingerPrint",
        "collective type mismatch",
        "Not all ranks joined collective",
    )
    stacks = hangs.minority(case)
    if stacks is not None:
        return RULE.found(0.8, stacks.evidence, cause=RULE.why + f" Here {stacks.says}.")
    if not named:
        return stuck(case)
    return RULE.found(0.86, named[:3])


def stuck(case: Case) -> Match | None:
    """In the middle of the run every rank waits in the same collective: one that did not print has not come, or the network."""
    hang = hangs.timeout(case)
    if hang is None or hang.differ or not 100 < hang.first_seq < 10**9:
        return None
    told = " Here all ranks that speak wait in the same collective: look for the rank that is silent, and for network errors of that minute."
    return RULE.found(0.45, [hang.line, *hang.lines[1:2]], cause=RULE.why + told)


RULE = cause(
    "TR524",
    "hang-out-of-sync-large-scale",
    "nccl-hang",
    title="Ranks are out of step with each other",
    why="The stacks or the flight recorder show ranks in different collectives; the minority is the suspect.",
    judge=judge,
    sig=(
        "Detected mismatch between collectives on ranks",
        "Mismatched collective",
        "CollectiveFingerPrint",
        "collective type mismatch",
        "Not all ranks joined collective",
        "MainThread",
        *hangs.STACK_WORDS,
        *hangs.WATCHDOG,
    ),
    next_check="py-spy dump --pid <pid>   # on every rank; the one that differs is the suspect",
    fixes=(
        fix(
            "make launches synchronous to find the rank",
            env={"CUDA_LAUNCH_BLOCKING": "1", "TORCH_NCCL_TRACE_BUFFER_SIZE": "2000"},
            proof="all ranks pass the step",
        ),
    ),
    fires="Detected mismatch between collectives on ranks. Rank 3 is running collective: CollectiveFingerPrint(SequenceNumber=812, OpType=ALLREDUCE, TensorShape=[4096]), but Rank 0 is running collective: CollectiveFingerPrint(SequenceNumber=812, OpType=ALLGATHER).",
    quiet="all ranks reached step 812",
)
