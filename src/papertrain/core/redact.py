"""The one redactor, applied by the sinks: the writer, the command line, pages, tools, packages.

Secrets go everywhere. Private names (home folders, users, hosts, e-mails, internal addresses) go wherever the text
leaves the user's own terminal: a pipe is a file. Replacements are consistent, so that diffs still line up.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f]|[\u202a-\u202e\u2066-\u2069]"
)
"""Terminal sequences, other control characters, and the marks that reverse text; tab, newline and return stay."""

# A shape counts with a word in front of it too (a file's name, a key), and cut off after its first characters.
# Each pattern: (kind, regex). A group named `keep` stays in front; a group named `secret` is what is replaced.
_SHAPES: tuple[tuple[str, str], ...] = (
    ("pem", r"-----BEGIN[A-Z0-9\s]{1,60}PRIVATE\s+KEY(?:\s+BLOCK)?-----[\s\S]*?(?:-----END[A-Z0-9\s]{1,60}PRIVATE\s+KEY(?:\s+BLOCK)?-----|\Z)"),
    ("huggingface", r"\b(?:hf|api_org)_[A-Za-z0-9]{16,}|(?:hf|api_org)_[A-Za-z0-9]{24,}"),
    ("github", r"\bgh[pousr]_[A-Za-z0-9]{20,}|gh[pousr]_[A-Za-z0-9]{24,}|github_pat_[A-Za-z0-9_]{16,}"),
    ("gitlab", r"glpat-[A-Za-z0-9_\-]{12,}"),
    ("aws", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("google", r"AIza[A-Za-z0-9_\-]{30,}|ya29\.[A-Za-z0-9_\-]{16,}"),
    ("anthropic", r"sk-ant-[A-Za-z0-9_\-]{12,}"),
    ("openai", r"\bsk-[A-Za-z0-9_\-]{16,}|sk-(?:proj|svcacct|admin|or-v1)-[A-Za-z0-9_\-]{12,}|sk-[A-Za-z0-9]{12,}T3BlbkFJ[A-Za-z0-9]*|sk-[A-Za-z0-9]{32,}"),
    ("slack", r"xox[abeoprs]-[A-Za-z0-9\-]{10,}|xapp-[A-Za-z0-9\-]{10,}"),
    ("slack-hook", r"https://hooks\.slack\.com/services/[A-Za-z0-9/_\-]+"),
    ("discord-hook", r"https://(?:\w+\.)?discord(?:app)?\.com/api/webhooks/[A-Za-z0-9/_\-]+"),
    ("feishu-hook", r"https://open\.(?:feishu|larksuite)\.\w+/open-apis/bot/[A-Za-z0-9/_\-]+"),
    ("wandb", r"wandb_v1_[A-Za-z0-9_\-]{12,}|local-[0-9a-f]{16,}(?![A-Za-z0-9])"),
    ("modelscope", r"ms-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{4,12}"),
    ("npm", r"npm_[A-Za-z0-9]{20,}"),
    ("pypi", r"\bpypi-[A-Za-z0-9_\-]{30,}|pypi-AgE[A-Za-z0-9_\-]{12,}"),
    ("stripe", r"[rs]k_(?:live|test)_[A-Za-z0-9]{12,}"),
    ("databricks", r"dapi[0-9a-f]{16,}(?![A-Za-z0-9])"),
    ("replicate", r"\br8_[A-Za-z0-9]{16,}|r8_[A-Za-z0-9]{24,}"),
    ("telegram", r"(?<!\d)\d{8,10}:(?:[A-Za-z0-9_\-]{35}(?![A-Za-z0-9_\-])|AA[A-Za-z0-9_\-]{14,})"),
    ("sendgrid", r"SG\.[A-Za-z0-9_\-]{16,}(?:\.[A-Za-z0-9_\-]*)?"),
    ("jwt", r"(?<![A-Za-z0-9_\-]{12})eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*)?"),
    ("bearer", r"(?P<keep>(?i:\b(?:bearer|basic)\s+))(?P<secret>[A-Za-z0-9._~+/\-]{12,}=*)"),
    ("url-password", r"(?P<keep>[A-Za-z][A-Za-z0-9+.\-]{0,20}://)(?P<secret>[^\s/@'\"<>:]{0,200}:[^\s/@'\"<>]{1,400}|[A-Za-z0-9_\-]{20,400})(?=@)"),
    ("signed-url", r"(?P<keep>[?&;](?i:X-Amz-Signature|X-Amz-Credential|X-Amz-Security-Token|X-Goog-Signature|X-Goog-Credential|Signature|sig|token|access_token|api_key|key|AWSAccessKeyId)=)(?P<secret>(?!\[redacted)[^&\s'\"<>]+)"),
    ("netrc", r"(?P<keep>\bmachine\s+\S+\s+login\s+\S+\s+password\s+)(?P<secret>(?!\[redacted)\S+)"),
)  # fmt: skip
# A variable or key whose name ends in key, secret, password or token. Words of tokenizers are excluded below.
_NAMED = re.compile(
    r"(?P<keep>(?P<quote>[\"']?)(?<![A-Za-z0-9_])(?P<name>[A-Za-z0-9_\-.]{0,80}(?i:key|secret|passwd|password|passphrase|pwd|tokens?|credentials?))(?P=quote)\s*(?:[:=]\s*|\s(?=\S)))"
)
_VALUE = re.compile(r"\"[^\"\n]{4,}\"|'[^'\n]{4,}'|[\"']?[^\s\"',;&|<>(){}\[\]]{6,}")
LONGEST_NAME = 100
_NAME = re.compile(
    r"(?i)(?:^|[_\-.])(?:[a-z0-9]*(?:api|access|secret|private|auth|signing|encryption|account|storage|ssh|license)[_\-]?key|secret|passwd|password|passphrase|pwd|credentials?|auth[_\-]?token|access[_\-]?token|hub[_\-]?token|hf[_\-]?token|(?:[a-z0-9]+[_\-])*token|apikey|[a-z0-9_\-]*_key)$"
)
_NOT_A_SECRET = re.compile(
    r"(?i)(?:^|[_\-.])(?:(?:num|max|min|pad|eos|bos|unk|sep|cls|mask|image|video|audio|stop|special|added|start|end|sos|boi|eoi|im|new|per|next|prev|first|last|tool|user|assistant|system|think|response|prompt|vision|add|extra|input|output|target|source|label|text|word|sub|byte|bpe|char|decoder|generate|sample|train|eval|n|on|a|the|this|each|every|by|of|forced|fill|begin|row|column|field|primary|foreign|sort|group|order|partition|cache|json|dict|map|state|column|message|messages|role|content|query|value|attention|index)[_\-](?:tokens?|key))$|^(?:token|key|tokens|keys)$"
)
_PLAIN_VALUE = re.compile(
    r"^(?:none|null|true|false|auto|yes|no|\d+(?:\.\d+)?|<[^>]*>|\$\{?\w+\}?|\*+|x+|\.\.\.|your[_\-].{0,60}|\[redacted.{0,60})$",
    re.IGNORECASE,
)
_TELLING = re.compile(r"(?i)key|secret|pass|pwd|token|credential")
_PREFILTER = re.compile(
    r"(?i)key|secret|pass|pwd|token|credential|bearer|basic|://|BEGIN |sk-|sk_|rk_|hf_|api_org|gh[pousr]_|github_pat|glpat|AKIA|ASIA|ABIA|ACCA|AIza|ya29|xox|xapp|hooks|webhook|wandb_v1|local-|ms-|npm_|pypi-|dapi|r8_|\d:[A-Z]|SG\.|eyJ"
)

_JSON_PLAIN = re.compile(rb'"[^"]*"')
_JSON_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
_NAMED_IN_JSON = re.compile(
    rb'(?P<name>"[^"\\]*(?i:key|secret|passwd|password|passphrase|pwd|token|credentials?)")(?P<between>\s*:\s*)(?P<value>"(?:[^"\\]|\\.)+")'
)
_GAP = "\ufdd0"
"""A code point that Unicode keeps free for such inner use."""

_EMAIL = re.compile(r"(?<![\w.+\-/:])[A-Za-z0-9][\w.+\-]{0,64}@(?:[A-Za-z0-9\-]{1,63}\.){1,8}[A-Za-z]{2,24}\b")
_HOME = re.compile(
    r"(?P<root>(?:/home|/Users|/mnt/home|/data/home|/net/home|/scratch/users?|[A-Za-z]:\\Users|[A-Za-z]:\\\\Users|/mnt/[a-z]/Users)(?:/|\\\\|\\))(?P<user>(?!\[user\])[^/\\\s:'\"<>|,;)\]}]+)"
)
_ADDRESS = re.compile(
    r"(?<![\d.])(?:10\.\d{1,3}\.\d{1,3}\.\d{1,3}|192\.168\.\d{1,3}\.\d{1,3}|172\.(?:1[6-9]|2\d|3[01])\.\d{1,3}\.\d{1,3})\b"
)


def strip_control(text: str) -> str:
    """The text without terminal sequences and control characters."""
    return CONTROL.sub("", text) if not text.isprintable() else text


def redact(text: str, *, terminal: bool = False, extra: Iterable[re.Pattern[str]] = ()) -> str:
    """The text without secrets; without private names too, unless it stays on the user's own terminal."""
    if not text.isprintable() and CONTROL.search(text):
        # A sequence may stand between a word and a secret, or inside a secret: once as a gap, once as nothing.
        text = _without_secrets(CONTROL.sub(_GAP, text)).replace(_GAP, "")
    text = _without_secrets(text)
    for pattern in (*extra, *_own_patterns()):
        text = pattern.sub("[redacted]", text)
    return text if terminal else redact_private(text)


