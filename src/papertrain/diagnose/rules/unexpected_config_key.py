"""The framework does not know a key of the config."""

import re

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, Remedy, by_signature, cause, fix
from papertrain.diagnose.rules import _keys as keys
from papertrain.diagnose.rules.transformers_arg_rename import RENAMED

_REFUSED = re.compile(r"(\w*(?:Arguments|Config))\.?(?:__init__\(\))? got an unexpected keyword argument '(\w+)'")
_LISTED = re.compile(r"not used by the HfArgumentParser: \[(.*?)\]")
_UNKNOWN = re.compile(r"unrecognized arguments: (.*)")
PROGRAMS = ("transformers", "llamafactory", "trl")


def judge(case: Case) -> Match | None:
    """With the nearest valid name of each refused one, where a framework on record has it."""
    for line in case.find("unexpected keyword argument"):
        m = _REFUSED.search(line.text)
        if m and m[2] not in RENAMED and (near := keys.meant(m[2], *PROGRAMS)):
            return RULE.found(0.9, [line], cause=RULE.why + f" Here `{m[2]}` is refused; `{near}` exists.", remedies=remedies([(m[2], near)]))  # fmt: skip
    found = by_signature(RULE, case)
    if found is None:
        return None
    names: list[str] = []
    for line in found.evidence:
        if m := _LISTED.search(line.text):
            names += re.findall(r"'(?:--)?(\w+)", m[1])
        elif m := _UNKNOWN.search(line.text):
            names += re.findall(r"--(\w+)", m[1])
    pairs = [(n, near) for n in dict.fromkeys(names) if n not in RENAMED and (near := keys.meant(n, *PROGRAMS))]
    return found if not pairs else RULE.found(found.confidence, found.evidence, remedies=remedies(pairs))


def remedies(pairs: list[tuple[str, str]]) -> tuple[Remedy, ...]:
    change = fix(
        "; ".join(f"write {new} instead of {old}" for old, new in pairs[:3]),
        sets={f"rename:{old}": new for old, new in pairs[:3]},
        proof="the config is accepted",
    )
    return (change, *RULE.fixes)


RULE = cause(
    "TR554",
    "unexpected-config-key",
    "environment",
    title="The framework does not know a key of the config",
    judge=judge,
    why="A typing error, or a key of another version or another framework.",
    sig=(
        "Some keys are not used by the HfArgumentParser",
        "Extra inputs are not permitted",
        "Some specified arguments are not used by the HfArgumentParser",
        "unrecognized arguments:",
    ),
    more=("unexpected keyword argument ~ $^",),
    confidence=0.9,
    next_check="papertrain check CONFIG   # names the nearest valid key",
    fixes=(fix("the valid name", "papertrain check CONFIG --fix", proof="papertrain check CONFIG finds nothing"),),
    fires="ValueError: Some keys are not used by the HfArgumentParser: ['lora_rankk']",
    quiet="all keys used",
)
