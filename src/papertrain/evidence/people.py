"""Who is behind a study, as its files and the machine tell: what a package for double-blind review must not say."""

from __future__ import annotations

import getpass
import json
import re
import socket
import subprocess
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from papertrain.core.errors import PapertrainError
from papertrain.core.files import read_text
from papertrain.core.project import read_project
from papertrain.core.values import Value

COMMON = {"root", "user", "users", "admin", "ubuntu", "main", "master", "test", "tests", "data", "work", "home", "name", "none", "null", "true", "false", "local", "localhost", "anonymous",
          "team", "entity", "model", "models", "train", "training", "paper", "project", "research", "student", "host", "node", "worker", "server", "cluster", "login", "docker", "runner", "build", "container", "origin", "gpu",
          "long", "young", "page", "field", "best", "good", "short", "small", "brown", "black", "white", "green", "gray", "grey", "case", "price", "rich", "power", "bush", "law", "love", "wood", "stone", "rose",
          "king", "north", "west", "east", "south", "rate", "step", "loss", "mean", "lang", "base", "adam", "epoch", "batch", "token", "layer", "head", "mark", "will", "grace", "hopper", "ada", "volta", "pascal",
          "ampere", "turing", "lovelace", "blackwell", "fisher", "bayes", "gauss", "wilson", "welch", "holm", "university", "institute", "department", "school", "college", "laboratory",
          "shared", "public", "common", "datasets", "cache", "envs", "projects", "software", "anaconda3", "miniconda3", "slurm", "jovyan", "vscode", "ec2-user", "azureuser", "sagemaker-user", "centos", "debian", "kaggle", "colab", "vagrant", "coder",
          "seed", "seeds", "maintainers", "maintainer", "authors", "author", "developers", "contributors", "github", "actions", "noreply", "unknown",
          "github.com", "gitlab.com", "huggingface.co", "bitbucket.org", "hf.co"}  # fmt: skip
"""Words of the field and of the language: never taken for a person by themselves, also where somebody is called so."""
OWNERS = re.compile(
    r"(?i)^(?:wandb_)?entity$|^wandb_entity$|^hub_username$|^(?:hf|hub|kaggle|wandb)_user(?:name)?$|^org(?:anization)?$|_entity$"
)
TARGETS = re.compile(r"(?i)^(?:push_to_)?hub_model_id$|^hub_dataset_id$|^repo_id$|^export_hub_model_id$")
WHO = {"USER", "LOGNAME", "USERNAME", "SLURM_JOB_USER", "SLURM_JOB_ACCOUNT", "SUDO_USER", "GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL", "WANDB_USERNAME", "KAGGLE_USERNAME"}  # fmt: skip
WHERE = {"HOSTNAME", "HOST", "SLURMD_NODENAME", "SLURM_NODELIST", "SLURM_JOB_NODELIST", "SLURM_SUBMIT_HOST", "SLURM_CLUSTER_NAME", "MASTER_ADDR", "host", "hostname", "submit_host"}  # fmt: skip
LOGGED = (
    re.compile(r"logged in as:?\s+(?P<one>[\w.@-]+)(?:\s+\((?P<two>[\w.-]+)\))?", re.IGNORECASE),
    re.compile(r"\b(?P<one>[A-Za-z][\w.-]{2,30})@(?P<two>[A-Za-z][\w.-]{2,60}):[~/]"),
    re.compile(r"(?m)^(?P<one>[A-Za-z][\w.-]{3,62}):\d+:\d+ \[\d*\] NCCL"),
    re.compile(r"https?://wandb\.ai/(?P<one>[\w.-]+)/"),
    re.compile(r"/(?:home\d*|users?|Users)/(?P<one>[a-z][\w.-]{3,30})(?=/)"),
)
"""Where logs say who ran it: trackers, prompts, NCCL's lines, paths."""
READ = 4 * 2**20
MOST = 2000
"""Names that are looked for; a list of more is no list of authors."""


