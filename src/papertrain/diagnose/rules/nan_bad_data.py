"""One batch holds something that is not finite."""

from papertrain.diagnose.rule import cause, fix
from papertrain.diagnose.rules import _nan as nan

RULE = cause(
    "TR635",
    "nan-bad-data",
    "nan-overflow",
    branch="training",
    title="One batch holds something that is not finite",
    share=nan.judge,
    sig=(*nan.MASKED, *nan.SDPA, *nan.BAD_DATA, *nan.BAD_DATA),
    why="The numbers were healthy and broke in one step: a value that is not finite, an empty label or a sequence of length zero in that batch.",
    next_check="papertrain check DATA; run the batch of that step alone on the CPU",
    fixes=(
        fix(
            "drop the rows with a value that is not finite",
            data="finite",
            effect="experiment",
            proof="the same step passes, and no value of the file is NaN or infinite",
        ),
        fix(
            "find the row of that step and drop or repair it (the data is yours: nothing is changed by itself)",
            "papertrain check DATA",
            effect="experiment",
            proof="the same step passes",
        ),
    ),
    fires="\n".join(
        f"{{'step': {i}, 'loss': {2 - 0.01 * i:.3f}, 'grad_norm': 1.1, 'learning_rate': 3e-05}}" for i in range(1, 30)
    )
    + "\nWARNING batch 30: input contains NaN\n{'step': 30, 'loss': nan, 'grad_norm': nan, 'learning_rate': 3e-05}\n{'step': 31, 'loss': nan, 'grad_norm': nan, 'learning_rate': 3e-05}",
    quiet="no NaN in 3 columns",
)
