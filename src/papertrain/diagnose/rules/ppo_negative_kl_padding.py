"""KL is negative: what was sampled is not what is scored."""

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix


def judge(case: Case) -> Match | None:
    warned = case.find("KL divergence is starting to become negative")
    low = [(r, v) for n in ("objective/kl", "kl", "ppo/mean_kl") for r, v in case.series(n) if v < -0.5]
    if not warned and len(low) < 3:
        return None
    return RULE.found(0.9 if warned else 0.7, [*warned[:1], *(r.quote() for r, _ in low[:2])])


RULE = cause(
    "TR604",
    "ppo-negative-kl-padding",
    "not-learning",
    title="KL is negative: what was sampled is not what is scored",
    branch="training",
    why="Different padding side, sampling parameters or masks between generating and scoring.",
    judge=judge,
    sig=("KL divergence is starting to become negative",),
    next_check="print tokens and log-probabilities of one sample from both paths",
    fixes=(
        fix(
            "same padding side and plain sampling while generating",
            "tokenizer.padding_side = 'left'; generation_kwargs = {'top_k': 0, 'top_p': 1.0, 'temperature': 1.0, 'min_length': -1}",
            effect="experiment",
            proof="objective/kl starts near 0 and stays above it",
        ),
    ),
    fires="UserWarning: KL divergence is starting to become negative: -3.41 - this might be a precursor for failed training. sometimes this happens because the generation kwargs are not correctly set.",
    quiet="{'objective/kl': 0.4, 'loss/policy_avg': 0.01}",
)
