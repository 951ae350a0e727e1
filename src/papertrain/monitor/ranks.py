"""The stacks and flight-recorder dumps of a run, from its folder and from its living processes; and which rank is behind."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any

from msgspec import structs

from papertrain.core.texts import say
from papertrain.core.values import Record
from papertrain.monitor import flight, stacks
from papertrain.monitor.find import looked_into
from papertrain.monitor.flight import Flight, Group
from papertrain.monitor.stacks import Stack

RECORD = "record.json"
LARGEST = 64 << 20
HEAD = 1 << 16
DEPTH = 3
MOST_FILES = 4096
BETWEEN = 2.0
"""Seconds between two looks at living processes: what stands still in both is stuck, what moves is not."""


class Ranks(Record, frozen=True, kw_only=True):
    """All that was found. `problems` says what could not be read, in one line each."""

    stacks: tuple[Stack, ...] = ()
    flights: tuple[Flight, ...] = ()
    problems: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.stacks or self.flights)


class Behind(Record, frozen=True, kw_only=True):
    """The rank that the others wait for, and why it is that one. `sure`: a recorder counted it, or it stood still."""

    rank: int | None
    host: str
    says: str
    file: str
    line: int = 0
    sure: bool = True
    cls: str = "hang-out-of-sync-large-scale"


# ---------------------------------------------------------------- reading


def of_run(folder: Path, living: bool = True) -> Ranks:
    """Dumps below the folder, and the processes that the run's record names on this machine."""
    found = in_folder(folder)
    if living:
        live, problems = alive(folder)
        known = {s.rank for s in live if s.rank is not None}
        kept = tuple(s for s in found.stacks if s.rank is None or s.rank not in known)
        found = structs.replace(found, stacks=(*kept, *live), problems=(*found.problems, *problems))
    return found


def in_folder(folder: Path) -> Ranks:
    held: list[Stack] = []
    flights: list[Flight] = []
    problems: list[str] = []
    for path in files(folder):
        try:
            with path.open("rb") as f:
                head = f.read(HEAD)
                recorder, text = flight.looks_like(head), stacks.looks_like(head)
                if not (recorder or text):
                    continue
                data = head + f.read(LARGEST - HEAD)
            if recorder:
                flights.append(flight.read(data, path, folder))
            else:
                held += stacks.read(data.decode("utf-8", "replace"), path, folder)
        except (OSError, ValueError, RecursionError) as error:
            problems.append(say("{file}: {error}", file=path.name, error=str(error)[:120]))
    return Ranks(stacks=newest(held), flights=tuple(flights), problems=tuple(problems))


def files(folder: Path) -> list[Path]:
    """Small regular files near the top of the folder; links and checkpoints are passed over."""
    found: list[Path] = []
    for top, dirs, names in os.walk(folder, followlinks=False):
        depth = len(Path(top).relative_to(folder).parts)
        dirs[:] = sorted(d for d in dirs if looked_into(d)) if depth < DEPTH else []
        for name in sorted(names):
            path = Path(top) / name
            if path.is_file() and not path.is_symlink() and 0 < path.stat().st_size <= LARGEST:
                found.append(path)
            if len(found) >= MOST_FILES:
                return found
    return found


def newest(held: Sequence[Stack]) -> tuple[Stack, ...]:
    """The last dump of each rank (or process, or file). Two dumps of one process that do not differ stood still."""
    kept: dict[object, Stack] = {}
    for s in held:
        key = (
            ("rank", s.rank, s.host)
            if s.rank is not None
            else ("pid", s.pid, s.host)
            if s.pid is not None
            else ("file", s.file, s.at)
        )
        before = kept.get(key)
        kept[key] = s if before is None else structs.replace(s, still=before.frames == s.frames)
    return tuple(kept.values())


