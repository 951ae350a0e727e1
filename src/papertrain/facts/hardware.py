"""What people write about their cards → Compute: `4x A100-80GB`, `2 nodes x 8 H100`, `8*4090`, `nvidia-smi -L`."""

from __future__ import annotations

import re
from pathlib import Path

from papertrain.core.errors import PapertrainError
from papertrain.core.models import Compute
from papertrain.facts.detect import cards_in_nvidia_smi_list, detect_compute, several_kinds
from papertrain.facts.load import Card, card, read_card
from papertrain.facts.names import find, match_gpu, unknown
from papertrain.facts.processor import host_memory_bytes

__all__ = ["detect_compute", "match_gpu", "parse_compute"]

# 2机8卡 and 4张 are how the same is written in Chinese.
_NODES = re.compile(
    r"^\s*(-?\d+)\s*(?:nodes?|machines?|hosts?|servers?|机|台|节点)\s*(?:[x×*,]|of|with|each)?\s*", re.I
)
_COUNT = re.compile(r"^\s*(-?\d+(?:\.\d+)?)\s*(?:(?:[x×*]|gpus?\b|cards?\b|卡|张|块)\s*)+", re.I)
_BARE = re.compile(r"^\s*(-?\d{1,3})\s+(?=\S)")
# `4090x8`, `A100-80GB x 4`; never the x of RTX.
_AFTER = re.compile(r"(?<=[\d\sgGbB)])[x×*]\s*(-?\d{1,3})\s*$", re.I)


def parse_compute(
    text: str, *, nodes: int | None = None, host_ram: int | None = None, disk: int | None = None
) -> Compute:
    """The cards that the text names; `nodes` multiplies them. Raises PapertrainError for what is not on record."""
    if len(text) > 20_000 or "\0" in text:
        raise PapertrainError('the --gpu text is no set of cards: write it as "4x A100-80GB"', code="bad-gpu")
    if re.search(r"^\s*GPU \d+:", text, re.M):
        per_node, name = several_kinds(cards_in_nvidia_smi_list(text))
        stated = None
    else:
        per_node, stated, name = split_counts(text)
    if nodes is not None and stated is not None and nodes != stated:
        raise PapertrainError(f"{text.strip()!r} says {stated} nodes and --nodes says {nodes}", code="bad-gpu")
    machines = nodes if nodes is not None else stated or 1
    for n, what in ((per_node, "cards"), (machines, "nodes")):
        if n < 1:
            raise PapertrainError(
                f"{text.strip()!r}: {n} {what} cannot train; at least 1 is needed",
                code="bad-gpu",
                command='papertrain plan … --gpu "1x A100-80GB"',
            )
        if n > 1_000_000:
            raise PapertrainError(f"{text.strip()!r}: {n:,} {what} is not a cluster", code="bad-gpu")
    one, said = named(name)
    one_processor(one.gpu.id, per_node, machines)
    if one.gpu.id == "cpu" and host_ram is None:
        host_ram = host_memory_bytes()
    return Compute(
        gpu=one.gpu, gpus_per_node=per_node, nodes=machines, host_memory_bytes=host_ram, disk_bytes=disk, said=said
    )


def one_processor(card: str, per_node: int, nodes: int) -> None:
    """`cpu` is the processor of this machine: processes share it, so a number of them makes nothing faster or larger."""
    if card == "cpu" and (per_node > 1 or nodes > 1):
        what = f"{per_node} processors" if per_node > 1 else f"{nodes} machines"
        raise PapertrainError(
            f"{what} with --gpu cpu: cpu is the one processor of this machine, and several processes would share its cores and memory",
            code="bad-gpu",
            ask=["--gpu cpu"],
        )


def split_counts(text: str) -> tuple[int, int | None, str]:
    """cards per node, nodes if stated, the name."""
    rest, nodes = text.strip(), None
    m = _NODES.match(rest)
    if m:
        nodes, rest = int(m[1]), rest[m.end() :]
    rest = re.sub(r"\s*\b(?:gpus?|cards?|npus?)\s*$", "", rest, flags=re.I) or rest
    found: list[int] = []
    m = _AFTER.search(rest)
    if m and match_gpu(rest[: m.start()]):
        found.append(int(m[1]))
        rest = rest[: m.start()]
    while (m := _COUNT.match(rest)) and len(found) < 2:
        if "." in m[1]:
            raise PapertrainError(f"{text.strip()!r}: {m[1]} cards is not a whole number", code="bad-gpu")
        found.append(int(m[1]))
        rest = rest[m.end() :]
    m = _BARE.match(rest) if len(found) < 2 else None
    if m and not match_gpu(rest):
        found.append(int(m[1]))
        rest = rest[m.end() :]
    if len(found) == 2 and nodes is None:
        nodes = found.pop(0)
    if len(found) > 1 or not rest.strip():
        raise PapertrainError(
            f'{text.strip()!r} is not a set of cards: write "4x A100-80GB" or "2 nodes x 8 H100"', code="bad-gpu"
        )
    return (found[0] if found else 1), nodes, rest.strip()


def named(name: str) -> tuple[Card, str]:
    """The card of that name, of a person's own file, or this machine's processor; and what must be said about it."""
    if name.lower() == "cpu":
        return card("cpu"), ""
    if name.lower().endswith(".toml"):
        return read_card(Path(name)), f"card read from {name}"
    hit = find(name)
    if hit is None:
        raise unknown(name)
    return hit
