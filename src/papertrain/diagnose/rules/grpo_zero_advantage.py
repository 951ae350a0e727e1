"""GRPO has no signal: every answer of a group gets the same reward."""

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix


def judge(case: Case) -> Match | None:
    rows = [r for r in case.rows if "reward_std" in r.values or "frac_reward_zero_std" in r.values]
    tail = rows[-20:]
    dead = [
        r
        for r in tail
        if (r.get("frac_reward_zero_std") == 1 or r.get("reward_std") == 0) and r.get("grad_norm") in (0, None)
    ]
    if not tail or len(dead) < 0.8 * len(tail):
        return None
    return RULE.found(0.93 if len(tail) >= 4 else 0.75, [dead[0].quote(), dead[-1].quote()])


RULE = cause(
    "TR644",
    "grpo-zero-advantage",
    "not-learning",
    branch="training",
    title="GRPO has no signal: every answer of a group gets the same reward",
    judge=judge,
    why="reward_std is 0 and so is the gradient: nothing can be learned from equal rewards.",
    next_check="print the rewards of one group",
    fixes=(
        fix(
            "a reward that tells answers apart, easier prompts, or a higher temperature",
            sets={"temperature": 1.0, "num_generations": "*2"},
            effect="experiment",
            proof="frac_reward_zero_std below 0.8, grad_norm above 0",
        ),
    ),
    fires="\n".join(
        f"{{'loss': 0.0, 'grad_norm': 0.0, 'learning_rate': 1e-06, 'reward': 0.0, 'reward_std': 0.0, 'frac_reward_zero_std': 1.0, 'kl': 0.0, 'epoch': {i / 100}}}"
        for i in range(1, 12)
    ),
    quiet="\n".join(
        f"{{'loss': 0.0, 'grad_norm': 0.2, 'learning_rate': 1e-06, 'reward': 0.3, 'reward_std': 0.2, 'kl': 0.01, 'epoch': {i / 100}}}"
        for i in range(1, 12)
    ),
)
