"""Which of the redactor's matches are secrets indeed: it hides rather too much, a finding must not claim too much."""

from __future__ import annotations

import re

from papertrain.core.redact import holds_secret

# What people write where a secret would stand.
_STAND_IN = re.compile(
    r"(?i)x{4,}|\*{3,}|your[-_ ]|<[^>\n]*>|\.\.\.|\$\{?\w|\benv\b|environ|getenv|example|placeholder|redacted|changeme|dummy|secrets\."
)
_NAMED = re.compile(r"(?P<name>[\w.\-]+)[\"']?\s*[:=\s]\s*[\"']?(?P<value>[^\s\"',;]+)")
_PASSWORD = re.compile(r"(?i)(?:passw(?:or)?d|passphrase|secret)$")
# `--env-secret HF_TOKEN=team_HF_TOKEN` names a secret that a store holds.
NAME_OF_ONE = re.compile(
    r"([A-Z][A-Z0-9]*_[A-Z0-9_]+)(?:[=:](?:\1|[A-Za-z][\w-]*[_-](?i:key|token|secret|id|url|password|credentials?)))?"
)
_RANDOM = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[A-Za-z0-9_\-+/=.~]{12,}")


def secrets(text: str) -> list[tuple[str, int]]:
    """(kind, offset) of each secret in a text, without stand-ins and without words that only follow a telling name."""
    found = [(kind, at, text[at : _end(text, at)]) for kind, at in holds_secret(text)]
    return [(_service(kind, rest), at) for kind, at, rest in found if _is_one(kind, rest)]


def _service(kind: str, rest: str) -> str:
    """Whose secret it is, where a telling name stands before a value that tells more."""
    m = _NAMED.match(rest) if kind == "named" else None
    inner = holds_secret(m["value"]) if m else []
    return inner[0][0] if inner else kind


def _end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else min(end, at + 400)


def _is_one(kind: str, rest: str) -> bool:
    if kind == "pem":
        return True
    if kind != "named":
        return not _STAND_IN.search(rest.split()[0] if rest.split() else rest)
    m = _NAMED.match(rest)
    if (
        m is None
        or _STAND_IN.search(m["value"])
        or (m["name"].lower().endswith("secret") and NAME_OF_ONE.fullmatch(m["value"]))
    ):
        return False
    return bool(_RANDOM.fullmatch(m["value"])) or (
        bool(_PASSWORD.search(m["name"]))
        and len(m["value"]) >= 8
        and m["value"].isprintable()
        and "(" not in m["value"]
    )
