"""Double-blind review: what names the authors is replaced, and then searched for once more."""

from __future__ import annotations

import contextlib
import getpass
import re
import socket
import subprocess
import zlib
from pathlib import Path

from papertrain.core.project import read_project

COMMON = {"root", "user", "admin", "ubuntu", "main", "test", "data", "work", "home", "name", "none"}


def patterns(root: Path) -> list[re.Pattern[str]]:
    """What to replace: user and host, git authors, repository owners, the authors of paper-project.yaml."""
    words = _names(root)
    found = [
        re.compile(rf"(?<![\w.-]){re.escape(w)}(?![\w-])", re.IGNORECASE) for w in sorted(words, key=len, reverse=True)
    ]
    found.append(
        re.compile(r"(?<=github\.com[/:])[\w.-]+/[\w.-]+|(?<=gitlab\.com[/:])[\w.-]+/[\w.-]+|(?<=wandb\.ai/)[\w.-]+")
    )
    return found


def traces(contents: dict[str, bytes], root: Path) -> list[tuple[str, str]]:
    """(file, what) for everything that still gives a name away: an author, a user, a host, an e-mail, a home folder, a
    repository of somebody's. Names of files and the insides of PDFs are searched too."""
    checks = {
        "an e-mail address": re.compile(rb"(?<![\w.+-/])[A-Za-z0-9][\w.+-]{0,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}\b"),
        "a home folder": re.compile(rb"(?:/home|/Users)/(?!\[user\])[A-Za-z0-9._-]+"),
        "a repository's owner": re.compile(rb"(?:github|gitlab)\.com[/:](?!\[)[\w.-]+/[\w.-]+"),
        "the name of an author, user or host": re.compile(
            b"|".join(rb"(?<![\w.-])" + re.escape(w.encode()) + rb"(?![\w-])" for w in sorted(_names(root))) or rb"(?!)", re.IGNORECASE
        ),
    }  # fmt: skip
    found = []
    for name, data in contents.items():
        searched = name.encode() + b"\n" + data + _inside(data)
        found += [(name, what) for what, pattern in checks.items() if pattern.search(searched)]
    return found


def _inside(data: bytes) -> bytes:
    """The unpacked streams of a PDF, up to a size."""
    if data[:4] != b"%PDF":
        return b""
    parts = []
    for m in re.finditer(rb"stream\r?\n(.*?)endstream", data, re.DOTALL):
        with contextlib.suppress(zlib.error):
            parts.append(zlib.decompressobj().decompress(m[1], 2**22))
    return b"\n".join(parts)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def _names(root: Path) -> set[str]:
    words = {_user(), socket.gethostname()}
    for command in (
        ["git", "config", "user.name"],
        ["git", "config", "user.email"],
        ["git", "log", "-200", "--format=%an%n%ae%n%cn%n%ce"],
    ):
        try:
            out = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=10, check=False).stdout
        except (OSError, subprocess.TimeoutExpired):
            continue
        words |= {w.strip() for w in out.splitlines()}
    words |= _owners(root)
    project = read_project(root)
    for author in (project.get("authors") or []) if project is not None else []:
        values = author.values() if isinstance(author, dict) else [author]
        words |= {str(v) for v in values if isinstance(v, str)}
    return {w for w in words if len(w) > 3 and w.lower() not in COMMON}


def _owners(root: Path) -> set[str]:
    """Who the remote repositories belong to: `git@host:owner/name`, `https://host/owner/name`."""
    try:
        out = subprocess.run(
            ["git", "remote", "-v"], cwd=root, capture_output=True, text=True, timeout=10, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return set()
    return {m[1] for m in re.finditer(r"[:/]([\w.-]+)/[\w.-]+?(?:\.git)?\s", out)}
