"""Ranks stand in different collectives: one of them has no batch left."""

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix
from papertrain.diagnose.rules import _hang as hangs


def judge(case: Case) -> Match | None:
    hang = hangs.timeout(case)
    if hang is None or (not hang.rows and not hang.differ):
        return None
    if not hang.rows and hang.differ:
        return RULE.found(0.55, [hang.line, *hang.lines[1:3]], cause=RULE.why + hang.suspects())
    return RULE.found(
        0.88 if hang.differ else 0.66,
        [hang.line, *hang.lines[1:3]],
        cause=RULE.why + hang.suspects(),
        ruled_out=hang.against("nccl-timeout-preprocessing", "steps had been logged before"),
    )


RULE = cause(
    "TR521",
    "nccl-timeout-uneven-data",
    "nccl-hang",
    title="Ranks stand in different collectives: one of them has no batch left",
    why="In mid-run a rank skipped or finished a step that the others still wait for: uneven numbers of batches, or a branch that only some ranks take.",
    judge=judge,
    sig=hangs.WATCHDOG,
    next_check="TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1 torchrun …   # the flight recorder names each rank's last collective",
    fixes=(
        fix(
            "the same number of batches on every rank",
            "DataLoader(…, drop_last=True)   # or: with model.join(): …",
            sets={"dataloader_drop_last": True},
            proof="every rank prints the same last step",
        ),
        fix("steps instead of epochs for streamed data", sets={"max_steps": "<steps>"}, effect="experiment"),
    ),
    kinds=(
        (
            "store.based barrier|monitoredBarrier|barrier.{0,60}timed? ?out|wait(?:ing)? timeout after",
            "RuntimeError: Timed out initializing process group in store based barrier on rank: 1, for key: store_based_barrier_key:1 (world_size=2, worker_count=4, timeout=0:30:00)",
        ),
    ),
    fires="{'loss': 1.31, 'grad_norm': 0.8, 'learning_rate': 1e-05, 'epoch': 0.98}\n{'loss': 1.29, 'grad_norm': 0.8, 'learning_rate': 1e-05, 'epoch': 0.99}\n[rank2]:[E ProcessGroupNCCL.cpp:563] [Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=40121, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, Timeout(ms)=1800000) ran for 1800511 milliseconds before timing out.\n[rank0]:[E ProcessGroupNCCL.cpp:563] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=40119, OpType=ALLGATHER, NumelIn=1, NumelOut=4, Timeout(ms)=1800000) ran for 1800398 milliseconds before timing out.",
    quiet="{'loss': 1.31, 'grad_norm': 0.8, 'learning_rate': 1e-05, 'epoch': 0.98}",
)
