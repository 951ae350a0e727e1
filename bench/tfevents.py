"""How quickly logs are read: a TensorBoard file of a million scalars, and text that does not fit into memory.

Times of events are processor time, so that other work on the machine does not enter.

    python bench/tfevents.py [--scalars 1000000] [--text-megabytes 1000] [--peer /path/to/venv/bin/python]

`--peer` names the Python of an environment that has tensorboard (and tbparse, if it is to be measured too). Files are
written into a temporary folder and removed.
"""

from __future__ import annotations

import argparse
import json
import resource
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from papertrain.monitor.find import recognise
from papertrain.monitor.reader import follow
from papertrain.monitor.readers._crc import masked_crc32c
from papertrain.monitor.run import examine

PEER = """
import json, sys, time
from pathlib import Path
folder = sys.argv[1]
out = {}
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
s = time.process_time()
ea = EventAccumulator(folder, size_guidance={"scalars": 0, "tensors": 0})
ea.Reload()
n = sum(len(ea.Scalars(t)) for t in ea.Tags()["scalars"])
total = sum(e.value for t in ea.Tags()["scalars"] for e in ea.Scalars(t))
for t in ea.Tags()["tensors"]:
    from tensorboard.util.tensor_util import make_ndarray
    rows = [float(make_ndarray(e.tensor_proto)) for e in ea.Tensors(t)]
    n, total = n + len(rows), total + sum(rows)
out["EventAccumulator"] = {"scalars": n, "seconds": time.process_time() - s, "sum": total}
try:
    from tbparse import SummaryReader
    s = time.process_time()
    out["tbparse"] = {"scalars": len(SummaryReader(folder).scalars), "seconds": time.process_time() - s}
except ImportError:
    pass
print(json.dumps(out))
"""
CHILD = "import resource,sys; from pathlib import Path; from papertrain.monitor.run import examine; e = examine([Path(sys.argv[1])])[0]; print(e.level, e.steps, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)"


def varint(n: int) -> bytes:
    out = b""
    while n > 0x7F:
        out, n = out + bytes([n & 0x7F | 0x80]), n >> 7
    return out + bytes([n])


