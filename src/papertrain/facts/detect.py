"""The cards of this machine, as its drivers print them. No library is loaded; each program has two seconds to answer."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence

from papertrain.core.errors import PapertrainError
from papertrain.core.models import Compute
from papertrain.facts.load import card
from papertrain.facts.names import match_gpu, unknown
from papertrain.facts.processor import host_memory_bytes

_MIB = 2**20
_LISTED = re.compile(r"^\s*GPU (\d+): (.+?)(?: \(UUID:.*)?\s*$", re.M)
_MIG = re.compile(r"^\s*MIG .*Device\s+\d+:", re.M)


def detect_compute() -> Compute | None:
    """What this machine has, or None: then the caller asks."""
    for command, read in (
        (["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv"], cards_in_nvidia_smi_csv),
        (["npu-smi", "info"], cards_in_npu_smi),
        (["rocm-smi", "--showproductname"], cards_in_rocm_smi),
    ):
        found = read(_ask(command))
        if found:
            return as_compute(found, f"detected with {command[0]}")
    return None


def _ask(command: Sequence[str], seconds: float = 5.0) -> str:
    if shutil.which(command[0]) is None:
        return ""
    try:
        done = subprocess.run(
            list(command), capture_output=True, timeout=seconds, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""


def as_compute(cards: Sequence[tuple[str, int | None]], how: str) -> Compute:
    """One kind of card, counted. The driver's own memory figure replaces the one on record."""
    from msgspec.structs import replace

    count, name = several_kinds([n for n, _ in cards])
    memory = next((m for _, m in cards if m), None)
    gpu = match_gpu(name, memory)
    if gpu is None:
        raise unknown(name)
    if memory:
        from papertrain.core.values import Source

        read = Source(kind="measured", ref=how)
        gpu = replace(gpu, memory_bytes=memory, sources={**gpu.sources, "memory_bytes": read})
    return Compute(
        gpu=gpu, gpus_per_node=count, host_memory_bytes=host_memory_bytes(), said=f"{count}x {gpu.label}, {how}"
    )


def several_kinds(names: Sequence[str]) -> tuple[int, str]:
    """How many cards, and their one name. Mixed cards are asked about: no run uses two kinds well."""
    kinds = Counter(names)
    if not kinds:
        raise PapertrainError("no card in that text", code="bad-gpu")
    if len(kinds) > 1:
        listed = ", ".join(f"{n}x {name}" for name, n in kinds.items())
        raise PapertrainError(
            f"several kinds of cards: {listed}; name the ones to train on",
            code="mixed-gpus",
            ask=[f'--gpu "{n}x {name}"' for name, n in kinds.items()],
        )
    name, n = next(iter(kinds.items()))
    return n, name


def cards_in_nvidia_smi_list(text: str) -> list[str]:
    """`nvidia-smi -L` → one name per card."""
    if _MIG.search(text):
        raise PapertrainError(
            "these cards are split by MIG; one slice cannot be planned for",
            code="mig",
            ask=['the whole cards: --gpu "1x A100-80GB"'],
        )
    return [m[2] for m in _LISTED.finditer(text)]


def cards_in_nvidia_smi_csv(text: str) -> list[tuple[str, int | None]]:
    """`--query-gpu=name,memory.total --format=csv` → (name, bytes)."""
    found: list[tuple[str, int | None]] = []
    for line in text.splitlines():
        m = re.fullmatch(r"\s*(.+?),\s*(?:(\d+)\s*MiB|\[?N/A\]?|\[Not Supported\])\s*", line)
        if m:
            found.append((m[1], int(m[2]) * _MIB if m[2] else None))
    return found


def cards_in_npu_smi(text: str) -> list[tuple[str, int | None]]:
    """`npu-smi info` → (name, bytes). Each device has two rows: its name, then its bus with used / total memory in MB."""
    found: list[tuple[str, int | None]] = []
    for line in text.splitlines():
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        first = cells[0].split() if cells else []
        if len(first) == 2 and first[0].isdigit() and re.fullmatch(r"(?:Ascend)?\d{3}[A-Za-z]*\d*(?:-\w+)?", first[1]):
            found.append((first[1] if first[1].startswith("Ascend") else f"Ascend{first[1]}", None))
        elif found and found[-1][1] is None:
            pairs = re.findall(r"(\d+)\s*/\s*(\d+)", cells[-1]) if cells else []
            if pairs and int(pairs[-1][1]) > 1000:
                found[-1] = (found[-1][0], int(pairs[-1][1]) * _MIB)
    return found


def cards_in_rocm_smi(text: str) -> list[tuple[str, int | None]]:
    """`rocm-smi --showproductname` → (name, None). Older versions print `Card series`, newer ones `Card Series`."""
    names: dict[str, str] = {}
    for line in text.splitlines():
        m = re.match(r"\s*GPU\[(\d+)\]\s*:\s*(Card series|Card model|Market name)\s*:\s*(.+?)\s*$", line, re.I)
        if m and m[1] not in names and not m[3].startswith("0x"):
            names[m[1]] = m[3]
    return [(n, None) for n in names.values()]


def processor_compute() -> Compute:
    """This machine without an accelerator."""
    return Compute(
        gpu=card("cpu").gpu, gpus_per_node=1, host_memory_bytes=host_memory_bytes(), said="this machine's processor"
    )
