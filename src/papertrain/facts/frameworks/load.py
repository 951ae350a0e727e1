"""Frameworks by name and version. `framework("llamafactory")` is the newest that is on record."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from papertrain.core.values import Value
from papertrain.facts.catalogue import key, spellings
from papertrain.facts.config import read_json

HERE = Path(__file__).parent


class Key(Value, frozen=True, kw_only=True):
    """One key that a framework accepts. types: of int float bool str list dict any null."""

    name: str
    types: frozenset[str]
    default: Any = None
    choices: tuple[Any, ...] = ()


class Framework(Value, frozen=True, kw_only=True):
    """One framework at one version. `sections` groups keys as its own source does; `more` holds registries such as templates."""

    name: str
    version: str
    made_by: str
    built_on: dict[str, str]
    sections: dict[str, dict[str, Key]]
    more: dict[str, Any]

    def known(self, *sections: str) -> dict[str, Key]:
        """The keys of some sections, of all without arguments."""
        chosen = sections or tuple(self.sections)
        return {name: key for s in chosen for name, key in self.sections.get(s, {}).items()}

    def keys(self, *sections: str) -> dict[str, Key]:
        """The same as `known`."""
        return self.known(*sections)


def release(version: str) -> tuple[int, ...]:
    """`5.24.0` → (5, 24, 0), so that versions compare as numbers; local and pre-release parts are dropped."""
    out = []
    for part in version.split("+")[0].split("."):
        digits = "".join(c for c in part[:4] if c.isdigit()) if part[:1].isdigit() else ""
        if not digits:
            break
        out.append(int(digits))
    return tuple(out)


@lru_cache
def versions(name: str) -> tuple[str, ...]:
    """The versions of a framework that are on record, oldest first."""
    return tuple(sorted((f.stem.removeprefix(name + "-") for f in HERE.glob(f"{name}-*.json")), key=release))


@lru_cache
def framework(name: str, version: str | None = None) -> Framework:
    """The framework at the newest version on record that is not newer than `version` (the oldest where all are newer)."""
    known = versions(name)
    if not known:
        raise KeyError(name)
    fitting = [v for v in known if version is None or release(v) <= release(version)]
    return _read(HERE / f"{name}-{fitting[-1] if fitting else known[0]}.json")


@lru_cache
def _read(path: Path) -> Framework:
    raw = msgspec.json.decode(path.read_bytes())
    sections = {
        section: {name: _key(name, entry) for name, entry in keys.items()}
        for section, keys in raw.pop("sections").items()
    }
    return Framework(
        name=raw.pop("framework"),
        version=raw.pop("version"),
        made_by=raw.pop("made_by"),
        built_on=raw.pop("built_on"),
        sections=sections,
        more=raw,
    )


def _key(name: str, entry: list[Any]) -> Key:
    types, default, *choices = entry
    return Key(
        name=name, types=frozenset(types.split("|")), default=default, choices=tuple(choices[0]) if choices else ()
    )


def history(name: str, key: str, *sections: str) -> tuple[str | None, str | None]:
    """(last version on record that knows the key, first one that does), or (None, None) where none does."""
    knowing = [v for v in versions(name) if key in framework(name, v).known(*sections)]
    return (knowing[-1], knowing[0]) if knowing else (None, None)


@lru_cache
def slot_templates() -> dict[str, dict[str, Any]]:
    """LLaMA-Factory's templates: name → its slots, as the framework registers them."""
    templates = read_json(HERE.parent / "templates" / "llamafactory-0.9.5.json")["templates"]
    assert isinstance(templates, dict)
    return templates


def chat_template(model: str) -> str | None:
    """LLaMA-Factory's template of a model, by hub repository, alias or family. None: unknown, or a base model."""
    return registered(model)[0]


@lru_cache(maxsize=512)
def registered(model: str) -> tuple[str | None, str]:
    """(template, the repository that says so): by full name, by the last part of the path in any of its spellings
    (`Meta-Llama-3.1` is `Llama-3.1`), without what a copy adds (`-AWQ`, `-bnb-4bit`), else by another size of the same
    family. A base model has an entry and no template; ("") for none at all."""
    repos: dict[str, str | None] = framework("llamafactory").more["models"]
    name = model.strip().rstrip("/\\").replace("\\", "/")
    if name in repos:
        return repos[name], name
    known, families = _templates()
    for spelling in spellings(name):
        if (hit := known.get(_spelled(spelling))) is not None:
            return hit
    for spelling in spellings(name):
        if (hit := families.get(_family(spelling))) is not None and hit[0] is not None:
            return hit
    return None, ""


def _spelled(name: str) -> str:
    return key(name).replace(".", "")


_SIZE = re.compile(r"(?<![a-z0-9.])(?:\d+x)?\d+(?:\.\d+)?[bm](?![a-z0-9])")


def _family(name: str) -> str:
    """`Llama-3.1-70B-Instruct` → `llama3.1instruct`; a name without a size is a family of its own."""
    return key(_SIZE.sub("", name.rpartition("/")[2].lower()))


@lru_cache
def _templates() -> tuple[dict[str, tuple[str | None, str]], dict[str, tuple[str | None, str]]]:
    """By the last part of a name, and by the family, where all its sizes agree."""
    known: dict[str, tuple[str | None, str]] = {}
    families: dict[str, tuple[str | None, str]] = {}
    repos: dict[str, str | None] = framework("llamafactory").more["models"]
    for repo, template in repos.items():
        known.setdefault(_spelled(repo), (template, repo))
        family = _family(repo)
        if family != key(repo):
            earlier = families.setdefault(family, (template, repo))
            if earlier[0] != template:
                families[family] = (None, repo)
    return known, families


class Rename(Value, frozen=True, kw_only=True):
    """A name that a release gave up. `new` is empty where nothing replaces it.

    reads: the old one is still read. soft: published examples of the newest framework still hold it, and an older
    library below it reads it: a warning, where the version at hand is unknown.
    """

    old: str
    new: str = ""
    value: str = "same"
    package: str
    first: str = ""
    last: str = ""
    kinds: tuple[str, ...] = msgspec.field(name="for")
    note: str = ""
    reads: bool = False
    soft: bool = False


@lru_cache
def _renames() -> tuple[tuple[Rename, ...], dict[str, list[str]]]:
    import tomllib

    table = tomllib.loads((HERE / "renames.toml").read_text("utf-8"))
    return tuple(msgspec.convert(r, Rename) for r in table["rename"]), table["synonyms"]


def renamed(kind: str, old: str) -> Rename | None:
    """What became of a name in the files of one kind."""
    return next((r for r in _renames()[0] if r.old == old and kind in r.kinds), None)


def renamed_to(kind: str, new: str) -> Rename | None:
    """Which older name a name replaced."""
    return next((r for r in _renames()[0] if r.new == new and kind in r.kinds and r.value == "same"), None)


@lru_cache
def synonyms(name: str) -> tuple[str, ...]:
    """Other frameworks' names for the same setting."""
    return next(((first, *rest) for first, rest in _renames()[1].items() if name == first or name in rest), ())
