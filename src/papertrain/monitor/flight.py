"""torch's flight recorder (`nccl_trace_rank_3`, written at a time-out or on demand): the last collectives of each rank."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from papertrain.core.values import Record
from papertrain.monitor.plain_pickle import loads
from papertrain.monitor.stacks import Frame, host_of, rank_of

NAME = re.compile(r"trace_?(?:rank_?)?(\d{1,6})(?:\.\w{1,8})?$|rank_?(\d{1,6})(?:\.\w{1,8})?$", re.I)


class Group(Record, frozen=True, kw_only=True):
    """Where one rank stands in one process group. Collectives are counted from 1; `op` is the last that it enqueued."""

    group: str
    ranks: tuple[int, ...]
    enqueued: int
    completed: int
    op: str = ""
    sizes: str = ""
    state: str = ""
    timeout_ms: float | None = None


class Flight(Record, frozen=True, kw_only=True):
    rank: int | None
    host: str
    file: str
    groups: tuple[Group, ...]
    frames: tuple[Frame, ...] = ()


def looks_like(head: bytes) -> bool:
    """A pickle or a JSON document with the recorder's own names in it."""
    known = b"pg_status" in head or b"pg_config" in head or b"collective_seq_id" in head
    return known and (head[:1] == b"\x80" or head.lstrip()[:1] == b"{")


def read(data: bytes, path: PurePath, root: PurePath) -> Flight:
    """One rank's dump. Raises ValueError where it is none, or damaged."""
    found = loads(data) if data[:1] == b"\x80" else json.loads(data)
    if not isinstance(found, dict) or not isinstance(found.get("entries", []), list):
        raise ValueError("not a flight-recorder dump")
    m = NAME.search(path.name)
    rank = found.get("rank")
    if not isinstance(rank, int):
        rank = int(m[1] or m[2]) if m else rank_of(path)
    host = found.get("host_name") or found.get("hostname")
    entries = [e for e in found.get("entries") or [] if isinstance(e, dict)]
    last = max(entries, key=lambda e: whole(e.get("record_id")), default={})
    frames = [f for f in last.get("frames") or [] if isinstance(f, dict)][:50]
    return Flight(
        rank=rank, host=host if isinstance(host, str) else host_of(path, root), file=str(path), groups=tuple(groups(found, entries)),
        frames=tuple(Frame(name=str(f.get("name", "?"))[:200], file=str(f.get("filename", "?"))[:400], line=whole(f.get("line"))) for f in frames),
    )  # fmt: skip


def groups(found: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> list[Group]:
    """One per process group; the counters of `pg_status` where they are there, else from the entries."""
    status = found.get("pg_status") if isinstance(found.get("pg_status"), dict) else {}
    config = found.get("pg_config") if isinstance(found.get("pg_config"), dict) else {}
    by: dict[str, list[Mapping[str, Any]]] = {}
    for e in entries:
        if not e.get("is_p2p"):
            by.setdefault(str(e.get("pg_id", 0)), []).append(e)
    assert status is not None and config is not None
    made = []
    for key in sorted({*by, *map(str, status)}):
        mine = sorted(by.get(key, []), key=lambda e: whole(e.get("collective_seq_id")))
        counted = status.get(key) or status.get(int(key) if key.isdigit() else key) or {}
        last: Mapping[str, Any] = mine[-1] if mine else {}
        name = last.get("process_group") or ()
        names = [str(x) for x in name] if isinstance(name, (list, tuple)) else [str(name)]
        settings: Any = next((config[k] for k in (names[0] if names else "", key, "") if k in config), {})
        done = [whole(e.get("collective_seq_id")) for e in mine if e.get("state") == "completed" or e.get("retired")]
        made.append(Group(
            group=names[-1] if names else key, ranks=ranks(settings.get("ranks") if isinstance(settings, dict) else None),
            enqueued=max([whole(counted.get("last_enqueued_collective")), *(whole(e.get("collective_seq_id")) for e in mine)]),
            completed=max([whole(counted.get("last_completed_collective")), *done]),
            op=str(last.get("profiling_name", "")), sizes=str(last.get("input_sizes", "")), state=str(last.get("state", "")),
            timeout_ms=float(whole(last.get("timeout_ms"))) or None,
        ))  # fmt: skip
    return made


def ranks(value: Any) -> tuple[int, ...]:
    """`[0, 1, 2]`, as a list or as text."""
    if isinstance(value, str):
        return tuple(int(x) for x in re.findall(r"\d{1,6}", value)[:100_000])
    return tuple(x for x in value if isinstance(x, int)) if isinstance(value, (list, tuple)) else ()


def whole(value: Any) -> int:
    """An integer, also one written as text; -1 and other things are 0."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 20:
        return int(value)
    return value if isinstance(value, int) and value > 0 else 0
