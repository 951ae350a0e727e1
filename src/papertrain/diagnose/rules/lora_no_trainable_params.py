"""Nothing is trainable: the adapters are frozen or inactive."""

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix


def judge(case: Case) -> Match | None:
    none = case.find(
        "trainable params: 0 ~ trainable params: 0(?![\\d,.])",
        "optimizer got an empty parameter list",
        "trainable%: 0.0 ~ trainable%: 0\\.0+(?!\\d)",
        "Trainable params: 0 ~ rainable params: 0(?![\\d,.])",
        "trainable parameters: 0 ~ trainable parameters: 0(?![\\d,.])",
    )
    norms = case.values("grad_norm")
    if none:
        return RULE.found(0.95, none[:2])
    losses = [v for _, v in case.curve]
    if (
        not case.rl
        and len(norms) >= 5
        and max(norms) == 0
        and losses
        and min(losses) > 0.97 * max(losses) > 0.02
        and not case.find("None of the inputs have requires_grad")
    ):
        return RULE.found(0.72, [case.series("grad_norm")[0][0].quote(), case.series("grad_norm")[-1][0].quote()])
    return None


RULE = cause(
    "TR599",
    "lora-no-trainable-params",
    "not-learning",
    title="Nothing is trainable: the adapters are frozen or inactive",
    branch="training",
    judge=judge,
    sig=(
        "trainable params: 0",
        "optimizer got an empty parameter list",
        "trainable%: 0.0",
        "Trainable params: 0",
        "trainable parameters: 0",
        "None of the inputs have requires_grad",
    ),
    why="A second preparation for k-bit training, an inactive adapter name, or loading with is_trainable=False froze them.",
    next_check="model.print_trainable_parameters()   # after the trainer is built",
    fixes=(
        fix(
            "load the adapter for training, prepare the model once",
            "PeftModel.from_pretrained(model, path, is_trainable=True)",
            proof="trainable params above 0 and grad_norm above 0",
        ),
        fix("versions in which it is fixed", "pip install -U peft trl"),
    ),
    kinds=(
        (
            "No inf checks were recorded",
            "AssertionError: No inf checks were recorded for this optimizer.",
        ),
        (
            "\\bno (?:\\w+ )?(?:trainable|learnable)\\b.{0,40}(?:param|weight|layer|pair)|no parameters? (?:to|that) (?:train|optimi[sz]e|require)|none of the (?:param\\w*|weights) (?:require|are trainable)",
            "ValueError: No trainable parameters found in the model",
        ),
    ),
    fires="trainable params: 0 || all params: 6,738,415,616 || trainable%: 0.0000",
    quiet="trainable params: 4,194,304 || all params: 6,742,609,920 || trainable%: 0.0622",
)
