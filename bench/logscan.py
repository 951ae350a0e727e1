"""How fast a large log is read, beside `grep -c -E` and ripgrep with the same literals.

python bench/logscan.py [MEGABYTES]
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from papertrain.diagnose.catalogue import literals
from papertrain.diagnose.scan import scan
from papertrain.diagnose.sources import Source, chunks

LINES = (
    "{'loss': 1.2345, 'grad_norm': 0.91, 'learning_rate': 1.9e-05, 'epoch': 0.51}\n"
    "INFO 2026-01-01 step done, nothing to see in this line of ordinary text at all\n"
)


def make(path: Path, megabytes: int) -> int:
    block = LINES * 7000
    with path.open("w") as out:
        for _ in range(max(1, megabytes * 10**6 // len(block))):
            out.write(block)
        out.write("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n")
    return path.stat().st_size


def timed(command: list[str]) -> tuple[float, float]:
    """(wall, CPU) seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(command, capture_output=True, env={"LC_ALL": "C", "PATH": os.environ.get("PATH", "/usr/bin:/bin")}, check=False)  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(megabytes: int) -> None:
    words = literals()
    with tempfile.TemporaryDirectory() as folder:
        log, patterns = Path(folder) / "big.log", Path(folder) / "patterns.txt"
        size = make(log, megabytes)
        patterns.write_text("\n".join(re.sub(r"([.\\+*?\[^\]$(){}|])", r"\\\1", w) for w in words) + "\n")
        plain = Path(folder) / "literals.txt"
        plain.write_text("\n".join(words) + "\n")
        start, cpu = time.perf_counter(), time.process_time()
        scan(chunks(Source(name=str(log), path=log)), words, str(log))
        wall, used = time.perf_counter() - start, time.process_time() - cpu
        rows = [("the one pass, in this process", wall, used)]
        exe = Path(sys.executable).with_name("papertrain")
        if exe.exists():
            rows.append(("papertrain diagnose, whole process", *timed([str(exe), "diagnose", str(log), "--json"])))
        rows.append(("grep -c -E -f", *timed(["grep", "-c", "-E", "-f", str(patterns), str(log)])))
        rows.append(("grep -c -F -f", *timed(["grep", "-c", "-F", "-f", str(plain), str(log)])))
        if shutil.which("rg"):
            rows.append(("rg -c -f", *timed(["rg", "-c", "-f", str(patterns), str(log)])))
            rows.append(("rg -c -F -f", *timed(["rg", "-c", "-j1", "-F", "-f", str(plain), str(log)])))
        print(f"{size / 1e6:.0f} MB, {len(words)} literals")
        for name, wall, used in rows:
            print(
                f"  {name:36} {size / 1e6 / wall:8.0f} MB/s by the clock, {size / 1e6 / max(used, 1e-9):8.0f} MB/s of one core"
            )
        if not shutil.which("rg"):
            print("  ripgrep is not installed")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
