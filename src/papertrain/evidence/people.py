"""Who is behind a study, as its files and the machine tell: what a package for double-blind review must not say."""

from __future__ import annotations

import getpass
import re
import socket
import subprocess
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from papertrain.core.errors import PapertrainError
from papertrain.core.files import json_object, read_text
from papertrain.core.project import read_project
from papertrain.core.redact import Hidden
from papertrain.core.standing import Standing, short
from papertrain.core.values import Value
from papertrain.evidence.encoded import Encoded
from papertrain.evidence.spellings import COMMON, FIELD, patterns, worth

OWNERS = re.compile(
    r"(?i)^(?:wandb_)?entity$|^wandb_entity$|^hub_username$|^(?:hf|hub|kaggle|wandb)_user(?:name)?$|^org(?:anization)?$|_entity$"
)
TARGETS = re.compile(r"(?i)^(?:push_to_)?hub_model_id$|^hub_dataset_id$|^repo_id$|^export_hub_model_id$")
WHO = {"USER", "LOGNAME", "USERNAME", "SLURM_JOB_USER", "SLURM_JOB_ACCOUNT", "SUDO_USER", "GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL", "WANDB_USERNAME", "KAGGLE_USERNAME"}  # fmt: skip
WHERE = {"HOSTNAME", "HOST", "SLURMD_NODENAME", "SLURM_NODELIST", "SLURM_JOB_NODELIST", "SLURM_SUBMIT_HOST", "SLURM_CLUSTER_NAME", "MASTER_ADDR", "host", "hostname", "submit_host"}  # fmt: skip
LOGGED = (
    re.compile(r"logged in as:?\s+(?P<user>[\w.@-]+)(?:\s+\((?P<word>[\w.-]+)\))?", re.IGNORECASE),
    re.compile(r"(?<![\w.+\-/:])(?P<user>[A-Za-z_][\w.-]{1,30})@(?P<host>[A-Za-z][\w.-]{1,60})(?::[~/]| ~\])"),
    re.compile(r"(?m)^(?P<host>[A-Za-z][\w.-]{1,62}):\d+:\d+ \[\d*\] NCCL"),
    re.compile(r"https?://wandb\.ai/(?P<user>[\w.-]+)/"),
    re.compile(r"/(?:home\d*|users?|Users)/(?P<user>[a-z][\w.-]{1,30})(?=/)"),
)
"""Where logs say who ran it: trackers, prompts, NCCL's lines, paths."""
# A pattern replaces all that it matches, so the host before an owner is only looked back at.
_FORGES = [h + end for h in ("github", "gitlab", "bitbucket", "gitee", "codeberg") for end in (".com", ".org")]
OWNED = (
    re.compile(rf"(?<=[mg][/:])(?:{'|'.join(rf'(?<={re.escape(h)}[/:])' for h in _FORGES)})(?!\[)[\w.-]+/[\w.-]+"),
    re.compile(r"(?<=wandb\.ai/)(?!\[)[\w.-]+(?:/[\w.-]+)?"),
)
"""Repositories of somebody, also where nobody knows whose."""
POST = {
    "gmail.com",
    "outlook.com",
    "hotmail.com",
    "live.com",
    "yahoo.com",
    "icloud.com",
    "qq.com",
    "163.com",
    "126.com",
    "foxmail.com",
    "proton.me",
    "protonmail.com",
    "gmx.de",
    "web.de",
    "users.noreply.github.com",
    "localhost",
}
"""Where everybody has a mailbox; any other house tells where somebody works."""
READ = 4 * 2**20
MOST = 2000
"""Names that are looked for; a list of more is no list of authors."""


class People(Value, frozen=True, kw_only=True):
    """names: of persons. words: logins, hosts, mails, institutions, grants, as they stand. owners: of repositories. users and
    hosts: those that are too short to be looked for wherever they stand. letters: institutions known by two or three capitals."""

    names: frozenset[str]
    words: frozenset[str]
    owners: frozenset[str]
    users: frozenset[str] = frozenset()
    hosts: frozenset[str] = frozenset()
    letters: frozenset[str] = frozenset()


