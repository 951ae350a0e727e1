"""The one redactor, applied by the sinks: the writer, the command line, pages, tools, packages.

Secrets go everywhere. Private names (home folders, users, hosts, e-mails, internal addresses) go wherever the text
leaves the user's own terminal: a pipe is a file. Replacements are consistent, so that diffs still line up.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import re
import socket
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from papertrain.core.secret_names import LONGEST, is_secret, named, tells, what_it_says
from papertrain.core.secret_shapes import shapes_in, without_shapes
from papertrain.core.spelled import encoded, spelled
from papertrain.core.standing import LONGEST as LONGEST_SHORT
from papertrain.core.standing import Standing

CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f]|[\u202a-\u202e\u2066-\u2069\u200b\u200e\u200f\u061c\u2060\ufeff\u00ad]"
)
"""Terminal sequences, other control characters, the marks that reverse text, and those that take no room; tab, newline and
return stay."""

_JSON_PLAIN = re.compile(rb'"[^"]*"')
_JSON_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
_NAME_END = r"(?i:keys?|secrets?|passwd|passwords?|passphrase|pass|pwd|pw|tokens?|credentials?|auth|sid)(?i:[_\-]data)?"
_NAMED_IN_JSON = re.compile(
    rf'"(?P<name>[^"\\]{{0,90}}{_NAME_END})"'.encode()
    + rb'(?P<between>\s*(?P<sep>[:,])\s*(?P<field>"value"\s*:\s*)?)(?P<value>"(?:[^"\\]|\\.)+"|(?<=[:\s])-?\d{4,}(?=\s*[,}\]]))'
)
_ENDS_AS_NAME = re.compile(rf"{_NAME_END}\Z")
_GAP = "\ufdd0"
"""A code point that Unicode keeps free for such inner use."""
_ESCAPED = re.compile(r"\\+(?:[nrtbf0]|u00[01][0-9a-fA-F]|x[01][0-9a-fA-F]|033|e)(?:\[[0-9;]{0,12}[A-Za-z])?")

_EMAIL = re.compile(r"(?<![\w.+\-/:])(?!git@)[A-Za-z0-9][\w.+\-]{0,64}@(?:[A-Za-z0-9\-]{1,63}\.){1,8}[A-Za-z]{2,24}\b")
_HOME = re.compile(
    r"(?P<root>(?<!\.co)(?<!\.com)(?<!\.org)(?<!\.io)(?<!\.net)(?<!\.cn)(?<!\.ai)(?:(?:/(?:lustre|gpfs|beegfs|fsx|nfs|scratch|work|data|storage|mnt|net|export|cluster|shared|projects?|vol\w{0,8}|disk\w{0,4}|ceph\w{0,4}|efs)\d{0,3}(?:/[\w.\-]{1,30}){0,2})?/(?:home\d*|users?|Users)|[A-Za-z]:\\Users|[A-Za-z]:\\\\Users|/mnt/[a-z]/Users)(?:/|\\\\|\\))(?P<user>(?!\[(?:user\]|redacted))[^/\\\s:'\"<>|,;)\]}]+)"
)
_ADDRESS = re.compile(
    r"(?<![\d.])(?:10\.\d{1,3}\.\d{1,3}\.\d{1,3}|192\.168\.\d{1,3}\.\d{1,3}|169\.254\.\d{1,3}\.\d{1,3}|172\.(?:1[6-9]|2\d|3[01])\.\d{1,3}\.\d{1,3}|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.\d{1,3}\.\d{1,3})\b"
    r"|(?<![\w:])(?:fe80|f[cd][0-9a-f]{2})(?::[0-9a-f]{0,4}){2,7}(?![\w:])"
)
_HOST = re.compile(
    # a line of NCCL, the name of an event file, a prompt, a name inside an organisation
    r"(?P<keep>^|\n)(?P<nccl>[A-Za-z][\w.\-]{1,62})(?=:\d+:\d+ \[\d*\] (?:NCCL|\w{1,30}/\w{1,30}\.cc))"
    r"|(?P<keep2>events\.out\.tfevents\.\d{9,11}\.)(?P<events>(?!\[host)[A-Za-z][\w\-]*(?:\.[A-Za-z][\w\-]*)*)"
    r"|(?P<keep3>\b[a-z_][\w.\-]{0,30}@)(?P<prompt>[A-Za-z][\w\-]{1,62}(?:\.[\w\-]{1,62})*)(?=:(?:~|/)[^\s]*[$#])"
    r"|(?<![\w.\-/@])(?P<inner>(?=[a-z\-.]*\d|[a-z.]*-)[a-z0-9][a-z0-9\-]{1,62}(?:\.[a-z0-9\-]{1,62}){0,4}\.(?:internal|local|lan|corp|intranet|localdomain))(?![\w\-])"
)


class Hidden(Protocol):
    """What is to be replaced besides: an expression, or what looks closer than one expression can."""

    def sub(self, stand_in: str, text: str, /) -> str: ...

    def search(self, text: str, /) -> object | None: ...


BARE = 12
"""So few letters and digits with no sign between them are no secret by their shape, nor a name with its value."""
PICTURE = re.compile(r"(data:image/(?:png;base64,iVBORw0KGgo|jpeg;base64,/9j/|gif;base64,R0lGOD)[A-Za-z0-9+/]+={0,2})")
"""A picture in a page: among 100,000 letters of Base64 some stand as in a token, and the rest would be no picture."""


def redact(text: str, *, terminal: bool = False, extra: Iterable[Hidden] = ()) -> str:
    """The text without secrets; without private names too, unless it stays on the user's own terminal."""
    if "data:image/" in text and len(parts := PICTURE.split(text)) > 1:
        return "".join(x if i % 2 else redact(x, terminal=terminal, extra=extra) for i, x in enumerate(parts))
    if not text.isprintable():
        text = spelled(text)
    if not text.isprintable() and CONTROL.search(text):
        # A sequence may stand between a word and a secret, or inside a secret: it is a gap, but not inside of one.
        text = _without_secrets(_closed(CONTROL.sub(_GAP, text))).replace(_GAP, "")
    text = _without_secrets(parted(text))
    for pattern in (*extra, *_own_patterns()):
        text = pattern.sub("[redacted]", text)
    return (text if terminal else redact_private(text)).replace(_GAP, "")


