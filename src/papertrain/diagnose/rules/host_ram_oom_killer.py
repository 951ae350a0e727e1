"""The kernel (or the cgroup) killed the process: host memory ran out."""

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix

REMEDIES = (
    fix(
        "less in host memory: fewer loader workers, no offload of parameters, weights loaded once",
        sets={"dataloader_num_workers": 0, "preprocessing_num_workers": 1, "low_cpu_mem_usage": True},
        proof="free -g keeps some GB during the phase in which it died",
    ),
    fix(
        "ask for more host memory (RAM)",
        "sbatch --mem=<more> job.sh   # or docker run --memory …",
        proof="sacct MaxRSS stays below ReqMem",
    ),
    fix(
        "ZeRO without offload, where the cards allow it",
        sets={"offload_optimizer": "none", "offload_param": "none"},
        proof="papertrain estimate: host memory",
    ),
)

EVALUATED = fix(
    "keep what the metric needs, not the logits",
    "Trainer(…, preprocess_logits_for_metrics=lambda logits, labels: logits.argmax(-1))",
    proof="memory stays flat during evaluation",
)


def judge(case: Case) -> Match | None:
    kernel = case.find(
        "Out of memory: Killed process",
        "oom-kill",
        "error code -9",
        "oom_kill",
        "Out Of Memory",
        "Memory cgroup out of memory",
        "OOMKilled",
        "Exceeded job memory limit",
        "oom-killer",
        "running low on memory ~ (?i)(?:killed|node).{0,60}running low on memory",
        "memory usage threshold",
        "MemoryError ~ (?:^|[^\\w.])MemoryError\\b",
        "DefaultCPUAllocator: can't allocate memory",
        "DefaultCPUAllocator: not enough memory",
        "Unable to allocate ~ Unable to allocate [\\d.]+ [KMGT]iB",
        "Cannot allocate memory",
        "std::bad_alloc",
        "CUDA error: out of memory ~ cudaHostAlloc|pin_memory",
        "内存不足 ~ ^(?!.*(?:显存|CUDA|GPU|显卡)).*内存不足",
        "内存耗尽",
        "无法分配内存",
    )
    nine = case.find(
        "exitcode: -9",
        "exitcode  : -9",
        "exit code -9",
        "exitcode -9",
        "SIGKILL",
        "Signal 9",
        "return code = -9",
        "exit code 137",
        "exitcode: 137",
        "died with <Signals.SIGKILL",
        'Killed ~ (?:^|[:\\d] |\\]\\s?)Killed\\s*(?:$|python|")',
        "已杀死",
        "被杀死",
        "被杀掉",
        "被系统杀",
    )
    if not kernel and not nine:
        return None
    # Ray lists what may have killed a worker, memory first; where nothing of the worker's own stands above it, that is it.
    supposed = not kernel and case.find("killed by SIGKILL by OOM killer")
    if case.find("is killed by signal: Killed") or (
        case.root is not None and not kernel and case.root.line < nine[0].line and not case.root.follows
    ):
        return None
    person = case.find("scancel", "CANCELLED by", "KeyboardInterrupt", "DUE TO TIME LIMIT", "DUE TO PREEMPTION")
    confidence = 0.95 if kernel else 0.5 if person else 0.7 if supposed else 0.82
    loading = case.find("Loading checkpoint shards", "offload", "Running tokenizer", "Map: ", "stage3_prefetch")
    where = " The last thing that ran was loading, preprocessing or offloading." if loading else ""
    evaluated = case.find("pad_and_concatenate", "in nested_concat")
    remedies = (EVALUATED, *REMEDIES) if evaluated else REMEDIES
    return RULE.found(
        confidence, [*(kernel[:2] or ()), *nine[:2], *loading[-1:]], cause=RULE.why + where, remedies=remedies
    )


RULE = cause(
    "TR593",
    "host-ram-oom-killer",
    "memory-host-shm",
    title="The kernel (or the cgroup) killed the process: host memory ran out",
    judge=judge,
    sig=(
        "Out of memory: Killed process",
        "oom-kill",
        "oom_kill",
        "Out Of Memory",
        "Memory cgroup out of memory",
        "OOMKilled",
        "Exceeded job memory limit",
        "oom-killer",
        "running low on memory",
        "memory usage threshold",
        "killed by SIGKILL by OOM killer",
        "MemoryError",
        "DefaultCPUAllocator: can't allocate memory",
        "DefaultCPUAllocator: not enough memory",
        "Unable to allocate",
        "Cannot allocate memory",
        "std::bad_alloc",
        "CUDA error: out of memory",
        "exitcode: -9",
        "exitcode  : -9",
        "exit code -9",
        "exitcode -9",
        "SIGKILL",
        "Signal 9",
        "return code = -9",
        "exit code 137",
        "exitcode: 137",
        "died with <Signals.SIGKILL",
        "Killed",
        "已杀死",
        "被杀死",
        "被杀掉",
        "被系统杀",
        "内存不足",
        "内存耗尽",
        "无法分配内存",
        "is killed by signal: Killed",
        "scancel",
        "CANCELLED by",
        "KeyboardInterrupt",
        "DUE TO TIME LIMIT",
        "DUE TO PREEMPTION",
        "Loading checkpoint shards",
        "offload",
        "Running tokenizer",
        "Map: ",
        "stage3_prefetch",
        "pad_and_concatenate",
        "in nested_concat",
    ),
    why="Signal 9 without a traceback, nothing in the log from the program itself: while loading, preprocessing or offloading, host memory is the usual limit.",
    next_check="dmesg -T | grep -i 'killed process'; sacct -j <job> --format=JobID,MaxRSS,ReqMem   # a line there: memory; none: somebody's kill",
    kinds=(
        (
            "paging file is too small|not enough memory: you tried to allocate|Unable to allocate [\\d.]+ [KMGT]?i?B|Cannot allocate memory",
            "OSError: [WinError 1455] The paging file is too small for this operation to complete",
        ),
        (
            "subprocess(?:es)? has abruptly died|process pool was terminated abruptly|worker (?:process )?died unexpectedly|checkpoint process died",
            "RuntimeError: One of the subprocesses has abruptly died during map operation.To debug the error, disable multiprocessing.",
        ),
    ),
    fires="[2026-01-02 10:00:00,123] torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: -9) local_rank: 0 (pid: 771) of binary: /usr/bin/python",
    quiet="killed 3 stale processes before the start, exitcode: 0",
)
