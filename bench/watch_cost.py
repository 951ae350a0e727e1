"""What watching costs: inside a training loop, over a hundred runs at once, and on a log that does not fit into memory.

    python bench/watch_cost.py [--steps 20000] [--seconds 60] [--gigabytes 5] [--only loop,tail,memory]

Goals: under 0.1 % of a step of 100 ms; a hundred runs at 1 Hz under 5 % of a core; memory that does not grow with the file.
The large file is written into a temporary folder and removed.
"""

from __future__ import annotations

import argparse
import math
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from papertrain.monitor import callback
from papertrain.monitor.callback import Watch
from papertrain.monitor.live import Follower

STEP = 0.1
RUNS = 100
CHILD = """
import sys, time
from pathlib import Path
from papertrain.monitor.run import examine
begin = time.perf_counter()
e = examine([Path(sys.argv[1])])[0]
peak = next(int(x.split()[1]) for x in open("/proc/self/status") if x.startswith("VmHWM"))
print(e.level, e.steps, e.last_step, peak // 1024, round(time.perf_counter() - begin, 1))
"""


class Clock:
    """The loop's time: each step takes 100 ms, and what the watch took comes on top."""

    def __init__(self) -> None:
        self.steps = 0

    def monotonic(self) -> float:
        return self.steps * STEP + time.perf_counter()

    def time(self) -> float:
        return 1.7e9 + self.monotonic()


def loop(steps: int) -> None:
    """`Watch.log` with four values a step, the rules included."""
    clock = Clock()
    callback.time = clock  # type: ignore[assignment]
    watch = Watch(tell=lambda line: None, total_steps=steps)
    r = random.Random(1)
    spent, worked = [0.0] * steps, [0.0] * steps
    for i in range(steps):
        clock.steps += 1
        row = {
            "loss": 3 * (1 + i / 50) ** -0.15 + r.gauss(0, 0.03),
            "grad_norm": 1 + r.random() / 10,
            "lr": 2e-5 * (1 - i / steps),
            "tokens_per_second": 3000 + 50 * r.random(),
        }
        begin, mine = time.perf_counter(), time.thread_time()
        watch.log(i, **row)
        spent[i], worked[i] = time.perf_counter() - begin, time.thread_time() - mine
    callback.time = time
    usual = sorted(spent)[steps // 2]
    first, busy = sum(spent[:64]) / (64 * STEP), sum(worked[:64]) / (64 * STEP)
    print(f"in a loop of {steps:,} steps of 100 ms: {100 * sum(spent) / (steps * STEP):.3f} % of the time (goal 0.1), the rules included; "
          f"a row {1e6 * usual:.0f} us, the longest look {1e3 * max(spent):.0f} ms; the first 64 steps {100 * first:.3f} % ({100 * busy:.3f} % of processor time); level {watch.level}")  # fmt: skip


def tail(seconds: int) -> None:
    """A hundred runs of 1,000 rows that each grow by a row a second, looked at once a second."""
    with tempfile.TemporaryDirectory() as top:
        files = []
        for k in range(RUNS):
            file = Path(top) / f"run{k:03d}" / "trainer_log.jsonl"
            file.parent.mkdir()
            file.write_text("".join(row(i, k) for i in range(1000)))
            files.append(file)
        follower = Follower([f.parent for f in files], lambda p: None)
        begin = time.process_time()
        follower.look()
        first = time.process_time() - begin
        used, slept = 0.0, time.monotonic()
        for second in range(seconds):
            for k, file in enumerate(files):
                with file.open("a") as f:
                    f.write(row(1000 + second, k))
            begin = time.process_time()
            follower.look()
            used += time.process_time() - begin
            time.sleep(max(0.0, slept + second + 1 - time.monotonic()))
        print(
            f"{RUNS} runs that grow by a row a second, looked at once a second for {seconds} s: {100 * used / seconds:.1f} % of a core (goal 5); the first look {first:.1f} s"
        )


def row(i: int, k: int) -> str:
    loss = 0.9 + 1.5 * math.exp(-i / 200) + 0.03 * math.sin(37 * i + k)
    return f'{{"current_steps": {i + 1}, "total_steps": 5000, "loss": {loss:.4f}, "lr": {2e-5 * (1 - i / 5000):.3e}, "epoch": {i / 1000:.3f}, "elapsed_time": "{i // 3600}:{i // 60 % 60:02d}:{i % 60:02d}"}}\n'


def memory(gigabytes: float) -> None:
    """Console output of a Trainer: a row of numbers after forty lines of progress and chatter; a tenth and half of the size beside it."""
    with tempfile.TemporaryDirectory() as top:
        for size in (gigabytes / 10, gigabytes / 2, gigabytes):
            file = Path(top) / "train.log"
            block = 0
            with file.open("wb") as f:
                while f.tell() < size * 1e9:
                    f.write(b"".join(piece(block * 500 + j) for j in range(500)))
                    block += 1
            done = subprocess.run([sys.executable, "-c", CHILD, file], capture_output=True, text=True, check=True)
            level, rows, last, peak, took = done.stdout.split()
            print(
                f"console log of {file.stat().st_size / 1e9:.2f} GB: peak {peak} MB (VmHWM), {took} s, {level}, {int(rows):,} points kept of {block * 500:,} rows, last step {int(last):,}"
            )
            file.unlink()


def piece(i: int) -> bytes:
    chatter = b"".join(
        b"[2026-01-01 00:00:00,000] [INFO] [worker %d] fetched shard %08d in 0.%03d s, queue at %d\n"
        % (k, 40 * i + k, k * 7, k)
        for k in range(40)
    )
    loss = 0.9 + 1.5 * math.exp(-i / 20000) + 0.03 * math.sin(37 * i)
    return (
        chatter
        + f"{{'loss': {loss:.4f}, 'grad_norm': 1.02, 'learning_rate': 1.9e-05, 'epoch': {i / 1e6:.6f}}}\n".encode()
    )


def main() -> int:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--steps", type=int, default=20000)
    ask.add_argument("--seconds", type=int, default=60)
    ask.add_argument("--gigabytes", type=float, default=5.0)
    ask.add_argument("--only", default="loop,tail,memory")
    args = ask.parse_args()
    if "loop" in args.only:
        loop(args.steps)
    if "tail" in args.only:
        tail(args.seconds)
    if "memory" in args.only:
        memory(args.gigabytes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
