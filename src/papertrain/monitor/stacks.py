"""What each rank was doing: stack dumps as text (py-spy, faulthandler) or JSON (py-spy), one value a process."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Literal

from papertrain.core.values import Record

Doing = Literal["collective", "data", "saving", "other"]

COLLECTIVE = re.compile(
    r"distributed_c10d|c10d_logger|torch/distributed/(?!run|elastic|launch)|nccl|hccl|[/\\.]gloo|(^|[._])(all_?reduce|all_?gather|reduce_scatter|broadcast|barrier|monitored_barrier|wait_for_everyone|all_to_all)"
    r"|deepspeed/comm|(^|[/.])comm(unication)?\.py", re.I,
)  # fmt: skip
DATA = re.compile(
    r"dataloader|data_loader|_try_get_data|_MultiProcessingDataLoader|multiprocessing/(queues|connection|popen)|queue\.py|__getitem__|datasets?[/.]|collat|tokeniz|load_batch",
    re.I,
)
SAVING = re.compile(
    r"serialization\.py|safetensors|save_(checkpoint|pretrained|model|state)|_save\b|dist_checkpointing", re.I
)
RANK = re.compile(r"(?:^|[^a-z])(?:global[_-]?)?rank[_=\- ]?(\d{1,6})", re.I)
PREFIX = re.compile(r"^\[(?:rank|default)(\d{1,6})\]:\s?")
SPY_HEAD = re.compile(r"^Process (\d{1,9}): (.*)$")
SPY_THREAD = re.compile(r'^Thread (?:0x)?[0-9A-Fa-f]+ \((\w[\w+ ]{0,30})\)(?:: "([^"]{0,80})")?')
SPY_FRAME = re.compile(r"^\s{3,5}(\S.{0,200}?) \(([^()\n]{1,400}):(\d{1,7})\)\s*$")
FAULT_THREAD = re.compile(
    r"^(Current thread|Thread) 0x[0-9a-fA-F]+(?: \[[^\]]{0,40}\])? (?:\[[^\]]{0,40}\] )?\(most recent call first\)"
)
FAULT_FRAME = re.compile(r'^\s{1,3}File "([^"\n]{1,400})", line (\d{1,7})(?: in (\S{1,200}))?')
MOST_FRAMES = 200


class Frame(Record, frozen=True, kw_only=True):
    name: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.name} ({'/'.join(PurePath(self.file.replace(chr(92), '/')).parts[-2:])}:{self.line})"


class Stack(Record, frozen=True, kw_only=True):
    """The main thread of one process, innermost frame first. `at` is the line of `file` where the dump begins."""

    rank: int | None
    host: str
    pid: int | None
    frames: tuple[Frame, ...]
    file: str
    at: int = 0
    still: bool | None = None

    @property
    def doing(self) -> Doing:
        text = [f"{f.file.replace(chr(92), '/')} {f.name}" for f in self.frames[:12]]
        for word, pattern in (("collective", COLLECTIVE), ("saving", SAVING), ("data", DATA)):
            if any(pattern.search(x) for x in text):
                return word  # type: ignore[return-value]
        return "other"

    @property
    def own(self) -> Frame | None:
        """The innermost frame of the user's own code, else the innermost."""
        mine = [
            f
            for f in self.frames
            if not re.search(r"site-packages|dist-packages|/lib/python3|^torch/|^<|importlib", f.file)
        ]
        return next(
            (f for f in mine if f.name != "<module>"), mine[0] if mine else self.frames[0] if self.frames else None
        )


def looks_like(head: bytes) -> bool:
    """Whether a file holds stacks."""
    return (
        b"(most recent call first)" in head
        or re.search(rb"^(\[\w{1,12}\]:\s?)?Thread (0x)?[0-9A-Fa-f]+ \(\w+[^)]{0,30}\)", head, re.M) is not None
        or (head.lstrip()[:1] == b"[" and b'"frames"' in head and b'"thread_name"' in head)
    )


def rank_of(path: PurePath) -> int | None:
    """From the file's name, else its folder's: `rank3.txt`, `node1/rank_3/stack.txt`."""
    m = RANK.search(path.name) or RANK.search(path.parent.name)
    return int(m[1]) if m else None


