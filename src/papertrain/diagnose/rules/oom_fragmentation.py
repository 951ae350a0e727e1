"""The memory is there but in pieces: fragmentation."""

from papertrain.diagnose.rule import cause, fix
from papertrain.diagnose.rules import _oom as oom
from papertrain.diagnose.rules import _oom_fixes as mend

RULE = cause(
    "TR616",
    "oom-fragmentation",
    "memory-gpu",
    title="The memory is there but in pieces: fragmentation",
    why="More is reserved but unused than was asked for; the allocator has no piece large enough.",
    share=oom.judge,
    sig=(*oom.LITERALS, "allocator cache flushes"),
    next_check="python -c 'import torch; print(torch.cuda.memory_summary())'   # inactive split memory",
    fixes=(
        mend.SEGMENTS,
        mend.HALF,
        fix("similar lengths in one batch", sets={"group_by_length": True}, effect="experiment"),
    ),
    fires="RuntimeError: CUDA out of memory. Tried to allocate 1.20 GiB (GPU 0; 23.69 GiB total capacity; 15.01 GiB already allocated; 0.41 GiB free; 21.90 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.",
    quiet="reserved 21 GB, allocated 20.8 GB",
)
