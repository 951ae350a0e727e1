"""Names of users and hosts too short to be looked for everywhere (`li`, `wu`, `gp1`): found where they can be nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

LONGEST = 3
_SHORT = re.compile(rf"[A-Za-z_][A-Za-z0-9_\-]{{1,{LONGEST - 1}}}")
FOLDERS = {"bin", "lib", "usr", "etc", "var", "opt", "dev", "tmp", "run", "src", "sys", "mnt", "srv", "env", "log", "out", "git", "gpu", "cpu", "api", "www", "doc", "img", "raw", "new", "old", "all", "nfs", "hf", "ml", "ds", "v1", "v2", "v3", "en", "zh", "ops", "pkg", "job"}  # fmt: skip
"""Also the names of folders: not taken for a user by their place in a path alone."""

_SAYS_USER = (
    r"user(?:_?name)?|logname|login|owner|account|author|creator|submitter|(?:created|run|submitted|started)_by|entity"
)
_SAYS_HOST = r"host(?:_?name)?|node(?:_?names?|_?list)?|server|machine|(?:master|submit)_(?:addr|host)|master_addr"
_PAIR = r"[\"'\\]{0,4}\s{0,4}[:=]\s{0,4}[\"'\\]{0,4}"
_MODES = r"[dl\-][rwxsStT\-]{9}[.+@]?\s+\d+\s+"
_SHUT = r"(?![\w\-]|\.\w)"


def short(words: Iterable[str]) -> frozenset[str]:
    """Those that are names and too short."""
    return frozenset(w for w in words if _SHORT.fullmatch(w))


class Standing:
    """Replaces and finds them as an expression does: in a path, a prompt, a listing, behind a word that says what follows."""

    def __init__(self, users: Iterable[str] = (), hosts: Iterable[str] = ()) -> None:
        self.users, self.hosts = short(users), short(hosts)
        every = _any(self.users | self.hosts)
        self._there = re.compile(rf"(?<![A-Za-z0-9]){every}(?![A-Za-z0-9])") if every else None
        self._patterns = [re.compile(p) for p in _places(self.users, self.hosts)]

    def __bool__(self) -> bool:
        return self._there is not None

    def sub(self, stand_in: str, text: str) -> str:
        if self._there is None or not self._there.search(text):
            return text
        for pattern in self._patterns:
            text = pattern.sub(lambda m: m["keep"] + stand_in, text)
        return text

    def search(self, text: str) -> re.Match[str] | None:
        if self._there is None or not self._there.search(text):
            return None
        return next((m for p in self._patterns if (m := p.search(text))), None)

    def undecided(self, text: str) -> Iterator[tuple[str, int]]:
        """(word, line) where one of them stands and may as well be an ordinary word."""
        if self._there is not None:
            yield from ((m[0], text.count("\n", 0, m.start()) + 1) for m in self._there.finditer(text))


def _any(words: Iterable[str]) -> str:
    listed = "|".join(map(re.escape, sorted(words, key=lambda w: (-len(w), w))))
    return f"(?:{listed})" if listed else ""


def _places(users: frozenset[str], hosts: frozenset[str]) -> Iterator[str]:
    every = _any(users | hosts)
    if not every:
        return
    says = rf"(?i:(?<![A-Za-z])(?:{_SAYS_USER}|{_SAYS_HOST}))"
    yield rf"(?P<keep>{says}(?:{_PAIR}|\s+)){every}{_SHUT}"
    yield rf"(?P<keep>(?i:logged in as|connecting to|connected to):?\s+){every}{_SHUT}"
    if user := _any(users):
        if inside := _any(users - FOLDERS):
            yield rf"(?P<keep>[/\\]){inside}(?=[/\\])"
        yield rf"(?P<keep>/(?:home\d*|users?|Users|scratch\d*)/|~){user}(?![\w\-])"
        yield rf"(?P<keep>(?<![\w.+\-/])){user}(?=@[A-Za-z0-9\[])"
        yield rf"(?P<keep>\d\(){user}(?=\))"
        yield rf"(?P<keep>{_MODES}){user}(?=\s)"
        yield rf"(?P<keep>{_MODES}\S+\s+){user}(?=\s)"
        yield rf"(?P<keep>(?:^|\n)[ \t]{{0,10}}){user}(?=[ \t]+\d+[ \t]+\d)"
        yield rf"(?P<keep>(?:^|\n)[ \t]*\d+(?:_\d+)?[ \t]+\S+[ \t]+\S+[ \t]+){user}(?=[ \t]+[A-Z]{{1,2}}[ \t])"
        yield rf"(?P<keep>/(?:tmp|var/tmp|dev/shm)/(?:[A-Za-z0-9.]+[_\-]){{0,3}}){user}(?=[_\-/.\s'\"]|$)"
        yield rf"(?P<keep>(?<![\w.\-])){user}(?=\(\d+M\))"
    if host := _any(hosts):
        yield rf"(?P<keep>[A-Za-z0-9_\]]@){host}(?![\w\-])"
        yield rf"(?P<keep>(?:^|\n)){host}(?=:\d+:\d+ \[)"
        yield rf"(?P<keep>tfevents\.\d{{9,11}}\.){host}(?=\.|$)"
        yield rf"(?P<keep>(?<![\w.\-/])|://){host}(?=:\d{{2,5}}(?!\d)|:[~/])"
        yield rf"(?P<keep>(?<![\w.\-])){host}(?=\.(?:[a-z0-9\-]+\.)+[a-z]{{2,}}(?![\w\-]))"
        yield rf"(?P<keep>\b(?:ssh|mosh|ping|scp|sftp)\s+(?:-\S+\s+){{0,4}}){host}{_SHUT}"
        yield rf"(?P<keep>(?:^|\n)){host}(?=: )"
        yield rf"(?P<keep>/(?:net|nfs|export|hosts)/){host}(?=/)"
