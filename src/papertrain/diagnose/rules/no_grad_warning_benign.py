"""A warning about inputs without gradient, in a run that learns."""

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause


def judge(case: Case) -> Match | None:
    warned = case.find("None of the inputs have requires_grad")
    norms = [r for r, v in case.series("grad_norm") if v > 0]
    if not warned or not norms or case.find("does not require grad"):
        return None
    return RULE.found(0.9, [warned[0], norms[0].quote()])


RULE = cause(
    "TR647",
    "no-grad-warning-benign",
    "benign",
    branch="training",
    level="note",
    benign=True,
    title="A warning about inputs without gradient, in a run that learns",
    judge=judge,
    sig=("None of the inputs have requires_grad",),
    why="A frozen part (a vision tower, an embedding) is checkpointed as well; the gradient norm is above zero.",
    fires="UserWarning: None of the inputs have requires_grad=True. Gradients will be None\n{'loss': 1.9, 'grad_norm': 0.8, 'learning_rate': 1e-05, 'epoch': 0.1}\n{'loss': 1.7, 'grad_norm': 0.7, 'learning_rate': 1e-05, 'epoch': 0.2}",
    quiet="UserWarning: None of the inputs have requires_grad=True. Gradients will be None\nRuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
)