def host_of(path: PurePath, root: PurePath) -> str:
    """`node-b.rank3.txt`, or the folder `node-b/` below the run."""
    m = re.match(r"(?P<host>[A-Za-z][\w-]{0,60}?)[._-](?:global[_-]?)?rank[_=-]?\d", path.name)
    if m and m["host"].lower() not in (
        "py-spy",
        "pyspy",
        "py_spy",
        "spy",
        "stack",
        "stacks",
        "dump",
        "trace",
        "nccl_trace",
        "fr",
    ):
        return m["host"]
    parts = [
        p
        for p in path.parent.parts[len(root.parts) :]
        if not RANK.search(p) and p.lower() not in ("stacks", "dumps", "debug", "logs")
    ]
    return parts[-1] if parts else ""


def read(text: str, path: PurePath, root: PurePath) -> list[Stack]:
    """The processes of one dump. Raises ValueError for JSON that is none."""
    rank, host = rank_of(path), host_of(path, root)
    if text.lstrip()[:1] == "[" and '"frames"' in text[:20000]:
        return [s for s in [from_json(json.loads(text), str(path), rank, host)] if s.frames]
    groups: dict[int | None, list[tuple[int, str]]] = {}
    for n, line in enumerate(text.splitlines(), 1):
        m = PREFIX.match(line)
        groups.setdefault(int(m[1]) if m else rank, []).append((n, line[m.end() :] if m else line))
    found = [s for r, lines in groups.items() for s in from_lines(lines, str(path), r, host)]
    return [s for s in found if s.frames]


def from_lines(lines: Sequence[tuple[int, str]], file: str, rank: int | None, host: str) -> Iterator[Stack]:
    """py-spy's and faulthandler's text; a new process begins at `Process N:` (py-spy) or after the last thread."""
    pid: int | None = None
    threads: list[tuple[str, int, list[Frame]]] = []
    for n, line in lines:
        if m := SPY_HEAD.match(line):
            yield from main_thread(threads, pid, file, rank, host)
            pid, threads = int(m[1]), []
        elif m := FAULT_THREAD.match(line):
            if threads and threads[-1][0] == "Current thread":
                yield from main_thread(threads, pid, file, rank, host)
                threads = []
            threads.append((m[1], n, []))
        elif m := SPY_THREAD.match(line):
            threads.append((m[2] or m[1], n, []))
        elif threads and len(threads[-1][2]) < MOST_FRAMES:
            if m := SPY_FRAME.match(line):
                threads[-1][2].append(Frame(name=m[1], file=m[2], line=int(m[3])))
            elif m := FAULT_FRAME.match(line):
                threads[-1][2].append(Frame(name=m[3] or "?", file=m[1], line=int(m[2])))
    yield from main_thread(threads, pid, file, rank, host)


def main_thread(
    threads: Sequence[tuple[str, int, list[Frame]]], pid: int | None, file: str, rank: int | None, host: str
) -> Iterator[Stack]:
    """py-spy names it; faulthandler prints it last, or as the current one."""
    named = (
        [t for t in threads if t[0] == "MainThread"]
        or [t for t in threads if t[0] == "Current thread" and t[2]]
        or list(threads[-1:])
    )
    for _, at, frames in named[:1]:
        yield Stack(rank=rank, host=host, pid=pid, frames=tuple(frames), file=file, at=at)


def from_json(document: object, file: str, rank: int | None, host: str) -> Stack:
    """`py-spy dump --json`: a list of threads."""
    threads = [t for t in document if isinstance(t, dict)] if isinstance(document, list) else []
    main = next((t for t in threads if t.get("thread_name") == "MainThread"), threads[0] if threads else {})
    frames = [f for f in main.get("frames") or [] if isinstance(f, dict)][:MOST_FRAMES]
    pid = main.get("pid")
    return Stack(
        rank=rank, host=host, pid=pid if isinstance(pid, int) else None, file=file, at=1,
        frames=tuple(Frame(name=str(f.get("name", "?"))[:200], file=str(f.get("short_filename") or f.get("filename") or "?")[:400],
                           line=f["line"] if isinstance(f.get("line"), int) else 0) for f in frames),
    )  # fmt: skip
