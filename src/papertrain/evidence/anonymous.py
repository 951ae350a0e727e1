"""Double-blind review: what names the authors is replaced, and then searched for once more."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from papertrain.core.redact import Hidden, parted
from papertrain.core.standing import Standing
from papertrain.evidence import places
from papertrain.evidence.cleaning import inside, text_of
from papertrain.evidence.people import patterns_of, people


def patterns(root: Path) -> list[Hidden]:
    """What to replace: folders outside of the workspace; authors, logins, hosts, mails, institutions, grants and owners of
    repositories."""
    return [*places.patterns(root), *patterns_of(people(root))]


CHECKS = {
    "an e-mail address": re.compile(
        r"(?<![\w.+-/])(?!git@)[A-Za-z0-9][\w.+-]{0,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}\b"
    ),
    "a home folder": re.compile(r"(?:/home|/Users)/(?!\[|~)[A-Za-z0-9._-]+"),
    "a repository's owner": re.compile(r"(?:github|gitlab)\.com[/:](?!\[)[\w.-]+/[\w.-]+"),
}


_WRITTEN_OUT = re.compile(
    r"(?<![\w.+-/])[A-Za-z][\w.+-]{2,64}@(?:[A-Za-z0-9-]{2,63}\.){1,8}(?:com|org|net|edu|gov|[a-z]{2})(?![\w@])"
)
"""An address in what is no text. Compressed pixels hold a sign, an @ and a dot somewhere among 100,000 bytes."""


def traces(contents: dict[str, bytes], hide: Sequence[Hidden]) -> list[tuple[str, str]]:
    """(file, what) for everything that still gives a name away: an author, a user, a host, an e-mail, a home folder, a
    repository of somebody's. Names of files and what is packed in them are searched too."""
    found = []
    for name, data in contents.items():
        parts = [data, *inside(data, PurePosixPath(name).suffix.lower())]
        text = parted("\n".join([name, *map(_readable, parts)]))
        said = parted("\n".join([name, *(_readable(part) for part in parts if text_of(part) is not None)]))
        packed = parted("\n".join(_readable(part) for part in parts if text_of(part) is None))
        found += [(name, what) for what, pattern in CHECKS.items() if pattern.search(said)]
        if _WRITTEN_OUT.search(packed):
            found.append((name, "an e-mail address"))
        found += [(name, what) for what in ("a home folder", "a repository's owner") if CHECKS[what].search(packed)]
        if any(pattern.search(text) for pattern in hide):
            found.append((name, "the name of an author, user or host"))
    return found


def undecided(contents: dict[str, bytes], hide: Sequence[Hidden]) -> list[tuple[str, str, int]]:
    """(word, file, line) where the short name of a user or host is left, since it may as well be an ordinary word."""
    short = [h for h in hide if isinstance(h, Standing)]
    texts = ((name, text) for name, data in sorted(contents.items()) if (text := text_of(data)) is not None)
    return [(word, name, line) for name, text in texts for s in short for word, line in s.undecided(text)]


def _readable(data: bytes) -> str:
    """Text as it is; of anything else the runs of characters that somebody could read."""
    text = text_of(data)
    if text is not None:
        return text
    return "\n".join(m[0].decode("utf-8", "replace") for m in re.finditer(rb"[\x20-\x7e\x80-\xff]{4,}", data))
