"""Another process holds most of this card's memory."""

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix
from papertrain.diagnose.rules import _oom as oom
from papertrain.diagnose.rules import _oom_fixes as mend
from papertrain.diagnose.rules._oom_message import SIGNATURES

ENGINE = (
    "No available memory for the cache blocks",
    "is less than desired GPU memory utilization",
    "larger than the available KV cache memory",
)


def judge(case: Case) -> Match | None:
    """By the numbers of the message; or an engine (vLLM) that finds too little room beside the trainer."""
    if (found := oom.judge(case, RULE)) is not None or not (told := case.find(*ENGINE)):
        return found
    return RULE.found(
        0.82,
        told[:2],
        title="The generation engine (vLLM) finds too little memory for its cache",
        cause="Its share of the card (gpu_memory_utilization) has to hold weights, activations and the cache; what a trainer on the same card holds is taken from it.",
        remedies=(
            fix(
                "an engine alone on its card: a larger share; beside a trainer: a smaller model length, or a card of its own",
                "gpu_memory_utilization: 0.9   # alone on the card; vllm_mode server on other cards for a trainer",
                "max_model_len: <prompt + completion, no more>",
                proof="the engine logs the number of its cache blocks, above 0",
            ),
            mend.ENGINE,
            *RULE.fixes,
        ),
    )


RULE = cause(
    "TR506",
    "gpu-memory-held-by-others",
    "memory-gpu",
    title="Another process holds most of this card's memory",
    why="The message counts little memory for this process, and yet nothing is free.",
    judge=judge,
    sig=(*SIGNATURES, *ENGINE),
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