def people(root: Path) -> People:
    """Everybody that git, the paper's file, the repository, the records, the logs and this machine name."""
    here = [("user", _user()), ("host", socket.gethostname())]
    return who([*here, *_project(root), *_git(root), *_repository(root), *_runs(root)])


def who(told: Iterable[tuple[str, str]]) -> People:
    """What was told (`name`, `owner`, `user`, `host` or `word`, and the text), taken apart."""
    said: dict[str, set[str]] = {kind: set() for kind in ("name", "owner", "word", "user", "host")}
    for kind, text in islice(dict.fromkeys(told), MOST):  # git tells an author once for each commit
        said[kind].update(_split(text))
    mails = {w for words in said.values() for w in words if "@" in w}
    users = said["user"] | {w.split("@")[0] for w in mails}
    houses = {part for w in mails if w.rsplit("@", 1)[1] not in POST for part in house(w.rsplit("@", 1)[1])}
    return People(
        names=worth(said["name"] - mails),
        words=worth(said["word"] | mails | houses | users | said["host"]),
        owners=worth(said["owner"]),
        users=short(users) - COMMON,
        hosts=short(said["host"]) - COMMON,
        letters=frozenset(w for w in said["word"] if re.fullmatch(r"[A-Z][A-Z0-9]{1,2}", w)) - FIELD,
    )


def patterns_of(who: People) -> list[Hidden]:
    """What to look for: each in the ways in which names are written."""
    plain = patterns(who.names, who.words, who.owners, who.letters)
    encoded = Encoded([p for p in plain if isinstance(p, re.Pattern)])
    found: list[Hidden] = [encoded, *plain, *OWNED, Header(SLURM)]
    standing = Standing(who.users, who.hosts)
    return [*found, standing] if standing else found


def _split(said: str) -> Iterator[str]:
    """`Ada Lovelace <ada@example.org>` is two, and so are names between commas and `and`."""
    for part in re.split(r"\s*[<>;；、，]\s*|\s+and\s+|\n", said):
        word = unicodedata.normalize("NFC", " ".join(part.strip(" ,()").split()))
        if 0 < len(word) <= 120 and len(word.split()) <= 10:
            yield word


def _git(root: Path) -> Iterator[tuple[str, str]]:
    for command in (
        ["git", "config", "user.name"],
        ["git", "config", "user.email"],
        ["git", "config", "github.user"],
        ["git", "log", "--all", "-2000", "--format=%an%n%ae%n%cn%n%ce%n%(trailers:key=Co-authored-by,valueonly)"],
    ):
        yield from (("name", line.strip()) for line in _run(command, root).splitlines() if line.strip())
    for remote in _run(["git", "remote", "-v"], root).splitlines():
        yield from _remote(remote)


_PUBLIC = {*_FORGES, "huggingface.co", "hf.co", "gitee.com", "codeberg.org", "sr.ht", "dev.azure.com", "localhost", "127.0.0.1"}  # fmt: skip


def _remote(text: str) -> Iterator[tuple[str, str]]:
    """The owner of a repository, and the house whose forge it lies on, where that is none of everybody's."""
    for m in re.finditer(r"[:/]([\w.-]+)/[\w.-]+?(?:\.git)?\s", text + " "):
        yield "owner", m[1]
    for m in re.finditer(r"(?:://(?:[^\s/@]+@)?|@)([\w-]+(?:\.[\w-]+)+)(?=[:/])", text):
        if m[1].lower() not in _PUBLIC:
            yield from (("word", part) for part in house(m[1]))


def house(host: str) -> Iterator[str]:
    """A host, and what tells whose it is: `gitlab.inst.ac.uk`, `inst.ac.uk` and, where it is no common word, `inst`."""
    parts = host.split(".")
    yield host
    if len(parts) < 2 or all(p.isdigit() for p in parts):
        return
    two = len(parts) > 2 and len(parts[-1]) == 2 and parts[-2] in ("ac", "edu", "co", "com", "org", "net", "gov", "go", "or")  # fmt: skip
    yield ".".join(parts[-3 if two else -2 :])
    name = parts[-3 if two else -2]
    if len(name) > 5 and name.lower() not in COMMON:
        yield name


