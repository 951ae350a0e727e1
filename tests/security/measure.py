"""`make security`: the whole suite of this folder, and its figures in one place."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECOND = {
    "test_canary",
    "test_leaks",
    "test_streams",
    "test_hostile",
    "test_fuzz",
    "test_network",
    "test_system_errors",
}
"""The long ones of this folder that run beside the killing; every other file of it goes with the first."""
HERE = sorted((ROOT / "tests/security").glob("test_*.py"))
HALVES = [
    [*(str(f) for f in HERE if f.stem not in SECOND), "tests/core", "tests/evidence", "tests/run/test_record.py"],
    [*(str(f) for f in HERE if f.stem in SECOND), "tests/verbs/test_remote_code.py"],
]
"""Two processes of about the same length: CI has two cores."""


def run(tests: list[str]) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *tests, "-s"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout


def main() -> int:
    began = time.monotonic()
    with ThreadPoolExecutor(2) as both:
        ended = list(both.map(run, HALVES))
    assert {f.stem for f in HERE} >= SECOND
    text = "\n".join(out for _, out in ended)
    code = max(code for code, _ in ended)
    for failed, out in ended:
        if failed:
            print(out[-6000:])
    planted = [
        (int(kinds), int(b.replace(",", "")), int(found))
        for kinds, b, found in re.findall(r"canaries: (\d+) kinds .*?, ([\d,]+) bytes searched, (\d+) found", text)
    ]
    killed = [(int(k), int(c)) for k, c in re.findall(r"write points: .*?: (\d+) killed, (\d+) corrupt", text)]
    hostile = re.findall(
        r"hostile files: (\d+) kinds, (\d+) answers, slowest ([\d.]+) s, largest (\d+) MB, (\d+) wrong", text
    )
    fuzzed = re.findall(r"fuzz: ([\d,]+) inputs over (\d+) readers, (\d+) wrong", text)
    promises = re.findall(r"promises: (\d+) in SECURITY.md, (\d+) without a test", text)
    most = max(hostile, key=lambda h: int(h[0]), default=("0", "0", "0", "0", "?"))
    print(
        f"canaries        {max((p[0] for p in planted), default=0)} kinds planted, {sum(p[1] for p in planted):,} bytes searched, {sum(p[2] for p in planted)} found"
    )
    print(f"write points    {sum(k for k, _ in killed)} killed, {sum(c for _, c in killed)} corrupt")
    print(
        f"hostile files   {most[0]} kinds, {most[1]} answers, slowest {most[2]} s, largest {most[3]} MB, {most[4]} hangs, crashes or traces"
    )
    print(
        f"changed inputs  {fuzzed[0][0] if fuzzed else 0} over {fuzzed[0][1] if fuzzed else 0} readers, {fuzzed[0][2] if fuzzed else '?'} wrong (`make fuzz`: 50,000 for each reader)"
    )
    print(
        f"promises        {promises[0][0] if promises else 0} in SECURITY.md, {promises[0][1] if promises else '?'} without a test"
    )
    print(f"                {'all tests passed' if code == 0 else 'see above'}; {time.monotonic() - began:.0f} s")
    if not (planted and killed and hostile and fuzzed and promises):
        print("                a figure is missing: a test that measures it did not run")
        return code or 1
    return code


if __name__ == "__main__":
    raise SystemExit(main())
