"""Out of memory after many good steps: one batch was larger than the others."""

from papertrain.diagnose.rule import cause, fix
from papertrain.diagnose.rules import _oom as oom
from papertrain.diagnose.rules import _oom_fixes as mend

RULE = cause(
    "TR617",
    "oom-long-sequence-outlier",
    "memory-gpu",
    title="Out of memory after many good steps: one batch was larger than the others",
    why="Memory follows the longest sequence of a batch; an outlier (or a slow leak) ends a run that had been fitting.",
    share=oom.judge,
    sig=oom.LITERALS,
    next_check="papertrain check DATA   # the longest example; then run the longest batch first",
    fixes=(
        mend.HALF,
        mend.CHECKPOINTING,
        mend.SEGMENTS,
        fix(
            "drop or cut what is longer than the 99th percentile",
            sets={"sequence_length": "<p99>"},
            effect="experiment",
            proof="the longest batch passes as the first one",
        ),
    ),
    fires="\n".join(
        f"{{'loss': {1.5 - i / 100:.3f}, 'grad_norm': 0.9, 'learning_rate': 2e-05, 'epoch': {i / 100}}}"
        for i in range(60)
    )
    + '\nTraceback (most recent call last):\n  File "train.py", line 41, in <module>\n    loss.backward()\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.10 GiB. GPU 0 has a total capacity of 79.15 GiB of which 2.02 GiB is free. Of the allocated memory 75.90 GiB is allocated by PyTorch, and 612.45 MiB is reserved by PyTorch but unallocated.',
    quiet="longest sequence: 2048 tokens",
)
