"""The models on record: `facts/models/*.toml` hold the fields of their config, never a count."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path

from papertrain.core.errors import PapertrainError
from papertrain.core.models import ModelSpec
from papertrain.facts.load import FACTS, read_sources, read_toml
from papertrain.facts.spec import spec_from_config

MODELS = FACTS / "models"
# What people append to a name without changing the shape of the model.
_QUANTISED = re.compile(
    r"[-_.](?:gptq|awq|gguf|int4|int8|4bit|8bit|bnb|nf4|fp8|hf|mlx)(?:[-_.]?(?:int4|int8|4bit|8bit))?(?:[-_.]\w{1,8})?$",
    re.I,
)


@cache
def model_ids() -> tuple[str, ...]:
    """The ids on record, from the file names alone."""
    return tuple(sorted(f.stem for f in MODELS.glob("*.toml")))


def names_of(id: str) -> tuple[str, ...]:
    """The names in one file, without reading its config."""
    with (MODELS / f"{id}.toml").open("rb") as f:
        head = tomllib.loads(f.read(16_384).partition(b"\n[")[0].decode("utf-8"))
    return (*head.get("names", ()), *head.get("aliases", ()))


@lru_cache(maxsize=8192)
def key(name: str) -> str:
    """`Meta-Llama-3-8B`, `llama 3 8b` and `meta-llama/Meta-Llama-3-8B` are one."""
    short = name.strip().rsplit("/", 1)[-1].lower()
    # 1.3b is not 13b; Qwen writes 1_8B for 1.8B.
    short = re.sub(r"(?<=\d)_(?=\d)", ".", re.sub(r"^meta[-_ ](?=llama)", "", short))
    return re.sub(r"[^a-z0-9.]+", "", short)


@cache
def by_name() -> dict[str, tuple[str, str]]:
    """key → (id, the name as it is written). Full names (with their organisation) are keys too."""
    found: dict[str, tuple[str, str]] = {}
    for id in model_ids():
        for name in names_of(id):
            for k in {key(name), name.lower()}:
                if k in found and found[k][0] != id:
                    raise ValueError(f"{name!r} is in {found[k][0]}.toml and in {id}.toml")
                found.setdefault(k, (id, name))
    return found


def look_up(name: str) -> tuple[str, str, str] | None:
    """(id, the name on record, what must be said) or None. A different organisation with the same last part is a copy."""
    for tried in spellings(name.strip()):
        hit = _likely(tried) or by_name().get(tried.lower()) or by_name().get(key(tried))
        if hit:
            return hit[0], hit[1], "" if tried == name.strip() else f"shape of {hit[1]}"
    return None


def _likely(name: str) -> tuple[str, str] | None:
    """A full name in a file that is called as it begins: found without reading the other files."""
    wanted = key(name)
    for id in model_ids():
        if wanted.startswith(key(id)):
            for known in names_of(id):
                if known.lower() == name.lower():
                    return id, known
    return None


def spellings(name: str) -> Iterator[str]:
    """The name, then without what a table adds in brackets, then without what is said about its quantisation."""
    yield name
    cut = re.sub(r",[^()]*\)\s*$", ")", name)
    if cut != name:
        yield cut
    bare = re.sub(r"\s*\([^()]*\)\s*$", "", cut)
    for _ in range(3):
        if bare and bare != name:
            yield bare
        bare = _QUANTISED.sub("", bare)


@lru_cache(maxsize=512)
def catalogue_model(id: str, name: str | None = None) -> ModelSpec:
    """The model of one file under one of its names (the first, if none is given)."""
    file = MODELS / f"{id}.toml"
    table = read_toml(file)
    sources = read_sources(table, file)
    names = table.get("names", ())
    if not names or not isinstance(table.get("config"), dict) or table.get("source") not in sources:
        raise PapertrainError("a model file needs names, source, [config] and [sources]", code="bad-facts", file=file)
    return spec_from_config(table["config"], name=name or names[0], where=_shown(file), source=sources[table["source"]])


def _shown(file: Path) -> str:
    return f"facts/models/{file.name}"
