"""No gradient reaches the adapters: frozen inputs under reentrant checkpointing."""

from papertrain.core.findings import RuledOut
from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix


def judge(case: Case) -> Match | None:
    error = case.find("does not require grad and does not have a grad_fn", "element 0 of tensors does not require grad")
    warned = case.find("None of the inputs have requires_grad")
    if error:
        return RULE.found(
            0.95 if warned or case.facts.true("gradient_checkpointing") else 0.82, [*error[:1], *warned[:1]]
        )
    # A checkpoint written by hand (torch.autograd.grad over its inputs) says it so.
    if by_hand := case.find("One of the differentiated Tensors does not require grad"):
        return RULE.found(0.65, [*by_hand[:1], *warned[:1]])
    norms = list(case.values("grad_norm"))
    if warned and len(norms) >= 3 and max(norms) == 0:
        return RULE.found(
            0.88,
            [warned[0], case.series("grad_norm")[0][0].quote()],
            ruled_out=(RuledOut(cls="no-grad-warning-benign", because="the gradient norm is 0 in every row"),),
        )
    return None


RULE = cause(
    "TR597",
    "no-grad-checkpointing-peft",
    "not-learning",
    title="No gradient reaches the adapters: frozen inputs under reentrant checkpointing",
    branch="crash",
    judge=judge,
    sig=(
        "does not require grad and does not have a grad_fn",
        "element 0 of tensors does not require grad",
        "None of the inputs have requires_grad",
        "One of the differentiated Tensors does not require grad",
    ),
    why="Checkpointing cuts the graph where its input needs no gradient, and the embedding is frozen.",
    next_check="grep -n 'None of the inputs have requires_grad' train.log; and the printed 'trainable params'",
    fixes=(
        fix(
            "let the embedding's output carry gradients",
            "model.enable_input_require_grads()   # before get_peft_model",
            proof="grad_norm above 0 at the first step",
        ),
        fix(
            "the form of checkpointing that is not reentrant",
            "TrainingArguments(…, gradient_checkpointing_kwargs={'use_reentrant': False})",
            sets={"use_reentrant": False},
            proof="grad_norm above 0 at the first step",
        ),
    ),
    kinds=(
        (
            "(?:does not|doesn't|do not|don't|must|should) (?:have |be )?require[sd]?[_ ]grad|no grad_fn|has no (?:grad|gradient)\\b",
            "RuntimeError: cannot register a hook on a tensor that doesn't require gradient",
        ),
        (
            "only Tensors of floating point (?:and complex )?dtype can require gradients",
            "RuntimeError: only Tensors of floating point and complex dtype can require gradients",
        ),
    ),
    kind_confidence=0.45,
    fires="UserWarning: None of the inputs have requires_grad=True. Gradients will be None\nRuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
    quiet="UserWarning: None of the inputs have requires_grad=True. Gradients will be None\n{'loss': 1.9, 'grad_norm': 0.8, 'learning_rate': 1e-05, 'epoch': 0.1}",
)