class People(Value, frozen=True, kw_only=True):
    """names: of persons. words: logins, hosts, mails, institutions, grants, as they stand. owners: of repositories."""

    names: frozenset[str]
    words: frozenset[str]
    owners: frozenset[str]


def people(root: Path) -> People:
    """Everybody that git, the paper's file, the repository, the records, the logs and this machine name."""
    here = [("word", _user()), ("word", socket.gethostname())]
    return who([*here, *_project(root), *_git(root), *_repository(root), *_runs(root)])


def who(told: Iterable[tuple[str, str]]) -> People:
    """What was told (`name`, `owner` or `word`, and the text), taken apart."""
    names, words, owners = set[str](), set[str](), set[str]()
    for kind, said in islice(dict.fromkeys(told), MOST):  # git tells an author once for each commit
        (names if kind == "name" else owners if kind == "owner" else words).update(_split(said))
    mails = {w for w in names | words if "@" in w}
    names -= mails
    words |= mails | {w.split("@")[0] for w in mails}
    return People(names=_worth(names), words=_worth(words), owners=_worth(owners))


def patterns_of(who: People) -> list[re.Pattern[str]]:
    """What to look for: each in the ways in which names are written."""
    found = [_folded(w) for w in sorted(who.words | who.owners, key=len, reverse=True)]
    for name in sorted(who.names, key=len, reverse=True):
        found += [re.compile(p) for p in _ways(name)]
    if who.owners:
        some = "|".join(map(re.escape, sorted(who.owners, key=len, reverse=True)))
        found.insert(0, re.compile(rf"(?i)(?<![\w.-])(?:{some})/[\w.-]+"))
    # A pattern replaces all that it matches, so the host before an owner is only looked back at.
    hosts = [h + end for h in ("github", "gitlab", "bitbucket", "gitee", "codeberg") for end in (".com", ".org")]
    found += [re.compile(rf"(?<={re.escape(h)}[/:])(?!\[)[\w.-]+/[\w.-]+") for h in hosts]
    found.append(re.compile(r"(?<=wandb\.ai/)(?!\[)[\w.-]+(?:/[\w.-]+)?"))
    return found


def _split(said: str) -> Iterator[str]:
    """`Ada Lovelace <ada@example.org>` is two, and so are names between commas and `and`."""
    for part in re.split(r"\s*[<>;]\s*|\s+and\s+|\n", said):
        word = unicodedata.normalize("NFC", " ".join(part.strip(" ,()").split()))
        if 0 < len(word) <= 120 and len(word.split()) <= 10:
            yield word


def _worth(words: Iterable[str]) -> frozenset[str]:
    return frozenset(
        w for w in words if len(w) > 3 and w.lower() not in COMMON and not re.fullmatch(r"[\d.:]+|.*\.?localdomain", w)
    )


def _folded(word: str) -> re.Pattern[str]:
    ways = "|".join(_literal(w).replace(r"\ ", r"[\s_]+") for w in _spellings(word))
    return re.compile(rf"(?i)(?<![A-Za-z0-9])(?:{ways})(?![A-Za-z0-9])")


def _literal(word: str) -> str:
    """As it is, and with more backslashes where JSON stands in JSON."""
    return re.escape(word).replace("\\\\", "\\\\+")


def _spellings(word: str) -> list[str]:
    """As it stands, without its accents, with letters for them, and as JSON writes it."""
    plain = unicodedata.normalize("NFKD", word).encode("ascii", "ignore").decode()
    german = plain
    if any(c in word for c in "äöüßÄÖÜøåØÅ"):
        table = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ø": "oe", "å": "aa", "Ø": "Oe", "Å": "Aa"})  # fmt: skip
        german = unicodedata.normalize("NFKD", word.translate(table)).encode("ascii", "ignore").decode()
    escaped = json.dumps(word)[1:-1]
    return list(dict.fromkeys(w for w in (word, unicodedata.normalize("NFD", word), german, plain, escaped, escaped.upper().replace("\\U", "\\u"), json.dumps(word.lower())[1:-1]) if len(w) > 3))  # fmt: skip