class Header(NamedTuple):
    """What a Slurm script says of the cluster: its option stays, its value goes."""

    pattern: re.Pattern[str]

    def sub(self, stand_in: str, text: str, /) -> str:
        return self.pattern.sub(lambda m: f"{m['option']}{stand_in}", text)

    def search(self, text: str, /) -> re.Match[str] | None:
        return self.pattern.search(text)


SLURM = re.compile(
    r"(?m)^(?P<option>[ \t]*#SBATCH[ \t]+(?:--(?P<long>account|partition|qos|reservation|nodelist|exclude|mail-user|clusters?|wckey)(?:=|[ \t]+)|-(?P<short>[ApqwxM])[ \t]*))(?!\[redacted|\$)(?P<value>[^\s#]+)"
)
_NAMES_SOMEBODY = {"account": "user", "A": "user", "mail-user": "user", "nodelist": "host", "w": "host", "exclude": "host", "x": "host"}  # fmt: skip


def _run(command: list[str], root: Path) -> str:
    try:
        return subprocess.run(command, cwd=root, capture_output=True, text=True, errors="replace", timeout=10, check=False).stdout  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""


NAMED = {"authors": "name", "author": "name", "maintainers": "name", "affiliation": "word", "affiliations": "word", "institution": "word", "institutions": "word", "institute": "word", "organization": "word",
         "university": "word", "department": "word", "lab": "word", "group": "word", "email": "word", "emails": "word", "contact": "word", "correspondence": "word", "orcid": "word", "homepage": "word", "website": "word", "github": "owner", "twitter": "word",
         "funding": "grant", "grant": "grant", "grants": "grant", "acknowledgements": "grant", "acknowledgments": "grant", "advisor": "name", "advisors": "name", "supervisor": "name", "team": "word", "wandb_entity": "owner", "hub_user": "owner"}  # fmt: skip


def _project(root: Path) -> Iterator[tuple[str, str]]:
    try:
        project = read_project(root)
    except PapertrainError:
        return
    for key in project.keys if project is not None else ():
        kind = NAMED.get(key.key.rsplit(".", 1)[-1].lower().replace("-", "_"), "name" if key.as_ == "authors" else "")
        if kind:
            yield from _told(key.value, kind)