def _without_secrets(text: str) -> str:
    if not _PREFILTER.search(text):
        return text
    text = _shapes().sub(_replace, text)
    if not _TELLING.search(text):
        return text
    parts, at = [], 0
    for _, start, end, secret in _named(text):
        quote = secret[0] if secret[:1] in ("'", '"') and secret[-1:] == secret[0] else ""
        parts += [text[at:start], f"{quote}[redacted-named-{_mark(secret.strip(quote) if quote else secret)}]{quote}"]
        at = end
    return "".join([*parts, text[at:]]) if parts else text


def _named(text: str) -> Iterator[tuple[int, int, int, str]]:
    """(start of the name, start, end, value) of each value whose name tells that it is secret.

    After a harmless pair the search goes on inside its value: `key: token=…` holds another pair.
    """
    at = 0
    while m := _NAMED.search(text, at):
        at = max(m.end(), m.start() + 1)
        if _NAME.search(m["name"]) and not _NOT_A_SECRET.search(m["name"]):
            value = _VALUE.match(text, m.end())
            if value and _telling(m, value[0].strip("\"'")):
                at = value.end()
                yield m.start(), value.start(), value.end(), value[0]


def _telling(m: re.Match[str], value: str) -> bool:
    if _PLAIN_VALUE.match(value):
        return False
    # `--hub_token hf_…` is a value; `the token was`, a sentence: after a blank only something that looks random counts.
    separator = m["keep"][len(m["quote"]) + len(m["name"]) :].strip(" \"'")
    return bool(separator) or (len(value) >= 8 and re.search(r"\d", value) is not None)


