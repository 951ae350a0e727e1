"""CUDA was used in a forked process."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR586",
    "cuda-forked-subprocess",
    "environment",
    title="CUDA was used in a forked process",
    why="The parent had already initialised CUDA when the worker was forked.",
    sig=("Cannot re-initialize CUDA in forked subprocess", "CUDA error: initialization error ~ fork"),
    confidence=0.97,
    next_check="grep -nE 'num_proc|fork|set_start_method' *.py",
    fixes=(
        fix(
            "start workers with spawn",
            "torch.multiprocessing.set_start_method('spawn', force=True)   # or DataLoader(…, multiprocessing_context='spawn')",
            proof="the first batch arrives",
        ),
        fix("no worker processes", sets={"dataloader_num_workers": 0}),
    ),
    fires="RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method",
    quiet="start method: spawn",
)
