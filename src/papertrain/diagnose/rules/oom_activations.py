"""Activations of one micro-batch do not fit beside the model."""

from msgspec.structs import replace

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause
from papertrain.diagnose.rules import _oom as oom
from papertrain.diagnose.rules import _oom_fixes as mend


def judge(case: Case) -> Match | None:
    found = oom.judge(case, RULE)
    line = oom.logits(case) if found else None
    if found is None or line is None:
        return found
    return replace(
        found,
        title="The logits (batch × length × vocabulary) do not fit beside the model",
        cause="The failing line works on the logits: their size grows with the vocabulary, and in fp32 they are kept twice. "
        + found.cause,
        evidence=(*found.evidence[:1], line, *found.evidence[1:]),
        remedies=(mend.FUSED_LOSS, mend.HALF, mend.SHORTER, mend.ZERO, mend.CHECKPOINTING),
    )


RULE = cause(
    "TR613",
    "oom-activations",
    "memory-gpu",
    title="Activations of one micro-batch do not fit beside the model",
    why="It fails in forward or backward: what grows with batch and length is too large.",
    judge=judge,
    sig=oom.LITERALS,
    next_check="once with per_device_train_batch_size 1: if it fits, activations were the reason",
    fixes=(mend.HALF, mend.CHECKPOINTING, mend.FUSED_LOSS, mend.ZERO, mend.SHORTER),
    kinds=(
        (
            "No executable batch size found",
            "RuntimeError: No executable batch size found, reached zero.",
        ),
        (
            "RESOURCE_EXHAUSTED|ran out of (?:GPU |device )?memory",
            "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8589934592 bytes.",
        ),
    ),
    fires='Traceback (most recent call last):\n  File "train.py", line 40, in <module>\n    loss = model(**batch).loss\n  File "transformers/models/llama/modeling_llama.py", line 822, in forward\n    logits = self.lm_head(hidden_states)\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 7.83 GiB. GPU 0 has a total capacity of 79.15 GiB of which 5.02 GiB is free. Including non-PyTorch memory, this process has 74.12 GiB memory in use. Of the allocated memory 73.30 GiB is allocated by PyTorch, and 211.45 MiB is reserved by PyTorch but unallocated.',
    quiet="activations: 12.1 GB, logits: 2.2 GB",
)