def redact_json(blob: bytes, *, terminal: bool = False, extra: Iterable[re.Pattern[str]] = ()) -> bytes:
    """One JSON document with every string in it redacted, keys and values alike; the structure is untouched.

    Works on the distinct strings of the encoded text, since large answers repeat theirs thousands of times.
    """
    pattern = _JSON_PLAIN if b"\\" not in blob else _JSON_STRING
    changed, telling = {}, False
    for quoted in set(pattern.findall(blob)):
        text = json.loads(quoted)
        telling = telling or (
            len(text) <= LONGEST_NAME and _NAME.search(text) is not None and not _NOT_A_SECRET.search(text)
        )
        clean = redact(text, terminal=terminal, extra=extra)
        if clean != text:
            changed[quoted] = json.dumps(clean, ensure_ascii=False).encode()
    # A name and its value stand in two strings of JSON; what a value may be called is only seen when both are read.
    if telling:
        blob = _NAMED_IN_JSON.sub(_replace_in_json, blob)
    return pattern.sub(lambda m: changed.get(m[0], m[0]), blob) if changed else blob


def _replace_in_json(m: re.Match[bytes]) -> bytes:
    name, value = json.loads(m["name"]), json.loads(m["value"])
    if len(name) > LONGEST_NAME or len(value) < 6 or _PLAIN_VALUE.match(value):
        return m[0]
    if not _NAME.search(name) or _NOT_A_SECRET.search(name):
        return m[0]
    return m["name"] + m["between"] + json.dumps(f"[redacted-named-{_mark(value)}]").encode()


