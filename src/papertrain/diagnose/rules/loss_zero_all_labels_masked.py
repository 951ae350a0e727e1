"""Loss 0.0: no label carries loss."""

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix
from papertrain.diagnose.rules import _nan as nan


def judge(case: Case) -> Match | None:
    masked = case.find(*nan.MASKED)
    train = [r for r in case.rows if "loss" in r.values]
    if (
        len(train) >= 2
        and not case.rl
        and all(r.values["loss"] == 0 for r in train)
        and all(r.get("grad_norm") in (0, None) for r in train)
        and any(r.get("grad_norm") == 0 for r in train)
    ):
        return RULE.found(0.9 if masked else 0.7, [train[0].quote(), *masked[:1]])
    mismatched = case.find("tokenization mismatch")
    if not train and len(mismatched) >= 3:
        # The loss was not pasted: the warning itself says that the labels of these rows were thrown away.
        return RULE.found(0.62, mismatched[:3])
    return nan.judge(case, RULE)


RULE = cause(
    "TR624",
    "loss-zero-all-labels-masked",
    "nan-overflow",
    branch="training",
    title="Loss 0.0: no label carries loss",
    judge=judge,
    sig=(*nan.MASKED, *nan.SDPA, *nan.BAD_DATA, *nan.MASKED),
    why="Every label is -100 and the loss is a sum over nothing: the template's marks were not found, or the cutoff ends before the answer.",
    next_check="papertrain check DATA --show 1   # trained tokens of a sample",
    fixes=(
        fix(
            "the template of the model's family",
            sets={"template": "<family's template>"},
            effect="experiment",
            proof="no 'tokenization mismatch' line, loss above 0",
        ),
        fix(
            "a cutoff beyond the prompt",
            sets={"sequence_length": "*2"},
            effect="experiment",
            proof="trained tokens above 0 in every sample",
        ),
    ),
    fires="WARNING: tokenization mismatch: 77 vs. 79. (ignored)\n{'loss': 0.0, 'grad_norm': 0.0, 'learning_rate': 2e-05, 'epoch': 0.01}\n{'loss': 0.0, 'grad_norm': 0.0, 'learning_rate': 2e-05, 'epoch': 0.02}\n{'loss': 0.0, 'grad_norm': 0.0, 'learning_rate': 2e-05, 'epoch': 0.03}",
    quiet="{'loss': 0.4, 'grad_norm': 0.3, 'learning_rate': 2e-05, 'epoch': 0.01}",
)