def write_events(path: Path, scalars: int, tensors: bool = False) -> None:
    """Four tags in turn, as a Trainer writes them; each length's checksum is computed once; with `tensors` as TF2 does."""
    tags = [b"train/loss", b"train/grad_norm", b"train/learning_rate", b"train/epoch"]
    lengths: dict[int, bytes] = {}
    with path.open("wb") as f:
        version = b"\x09" + struct.pack("<d", 1.7e9) + b"\x1a\x0dbrain.Event:2"
        for i in range(-1, scalars):
            if i < 0:
                data = version
            else:
                tag = tags[i % 4]
                number = struct.pack("<f", 2.0 - i / scalars)
                # TensorProto: dtype float, no dimensions, float_val or tensor_content
                tensor = b"\x08\x01\x12\x00" + (b"\x2a\x04" if i % 2 else b"\x22\x04") + number
                held = b"\x42" + bytes([len(tensor)]) + tensor if tensors else b"\x15" + number
                plugin = b"\x4a\x0b\x0a\x09\x0a\x07scalars" if tensors and i < 4 else b""
                value = b"\x0a" + bytes([len(tag)]) + tag + held + plugin
                summary = b"\x0a" + bytes([len(value)]) + value
                data = (
                    b"\x09"
                    + struct.pack("<d", 1.7e9 + i)
                    + b"\x10"
                    + varint(i // 4 + 1)
                    + b"\x2a"
                    + bytes([len(summary)])
                    + summary
                )
            head = lengths.get(len(data))
            if head is None:
                raw = struct.pack("<Q", len(data))
                head = lengths[len(data)] = raw + struct.pack("<I", masked_crc32c(raw))
            # data checksums: right for the records that are tested and for the peer, which tests all of them
            f.write(head + data + struct.pack("<I", masked_crc32c(data)))


def ours(path: Path) -> tuple[float, int, float]:
    reader = recognise(path)
    assert reader is not None
    begin = time.process_time()
    feed = follow(path, reader)
    feed.poll()
    seconds = time.process_time() - begin
    columns = feed.table.columns.values()
    return seconds, sum(len(c) * c.merged for c in columns), sum(sum(c.values) for c in columns)


def text(path: Path, megabytes: int) -> None:
    line = "{'loss': 1.2345, 'grad_norm': 0.91, 'learning_rate': 1.9e-05, 'epoch': 0.51}\n"
    noise = "INFO 2026-01-01 step done, nothing to see in this line of ordinary text at all, nor in the next one\n"
    block = (line + noise * 40) * 500
    with path.open("w") as f:
        for _ in range(max(1, megabytes * 1_000_000 // len(block))):
            f.write(block)


def beside(folder: Path, path: Path, kind: str, peer: Path | None) -> None:
    """Our reader and, where their environment was named, the peers on the same file."""
    best = min((ours(path) for _ in range(3)), key=lambda x: x[0])
    ours_rate = best[1] / best[0]
    print(
        f"events: {best[1]:,} {kind}, {path.stat().st_size / 1e6:.0f} MB: {best[0]:.2f} s, {ours_rate:,.0f} a second, sum {best[2]:.3f}"
    )
    if peer is None:
        return
    done = subprocess.run([peer, "-c", PEER, str(folder)], capture_output=True, text=True)
    if done.returncode:
        print("  the peer could not be run:", done.stderr.splitlines()[-1:] or "")
        return
    for name, x in json.loads(done.stdout.splitlines()[-1]).items():
        rate = x["scalars"] / x["seconds"]
        times = f"we are {ours_rate / rate:.1f} times as quick" if rate else "nothing found"
        print(
            f"  {name}: {x['scalars']:,} in {x['seconds']:.2f} s, {rate:,.0f} a second; {times}"
            + (f", sum {x['sum']:.3f}" if "sum" in x else "")
        )
    rust(folder, best[1], peer)


def rust(folder: Path, scalars: int, peer: Path) -> None:
    """TensorBoard's data server, from its start to the end of its first load; it samples what it keeps."""
    server = next(
        iter((peer.parent.parent / "lib").glob("python3*/site-packages/tensorboard_data_server/bin/server")), None
    )
    if server is None:
        return
    begin = time.perf_counter()
    with subprocess.Popen(
        [server, "-vv", "--logdir", str(folder), "--port", "0", "--reload", "once"], stderr=subprocess.PIPE, text=True
    ) as p:
        assert p.stderr is not None
        for line in p.stderr:
            if "load cycle" in line.lower() and ("finish" in line.lower() or "done" in line.lower()):
                break
            if time.perf_counter() - begin > 120:
                break
        seconds = time.perf_counter() - begin
        p.terminate()
    print(f"  Rust data server: {scalars:,} in {seconds:.2f} s, {scalars / seconds:,.0f} a second")


def main() -> int:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--scalars", type=int, default=1_000_000)
    ask.add_argument("--tensors", type=int, default=200_000)
    ask.add_argument("--text-megabytes", type=int, default=1000)
    ask.add_argument("--peer", type=Path)
    ask.add_argument("--logs", type=Path)
    args = ask.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp) / "run"
        folder.mkdir()
        path = folder / "events.out.tfevents.1700000000.host.1.0"
        for kind, count in (("scalars", args.scalars), ("tensor scalars", args.tensors)):
            if count:
                write_events(path, count, kind == "tensor scalars")
                beside(folder, path, kind, args.peer)
        log = Path(tmp) / "train.log"
        for megabytes in (args.text_megabytes // 10, args.text_megabytes):
            text(log, megabytes)
            begin = time.perf_counter()
            done = subprocess.run([sys.executable, "-c", CHILD, str(log)], capture_output=True, text=True)
            seconds = time.perf_counter() - begin
            size = log.stat().st_size / 1e6
            print(
                f"text: {size:.0f} MB in {seconds:.1f} s = {size / seconds:.0f} MB/s; level, rows, peak MB: {done.stdout.strip()}"
            )
            log.unlink()
    if args.logs:
        begin = time.perf_counter()
        count = 0
        for folder in sorted(p for p in args.logs.iterdir() if p.is_dir()):
            examine([folder])
            count += 1
        print(f"real run folders: {count} in {time.perf_counter() - begin:.1f} s")
    print(f"this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
