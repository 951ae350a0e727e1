"""A checkpoint was written by another number of tensor- or pipeline-parallel ranks."""

import re

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix

_SIZES = re.compile(r"(\w*parallel_size) value from checkpoint \((\d+)\) is not equal to the input argument value \((\d+)\)")  # fmt: skip


def judge(case: Case) -> Match | None:
    hits = case.find(*RULE.sig)
    if not hits:
        return None
    m = _SIZES.search(hits[0].text)
    if m is None:
        return RULE.found(0.8, hits[:1])
    same = fix(
        f"the checkpoint's own {m[1]}",
        f"--{m[1].replace('_', '-')} {m[2]}",
        proof="the checkpoint is loaded",
    )
    return RULE.found(
        0.94,
        hits[:1],
        cause=f"{RULE.why} Here {m[1]} is {m[2]} in the checkpoint and {m[3]} in this start.",
        remedies=(same, *RULE.fixes),
    )


RULE = cause(
    "TR678",
    "checkpoint-parallel-size",
    "checkpoint-disk",
    title="The checkpoint was written by another number of parallel ranks",
    why="Each tensor- or pipeline-parallel rank keeps its piece of the weights: pieces for another number of ranks do not fit.",
    judge=judge,
    sig=("parallel_size value from checkpoint",),
    next_check="ls CHECKPOINT   # mp_rank_00 … : one folder per rank that wrote",
    fixes=(
        fix(
            "convert the checkpoint to the new number of ranks",
            "python tools/checkpoint/convert.py --model-type GPT --loader core --saver core --load-dir OLD --save-dir NEW --target-tensor-parallel-size <n>",
            proof="the checkpoint is loaded",
        ),
    ),
    kinds=(
        (
            "(?:world size|parallel(?:_| )size|dp size|tp size|number of (?:ranks|gpus|devices|processes|shards)).{0,120}(?:checkpoint|saved|current|load)|(?:checkpoint|saved).{0,80}(?:world size|parallel(?:_| )size|different number of)",
            "ZeRORuntimeException: The checkpoint being loaded used a DP world size of 8 but the current world size is 4. Automatic adjustment of ZeRO's optimizer state partitioning with a new world size is not currently supported.",
        ),
    ),
    fires="AssertionError: pipeline_model_parallel_size value from checkpoint (2) is not equal to the input argument value (4).",
    quiet="loaded checkpoint with tensor_model_parallel_size 2",
)
