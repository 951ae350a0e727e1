"""A data loader's worker was killed for lack of host memory."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR507",
    "dataloader-worker-killed-ram",
    "memory-host-shm",
    title="A data loader's worker was killed for lack of host memory",
    why="Signal 9 (Killed) is the kernel's out-of-memory killer: every worker holds its own copy of the data set's Python objects.",
    sig=(
        "is killed by signal: Killed",
        "exited unexpectedly with exit code -9",
        "DataLoader worker ~ DataLoader worker \\(pid[^)]*\\) (is killed by signal: Killed|exited unexpectedly)",
    ),
    confidence=0.88,
    never=("is killed by signal: Bus error", "is killed by signal: Segmentation fault"),
    unlike=(("dataloader-shm", "the signal is Killed, not Bus error"),),
    next_check="dmesg -T | grep -i 'out of memory'   # names the process the kernel killed",
    fixes=(
        fix("fewer workers", sets={"dataloader_num_workers": 0}, proof="free -g shows headroom while it trains"),
        fix(
            "keep the samples in Arrow or numpy, not in Python lists",
            "datasets.load_dataset(…)   # memory-mapped",
            proof="memory per worker stays flat",
        ),
    ),
    fires="RuntimeError: DataLoader worker (pid 31337) is killed by signal: Killed.",
    quiet="DataLoader worker 3 started",
)
