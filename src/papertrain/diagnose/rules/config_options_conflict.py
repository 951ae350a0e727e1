"""Two settings that exclude each other are both on."""

import re

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix

_NAMES = re.compile(
    r"`?--?([a-z][a-z0-9_]{2,40})`?|`([a-z][a-z0-9_]{2,40})`|\b([a-z]+[0-9]+)\b|'([a-z][a-z0-9_]{2,40})'"
)

_AT_LEAST = re.compile(r"([a-z_.]+) \(\d+\) must be >= ([a-z_.]+) \((\d+)\)")


def judge(case: Case) -> Match | None:
    lines = case.find(*RULE.sig)
    if not lines:
        return None
    if "fp16" in lines[0].text and "bf16" in lines[0].text:
        return RULE.found(
            0.93,
            lines[:1],
            remedies=(fix("bf16 alone (cards before Ampere: fp16 alone)", sets={"fp16": False}, effect="experiment", proof="the arguments are accepted"),),
        )  # fmt: skip
    if m := _AT_LEAST.search(lines[0].text):
        return RULE.found(
            0.86,
            lines[:1],
            cause="One number must be at least as large as the other; the message names both.",
            remedies=(fix(f"{m[1]} of at least {m[3]}, or {m[2]} of at most that", "papertrain check CONFIG", effect="experiment", proof="the arguments are accepted"),),
        )  # fmt: skip
    names = list(dict.fromkeys(next(g for g in m.groups() if g) for m in _NAMES.finditer(lines[0].text)))[:2]
    told = f"take {names[0]} or {names[1]} out" if len(names) == 2 else "take one of the two out"
    return RULE.found(
        0.86, lines[:1], remedies=(fix(told, "papertrain check CONFIG", proof="the arguments are accepted"),)
    )


RULE = cause(
    "TR668",
    "config-options-conflict",
    "environment",
    title="Two settings that exclude each other are both on",
    judge=judge,
    sig=(
        "At most one of fp16 and bf16 can be True",
        "mutually exclusive",
        "cannot be used together",
        "can't be used together",
        "cannot both be ~ (?i)cannot both be (set|true|specified|enabled|given)",
        "not allowed with argument",
        "cannot specify both",
        "You cannot use both",
        "must be >= ~ [a-z_.]+ \\(\\d+\\) must be >= [a-z_.]+ \\(\\d+\\)",
        "are not compatible with each other",
    ),
    why="The library refuses the pair before anything is trained; the message names both.",
    next_check="papertrain check CONFIG",
    kinds=(
        (
            "(?:not|in)compatible with|incompatible|cannot (?:both )?be (?:combined|used|set|enabled|passed|specified|configured)|can't (?:both )?be (?:combined|used|set|enabled|passed|specified|loaded)|can not be both|can't pass|not allowed (?:if|when|with)|not both|only one of|at the same time|simultaneously|together with|not (?:supported|possible|allowed|implemented|work\\w*) (?:with|for|when|in|together|if|on|yet)|(?:does not|doesn't|do not|don't) (?:work|support) (?:with|for|in)|is(?:n't| not) supported yet|are not supported|[Cc]onflicting|deactivate one",
            "ValueError: Using --fsdp xxx together with --deepspeed is not possible, deactivate one of those flags.",
        ),
    ),
    kind_confidence=0.42,
    fires="ValueError: At most one of fp16 and bf16 can be True, but not both",
    quiet="bf16: true, fp16: false",
)
