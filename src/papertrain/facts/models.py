"""The shape of a model, found by its folder, its name or its size.

find_model("./Qwen2.5-7B-Instruct")      a folder with config.json, or the file itself
find_model("Qwen/Qwen2.5-7B-Instruct")   the Hugging Face cache, then the catalogue; the hub only with online=True
find_model("7B")                         a rough size: every figure that follows is assumed
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from papertrain.core.errors import PapertrainError, nearest
from papertrain.core.models import ModelSpec
from papertrain.core.values import Source
from papertrain.facts.catalogue import by_name, catalogue_model, look_up
from papertrain.facts.config import Fields, local_path, read_json
from papertrain.facts.heads import with_classifier
from papertrain.facts.hub import cached_folder, fetch_config, is_hub_name
from papertrain.facts.safetensors import spec_from_tensors, stored_numbers, stored_tensors
from papertrain.facts.spec import (
    architectures,
    is_instruct,
    model_type,
    rough_model,
    rough_parameters,
    spec_from_config,
)

__all__ = ["find_model", "is_instruct", "rough_model", "with_classifier"]


def find_model(name_or_path: str | os.PathLike[str], *, online: bool = False) -> ModelSpec:
    """The model at a local folder or config.json, in a cache, on record, or (only if asked) on the hub."""
    name = os.fspath(name_or_path).strip()
    if not name or "\0" in name or len(name) > 4096:
        raise PapertrainError("name a model, a folder with config.json, or a size such as 7B", code="missing-model")
    local = _local(name)
    if local is not None:
        return model_at(local)
    folder = cached_folder(name)
    if folder is not None:
        spec = model_at(folder, name=name)
        return replace(spec, notes=(*spec.notes, "config.json from the cache on this machine"))
    if online:
        return _from_hub(name)
    hit = look_up(name)
    if hit is not None:
        return _on_record(name, *hit)
    size = rough_parameters(name)
    if size is not None:
        return rough_model(size, name)
    raise _unknown(name)


def _local(name: str) -> Path | None:
    """The file or folder that is meant, or None where the text can only be a name."""
    path = local_path(name)
    try:
        if path.is_file() or (path.is_dir() and (path / "config.json").exists()):
            return path
        exists = path.exists()
    except OSError:
        raise PapertrainError(f"{name[:120]!r} is not a path that can be read", code="missing-model") from None
    if exists:
        if (path / "adapter_config.json").is_file():
            raise _adapter(path)
        if look_up(name) is None:
            raise PapertrainError(
                "has no config.json", code="missing-file", file=path, ask=["a folder as from_pretrained reads it"]
            )
        return None
    if name.startswith(("/", "./", "../", "~", "\\")) or name.endswith(".json"):
        raise PapertrainError("no such file or folder", code="missing-file", file=name)
    return None


def _adapter(folder: Path) -> PapertrainError:
    """The model that an adapter was trained on is named in its own config."""
    base: object = None
    with contextlib.suppress(PapertrainError):
        base = read_json(folder / "adapter_config.json").get("base_model_name_or_path")
    named = base[:200] if isinstance(base, str) and base else None
    return PapertrainError(
        "is an adapter, not a model: name the model that it was trained on", code="adapter", file=folder, nearest=named
    )


def model_at(path: Path, *, name: str | None = None) -> ModelSpec:
    """The model in a folder (or with that config.json), its count confirmed by the weights that lie beside it."""
    file = path / "config.json" if path.is_dir() else path
    if file.suffix != ".json":
        raise PapertrainError("is neither a model folder nor a config.json", code="bad-model", file=file)
    table = read_json(file)
    folder = file.parent
    shown = name or _shown_name(folder, table)
    source = Source(kind="user", ref=f"{shown}/{file.name}")
    try:
        tensors = stored_tensors(folder)
    except PapertrainError as e:
        tensors, broken = (), e.one_line()
    else:
        broken = ""
    config = Fields(table, file)
    if model_type(config) not in architectures() and tensors:
        return spec_from_tensors(config, tensors, name=shown, source=source, local_path=str(folder))
    spec = spec_from_config(table, name=shown, where=file, source=source, local_path=str(folder))
    notes = [*spec.notes, *([broken] if broken else [])]
    stored = stored_numbers(tensors)
    if stored == spec.parameters:
        notes.append("the headers of its safetensors files hold the same number of parameters")
    elif stored:
        notes.append(
            f"its safetensors files hold {stored:,} parameters, its shape {spec.parameters:,}: a head or a tied copy is stored, or left out"
        )
    return replace(spec, notes=tuple(notes))


def _shown_name(folder: Path, table: dict[str, Any]) -> str:
    """The folder's name; where that says nothing (`model`, `checkpoint-500`), what the config says it was made from."""
    folder = folder.resolve()
    if not re.fullmatch(r"model|models|checkpoint-\d+|final|output|weights|merged|[0-9a-f]{40}", folder.name):
        return folder.name
    origin = table.get("_name_or_path")
    if isinstance(origin, str) and is_hub_name(origin):
        return origin
    return f"{folder.parent.name}/{folder.name}"


def _on_record(asked: str, id: str, name: str, remark: str) -> ModelSpec:
    spec = catalogue_model(id, name)
    if asked.strip().lower() != name.lower() and "/" in asked:
        other = asked.strip().partition("/")[0].lower() != name.partition("/")[0].lower()
        notes = [n for n in (remark, f"taken as a copy of {name}" if other or not remark else "") if n]
    else:
        notes = [remark] if remark else []
    return replace(
        spec,
        name=asked.strip() if "/" in asked else name,
        instruct=is_instruct(asked) or spec.instruct,
        notes=(*spec.notes, *notes),
    )


def _from_hub(name: str) -> ModelSpec:
    body, address = fetch_config(name)
    try:
        table: Any = json.loads(body)
    except (ValueError, RecursionError):
        raise PapertrainError(f"{address} is not JSON", code="hub") from None
    if not isinstance(table, dict):
        raise PapertrainError(f"{address} holds no object", code="hub")
    spec = spec_from_config(table, name=name, where=address, source=Source(kind="code", ref=address))
    return replace(spec, notes=(*spec.notes, f"config.json read from {address}"))


def _unknown(name: str) -> PapertrainError:
    names = {n: n for _, n in by_name().values()}
    shorts = {n.rsplit("/", 1)[-1]: n for n in names}
    near = nearest(name, names, cutoff=0.7) or nearest(name.rsplit("/", 1)[-1], shorts, cutoff=0.72)
    return PapertrainError(
        f"no model {name[:120]!r} on this machine or on record",
        code="unknown-model",
        nearest=shorts.get(near, near) if near else None,
        ask=[
            "a folder with its config.json",
            "--online to ask the hub",
            "or a rough size such as 7B (every figure is then assumed)",
        ],
    )
