"""The one redactor, applied by the sinks: the writer, the command line, pages, tools, packages.

Secrets go everywhere. Private names (home folders, users, hosts, e-mails, internal addresses) go wherever the text
leaves the user's own terminal: a pipe is a file. Replacements are consistent, so that diffs still line up.
"""

from __future__ import annotations

import hashlib
import json
import re
import socket
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f]|[\u202a-\u202e\u2066-\u2069]"
)
"""Terminal sequences, other control characters, and the marks that reverse text; tab, newline and return stay."""

# Each pattern: (kind, regex). A group named `keep` stays in front; a group named `secret` is what is replaced.
_SECRETS: tuple[tuple[str, str], ...] = (
    ("pem", r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)"),
    ("huggingface", r"\b(?:hf|api_org)_[A-Za-z0-9]{16,}"),
    ("github", r"\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}"),
    ("gitlab", r"\bglpat-[A-Za-z0-9_\-]{16,}"),
    ("aws", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    ("google", r"\bAIza[A-Za-z0-9_\-]{30,}|\bya29\.[A-Za-z0-9_\-]{20,}"),
    ("openai", r"\bsk-[A-Za-z0-9_\-]{16,}"),
    ("anthropic", r"\bsk-ant-[A-Za-z0-9_\-]{16,}"),
    ("slack", r"\bxox[abeoprs]-[A-Za-z0-9\-]{10,}|\bxapp-[A-Za-z0-9\-]{10,}"),
    ("slack-hook", r"https://hooks\.slack\.com/services/[A-Za-z0-9/_\-]+"),
    ("discord-hook", r"https://(?:\w+\.)?discord(?:app)?\.com/api/webhooks/[A-Za-z0-9/_\-]+"),
    ("feishu-hook", r"https://open\.(?:feishu|larksuite)\.\w+/open-apis/bot/[A-Za-z0-9/_\-]+"),
    ("wandb", r"\bwandb_v1_[A-Za-z0-9_\-]{16,}|\blocal-[0-9a-f]{40}\b"),
    ("npm", r"\bnpm_[A-Za-z0-9]{30,}"),
    ("pypi", r"\bpypi-[A-Za-z0-9_\-]{30,}"),
    ("stripe", r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    ("databricks", r"\bdapi[0-9a-f]{32}\b"),
    ("replicate", r"\br8_[A-Za-z0-9]{30,}"),
    ("telegram", r"\b\d{8,10}:[A-Za-z0-9_\-]{35}\b"),
    ("sendgrid", r"\bSG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}"),
    ("jwt", r"\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*)?"),
    ("bearer", r"(?P<keep>(?i:\b(?:bearer|basic)\s+))(?P<secret>[A-Za-z0-9._~+/\-]{12,}=*)"),
    ("url-password", r"(?P<keep>\b[A-Za-z][A-Za-z0-9+.\-]*://)(?P<secret>[^\s/@'\"<>]*:[^\s/@'\"<>]+|[A-Za-z0-9_\-]{20,})(?=@)"),
    ("signed-url", r"(?P<keep>[?&](?i:X-Amz-Signature|X-Amz-Credential|X-Amz-Security-Token|X-Goog-Signature|X-Goog-Credential|Signature|sig|token|access_token|api_key|key|AWSAccessKeyId)=)(?P<secret>(?!\[redacted)[^&\s'\"<>]+)"),
    ("netrc", r"(?P<keep>\bmachine\s+\S+\s+login\s+\S+\s+password\s+)(?P<secret>(?!\[redacted)\S+)"),
    # A variable or key whose name ends in key, secret, password or token. Words of tokenizers are excluded below.
    ("named", r"(?P<keep>(?P<quote>[\"']?)\b(?P<name>[A-Za-z0-9_\-.]*(?i:key|secret|passwd|password|passphrase|pwd|tokens?|credentials?))(?P=quote)\s*(?:[:=]\s*|\s(?=\S)))(?P<secret>\"[^\"\n]{4,}\"|'[^'\n]{4,}'|[\"']?[^\s\"',;&|<>(){}\[\]]{6,})"),
)  # fmt: skip
_NAME = re.compile(
    r"(?i)(?:^|[_\-.])(?:[a-z0-9]*(?:api|access|secret|private|auth|signing|encryption|account|storage|ssh|license)[_\-]?key|secret|passwd|password|passphrase|pwd|credentials?|auth[_\-]?token|access[_\-]?token|hub[_\-]?token|hf[_\-]?token|(?:[a-z0-9]+[_\-])*token|apikey|[a-z0-9_\-]*_key)$"
)
_NOT_A_SECRET = re.compile(
    r"(?i)(?:^|[_\-.])(?:(?:num|max|min|pad|eos|bos|unk|sep|cls|mask|image|video|audio|stop|special|added|start|end|sos|boi|eoi|im|new|per|next|prev|first|last|tool|user|assistant|system|think|response|prompt|vision|add|extra|input|output|target|source|label|text|word|sub|byte|bpe|char|decoder|generate|sample|train|eval|n|on|a|the|this|each|every|by|of|forced|fill|begin|row|column|field|primary|foreign|sort|group|order|partition|cache|json|dict|map|state|column|message|messages|role|content|query|value|attention|index)[_\-](?:tokens?|key))$|^(?:token|key|tokens|keys)$"
)
_PLAIN_VALUE = re.compile(
    r"^(?:none|null|true|false|auto|yes|no|\d+(?:\.\d+)?|<[^>]*>|\$\{?\w+\}?|\*+|x+|\.\.\.|your[_\-].*|\[redacted.*)$",
    re.IGNORECASE,
)
_PREFILTER = re.compile(
    r"(?i)key|secret|pass|pwd|token|credential|bearer|basic|://|BEGIN |sk-|sk_|rk_|hf_|api_org|gh[pousr]_|github_pat|glpat|AKIA|ASIA|ABIA|ACCA|AIza|ya29|xox|xapp|hooks|webhook|wandb_v1|local-|npm_|pypi-|dapi|r8_|\d:[A-Z]|SG\.|eyJ"
)

_JSON_PLAIN = re.compile(rb'"[^"]*"')
_JSON_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
_NAMED_IN_JSON = re.compile(
    rb'(?P<name>"[^"\\]*(?i:key|secret|passwd|password|passphrase|pwd|token|credentials?)")(?P<between>\s*:\s*)(?P<value>"(?:[^"\\]|\\.)+")'
)
_GAP = "\ufdd0"
"""A code point that Unicode keeps free for such inner use."""

_EMAIL = re.compile(r"(?<![\w.+\-/:])[A-Za-z0-9][\w.+\-]*@(?:[A-Za-z0-9\-]+\.)+[A-Za-z]{2,}\b")
_HOME = re.compile(
    r"(?P<root>(?:/home|/Users|/mnt/home|/data/home|/net/home|/scratch/users?|[A-Za-z]:\\Users|[A-Za-z]:\\\\Users|/mnt/[a-z]/Users)(?:/|\\\\|\\))(?P<user>(?!\[user\])[^/\\\s:'\"<>|,;)\]}]+)"
)
_ADDRESS = re.compile(
    r"\b(?:10\.\d{1,3}\.\d{1,3}\.\d{1,3}|192\.168\.\d{1,3}\.\d{1,3}|172\.(?:1[6-9]|2\d|3[01])\.\d{1,3}\.\d{1,3})\b"
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
    for pattern in extra:
        text = pattern.sub("[redacted]", text)
    return text if terminal else redact_private(text)


def _without_secrets(text: str) -> str:
    return _secrets().sub(_replace, text) if _PREFILTER.search(text) else text


def redact_json(blob: bytes, *, terminal: bool = False, extra: Iterable[re.Pattern[str]] = ()) -> bytes:
    """One JSON document with every string in it redacted, keys and values alike; the structure is untouched.

    Works on the distinct strings of the encoded text, since large answers repeat theirs thousands of times.
    """
    pattern = _JSON_PLAIN if b"\\" not in blob else _JSON_STRING
    changed, telling = {}, False
    for quoted in set(pattern.findall(blob)):
        text = json.loads(quoted)
        telling = telling or (_NAME.search(text) is not None and not _NOT_A_SECRET.search(text))
        clean = redact(text, terminal=terminal, extra=extra)
        if clean != text:
            changed[quoted] = json.dumps(clean, ensure_ascii=False).encode()
    # A name and its value stand in two strings of JSON; what a value may be called is only seen when both are read.
    if telling:
        blob = _NAMED_IN_JSON.sub(_replace_in_json, blob)
    return pattern.sub(lambda m: changed.get(m[0], m[0]), blob) if changed else blob


def _replace_in_json(m: re.Match[bytes]) -> bytes:
    name, value = json.loads(m["name"]), json.loads(m["value"])
    if not _NAME.search(name) or _NOT_A_SECRET.search(name) or _PLAIN_VALUE.match(value) or len(value) < 6:
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
    return [(kind, m.start()) for m in _secrets().finditer(text) if (kind := _kind(m))]


@lru_cache
def _secrets() -> re.Pattern[str]:
    parts = []
    for i, (_, pattern) in enumerate(_SECRETS):
        named = re.sub(r"\(\?P<(keep|secret|name|quote)>", rf"(?P<\g<1>{i}>", pattern)
        parts.append(f"(?P<k{i}>{re.sub(r'[(][?]P=quote[)]', f'(?P=quote{i})', named)})")
    return re.compile("|".join(parts))


def _kind(m: re.Match[str]) -> str | None:
    i = next(i for i in range(len(_SECRETS)) if m[f"k{i}"] is not None)
    kind = _SECRETS[i][0]
    if kind != "named":
        return kind
    name, value = m[f"name{i}"], m[f"secret{i}"].strip("\"'")
    if not _NAME.search(name) or _NOT_A_SECRET.search(name) or _PLAIN_VALUE.match(value):
        return None
    # `--hub_token hf_…` is a value; `the token was`, a sentence: after a blank only something that looks random counts.
    separator = m[f"keep{i}"][len(m[f"quote{i}"]) + len(name) :].strip(" \"'")
    if not separator and not (len(value) >= 8 and re.search(r"\d", value)):
        return None
    return kind


def _replace(m: re.Match[str]) -> str:
    kind = _kind(m)
    if kind is None:
        return _inside(m)
    groups = m.groupdict()
    i = next(i for i in range(len(_SECRETS)) if m[f"k{i}"] is not None)
    keep, secret = groups.get(f"keep{i}") or "", groups.get(f"secret{i}") or m[0]
    quote = secret[0] if secret[:1] in ("'", '"') and secret[-1:] == secret[0] else ""
    return f"{keep}{quote}[redacted-{kind}-{_mark(secret.strip(quote) if quote else secret)}]{quote}"


def _inside(m: re.Match[str]) -> str:
    """A harmless `name value` pair may still hold a secret in its value: look there once more."""
    i = len(_SECRETS) - 1
    keep, value = m[f"keep{i}"], m[f"secret{i}"]
    return keep + _secrets().sub(_replace, value) if len(value) < len(m[0]) else m[0]


def _mark(secret: str) -> str:
    """Four characters that tell two secrets apart: 16 bits, too few to search for the secret with."""
    return hashlib.blake2s(secret.encode("utf-8", "replace"), key=b"papertrain", digest_size=2).hexdigest()


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