def parted(text: str) -> str:
    """In `\\nhf_…`, a line break as programs write it, the n is no letter of the word: a gap stands behind it."""
    return _ESCAPED.sub(lambda m: m[0] + _GAP, text) if "\\" in text else text


def _closed(gapped: str) -> str:
    """The text without the gaps that stand inside a secret."""
    whole = gapped.replace(_GAP, "")
    gaps = [m.start() - i for i, m in enumerate(re.finditer(_GAP, gapped))]
    inner: set[int] = set()
    for start, end in [s[1:] for s in (*shapes_in(whole), *named(whole))]:
        inner.update(range(bisect_right(gaps, start), bisect_left(gaps, end)))
    if not inner:
        return gapped
    parts, at = [], 0
    for i, gap in enumerate(gaps):
        parts += [whole[at:gap], "" if i in inner else _GAP]
        at = gap
    return "".join([*parts, whole[at:]])


def _without_secrets(text: str) -> str:
    if len(text) <= BARE and text.isascii() and text.isalnum():
        return text
    text = without_shapes(text, _stand_in)
    parts, at = [], 0
    for _, start, end in named(text):
        parts += [text[at:start], _stand_in("named", text[start:end])]
        at = end
    return "".join([*parts, text[at:]]) if parts else text


def _stand_in(kind: str, secret: str) -> str:
    return f"[redacted-{kind}-{_mark(secret.replace(_GAP, ''))}]"


def document(content: Any, *, terminal: bool = False) -> bytes:
    """The content as one JSON document that may be sent or shown."""
    return redact_json(encoded(content), terminal=terminal)


def redact_json(blob: bytes, *, terminal: bool = False, extra: Iterable[Hidden] = ()) -> bytes:
    """One JSON document with every string in it redacted, keys and values alike; the structure is untouched.

    Works on the distinct strings of the encoded text, since large answers repeat theirs thousands of times.
    """
    pattern = _JSON_PLAIN if b"\\" not in blob else _JSON_STRING
    changed, telling = {}, False
    for quoted in set(pattern.findall(blob)):
        text = json.loads(quoted)
        telling = telling or (len(text) <= LONGEST and tells(text) and _ENDS_AS_NAME.search(text) is not None)
        clean = redact(text, terminal=terminal, extra=extra)
        if clean != text:
            changed[quoted] = json.dumps(clean, ensure_ascii=False).encode()
    # A name and its value stand in two strings of JSON; what a value may be called is only seen when both are read.
    if telling:
        blob = _NAMED_IN_JSON.sub(_replace_in_json, blob)
    return pattern.sub(lambda m: changed.get(m[0], m[0]), blob) if changed else blob


