"""Another process holds most of this card's memory."""

from papertrain.diagnose.rule import cause, fix
from papertrain.diagnose.rules import _oom as oom

RULE = cause(
    "TR506",
    "gpu-memory-held-by-others",
    "memory-gpu",
    title="Another process holds most of this card's memory",
    why="The message counts little memory for this process, and yet nothing is free.",
    share=oom.judge,
    sig=oom.SIGNATURES,
    next_check="nvidia-smi --query-compute-apps=pid,name,used_memory --format=csv",
    fixes=(
        fix(
            "choose a free card, or end the process that holds this one",
            "nvidia-smi",
            env={"CUDA_VISIBLE_DEVICES": "<a free card>"},
            proof="free memory before the start equals the card's size",
        ),
    ),
    fires="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 23.69 GiB of which 101.12 MiB is free. Process 4711 has 20.10 GiB memory in use. Including non-PyTorch memory, this process has 3.40 GiB memory in use. Of the allocated memory 2.90 GiB is allocated by PyTorch, and 90.00 MiB is reserved by PyTorch but unallocated.",
    quiet="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.02 GiB is free. Including non-PyTorch memory, this process has 78.12 GiB memory in use. Of the allocated memory 76.90 GiB is allocated by PyTorch, and 312.45 MiB is reserved by PyTorch but unallocated.",
)