def redact_private(text: str) -> str:
    """Home folders, users, the host, e-mails and internal addresses replaced by stand-ins of the same kind."""
    own = _own_names()
    if own:
        text = own.sub(lambda m: "~" if "/" in m[0] or "\\" in m[0] else "[host]", text)
    if "@" in text:
        text = _EMAIL.sub(lambda m: f"[email-{_mark(m[0])}]", text)
    text = _HOME.sub(lambda m: m["root"] + "[user]", text)
    return _ADDRESS.sub(lambda m: f"[address-{_mark(m[0])}]", text)


def holds_secret(text: str) -> list[tuple[str, int]]:
    """(kind, offset) of each secret in the text; the secret itself is not returned."""
    if not _PREFILTER.search(text):
        return []
    found = [(_SHAPES[_which(m)][0], m.start()) for m in _shapes().finditer(text)]
    found += [
        ("named", start) for start, _, _, _ in _named(_shapes().sub(lambda m: "[redacted]".ljust(len(m[0])), text))
    ]
    return sorted(found, key=lambda f: f[1])


@lru_cache
def _shapes() -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<k{i}>{_numbered(pattern, i)})" for i, (_, pattern) in enumerate(_SHAPES)))


def _numbered(pattern: str, i: int) -> str:
    return re.sub(r"\(\?P<(keep|secret)>", rf"(?P<\g<1>{i}>", pattern)


def _which(m: re.Match[str]) -> int:
    return next(i for i in range(len(_SHAPES)) if m[f"k{i}"] is not None)


def _replace(m: re.Match[str]) -> str:
    groups, i = m.groupdict(), _which(m)
    keep, secret = groups.get(f"keep{i}") or "", groups.get(f"secret{i}") or m[0]
    return f"{keep}[redacted-{_SHAPES[i][0]}-{_mark(secret)}]"


def _mark(secret: str) -> str:
    """Four characters that tell two secrets apart: 16 bits, too few to search for the secret with."""
    return hashlib.blake2s(secret.encode("utf-8", "replace"), key=b"papertrain", digest_size=2).hexdigest()


@lru_cache
def _own_patterns() -> tuple[re.Pattern[str], ...]:
    """The user's own patterns, a regular expression a line, in the file that $PAPERTRAIN_REDACT names.

    A line that is no valid expression is taken as plain text: nothing that the user wanted hidden is passed over.
    """
    name = os.environ.get("PAPERTRAIN_REDACT")
    if not name:
        return ()
    try:
        lines = Path(name).expanduser().read_text("utf-8", "replace").splitlines()
    except OSError as error:
        # Closed rather than open: without the patterns nothing may be printed.
        sys.stderr.write(f"papertrain: $PAPERTRAIN_REDACT cannot be read: {(error.strerror or 'error').lower()}\n")
        raise SystemExit(2) from None
    found = []
    for line in lines:
        if line.strip() and not line.startswith("#"):
            try:
                pattern = re.compile(line.strip())
            except re.error:
                pattern = re.compile(re.escape(line.strip()))
            if not pattern.match(""):
                found.append(pattern)
    return tuple(found)


@lru_cache
def _own_names() -> re.Pattern[str] | None:
    names = []
    home = str(Path("~").expanduser()).rstrip("/\\")
    if len(home) > 3:
        names.append(re.escape(home) + r"(?=[/\\\s:'\"]|$)")
    host = socket.gethostname()
    if len(host) > 3 and host.lower() not in ("localhost", "host", "local"):
        names.append(rf"(?<![\w.\-]){re.escape(host)}(?![\w\-])")
    return re.compile("|".join(names)) if names else None
