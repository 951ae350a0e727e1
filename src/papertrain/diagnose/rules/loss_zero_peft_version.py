"""Loss 0.0 with quantised LoRA: a fault of the installed peft."""

from msgspec import structs

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix
from papertrain.diagnose.rules import _nan as nan


def judge(case: Case) -> Match | None:
    found = nan.judge(case, RULE)
    version = case.facts.version("peft")
    if found is None or version is None or version >= (0, 6):
        return found
    return structs.replace(found, confidence=max(found.confidence, 0.8))


RULE = cause(
    "TR634",
    "loss-zero-peft-version",
    "nan-overflow",
    branch="training",
    title="Loss 0.0 with quantised LoRA: a fault of the installed peft",
    judge=judge,
    sig=(*nan.MASKED, *nan.SDPA, *nan.BAD_DATA),
    why="Some versions build adapters of the wrong dtype over quantised weights.",
    next_check="pip show peft bitsandbytes | grep -E 'Name|Version'",
    fixes=(fix("a current peft", "pip install -U peft bitsandbytes", proof="loss above 0 from the first row"),),
    fires="load_in_4bit: true\nbf16: true\npeft version: 0.3.0\n{'loss': 0.0, 'learning_rate': 0.0003, 'epoch': 0.01}\n{'loss': 0.0, 'learning_rate': 0.0003, 'epoch': 0.02}\n{'loss': 0.0, 'learning_rate': 0.0003, 'epoch': 0.03}",
    quiet="peft version: 0.18.1",
)