def _told(value: Any, kind: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for item in value:
            yield from _told(item, kind)
    elif isinstance(value, dict):
        low = {str(k).lower(): v for k, v in value.items()}
        first = low.get("first") or low.get("given") or low.get("given_name") or low.get("given-names") or ""
        last = low.get("last") or low.get("family") or low.get("family_name") or low.get("family-names") or ""
        if isinstance(first, str) and isinstance(last, str) and first and last:
            yield "name", f"{first} {last}"
        for key, one in low.items():
            if key not in ("first", "last", "given", "family", "given-names", "family-names"):
                yield from _told(one, NAMED.get(key, "name" if key == "name" else "word"))
    elif isinstance(value, str):
        if kind == "grant":  # a sentence: what is written in capitals or with digits tells who paid
            yield from (("word", m[0]) for m in re.finditer(r"(?:[A-Z][\w'&-]+\s+){1,5}[A-Z][\w'&-]+|\b[\w-]*\d[\w-]*\b", value) if len(m[0]) > 4)  # fmt: skip
        else:
            yield kind, value


def _repository(root: Path) -> Iterator[tuple[str, str]]:
    """What lies at the top of the repository and names its authors."""
    top = next((f for f in (root.resolve(), *root.resolve().parents) if (f / ".git").exists()), None)
    if top is None:
        return
    text = _text(top / "CITATION.cff")
    for m in re.finditer(r"family-names:\s*[\"']?([^\"'\n]+)[\"']?\s*\n\s*-?\s*given-names:\s*[\"']?([^\"'\n]+)", text):
        yield "name", f"{m[2].strip()} {m[1].strip()}"
    for m in re.finditer(r"given-names:\s*[\"']?([^\"'\n]+)[\"']?\s*\n\s*-?\s*family-names:\s*[\"']?([^\"'\n]+)", text):
        yield "name", f"{m[1].strip()} {m[2].strip()}"
    yield from (("word", m[1].strip()) for m in re.finditer(r"affiliation:\s*[\"']?([^\"'\n]+)", text))
    for name in ("LICENSE", "LICENSE.md", "LICENSE.txt"):
        for m in re.finditer(r"Copyright\s+(?:\(c\)|©)?\s*[\d,\s–-]*\s*([^\n.]{4,80})", _text(top / name)):
            if not re.match(r"(?i)the |\[|owner|holder|notice|license", m[1]):
                yield "name", m[1].strip()
    for line in _text(top / "AUTHORS").splitlines()[:200]:
        if line.strip() and not line.startswith("#"):
            yield "name", line.strip(" -*")
    for m in re.finditer(r"name\s*=\s*\"([^\"]+)\"[^}\n]*email\s*=\s*\"([^\"]+)\"", _text(top / "pyproject.toml")):
        yield "name", m[1]
        yield "word", m[2]


def _text(path: Path) -> str:
    try:
        return read_text(path, limit=READ)
    except PapertrainError:
        return ""


def _runs(root: Path) -> Iterator[tuple[str, str]]:
    for file in (root / "runs").rglob("record.json"):
        yield from _recorded(json_object(file, limit=READ))
    for folder in ("configs", "runs"):
        for file in sorted((root / folder).rglob("*")):
            if (
                file.suffix
                in (".yaml", ".yml", ".json", ".log", ".txt", ".out", ".err", ".sh", ".sbatch", ".slurm", ".md", "")
                and file.is_file()
            ):
                yield from _logged(_start(file))
            if m := re.match(r"events\.out\.tfevents\.\d+\.(.+?)(?:\.\d+)*$", file.name):
                yield "host", m[1]


def _start(file: Path) -> str:
    try:
        with file.open("rb") as f:
            return f.read(READ).decode("utf-8", "replace")
    except OSError:
        return ""


def _recorded(value: Any, depth: int = 0) -> Iterator[tuple[str, str]]:
    if depth > 4 or not isinstance(value, dict):
        return
    for key, one in value.items():
        if isinstance(one, dict):
            yield from _recorded(one, depth + 1)
        elif isinstance(one, str) and len(one) < 300:
            if key in WHO:
                yield "name" if key.endswith("_NAME") else "user", one
            elif key in WHERE:
                yield from (("host", name) for name in _nodes(one))
            elif key == "git_commit" and re.fullmatch(r"[0-9a-f]{12,64}", one):
                # whoever searches a forge for it finds the repository
                yield from (("word", one[:n]) for n in (len(one), 12, 10, 8, 7))
            elif OWNERS.search(str(key)):
                yield "owner", one
            elif "remote" in str(key):
                yield from _remote(one)


def _nodes(listed: str) -> Iterator[str]:
    """The hosts of a list as Slurm writes it: `gpu[1-3,7],login1`."""
    for m in islice(re.finditer(r"([\w.\-]+)(?:\[([\d,\-]+)\])?", listed), MOST):
        yield m[1].rstrip("-")
        for part in (m[2] or "").split(","):
            low, _, high = part.partition("-")
            if not low.isdigit():
                continue
            last = int(high) if high.isdigit() else int(low)
            yield from (f"{m[1]}{n:0{len(low)}d}" for n in range(int(low), min(last, int(low) + 64) + 1))


def _logged(text: str) -> Iterator[tuple[str, str]]:
    for pattern in LOGGED:
        for m in pattern.finditer(text):
            yield from ((kind, w) for kind, w in m.groupdict().items() if w)
    for m in SLURM.finditer(text):
        kind = _NAMES_SOMEBODY.get(m["long"] or m["short"])
        yield from ((kind, w) for w in (_nodes(m["value"]) if kind == "host" else [m["value"]]) if kind)
    for m in re.finditer(
        r"[\"']?(?P<key>[A-Za-z_]{3,30})[\"']?\s{0,4}[:=\s]\s{0,4}[\"']?(?P<value>[\w.-]{4,60}(?:/[\w.-]+)?)", text
    ):
        if OWNERS.search(m["key"]):
            yield "owner", m["value"]
        elif TARGETS.search(m["key"]) and "/" in m["value"]:
            yield "owner", m["value"].split("/")[0]


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
