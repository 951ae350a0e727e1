"""The nodes of a job before the training: the same packages and files everywhere, cards without errors, one small all-reduce.

torchrun … preflight.py [FILE …]      Ends with 78 and says which node differs, or with 0 after a line per node.
"""

import hashlib
import json
import os
import re
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


# Xid errors of the hardware itself. Others tell of a program that ran here before (13, 31, 43, 45) or of memory that was mended (63, 94).
HARDWARE = {"48": "double bit ECC", "62": "halted processor", "64": "row remapping failed", "74": "NVLink", "79": "fallen off the bus", "95": "uncontained ECC",
            "119": "GSP timeout", "120": "GSP error", "140": "unrecovered ECC", "143": "GPU initialisation", "145": "NVLink", "149": "NVLink"}  # fmt: skip


def asked(*words):
    """(what a tool of the driver or the kernel prints, whether it was content); empty where it is not there or may not be asked."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=30)
    except (OSError, subprocess.SubprocessError):
        return "", True
    return done.stdout + done.stderr, done.returncode == 0


def lost_cards(text):
    """Lines in which nvidia-smi says that it cannot reach a card."""
    return [line.strip()[:100] for line in text.splitlines() if "GPU is lost" in line or "Unable to determine the device handle" in line]  # fmt: skip


def ecc_errors(text):
    """Rows of `index, uncorrected errors since the driver was loaded`; `[N/A]` where a card has no ECC."""
    rows = [[part.strip() for part in line.split(",")] for line in text.splitlines()]
    return [f"card {row[0]}: {row[1]} uncorrected ECC errors" for row in rows if len(row) == 2 and row[1].isdigit() and int(row[1])]  # fmt: skip


def row_remaps(text):
    """Rows of `index, remapping pending, remapping failed`."""
    rows = [[part.strip() for part in line.split(",")] for line in text.splitlines()]
    said = {(1, "Yes"): "a row waits to be remapped: reset the card", (2, "Yes"): "a row could not be remapped"}
    return [f"card {row[0]}: {word}" for row in rows if len(row) == 3 for (at, value), word in said.items() if row[at] == value]  # fmt: skip


def xids(log):
    """Lines such as `NVRM: Xid (PCI:0000:4f:00): 79, pid=1234, GPU has fallen off the bus.`, of the hardware, each card and code once."""
    found = re.findall(r"NVRM: Xid \((?:PCI:)?([0-9A-Fa-f:.]+)\): (\d+)", log)
    return sorted({f"card at {place}: Xid {code} ({HARDWARE[code]})" for place, code in found if code in HARDWARE})


def card_errors():
    """What the driver's own tool and the kernel's log say against this node's cards; nothing where they cannot be asked."""
    smi = ("nvidia-smi", "--format=csv,noheader,nounits")
    ecc, content = asked(*smi, "--query-gpu=index,ecc.errors.uncorrected.volatile.total")
    remaps, known = asked(
        *smi, "--query-gpu=index,remapped_rows.pending,remapped_rows.failure"
    )  # not known to old drivers
    log, _ = asked("dmesg", "--level", "err,warn")
    return [*([] if content else lost_cards(ecc)), *ecc_errors(ecc), *(row_remaps(remaps) if known else []), *xids(log)]


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


if __name__ == "__main__":
    main()
