"""Secrets that are known by the name before them: `HF_TOKEN=…`, `"clientSecret": "…"`, `os.environ["API_KEY"] = "…"`."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from papertrain.core.secret_shapes import scrambled

Says = Literal["password", "secret", "perhaps", "rarely", "never"]
"""What a name says of its value. password: always secret, numbers too. secret: whatever is no placeholder. perhaps: whatever
is no word or number. rarely: only what looks made up (`key`, `token`). never: only what can be nothing else (`pad_token`)."""

TAIL = re.compile(
    r"(?i)(?:keys?|secrets?|passwd|passwords?|passphrase|passcode|pass|pwd|pw|tokens?|credentials?|auth|passwort|sid)(?:[_\-]data)?(?![A-Za-z0-9_])|密码|密钥|令牌|口令"
)
TELLING = ("key", "secret", "pass", "pw", "token", "credential", "auth", "sid", "密码", "密钥", "令牌", "口令")
LONGEST = 100
_OF_NAMES = string.ascii_letters + string.digits + "_.-"

PASSWORD = re.compile(r"(?:^|_)(?:passwd|passwords?|passphrase|passcode|passwort|pwd)$|(?:password|passwd)$|密码|口令")
SECRET = re.compile(
    r"(?:^|_)(?:secret|credential|apikeys?|(?:(?:api|access|secret|private|auth|signing|signature|encryption|decryption|account|storage|ssh|license|subscription|master|deploy|service|client|consumer|webhook|bot|shared_access|admin|app|rsa|gpg|tls|ssl|hmac|jwt|sas|wandb|openai|anthropic|hf|kaggle|azure|aws|gcp|swanlab|comet|neptune)_?keys?)(?:_data)?"
    r"|(?:api|access|auth|hub|hf|hugging_?face|bearer|refresh|session|id|csrf|xsrf|bot|push|github|gh|gitlab|git|wandb|neptune|mlflow|comet|slack|discord|telegram|personal|private|public_api|service|deploy|registry|npm|pypi|oauth2?|jwt|app|api_v\d|sas|secret|security|modelscope|ms|clearml|kaggle|openai|web|webhook|upload|download|read|write|client|device|login|account|admin|root|server|cluster|ray|k8s|kube|notify|push_to_hub|vault|aws|azure|gcp)_?tokens?)$"
    r"|(?:apikey|secretkey|accesskey|privatekey|authtoken|accesstoken|hubtoken|clientsecret)$|密钥|令牌"
)
RARELY = re.compile(r"^(?:keys?|tokens?|auth|sid|pass|pw)$|(?:^|[._])(?:key|token)$")
NEVER = re.compile(
    r"(?:^|_)(?:num|max|min|pad|eos|bos|unk|sep|cls|mask|image|images|video|audio|stop|special|added|start|end|sos|boi|eoi|im|new|per|next|prev|first|last|tool|user|assistant|system|think|thinking|thought|reasoning|observation|function|template|chat|turn|response|prompt|vision|add|extra|input|output|target|source|label|text|word|sub|byte|bpe|char|decoder|encoder|generate|generated|sample|train|eval|n|on|a|the|this|each|every|by|of|forced|fill|fim|prefix|suffix|middle|begin|row|column|field|primary|foreign|sort|group|order|partition|cache|json|dict|map|state|message|messages|role|content|query|value|attention|index|unused|reserved|placeholder|delimiter|separator|batch|total|seen|consumed|trained|prefill|completion|context|draft|verified|accepted|chosen|rejected|reward|metric|monitor|name|data|dataset|feature|config|param|dedup|split|task|logging|log|answer|question|history|lang|language|blank|sequence|seq|position|object|expert|router|global)_(?:tokens?|keys?)$|tokens$|(?:^|_)(?:forward|backward|first|second|single|multi|n|num|by|low|high|band|full|one|two|each|per|dry|last|next|warmup|main|final|all)_?pass$"
)  # fmt: skip

_ASSIGN = r"\s{0,8}(?::=|=>|==?|[:：＝])[^\S\n]{0,8}"
_SEPARATORS: tuple[tuple[str, re.Pattern[str]], ...] = (
    # a name and its value as two fields of a table, as in the manifests of Kubernetes
    ("assign", re.compile(r"\\{0,3}[\"']?\s{0,4},?\s{0,40}\\{0,3}[\"']?(?:value|Value)\\{0,3}[\"']?\s{0,4}[:=]\s{0,8}")),
    ("assign", re.compile(r"\\{0,3}[\"'`]?\]?" + _ASSIGN + r"(?:[|>][+\-]?\d?\s*\n\s*)?")),
    ("tag", re.compile(r">\s{0,8}")),
    ("list", re.compile(r"\\{0,3}[\"']\s{0,4},\s{0,8}(?=(?:[bBrRuUfF]{1,2})?\\{0,3}[\"'])|[\"']?[^\S\n]*\n[^\S\n]*-[^\S\n]+")),
    ("words", re.compile(r"[^\S\n]+(?:is|was|are)[^\S\n]*:?[^\S\n]+")),
    ("blank", re.compile(r"[^\S\n]+(?=\S)|[^\S\n]*\\\r?\n[^\S\n]*")),
)  # fmt: skip
_QUOTED = re.compile(
    r"(?:[bBrRuUfF]{1,2})?(?P<q>\\{0,3}(?:\"{3}|'{3}|\"|'|`))(?P<v>[^\n\"'`]{3,}?|(?:(?!(?P=q))[^\n])+?)(?P=q)"
)
_LINE = re.compile(r"[^\s\"'`<>]{4,4000}")
_WORD = re.compile(r"[^\s\"'`,;&|<>(){}\[\]]{4,4000}")
_LINE_START = re.compile(r"[^\S\n]*(?:export\s+|set\s+|-\s+|#+\s*|\+\s*){0,4}")
_EXPRESSION = re.compile(
    r"[A-Za-z_][\w.]*\s?[\[(]|(?:os|self|cls|args|cfg|config|conf|settings|env|environ|params?|opts?|options|kwargs|secrets|st|form|request|data|user|module|hparams|training_args|model_args)\.[A-Za-z_]\w*"
)
_PLAIN = re.compile(
    r"^(?:none|null|nil|undefined|true|false|auto|yes|no|on|off|empty|dummy|default|env|unset|missing|required|optional|read|write|todo|tbd|n/?a|changeme|change[_\-]me|placeholder|example|redacted|hidden|masked|secret|\d+(?:[._,]\d+)*|<.*>|\$.*|%\w+%|\{\{?.*|.*\{\w*\}.*|.*(?:\*\*|\.\.\.|…).*|\*+|x+|•+|\.{2,}|your[_\-].{0,60}|my[_\-](?:api[_\-])?(?:key|token|secret|password)|\(.*\)?|!.*|\[.*|@.*|optional\[.*|str|string|int|bool|bytes|any)$",
    re.IGNORECASE | re.DOTALL,
)
_PATH = re.compile(r"^(?:~|\.{0,2}/|[A-Za-z]:[\\/]|file:|[a-z]+://)|\.(?:json|pem|key|ya?ml|toml|txt|env)$")
_FILE = re.compile(r"\.[a-z]{2,5}$")
_LONG = re.compile(r"[\\\"'`]{0,4}[\w+/\-.]{20,}")
_SIXTEEN, _SEVEN = re.compile(r"[A-Za-z0-9+/_\-=.]{16}"), re.compile(r"[A-Za-z0-9+/_\-.]{7}")
_RUNS = re.compile(r"[A-Za-z0-9]+")


ENDS_A_SENTENCE = 12
"""`token: train:` is a name in a name; a run of that many made-up letters before a colon is a value that something is said of."""


def named(text: str) -> Iterator[tuple[int, int, int]]:
    """(start of the name, start, end) of each value whose name tells that it is secret.

    After a harmless pair the search goes on inside its value: `key: token=…` holds another pair.
    """
    folded = text.lower()
    if len(folded) != len(text):  # a few letters of other scripts have two in the other case
        folded = text
    at = 0
    for begin in sorted({i for word in TELLING for i in _each(folded, word)}):
        m = TAIL.match(text, begin) if begin >= at else None
        if m is None:
            continue
        at = m.end()
        found = _value_after(text, m)
        if found is not None:
            at = max(at, found[2])
            yield found


def tells(text: str) -> bool:
    """Whether a telling word is in it at all."""
    folded = text.lower()
    return any(word in folded for word in TELLING)


def _each(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def _value_after(text: str, m: re.Match[str]) -> tuple[int, int, int] | None:
    for kind, pattern in _SEPARATORS:
        separator = pattern.match(text, m.end())
        if separator is None:
            continue
        before = text[max(0, m.start() - LONGEST + 15) : m.start()]
        start = m.start() - len(before) + len(before.rstrip(_OF_NAMES))
        if kind == "tag" and text[start - 1 : start] != "<":
            continue
        name = text[start : m.end()]
        says = what_it_says(name)
        if says == "never" and not _LONG.match(text, separator.end()):
            return None
        if kind == "blank" and name.startswith("-"):
            kind = "flag"
        got = _value_at(text, separator.end(), start, kind, name)
        if got is None:
            return None
        value, begin, end, quoted = got
        return (start, begin, end) if is_secret(says, value, kind=kind, quoted=quoted, name=name) else None
    return None


def _value_at(text: str, at: int, start: int, kind: str, name: str) -> tuple[str, int, int, bool] | None:
    quoted = _QUOTED.match(text, at, at + 20_000)
    if quoted is not None:
        return quoted["v"], quoted.start("v"), quoted.end("v"), True
    if text[at : at + 1] in "\"'`":
        # an opening quote whose end is missing: cut off, or on another line
        at += 1
    whole = kind == "assign" and _starts_a_line(text, start)
    m = (_LINE if whole else _WORD).match(text, at)
    if m is None or _EXPRESSION.match(text, at):
        return None
    value = m[0].rstrip(",;)]}\\")
    if value.endswith(":") and any_scrambled(value, ENDS_A_SENTENCE):
        value = value.rstrip(":")
    if value.endswith(":") or value.startswith(":") or (value == name and not value.startswith("-")):
        return None
    return (value, at, at + len(value), False) if value else None


def _starts_a_line(text: str, start: int) -> bool:
    before = text[max(0, start - 60) : start]
    line = before[max(before.rfind("\n"), before.rfind("\r")) + 1 :]
    return (len(line) < 60 or start == 60) and _LINE_START.fullmatch(line) is not None


@lru_cache(maxsize=4096)
def what_it_says(name: str) -> Says:
    """What a name says of its value."""
    plain = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name.strip("\"'`"))
    plain = re.sub(r"[\-.]+", "_", plain).strip("_").lower()
    if PASSWORD.search(plain):
        return "password"
    if SECRET.search(plain):
        return "secret"
    if NEVER.search(plain):
        return "never"
    if plain in ("pass", "pw"):
        return "perhaps"
    if RARELY.search(plain) and not re.search(r"_(?:key|token|auth|sid|pass|pw)$", plain):
        return "rarely"
    if re.search(r"(?:^|_)(?:auth|sid)$", plain) or re.search(r"\.(?:key|token)$", name):
        return "rarely"
    if re.search(r"(?:^|_)(?:keys?|tokens?|pass|pw|secrets|credentials)$", plain):
        # names in capitals are variables of an environment: what ends so there is a secret
        return "secret" if name.isupper() and "_" in name and not plain.endswith("s") else "perhaps"
    return "never"


def is_secret(says: Says, value: str, *, kind: str = "assign", quoted: bool = True, name: str = "") -> bool:
    """Whether that value, said to be what the name says, is one. kind: what stands between them."""
    value = value.strip()[:200]
    if value.startswith("[redacted") or len(value) < 4 or (len(value) < 6 and says != "password" and not quoted):
        return False
    if says == "password" and value.isdigit() and kind in ("assign", "flag", "tag"):
        return True
    if _PLAIN.match(value) or (kind in ("blank", "flag") and value.startswith("-")):
        return False
    if _names_itself(value, quoted):
        return False
    if kind == "flag" and says != "password" and value.isalpha() and value.islower():
        return False  # `--hub_token is deprecated`: a sentence, not a command
    if says in ("password", "secret") and kind in ("assign", "flag", "tag"):
        return not _harmless_path(says, value, name)
    if kind in ("blank", "words", "list"):
        strong = says in ("password", "secret")
        return says != "never" and not wordlike(value) and any_scrambled(value, 7 if strong else 16)
    if says == "perhaps":
        return len(value) >= 8 and not wordlike(value) and not _PATH.search(value)
    if says == "rarely":
        return _SIXTEEN.search(value) is not None and any_scrambled(value, 16) and not _PATH.search(value)
    return any_scrambled(value, 20, mixed=True)


def _harmless_path(says: Says, value: str, name: str) -> bool:
    """A path to a file with the secret, or `pwd`, the working directory. Base64 may begin with a slash too."""
    if says == "password" and not name.lower().endswith("pwd"):
        return False
    first, *inner = value.split("/")
    if any_scrambled(first, 20) or any(any_scrambled(part, 20, mixed=True) for part in inner):
        return False  # a folder that is called as the secret is, or Base64 with slashes in it
    return bool(_PATH.search(value)) and (bool(_FILE.search(value)) or not any_scrambled(value, 12))


def _names_itself(value: str, quoted: bool) -> bool:
    """`token=hf_token` in a program, `"api_key": "WANDB_API_KEY"`: the name of a variable."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.\-]{1,80}", value) or not wordlike(value):
        return False
    tails = [m for m in TAIL.finditer(value) if m.end() == len(value)]
    return bool(tails) and (value[tails[-1].start() - 1] in "_.-" or (not quoted and tails[-1].start() == 0))


def any_scrambled(value: str, least: int, *, mixed: bool = False) -> bool:
    """Whether a run of that many letters and digits in it looks made up."""
    runs = _RUNS.findall(value)
    return (
        any(scrambled(r.ljust(8, r[-1]), mixed=mixed) for r in runs if len(r) >= least)
        or (not mixed and len(value) >= max(12, least) and scrambled("".join(runs)) and not wordlike(value))
        or (not mixed and re.fullmatch(r"[0-9a-f]{32,}", value) is not None)
    )


def wordlike(value: str) -> bool:
    """Words, numbers and versions with separators between them: `created_at`, `model.layers.0.weight`, `qwen2-7B`."""
    runs = _RUNS.findall(value)
    return (
        len(value) <= 120
        and bool(runs)
        and all(r.isdigit() or (len(r) <= 20 and not scrambled(r)) for r in runs)
        and re.search(r"[^\w\s.\-/:+<>|,%]", value) is None
    )