def _ways(name: str) -> Iterator[str]:
    """The whole name; last name first; initials; logins made of it; the last name alone where it is no common word."""
    every = sorted(set(_spellings(name)), key=len, reverse=True)
    for spelling in every:
        parts = [_literal(p) for p in spelling.split()]
        gap = r"[\s._\-]{1,3}"
        yield rf"(?i)(?<![A-Za-z0-9]){gap.join(parts)}(?![A-Za-z0-9])"
    for spelling in every:
        parts = [_literal(p) for p in spelling.split()]
        if len(parts) < 2 or spelling.islower():
            continue
        first, last = parts[0], parts[-1]
        yield rf"(?i)(?<![A-Za-z0-9]){last},?\s+{first}(?![A-Za-z0-9])"
        bare = spelling.split()
        if bare[0][0] != "\\":
            initial = re.escape(bare[0][0])
            yield rf"(?<![A-Za-z0-9])(?:{initial}\.?[\s\-]{{0,2}}){{1,2}}{last}(?![A-Za-z0-9])"
            yield rf"(?<![A-Za-z0-9]){last},?\s+{initial}\.(?![A-Za-z0-9])"
        if bare[0].isascii() and bare[-1].isascii():
            f, z = bare[0].lower(), re.sub(r"[^a-z]", "", bare[-1].lower())
            logins = [x for x in (f + z, z + f, f[0] + z, z + f[0], f + z[:1]) if len(x) > 4 and x not in COMMON]
            if logins:
                yield rf"(?i)(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, logins))})\d{{0,3}}(?![A-Za-z0-9])"
        for part in (bare[-1], *bare[-1].split("-"), bare[0] if len(bare[0]) > 5 else ""):
            if len(part) > 3 and part.lower() not in COMMON:
                yield rf"(?<![A-Za-z0-9])(?:{_literal(part)}|{_literal(part.upper())})(?![a-z0-9])"


def _git(root: Path) -> Iterator[tuple[str, str]]:
    for command in (
        ["git", "config", "user.name"],
        ["git", "config", "user.email"],
        ["git", "config", "github.user"],
        ["git", "log", "--all", "-2000", "--format=%an%n%ae%n%cn%n%ce%n%(trailers:key=Co-authored-by,valueonly)"],
    ):
        yield from (("name", line.strip()) for line in _run(command, root).splitlines() if line.strip())
    for remote in _run(["git", "remote", "-v"], root).splitlines():
        yield from (("owner", m[1]) for m in re.finditer(r"[:/]([\w.-]+)/[\w.-]+?(?:\.git)?\s", remote + " "))


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
        try:
            record = json.loads(file.read_bytes()[:READ])
        except (OSError, ValueError, RecursionError):
            continue
        yield from _recorded(record)
    for folder in ("configs", "runs"):
        for file in sorted((root / folder).rglob("*")):
            if (
                file.suffix in (".yaml", ".yml", ".json", ".log", ".txt", ".out", ".err", ".sh", ".md", "")
                and file.is_file()
            ):
                yield from _logged(_start(file))
            if m := re.match(r"events\.out\.tfevents\.\d+\.(.+?)(?:\.\d+)*$", file.name):
                yield "word", m[1]


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
            if key in WHO or key in WHERE:
                yield "word", re.sub(r"\[.*", "", one)
            elif OWNERS.search(str(key)):
                yield "owner", one
            elif "remote" in str(key):
                yield from (("owner", m[1]) for m in re.finditer(r"[:/]([\w.-]+)/[\w.-]+?(?:\.git)?\s", one + " "))


def _logged(text: str) -> Iterator[tuple[str, str]]:
    for pattern in LOGGED:
        for m in pattern.finditer(text):
            yield from (("word", w) for w in m.groupdict().values() if w)
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
