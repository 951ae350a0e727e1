"""The catalogue of devices: one TOML per card in `facts/gpus/`, every number with its source.

A file is read only when its card is asked for; `gpus()` reads them all. A person's own card is a file of the same
shape: `--gpu "4x ./my-card.toml"`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import msgspec

from papertrain.core.errors import PapertrainError, nearest
from papertrain.core.models import Gpu
from papertrain.core.values import Record, Source

FACTS = Path(__file__).parent
GPUS = FACTS / "gpus"
_FIXED = ("label", "names", "vendor", "notes")
_NUMBERS = (
    "memory_bytes", "peak_bf16_dense_flops", "peak_fp16_dense_flops", "peak_fp32_flops", "memory_bytes_per_second",
    "link", "link_bytes_per_second", "peer_to_peer", "compute_capability",
)  # fmt: skip


class Card(Record, frozen=True, kw_only=True):
    """A device and the ways people write its name.

    aliases: names that mean this card and no other. stands_for: short names that are taken to mean it, said aloud
    (`A100` may be any of three cards; most people mean this one). why: the sentence that is said then.
    """

    gpu: Gpu
    aliases: tuple[str, ...] = ()
    stands_for: tuple[str, ...] = ()
    why: str = ""


def gpu(id: str) -> Gpu:
    """The device with this id (the name of its file). `cpu` is this machine's processor."""
    return card(id).gpu


def gpus() -> dict[str, Gpu]:
    """Every device on record, by id."""
    return {id: card(id).gpu for id in gpu_ids()}


@lru_cache(maxsize=1)
def gpu_ids() -> tuple[str, ...]:
    """The ids on record, from the file names alone."""
    return tuple(sorted(f.stem for f in GPUS.glob("*.toml")))


@cache
def card(id: str) -> Card:
    if id == "cpu":
        from papertrain.facts.processor import processor

        return Card(gpu=processor(), aliases=("cpu",))
    if id not in gpu_ids():
        raise PapertrainError(
            f"no device {id!r} on record",
            code="unknown-gpu",
            nearest=nearest(id, gpu_ids()),
            ask=["one TOML in facts/gpus/"],
        )
    return read_card(GPUS / f"{id}.toml")


def read_card(file: Path) -> Card:
    """One device file. A number without a known source is refused: silence is not a source."""
    table = read_toml(file)
    sources = read_sources(table, file)
    fields: dict[str, Any] = {k: table[k] for k in _FIXED if k in table}
    where: dict[str, Source] = {}
    for name in _NUMBERS:
        if name in table:
            fields[name], where[name] = sourced(table[name], name, sources, file)
            note = table[name].get("note")
            if note:
                fields["notes"] = (*fields.get("notes", ()), f"{name}: {note}")
    try:
        device = msgspec.convert({**fields, "id": file.stem, "sources": {}}, Gpu, strict=False)
        card = Card(
            gpu=msgspec.structs.replace(device, sources=where),
            aliases=tuple(table.get("aliases", ())),
            stands_for=tuple(table.get("stands_for", ())),
            why=str(table.get("why", "")),
        )
    except (msgspec.ValidationError, TypeError) as e:
        raise PapertrainError(f"not a device file: {e}", code="bad-facts", file=file) from None
    if device.memory_bytes <= 0:
        raise PapertrainError("memory_bytes must be positive", code="bad-facts", file=file)
    return card


def read_toml(file: Path) -> dict[str, Any]:
    try:
        if file.exists() and (not file.is_file() or file.stat().st_size > 1_000_000):
            raise PapertrainError("is not a facts file", code="bad-facts", file=file)
        return tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        raise PapertrainError("no such file", code="missing-file", file=file) from None
    except (OSError, UnicodeDecodeError) as e:
        raise PapertrainError(f"cannot be read: {type(e).__name__}", code="bad-facts", file=file) from None
    except tomllib.TOMLDecodeError as e:
        line = re.search(r"line (\d+)", str(e))
        raise PapertrainError(f"not TOML: {e}", code="bad-facts", file=file, line=int(line[1]) if line else 0) from None


def read_sources(table: Mapping[str, Any], file: Path) -> dict[str, Source]:
    try:
        return msgspec.convert(table.get("sources", {}), dict[str, Source])
    except msgspec.ValidationError as e:
        raise PapertrainError(f"bad [sources]: {e}", code="bad-facts", file=file) from None


def sourced(entry: Any, name: str, sources: Mapping[str, Source], file: Path) -> tuple[Any, Source]:
    """`{value = …, source = "sheet"}` → the value and its Source."""
    if not isinstance(entry, dict) or "value" not in entry:
        raise PapertrainError(f"{name} must be {{ value = …, source = … }}", code="bad-facts", file=file)
    if entry.get("source") not in sources:
        raise PapertrainError(f"{name} has no source: add one under [sources]", code="bad-facts", file=file)
    return entry["value"], sources[entry["source"]]