def alive(folder: Path) -> tuple[list[Stack], list[str]]:
    """py-spy on the processes of a launched run, twice. Needs the `stacks` extra, and the right to look (ptrace)."""
    pids = processes(folder)
    if not pids:
        return [], []
    spy = shutil.which("py-spy") or shutil.which("py-spy", path=str(Path(sys.executable).parent))
    if spy is None:
        return [], [
            say(
                "py-spy is not installed: pip install 'papertrain[stacks]', or save a dump of each rank into the run's folder"
            )
        ]
    held, problems = [], []
    for look in range(2):
        if look:
            time.sleep(BETWEEN)
        for pid in pids:
            try:
                done = subprocess.run(
                    [spy, "dump", "--json", "--pid", str(pid)], capture_output=True, text=True, timeout=30, check=False
                )
                s = stacks.from_json(json.loads(done.stdout), f"process {pid}", rank_of_process(pid), platform.node())
            except (OSError, ValueError, subprocess.SubprocessError):
                if not look and Path(f"/proc/{pid}").exists():
                    problems.append(
                        say(
                            "process {pid} could not be looked into: py-spy needs the right to trace it (the same user, or root)",
                            pid=pid,
                        )
                    )
                continue
            if s.frames:
                held.append(structs.replace(s, pid=pid))
    return list(newest(held)), problems


def record(folder: Path) -> dict[str, Any] | None:
    """What launch keeps of a run (`record.json`); None where there is none that can be read."""
    file = folder / RECORD
    try:
        if not file.is_file() or file.stat().st_size > 1 << 22:
            return None
        content = json.loads(file.read_text("utf-8", "replace"))
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) and "exit_code" in content else None


def family(folder: Path) -> list[int]:
    """The process that `record.json` names, where it still runs on this machine, and all below it."""
    known = record(folder) or {}
    root = known.get("pid") if known.get("exit_code") is None else None
    if not isinstance(root, int) or root <= 1 or not Path(f"/proc/{root}").exists():
        return []
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue
            children.setdefault(parent, []).append(int(entry.name))
    tree, at = [root], 0
    while at < len(tree):
        tree += children.get(tree[at], [])
        at += 1
    return tree


def processes(folder: Path) -> list[int]:
    """One process a rank: the first with that RANK (its data loader's workers inherit it). Without ranks the one that was started."""
    tree = family(folder)
    ranked: dict[int, int] = {}
    for pid in tree:
        rank = rank_of_process(pid)
        if rank is not None and "multiprocessing" not in command(pid):
            ranked.setdefault(rank, pid)
    return list(ranked.values()) or tree[:1]


def command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""


def rank_of_process(pid: int) -> int | None:
    """RANK in its environment (torchrun, accelerate, DeepSpeed set it)."""
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    value = next((v[5:] for v in variables if v.startswith(b"RANK=")), b"")
    return int(value) if value.isdigit() else None


# ---------------------------------------------------------------- who is behind


def behind(found: Ranks) -> Behind | None:
    """The recorder counts, so it is asked first; then the stacks: the few that are elsewhere while the others wait."""
    return by_recorder(found) or by_stacks(found.stacks)


def by_recorder(found: Ranks) -> Behind | None:
    flights = [f for f in found.flights if f.rank is not None]
    best: Behind | None = None
    for name in dict.fromkeys(g.group for f in flights for g in f.groups):
        rows = [(f, g) for f in flights for g in f.groups if g.group == name]
        b = in_group(found, rows)
        if b is not None and (best is None or (b.sure and not best.sure)):
            best = b
    return best


def in_group(found: Ranks, rows: Sequence[tuple[Flight, Group]]) -> Behind | None:
    """The rank that has enqueued the fewest collectives, else one of the group without a dump, else one in another collective."""
    everyone = {r for _, g in rows for r in g.ranks}
    missing = sorted(everyone - {f.rank for f, _ in rows if f.rank is not None})
    top = max(g.enqueued for _, g in rows)
    ahead = next((f, g) for f, g in rows if g.enqueued == top)
    late = sorted((x for x in rows if x[1].enqueued < top), key=lambda x: x[1].enqueued)
    waiting = any(g.completed < g.enqueued for _, g in rows)
    if late:
        f, g = late[0]
        host = f.host or host_known(found, f.rank)
        says = say("{who} has enqueued {n} collectives of {group}, the others {top} ({op}): it never arrived at the last; {place}",
                   who=who(f.rank, host), n=g.enqueued, top=top, group=g.group, op=ahead[1].op, place=place(found, f.rank, f))  # fmt: skip
        return Behind(rank=f.rank, host=host, says=says, file=f.file, cls="nccl-timeout-uneven-data")
    if missing and waiting and len(missing) < len(everyone):
        host = host_known(found, missing[0])
        says = say("{who} left no dump while {n} ranks wait in {op} (number {top} of {group}): it died, or hangs outside of a collective; {place}",
                   who=who(missing[0], host), n=len(rows), op=ahead[1].op, top=top, group=ahead[1].group, place=place(found, missing[0], None))  # fmt: skip
        return Behind(rank=missing[0], host=host, says=says, file=ahead[0].file)
    calls = Counter((g.op, g.sizes) for _, g in rows)
    if len(calls) > 1 and waiting and len(rows) > 2:
        rare = min(calls, key=lambda k: calls[k])
        f, g = next((f, g) for f, g in rows if (g.op, g.sizes) == rare)
        host = f.host or host_known(found, f.rank)
        common = calls.most_common(1)[0][0]
        says = say("{who} is in {op} {sizes} where the others are in {other} {others} (number {top} of {group}): the ranks run different code",
                   who=who(f.rank, host), op=g.op, sizes=g.sizes, other=common[0], others=common[1], top=top, group=g.group)  # fmt: skip
        return Behind(rank=f.rank, host=host, says=says, file=f.file)
    return None


