"""Names of cards as people and drivers write them → the card on record.

Names are compared without case, spaces, hyphens and the words that carry nothing (`NVIDIA`, `GeForce`, `Tesla`), and in
any order of the words: `A100 80GB SXM` is `A100-SXM4-80GB`.
"""

from __future__ import annotations

import re
from functools import lru_cache

from papertrain.core.errors import PapertrainError, nearest
from papertrain.core.models import Gpu
from papertrain.core.units import show_bytes
from papertrain.facts.load import Card, card, gpu_ids

_NOISE = {"nvidia", "geforce", "tesla", "amd", "instinct", "huawei", "ascend", "google", "apple", "gpu", "gpus", "npu", "npus",
          "card", "cards", "rtx", "gtx", "graphics", "generation", "oam", "tensor", "core", "quadro", "hbm2", "hbm2e", "hbm3", "hbm3e"}  # fmt: skip
_SIZE = re.compile(r"(\d+)\s*g(?:i?b)?$", re.I)
_ASCEND_FAMILY = re.compile(r"(?:huawei)?\s*(?:ascend)?\s*-?910b", re.I)


def words(name: str) -> tuple[str, ...]:
    """`NVIDIA A100-SXM4-80GB` → ('80gb', 'a100', 'sxm')."""
    found = []
    for word in re.findall(r"[a-z0-9.]+", _unprefixed(name)):
        size = _SIZE.fullmatch(word)
        if size:
            found.append(f"{size[1]}gb")
        elif re.fullmatch(r"sxm\d?", word):
            found.append("sxm")
        elif word not in _NOISE:
            found.append(word)
    return tuple(sorted(set(found)))


def keys(name: str) -> tuple[str, str]:
    """The words in order of the alphabet, and as written without gaps: `4070TiSUPER` and `RTX 4070 Ti SUPER` meet in the second."""
    kept = [w for w in re.findall(r"[a-z0-9.]+", _unprefixed(name)) if w not in _NOISE]
    return " ".join(words(name)), "".join("sxm" if re.fullmatch(r"sxm\d", w) else w for w in kept)


def _unprefixed(name: str) -> str:
    text = re.sub(r"\b(\d+)\s*(gi?b?)\b", r" \1gb ", name.lower())
    return re.sub(r"\b(rtx|gtx|ascend|quadro)(?=[\da])", "", text)


@lru_cache(maxsize=1)
def table() -> dict[str, tuple[str, bool]]:
    """key → (id, said aloud). Reads every card; a name in two files is our own fault."""
    return _table(gpu_ids())


def _table(ids: tuple[str, ...]) -> dict[str, tuple[str, bool]]:
    found: dict[str, tuple[str, bool]] = {}
    for id in ids:
        one = card(id)
        plain = [(n, False) for n in (id, one.gpu.label, *one.gpu.names, *one.aliases)]
        for name, aloud in plain + [(n, True) for n in one.stands_for]:
            for key in keys(name):
                known = found.get(key)
                if known and known[0] != id:
                    raise ValueError(f"{name!r} is in {known[0]}.toml and in {id}.toml")
                found[key] = (id, aloud or (known[1] if known else False))
    return found


def _hit(name: str) -> tuple[str, bool] | None:
    """Looks first in the few files whose own name has the words, so that one card does not cost the reading of all."""
    wanted = set(words(name))
    likely = _table(tuple(id for id in gpu_ids() if wanted and wanted <= set(words(id))))
    found = next((likely[k] for k in keys(name) if k in likely), None)
    return found or next((table()[k] for k in keys(name) if k in table()), None)


@lru_cache(maxsize=4096)
def find(name: str) -> tuple[Card, str] | None:
    """The card of that name and what must be said about the choice, or None. Raises where the name is ambiguous."""
    if _ASCEND_FAMILY.fullmatch(name.strip()):
        raise PapertrainError(
            f"{name.strip()!r} may be 910B1, 910B2, 910B3 (64 GB) or 910B4 (32 GB), and a driver that prints Ascend910B without a digit "
            "means the first Ascend 910, which has no bf16; write the digit that `npu-smi info` shows",
            code="ambiguous-gpu",
            ask=["910B1, 910B2, 910B3, 910B4 or 910A"],
        )
    hit = _hit(name)
    if hit is None:
        return _without_size(name)
    one = card(hit[0])
    return one, _said(name, one) if hit[1] else ""


def _said(name: str, one: Card) -> str:
    return f"{name.strip()} read as {one.gpu.label}: {one.why}"


def _without_size(name: str) -> tuple[Card, str] | None:
    """`RTX 3090 24GB` is the 3090; `RTX 3090 12GB` is no card on record."""
    kept = [w for w in words(name) if not _SIZE.fullmatch(w)]
    sizes = [int(_SIZE.fullmatch(w)[1]) for w in words(name) if _SIZE.fullmatch(w)]  # type: ignore[index]
    hit = table().get(" ".join(kept)) if kept and len(sizes) == 1 else None
    if hit is None:
        return None
    one = card(hit[0])
    nominal = one.gpu.memory_bytes / 2**30
    if not 0.9 < sizes[0] / nominal < 1.09:
        raise PapertrainError(
            f"{one.gpu.label} is on record with {show_bytes(one.gpu.memory_bytes)}, not {sizes[0]} GB",
            code="unknown-gpu",
            ask=["the card's full name as nvidia-smi -L prints it"],
        )
    return one, ""


def match_gpu(name: str | None, memory_bytes: int | None = None) -> Gpu | None:
    """The device a driver or a table names, or None where it is unknown, ambiguous, or of another size."""
    if not name:
        return None
    if name.strip().lower() == "cpu":
        return card("cpu").gpu
    try:
        hit = find(name)
    except PapertrainError:
        return None
    if hit is None:
        return None
    gpu = hit[0].gpu
    if memory_bytes and not 0.85 < memory_bytes / gpu.memory_bytes < 1.1:
        return _sibling(gpu, memory_bytes)
    return gpu


def _sibling(gpu: Gpu, memory_bytes: int) -> Gpu | None:
    """The same card with another memory (`Tesla V100-SXM2` with 32 GB), if exactly one is on record."""
    stem = re.sub(r"-\d+gb$", "", gpu.id)
    same = [card(id).gpu for id in gpu_ids() if re.sub(r"-\d+gb$", "", id) == stem]
    fit = [g for g in same if 0.85 < memory_bytes / g.memory_bytes < 1.1]
    return fit[0] if len(fit) == 1 else None


def unknown(name: str) -> PapertrainError:
    """The error for a card that is not on record: the nearest name, and how to add one."""
    labels = [
        re.sub("^GeForce ", "", n)
        for id in gpu_ids()
        for n in (card(id).gpu.label, *card(id).aliases, *card(id).stands_for)
    ]
    near = nearest(name.strip(), labels)
    return PapertrainError(
        f"no card {name.strip()!r} on record",
        code="unknown-gpu",
        nearest=near,
        ask=[
            "a card on record (`papertrain explain recipes` lists them), or a file: --gpu ./my-card.toml in the shape of facts/gpus/*.toml"
        ],
    )
