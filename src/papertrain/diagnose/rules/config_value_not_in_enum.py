"""A setting has a value that the library does not know."""

import re

from papertrain.core.errors import nearest
from papertrain.diagnose.case import Case
from papertrain.diagnose.facts import flat
from papertrain.diagnose.rule import Match, by_signature, cause, fix

_GIVEN = (
    re.compile(r"ValueError: '?([\w.-]+)'? is not a valid"),
    re.compile(r"(?i)(?:unknown|invalid|unsupported|unrecognized)[^'\"]{0,60}['\"]([\w.-]+)['\"]"),
    re.compile(r"invalid choice: '([\w.-]+)'"),
    re.compile(r"(?i)\bgot:? ['\"]?([\w.-]+)['\"]?"),
    re.compile(r"input_value='([\w.-]+)'"),
)
_LIST = re.compile(r"[\[({]((?:['\"][\w.-]+['\"](?:, | or )?){2,})[\])}]")


def judge(case: Case) -> Match | None:
    """With the value that was probably meant, where the message lists the valid ones."""
    found = by_signature(RULE, case)
    if found is None:
        return None
    text = found.evidence[0].text
    full = next((e.message for e in case.exceptions if (e.file, e.line) == found.at), "") or text
    given = next(
        (
            m[1]
            for p in _GIVEN
            if (m := p.search("ValueError: " + full if "is not a valid" in full and "Error" not in full else full))
        ),
        "",
    )
    valid = re.findall(r"['\"]([\w.-]+)['\"]", m[1]) if (m := _LIST.search(full)) else []
    near = nearest(given, valid, 0.6) if given else None
    if near is None:
        return found
    keys = [
        ".".join(path) for c in case.configs if isinstance(c.value, dict) for path, v in flat(c.value) if v == given
    ]
    sets = dict.fromkeys(keys, near)
    remedy = fix(
        f"write {near} instead of {given}",
        *(() if sets else (f"{near}   # one of: {', '.join(valid[:12])}",)),
        sets=sets,
        proof="the config is accepted",
    )
    return RULE.found(found.confidence, found.evidence, remedies=(remedy, *RULE.fixes))


RULE = cause(
    "TR579",
    "config-value-not-in-enum",
    "environment",
    title="A setting has a value that the library does not know",
    judge=judge,
    why="The valid values stand in the message.",
    sig=(
        "is not a valid ~ is not a valid (?!JSON|file|path|url|zip|model|local|git|identifier|folder|repo)\\w+",
        "please select one of",
        "invalid choice:",
        "expected one of ~ (?i)(unknown|invalid(?! combination)|unsupported|unrecognized).{0,80}expected one of",
        "must be one of ~ (?i)(got|unknown|invalid|unsupported|value).{0,120}must be one of|must be one of.{0,200}\\b(got|but)\\b",
        "Input should be ~ Input should be '\\w+'",
        "value is not a valid enumeration member",
    ),
    confidence=0.86,
    next_check="papertrain check CONFIG",
    fixes=(
        fix(
            "one of the values that the message lists", "papertrain check CONFIG --fix", proof="the config is accepted"
        ),
    ),
    kinds=(
        (
            "\\b(?:unknown|unsupported|unrecogni[sz]ed|undefined|invalid)\\b(?! operand| literal)[\\w\\-` ]{0,40}\\b(?:type|option|strategy|method|mode|loss|optim\\w*|scheduler|backend|implementation|algorithm|stage|task|dtype|precision|format|choice|level|metric|style|template|name|value|kind|reduction|operation|attention|model|arch\\w*|adapter|engine|quantization|version)\\b",
            "NotImplementedError: Unknown finetuning type: qlora2.",
        ),
        (
            "(?:should|must|can|has to|needs? to|expected to) (?:either )?be (?:either |one of|in |any of|among|set to one)|\\bis not (?:a )?(?:valid|recogni[sz]ed|supported|implemented|defined|accepted)\\b|not (?:recogni[sz]ed|in list|in the (?:list|registry))|(?:supported|possible|valid|allowed|available) (?:values|types|options|styles|choices|ops|data types|operations|kwargs)|please (?:choose|select|use one)|choose (?:from|between)|(?:only|currently only) (?:supports?|accepts?)|cannot instantiate unsupported|[Ss]hould be one of|does not support|invalid choice",
            "ValueError: dtype can be one of: 'auto', 'float16', but received fp17; supported values are listed above",
        ),
    ),
    kind_confidence=0.4,
    fires="ValueError: 'cosin' is not a valid SchedulerType, please select one of ['linear', 'cosine', 'constant']",
    quiet="scheduler: cosine",
)
