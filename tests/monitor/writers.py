"""Writers of binary logs for the tests, from the formats' own descriptions and apart from the readers' code."""

from __future__ import annotations

import json
import math
import sqlite3
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path


def crc32c(data: bytes) -> int:
    """Bit by bit, as the polynomial says."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data: bytes) -> int:
    c = crc32c(data)
    return ((c >> 15 | c << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked(length)) + data + struct.pack("<I", masked(data))


def varint(n: int) -> bytes:
    out = b""
    while n > 0x7F:
        out, n = out + bytes([n & 0x7F | 0x80]), n >> 7
    return out + bytes([n])


def field(number: int, kind: int, value: bytes | int | float) -> bytes:
    key = varint(number << 3 | kind)
    if kind == 0:
        return key + varint(int(value))  # type: ignore[arg-type]
    if kind == 1:
        return key + struct.pack("<d", value)
    if kind == 5:
        return key + struct.pack("<f", value)
    assert isinstance(value, bytes)
    return key + varint(len(value)) + value


def event(
    step: int, tag: str, value: float, *, tensor: bool = False, content: bool = False, time: float = 1.7e9
) -> bytes:
    """One Event with one scalar, as `simple_value` or as a tensor (float_val, or tensor_content)."""
    name = field(1, 2, tag.encode())
    if tensor:
        number = field(4, 2, struct.pack("<f", value)) if content else field(5, 2, struct.pack("<f", value))
        body = name + field(8, 2, field(1, 0, 1) + field(2, 2, b"") + number)
    else:
        body = name + field(2, 5, value)
    return field(1, 1, time + step) + (field(2, 0, step) if step else b"") + field(5, 2, field(1, 2, body))


def events(rows: list[tuple[int, str, float]], **how: bool) -> bytes:
    version = field(1, 1, 1.7e9) + field(3, 2, b"brain.Event:2")
    return b"".join(record(e) for e in [version, *(event(*row, **how) for row in rows)])


def wandb(rows: list[dict[str, float]], *, stats: Sequence[dict[str, float]] = (), exit_record: bool = True) -> bytes:
    """`run-….wandb`: blocks of 32 KiB, records split over them."""
    bodies = [field(21, 2, b"")]
    for row in rows:
        items = b"".join(
            field(1, 2, field(2, 2, k.encode()) + field(16, 2, json.dumps(v).encode())) for k, v in row.items()
        )
        bodies.append(field(2, 2, items))
    for i, row in enumerate(stats):
        items = b"".join(
            field(3, 2, field(1, 2, k.encode()) + field(16, 2, json.dumps(v).encode())) for k, v in row.items()
        )
        bodies.append(field(7, 2, field(2, 2, field(1, 0, 1_700_000_000 + 15 * i)) + items))
    if exit_record:
        bodies.append(field(18, 2, field(1, 0, 0)))
    out = b":W&B" + struct.pack("<HB", 0xBEE1, 0)
    for body in bodies:
        first = True
        while True:
            left = 32768 - len(out) % 32768
            if left < 7:
                out += b"\0" * left
                continue
            part, rest = body[: left - 7], body[left - 7 :]
            kind = (1 if not rest else 2) if first else (4 if not rest else 3)
            out += struct.pack("<IHB", zlib.crc32(bytes([kind]) + part), len(part), kind) + part
            first, body = False, rest
            if not rest:
                break
    return out


def trackio(path: Path, rows: list[dict[str, float]]) -> None:
    path.unlink(missing_ok=True)
    db = sqlite3.connect(path)
    db.execute(
        "CREATE TABLE metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, timestamp TEXT NOT NULL, run_name TEXT NOT NULL, step INTEGER NOT NULL, metrics TEXT NOT NULL)"
    )
    for i, row in enumerate(rows):
        text = json.dumps({k: ("NaN" if math.isnan(v) else v) for k, v in row.items()})
        db.execute(
            "INSERT INTO metrics (timestamp, run_name, step, metrics) VALUES (?, 'first', ?, ?)",
            (f"2026-01-01T00:{i:02d}:00+00:00", i, text),
        )
    db.commit()
    db.close()
