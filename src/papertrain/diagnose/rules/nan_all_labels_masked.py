"""No label carries loss: the mean over nothing is NaN."""

from papertrain.diagnose.rule import cause, fix
from papertrain.diagnose.rules import _nan as nan

RULE = cause(
    "TR623",
    "nan-all-labels-masked",
    "nan-overflow",
    branch="training",
    title="No label carries loss: the mean over nothing is NaN",
    share=nan.judge,
    sig=(*nan.MASKED, *nan.SDPA, *nan.BAD_DATA, *nan.MASKED),
    why="Every label is -100: the cutoff ends before the answer begins, or the template's marks were not found in the text.",
    next_check="papertrain check DATA --show 1   # trained tokens of a sample",
    fixes=(
        fix(
            "a cutoff beyond the prompt",
            sets={"sequence_length": "*2"},
            effect="experiment",
            proof="trained tokens above 0 in every sample",
        ),
        fix(
            "the template of the model's family",
            sets={"template": "<family's template>"},
            effect="experiment",
            proof="no 'tokenization mismatch' line",
        ),
    ),
    fires="WARNING: tokenization mismatch: 120 vs. 118. (ignored)\n{'loss': nan, 'learning_rate': 2e-05, 'epoch': 0.01}\n{'loss': nan, 'learning_rate': 2e-05, 'epoch': 0.02}",
    quiet="trained tokens: 211 of 512",
)
