"""record.json: what was started, with what, and how it ended: enough to do it again."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from papertrain.core.files import sha256_file

KEPT = ("CUDA_", "NCCL_", "HF_", "TRANSFORMERS_", "TORCH", "PYTORCH_", "OMP_", "MKL_", "TOKENIZERS_", "FORCE_TORCHRUN", "NNODES", "NODE_RANK", "NPROC_",
        "MASTER_", "ASCEND_", "HCCL_", "HIP_", "ROCR_", "DS_", "ACCELERATE_", "RAY_", "SLURM_JOB", "PYTHONHASHSEED", "LLAMAFACTORY_", "USE_")  # fmt: skip
SECRET = ("TOKEN", "KEY", "SECRET", "PASSWORD", "CREDENTIAL")
PACKAGES = ("torch", "transformers", "peft", "accelerate", "datasets", "trl", "llamafactory", "deepspeed", "bitsandbytes", "flash-attn", "tokenizers",
            "numpy", "scikit-learn", "safetensors")  # fmt: skip
HASHED = 2 * 2**30


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def environment_block(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables that a training reads, without anything secret."""
    return {
        k: v for k, v in sorted(variables.items()) if k.startswith(KEPT) and not any(s in k.upper() for s in SECRET)
    }


def digests(paths: Iterable[Path], root: Path) -> list[dict[str, Any]]:
    """Name, size and SHA-256 of each file, as seen from the workspace."""
    found = []
    for path in paths:
        if not path.is_file():
            found.append({"path": os.path.relpath(path, root), "missing": True})
            continue
        size = path.stat().st_size
        entry: dict[str, Any] = {"path": os.path.relpath(path, root), "bytes": size}
        found.append(
            entry
            | (
                {"sha256": sha256_file(path)}
                if size <= HASHED
                else {"sha256": None, "reason": f"larger than {HASHED:,} bytes"}
            )
        )
    return found


def versions(installed: Mapping[str, str]) -> dict[str, str]:
    return {name: installed[name] for name in PACKAGES if name in installed}


def frozen(installed: Mapping[str, str]) -> list[str]:
    """Every package of the training environment, as `pip freeze` writes it."""
    return sorted(f"{name}=={version}" for name, version in installed.items())


def git_diff(folder: Path, limit: int = 2**20) -> str:
    """What the tracked files of the user's repository differ by from that commit; cut where it is longer than a record needs."""
    try:
        text = _git(folder, "diff", "HEAD", "--no-color", "--no-ext-diff")
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return ""
    return text + "\n" if len(text) <= limit else text[:limit] + f"\n… cut after {limit:,} characters\n"


def git_commit(folder: Path) -> dict[str, Any]:
    """The commit that the workspace stands in, and whether its files differ from it."""
    try:
        commit = _git(folder, "rev-parse", "HEAD")
        dirty = bool(_git(folder, "status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.SubprocessError):
        return {"git_commit": None}
    return {"git_commit": commit, "git_dirty": dirty}


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=folder, capture_output=True, text=True, timeout=10, check=True, stdin=subprocess.DEVNULL
    )
    return done.stdout.strip()


def machine(on_cpu: bool) -> dict[str, Any]:
    """What it ran on, without the machine's name."""
    found: dict[str, Any] = {
        "device": "cpu" if on_cpu else "accelerator",
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "driver": None,
    }
    cards = [] if on_cpu else _cards()
    if cards:
        found |= {"device": cards[0][0], "devices": [name for name, _ in cards], "driver": cards[0][1]}
    return found


def _cards() -> list[tuple[str, str]]:
    """(name, driver) of each card, as the driver's own tool prints them; nothing where it is not there."""
    try:
        done = subprocess.run(
            ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
            capture_output=True, text=True, timeout=20, check=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return []
    rows = [line.rsplit(",", 1) for line in done.stdout.splitlines() if "," in line]
    return [(name.strip(), driver.strip()) for name, driver in rows]


def outputs(folder: Path, root: Path, limit: int = 200) -> list[dict[str, Any]]:
    """What the run wrote: small files with their digest, large ones with their size."""
    found = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "record.json")[:limit]:
        size = path.stat().st_size
        found.append(
            {"path": os.path.relpath(path, root), "bytes": size}
            | ({"sha256": sha256_file(path)} if size <= 64 * 2**20 else {})
        )
    return found
