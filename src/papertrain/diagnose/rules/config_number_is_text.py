"""A number of the config was read as text."""

import re

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, Remedy, cause, fix

SETTINGS = ("learning_rate", "weight_decay", "adam_epsilon", "max_grad_norm", "warmup_ratio", "lora_dropout", "adam_beta1", "adam_beta2", "lr", "min_lr", "eps")  # fmt: skip
_TEXT = re.compile(
    r"""(?m)^[ \t]*["']?([A-Za-z_]\w*)["']?\s*:\s*["']?([-+]?\d+(?:\.\d*)?[eE][-+]?\d+)["']?\s*,?\s*(?:#.*)?$"""
)


def judge(case: Case) -> Match | None:
    lines = case.find(*RULE.sig)
    if not lines:
        return None
    at = next((e for e in case.exceptions if (e.file, e.line) == (lines[0].file, lines[0].line)), None)
    frames = " ".join(at.frames) if at else ""
    numeric = re.search(
        r"optim|schedul|training_arguments|training_args|lr\b|weight_decay|TrainingArguments|__post_init__",
        frames + case.prose,
    )
    found = {k: float(v) for c in case.configs for k, v in _TEXT.findall(c.text) if k in SETTINGS or not numeric}
    if not numeric and not found:
        return None
    remedies: list[Remedy] = [
        fix(f"write {k} as {plain(v)}: YAML 1.1 takes 1e-3 without a point for text", sets={f"number:{k}": plain(v)}, proof="the optimizer is built")
        for k, v in list(found.items())[:3]
    ]  # fmt: skip
    general = fix(
        "write the number with a point and a sign: 3.0e-3, or 0.003",
        "learning_rate: 3.0e-3   # in YAML; float(args.learning_rate) in a script",
        proof="the optimizer is built",
    )
    return RULE.found(0.9 if numeric else 0.6, lines[:1], remedies=(*remedies, general))


def plain(value: float) -> str:
    return f"{value:.12f}".rstrip("0") if 1e-6 <= abs(value) < 1e6 else f"{value:.1e}"


RULE = cause(
    "TR669",
    "config-number-is-text",
    "environment",
    title="A number of the config was read as text",
    judge=judge,
    sig=(
        "not supported between instances of ~ '(?:<|<=|>|>=)' not supported between instances of '(?:float|int|str)' and '(?:str|float|int)'",
        "must be real number, not str",
        "can't multiply sequence by non-int of type 'float'",
        "unsupported operand type(s) for ~ unsupported operand type\\(s\\) for [*/+-]+=?: '(?:str|float|int)' and '(?:str|float|int)'",
    ),
    why="The YAML reader of most programs follows YAML 1.1, where `1e-3` is a word and only `1.0e-3` a number; quotes do the same anywhere.",
    next_check="python -c \"import yaml; print({k: type(v).__name__ for k, v in yaml.safe_load(open('train.yaml')).items()})\"",
    kinds=(
        (
            "(?<!argument )(?:must|should) be (?:an? )?(?:positive |non-negative )?(?:int|integer|float|number|bool|boolean|string|str|list|dict|tuple)\\b.{0,80}(?:got|not|but|received|found)|(?:got|received|found) (?:an? )?(?:<class )?'?(?:str|list|dict|NoneType|tuple)\\b|cannot be interpreted as an integer|invalid truth value|expected (?:an? )?(?:int|float|str|list|dict|bool)\\w*,? (?:but )?got",
            "ValueError: rope_scaling must be a dictionary, got list",
        ),
    ),
    kind_confidence=0.4,
    fires="  File \"torch/optim/adamw.py\", line 36, in __init__\n    if not 0.0 <= lr:\nTypeError: '<=' not supported between instances of 'float' and 'str'",
    quiet="learning_rate: 0.003 (float)",
)