def _replace_in_json(m: re.Match[bytes]) -> bytes:
    try:
        name, value = m["name"].decode(), json.loads(m["value"])
    except ValueError:
        return m[0]
    paired = m["sep"] == b":" or m["field"] is not None
    kind = "assign" if paired else "flag" if name.startswith("--") else "list"
    if isinstance(value, int) and what_it_says(name) != "password":
        return m[0]
    if not is_secret(what_it_says(name), str(value), kind=kind, name=name):
        return m[0]
    return b'"' + m["name"] + b'"' + m["between"] + json.dumps(_stand_in("named", str(value))).encode()


def redact_private(text: str) -> str:
    """Home folders, users, the host, e-mails and internal addresses replaced by stand-ins of the same kind."""
    own = _own_names()
    if own:
        text = own.sub(
            lambda m: "~" if "/" in m[0] or "\\" in m[0] else "[user]" if m[0] == _own_user() else "[host]", text
        )
    users, hosts = _own_short()
    text = hosts.sub("[host]", users.sub("[user]", text))
    if "@" in text:
        text = _EMAIL.sub(lambda m: f"[email-{_mark(m[0])}]", text)
    text = _HOME.sub(lambda m: m["root"] + "[user]", text)
    if any(sign in text for sign in _HOSTED):
        text = _HOST.sub(_stand_in_host, text)
    return _ADDRESS.sub(lambda m: f"[address-{_mark(m[0])}]", text)


_HOSTED = (" [", "tfevents.", "@", ".internal", ".local", ".lan", ".corp", ".intranet")


def _stand_in_host(m: re.Match[str]) -> str:
    keep = m["keep"] or m["keep2"] or m["keep3"] or ""
    if m["keep3"] and keep[:-1].lower() not in ORDINARY_USERS:
        keep = "[user]@"
    return f"{keep}[host-{_mark(m['nccl'] or m['events'] or m['prompt'] or m['inner'])}]"


def holds_secret(text: str) -> list[tuple[str, int]]:
    """(kind, offset) of each secret in the text; the secret itself is not returned."""
    found: list[tuple[str, int, int]] = []
    covered = list(text)
    for kind, start, end in sorted(shapes_in(text), key=lambda f: (f[1], -f[2])):
        if not found or start >= found[-1][2]:
            found.append((kind, start, end))
            covered[start:end] = "[redacted]".ljust(end - start, "]")[: end - start]
    rest = "".join(covered)
    found += [("named", start, end) for start, _, end in named(rest)]
    return sorted(((kind, start) for kind, start, _ in found), key=lambda f: f[1])


def names_home(text: str) -> bool:
    """Whether a home folder stands in it, with the name of whose it is."""
    return _HOME.search(text) is not None


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


ORDINARY_USERS = {"root", "user", "admin", "ubuntu", "debian", "centos", "train", "test", "data", "model", "models", "paper", "papertrain", "student", "work", "home", "host", "node", "runner", "docker", "jovyan", "kaggle", "vscode", "build", "nobody", "main", "base", "loss", "step"}  # fmt: skip
"""Accounts that name nobody, and words that texts about training are full of."""


def _own_user(*, short: bool = False) -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        return ""
    return user if (len(user) <= LONGEST_SHORT) == short and user.lower() not in ORDINARY_USERS else ""


@lru_cache
def _own_short() -> tuple[Standing, Standing]:
    """The user and this host, where their names are too short to be replaced wherever they stand."""
    return Standing(users=[_own_user(short=True)]), Standing(hosts=[socket.gethostname()])


@lru_cache
def _own_names() -> re.Pattern[str] | None:
    names = []
    home = str(Path("~").expanduser()).rstrip("/\\")
    if len(home) > 3:
        names.append(re.escape(home) + r"(?=[/\\\s:'\"]|$)")
    host = socket.gethostname()
    user = _own_user()
    if user:
        names.append(rf"(?<![\w.\-/]){re.escape(user)}(?![\w\-./])")
    if len(host) > LONGEST_SHORT and host.lower() not in ("localhost", "host", "local"):
        names.append(rf"(?<![\w.\-]){re.escape(host)}(?![\w\-])")
    return re.compile("|".join(names)) if names else None