def by_stacks(held: Sequence[Stack]) -> Behind | None:
    """A minority outside of a collective while the others wait in one; else the odd one out of three or more."""
    if len(held) < 2:
        return None
    waiting = [s for s in held if s.doing == "collective"]
    odd = [s for s in held if s.doing != "collective"]
    if not waiting or not odd or len(odd) > len(held) // 2:
        tops = Counter(str(s.own) for s in held)
        rare = min(tops, key=lambda k: tops[k])
        if len(held) < 3 or tops[rare] * 2 >= len(held) or tops.most_common(1)[0][1] * 2 <= len(held):
            return None
        odd = [s for s in held if str(s.own) == rare]
        waiting = [s for s in held if s not in odd]
    s, other = odd[0], waiting[0]
    cls = {"data": "hang-dataloader-worker-deadlock", "saving": "hang-filesystem-freeze"}.get(
        s.doing, "hang-out-of-sync-large-scale"
    )
    says = say("{who} is in {frame} while {n} of {all} ranks wait in {other}",
               who=who(s.rank, s.host, s), frame=str(s.own or "?"), n=len(waiting), all=len(held), other=str(other.frames[0]) if other.frames else "?")  # fmt: skip
    return Behind(
        rank=s.rank,
        host=s.host,
        says=says,
        file=s.file,
        line=s.at,
        sure=bool(s.still and all(w.still for w in waiting)),
        cls=cls,
    )


def who(rank: int | None, host: str, s: Stack | None = None) -> str:
    """`rank 5 on node-b`, as far as it is known."""
    name = (
        say("rank {rank}", rank=rank)
        if rank is not None
        else say("process {pid}", pid=s.pid)
        if s is not None and s.pid is not None
        else PurePath(s.file).name
        if s
        else "?"
    )
    return say("{name} on {host}", name=name, host=host) if host else name


def host_known(found: Ranks, rank: int | None) -> str:
    return next((s.host for s in found.stacks if s.rank == rank), "")


def place(found: Ranks, rank: int | None, f: Flight | None) -> str:
    """Where that rank is in Python: its stack, else the frames of the last collective that it did enqueue."""
    s = next((s for s in found.stacks if s.rank == rank and s.frames), None)
    if s is not None:
        return say("its stack is in {frame}", frame=str(s.own))
    if f is not None and f.frames:
        own = Stack(rank=rank, host="", pid=None, frames=f.frames, file="").own
        return say("its last one was enqueued in {frame}", frame=str(own))
    return say("its stack is not there")


def doing(s: Stack) -> str:
    """In words."""
    if s.doing == "collective":
        return say("waits in a collective")
    if s.doing == "data":
        return say("waits for data")
    return say("writes a checkpoint") if s.doing == "saving" else say("is elsewhere")


def lines(found: Ranks) -> list[str]:
    """One line per rank, for people."""
    rows = []
    for s in sorted(found.stacks, key=lambda s: (s.rank is None, s.rank or 0, s.pid or 0)):
        rows.append(f"{who(s.rank, s.host, s):<24} {doing(s)}: {s.own or '?'}")
    for f in sorted(found.flights, key=lambda f: (f.rank is None, f.rank or 0)):
        rows += [
            f"{who(f.rank, f.host):<24} {g.group}: {g.enqueued} enqueued, {g.completed} completed, last {g.op} {g.state}"
            for g in f.groups
        ]
    return rows
