"""Double-blind review: what names the authors is replaced, and then searched for once more."""

from __future__ import annotations

import getpass
import re
import socket
import subprocess
from pathlib import Path

from papertrain.core.yaml import load

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


def traces(contents: dict[str, bytes]) -> list[tuple[str, str]]:
    """(file, what) for everything that still gives a name away: an e-mail, a home folder, a repository of somebody's."""
    checks = {
        "an e-mail address": re.compile(rb"(?<![\w.+-/])[A-Za-z0-9][\w.+-]*@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}\b"),
        "a home folder": re.compile(rb"(?:/home|/Users)/(?!\[user\])[A-Za-z0-9._-]+"),
        "a repository's owner": re.compile(rb"github\.com[/:](?!\[)[\w.-]+/[\w.-]+"),
    }
    own = [w.encode() for w in (_user(), socket.gethostname()) if len(w) > 3 and w.lower() not in COMMON]
    found = []
    for name, data in contents.items():
        for what, pattern in checks.items():
            if pattern.search(data):
                found.append((name, what))
        if any(re.search(rb"(?<![\w.-])" + re.escape(w) + rb"(?![\w-])", data) for w in own):
            found.append((name, "a user or host name"))
    return found


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
        ["git", "log", "-50", "--format=%an%n%ae"],
    ):
        try:
            out = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=10, check=False).stdout
        except (OSError, subprocess.TimeoutExpired):
            continue
        words |= {w.strip() for w in out.splitlines()}
    here = root.resolve()
    for folder in (here, *here.parents):
        project = folder / "paper-project.yaml"
        if project.is_file():
            authors = load(project.read_text("utf-8", "replace"), str(project)).get("authors")
            for author in authors if isinstance(authors, list) else [authors]:
                values = author.values() if isinstance(author, dict) else [author]
                words |= {str(v) for v in values if isinstance(v, str)}
            break
    return {w for w in words if len(w) > 3 and w.lower() not in COMMON}
