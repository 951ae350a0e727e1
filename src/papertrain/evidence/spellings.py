"""In how many ways a name is written: with and without accents, last name first, by initials, as a login."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from papertrain.core.redact import Hidden
from papertrain.evidence.joined import Way, atom, exact, folded, joined

COMMON = {"root", "user", "users", "admin", "ubuntu", "main", "master", "test", "tests", "data", "work", "home", "name", "none", "null", "true", "false", "local", "localhost", "anonymous",
          "team", "entity", "model", "models", "train", "training", "paper", "project", "research", "student", "host", "node", "worker", "server", "cluster", "login", "docker", "runner", "build", "container", "origin", "gpu",
          "long", "young", "page", "field", "best", "good", "short", "small", "brown", "black", "white", "green", "gray", "grey", "case", "price", "rich", "power", "bush", "law", "love", "wood", "stone", "rose",
          "king", "north", "west", "east", "south", "rate", "step", "loss", "mean", "lang", "base", "adam", "epoch", "batch", "token", "layer", "head", "mark", "will", "grace", "hopper", "ada", "volta", "pascal",
          "ampere", "turing", "lovelace", "blackwell", "fisher", "bayes", "gauss", "wilson", "welch", "holm", "university", "institute", "department", "school", "college", "laboratory",
          "shared", "public", "common", "datasets", "cache", "envs", "projects", "software", "anaconda3", "miniconda3", "slurm", "jovyan", "vscode", "ec2-user", "azureuser", "sagemaker-user", "centos", "debian", "kaggle", "colab", "vagrant", "coder",
          "seed", "seeds", "maintainers", "maintainer", "authors", "author", "developers", "contributors", "github", "actions", "noreply", "unknown",
          "github.com", "gitlab.com", "huggingface.co", "bitbucket.org", "hf.co"}  # fmt: skip
"""Words of the field and of the language: never taken for a person by themselves, also where somebody is called so."""
FIELD = {
    "AI",
    "ML",
    "NLP",
    "CV",
    "RL",
    "LLM",
    "GPU",
    "CPU",
    "TPU",
    "NPU",
    "API",
    "SFT",
    "DPO",
    "PPO",
    "EM",
    "F1",
    "AUC",
    "MAE",
    "MSE",
    "CE",
    "KL",
    "LR",
    "ID",
    "OK",
    "EN",
    "ZH",
    "A10",
    "L4",
    "T4",
    "V100",
}
"""Capitals that stand for something else in every log."""
OPEN, SHUT = r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])"
SPACE = r"[^\S\r\n]"
"""A blank within a line: the end of a row of a table or a log is no part of a name."""
GAP = rf"(?:{SPACE}|[._\-]){{1,3}}"
INITIAL_GAP = rf"\.?(?:{SPACE}|-){{0,2}}(?:[A-Z]\.(?:{SPACE}|-){{0,2}}){{0,2}}"
"""After an initial; further initials may follow."""
MIDDLE = rf"{SPACE}+(?:[A-Z][\w.\-]{{0,20}}{SPACE}+){{0,2}}"
"""Other first names, written or left out."""
_IDEOGRAPHS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def worth(words: Iterable[str]) -> frozenset[str]:
    """Those that can be looked for wherever they stand."""
    return frozenset(w for w in words if tells(w))


def tells(word: str) -> bool:
    """Whether it means somebody wherever it stands. In Chinese, Japanese and Korean two characters are a name."""
    if word.lower() in COMMON or re.fullmatch(r"[\d.:]+|.*\.?localdomain", word):
        return False
    return len(word) > 3 or len(_IDEOGRAPHS.findall(word)) > 1


class AcrossLines(NamedTuple):
    """A name that a line of prose breaks in two. The break stays: it may be that of two rows."""

    pattern: re.Pattern[str]

    def sub(self, stand_in: str, text: str, /) -> str:
        return self.pattern.sub(lambda m: f"{stand_in}{_BREAK.findall(m[0])[-1]}{stand_in}", text)

    def search(self, text: str, /) -> re.Match[str] | None:
        return self.pattern.search(text)


_BREAK = re.compile(r"\s*\n\s*")


def patterns(names: Iterable[str], words: Iterable[str], owners: Iterable[str], letters: Iterable[str] = ()) -> list[Hidden]:  # fmt: skip
    """What to look for, a few expressions however many names there are; longer ways stand before shorter ones."""
    owned = sorted(owners, key=len, reverse=True)
    called = sorted(names, key=len, reverse=True)
    found = [
        (joined(folded(o) for o in owned), r"(?:(?<![\w.-])|(?<=--))", r"(?:/|--)[\w.-]+"),
        (joined(_in_words(w) for w in sorted({*words, *owned}, key=lambda w: (-len(w), w)) for w in _spellings(w)), OPEN, SHUT),
        (joined(w for n in called for w in _whole(n)), OPEN, SHUT),
        (joined(x for n in called for x in _logins(n)), OPEN, rf"\d{{0,3}}{SHUT}"),
        (joined(exact(x) for n in called for x in _alone(n)), OPEN, r"(?![a-z0-9])"),
        (joined(exact(x) for n in called for x in _small(n)), OPEN, rf"\d{{0,4}}{SHUT}"),
        (joined(exact(x) for x in sorted(letters)), OPEN, rf"{SHUT}(?!\s{{0,2}}[Ll]icen[cs]e)"),
    ]  # fmt: skip
    broken = joined(w for n in called for w in _broken(n))
    across = [AcrossLines(re.compile(f"{OPEN}(?:{broken}){SHUT}"))] if broken else []
    return [*across, *(re.compile(f"{before}(?:{ways}){after}") for ways, before, after in found if ways)]


def _in_words(word: str) -> Way:
    return [rf"(?:{SPACE}|_)+" if c == " " else atom(c, fold=True) for c in word]


def _spellings(word: str) -> list[str]:
    """As it stands, without its accents, and with letters for them."""
    plain = unicodedata.normalize("NFKD", word).encode("ascii", "ignore").decode()
    german = plain
    if any(c in word for c in "äöüßÄÖÜøåØÅ"):
        table = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ø": "oe", "å": "aa", "Ø": "Oe", "Å": "Aa"})  # fmt: skip
        german = unicodedata.normalize("NFKD", word.translate(table)).encode("ascii", "ignore").decode()
    ways = (word, unicodedata.normalize("NFD", word), german, plain)
    return [w for w in dict.fromkeys(w.strip() for w in ways) if tells(w)]


def _whole(name: str) -> Iterator[Way]:
    """The whole name; last name first; initials."""
    every = sorted(_spellings(name), key=len, reverse=True)
    for spelling in every:
        yield _parted([folded(p) for p in spelling.split()], GAP)
        if _IDEOGRAPHS.search(spelling) and " " in spelling:
            yield folded(spelling.replace(" ", ""))
    for spelling in every:
        parts = spelling.split()
        if len(parts) < 2 or spelling.islower():
            continue
        first, last = parts[0], parts[-1]
        yield _parted([folded(last), folded(first)], rf",?{SPACE}+")
        yield [*folded(first), MIDDLE, *folded(last)]
        yield [*exact(first[0]), INITIAL_GAP, *exact(last)]
        yield [*exact(last), rf",?{SPACE}+", *exact(first[0]), r"\."]


def _parted(parts: list[list[str]], gap: str) -> Way:
    return [a for i, part in enumerate(parts) for a in ([gap] if i else []) + part]


def _logins(name: str) -> Iterator[Way]:
    for spelling in _spellings(name):
        parts = spelling.split()
        if len(parts) < 2 or spelling.islower() or not (parts[0].isascii() and parts[-1].isascii()):
            continue
        f = re.sub(r"[^a-z]", "", parts[0].lower())
        for last in dict.fromkeys([parts[-1], *parts[-1].split("-")]) if f else ():
            z = re.sub(r"[^a-z]", "", last.lower())
            for one, two in ((f, z), (z, f), (f[0], z), (z, f[0]), (f, z[0])) if z else ():
                if len(one + two) > 4 and one + two not in COMMON:
                    yield [*folded(one), r"[._\-]?", *folded(two)]


def _alone(name: str) -> Iterator[str]:
    """The last name where it is no common word, and a long first one."""
    for spelling in sorted(_spellings(name), key=len, reverse=True):
        bare = spelling.split()
        if len(bare) < 2 or spelling.islower():
            continue
        for part in (bare[-1], *bare[-1].split("-"), bare[0] if len(bare[0]) > 5 else ""):
            if len(part) > 3 and part.lower() not in COMMON:
                yield part
                yield part.upper()


def _small(name: str) -> Iterator[str]:
    """The last name in small letters, as folders, files and logins have it; where it is no common word, and long enough to be none."""
    for spelling in _spellings(name):
        bare = spelling.lower().split()
        if len(bare) < 2:
            continue
        last = bare[-1]
        for part in (last, *last.split("-"), last.replace("-", "")):
            if len(part) > 5 and part not in COMMON:
                yield part


def _broken(name: str) -> Iterator[Way]:
    """First and last name, and the end of a line between them."""
    for spelling in _spellings(name):
        parts = spelling.split()
        if len(parts) > 1 and not spelling.islower():
            yield [*folded(parts[0]), rf"{SPACE}*\r?\n{SPACE}*", *folded(parts[-1])]
