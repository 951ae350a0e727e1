"""The nodes of a job before the training: the same packages and files everywhere, cards without errors, one small all-reduce.

torchrun … preflight.py [FILE …]      Ends with 78 and says which node differs, or with 0 after a line per node.
"""

import hashlib
import json
import os
import socket
import subprocess
import sys
import time
from datetime import timedelta
from importlib.metadata import distributions
from pathlib import Path

import torch
import torch.distributed as dist

DIFFERENT = 78


def packages():
    """One digest of all installed packages and their versions."""
    names = sorted(f"{d.metadata['Name']}=={d.version}" for d in distributions())
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:12]


def files(paths):
    """One digest of the files that the run reads, and the first that is not here."""
    digest = hashlib.sha256()
    for path in map(Path, paths):
        if not path.is_file():
            return f"{path} is missing"
        # In pieces: every process of a node reads it, and it may be larger than the memory.
        with path.open("rb") as file:
            while piece := file.read(2**20):
                digest.update(piece)
    return digest.hexdigest()[:12]


def card_errors():
    """What the driver's own tool and the kernel's log say against this node's cards; nothing where they cannot be asked."""
    found = []
    try:
        query = [
            "nvidia-smi",
            "--query-gpu=index,ecc.errors.uncorrected.volatile.total",
            "--format=csv,noheader,nounits",
        ]
        rows = subprocess.run(query, capture_output=True, text=True, timeout=30).stdout.splitlines()
        found += [
            f"card {i}: {n} uncorrected ECC errors"
            for i, _, n in (r.partition(", ") for r in rows)
            if n.strip().isdigit() and int(n)
        ]
        log = subprocess.run(["dmesg", "--level", "err,warn"], capture_output=True, text=True, timeout=30).stdout
        found += sorted({line.partition("NVRM: ")[2][:60] for line in log.splitlines() if "NVRM: Xid" in line})
    except (OSError, subprocess.SubprocessError):
        pass
    return found


def main():
    cuda = torch.cuda.is_available() and os.environ.get("CUDA_VISIBLE_DEVICES") != ""
    dist.init_process_group("nccl" if cuda else "gloo", timeout=timedelta(minutes=5))
    rank, local = dist.get_rank(), int(os.environ["LOCAL_RANK"])
    if cuda:
        torch.cuda.set_device(local)
    mine = {
        "host": socket.gethostname(),
        "python": sys.version.split()[0],
        "torch": torch.__version__,
        "packages": packages(),
        "files": files(sys.argv[1:]),
    }
    mine["errors"] = card_errors() if local == 0 else []
    seen = [None] * dist.get_world_size()
    dist.all_gather_object(seen, mine)
    began = time.monotonic()
    numbers = torch.full((2**20,), float(rank + 1), device="cuda" if cuda else "cpu")
    dist.all_reduce(numbers)
    total = float(numbers[0])
    seconds = time.monotonic() - began
    world = dist.get_world_size()
    dist.destroy_process_group()
    wrong = (
        [f"all-reduce gave {total} instead of {world * (world + 1) / 2}"] if total != world * (world + 1) / 2 else []
    )
    for what in ("python", "torch", "packages", "files"):
        values = {one[what] for one in seen}
        if len(values) > 1 or any("missing" in v for v in values):
            wrong.append(f"{what} differ: " + ", ".join(sorted({f"{one['host']} {one[what]}" for one in seen})))
    wrong += [f"{one['host']}: {e}" for one in seen for e in one["errors"]]
    if rank == 0:
        hosts = sorted({one["host"] for one in seen})
        print(
            json.dumps(
                {
                    "preflight": "failed" if wrong else "passed",
                    "nodes": hosts,
                    "processes": world,
                    "all_reduce_seconds": round(seconds, 4),
                    "wrong": wrong,
                }
            ),
            flush=True,
        )
    raise SystemExit(DIFFERENT if wrong else 0)


main()
