"""Weights & Biases' offline record `run-<id>.wandb`: blocks of 32 KiB in LevelDB's layout, protobuf within.

History rows and system statistics are read, and whether an exit record exists. Host names, addresses and the command
that the file also holds are not.
"""

from __future__ import annotations

import json
import zlib
from math import nan
from pathlib import Path
from struct import unpack_from

from papertrain.monitor.reader import ByteParser, Reader
from papertrain.monitor.readers._proto import fields
from papertrain.monitor.readers._text import as_step, flat, pick
from papertrain.monitor.table import Table

MAGIC = b":W&B"
BLOCK = 32768
HEADER = 7


def sniff(head: bytes, path: Path) -> float:
    return 0.99 if head[:4] == MAGIC else 0.0


def start(table: Table) -> ByteParser:
    position = 0
    record = 0
    pieces: list[bytes] = []

    def parse(data: bytes, final: bool) -> int:
        nonlocal position, record
        at = 0
        if position == 0:
            if len(data) < HEADER:
                return 0
            at = position = HEADER
        begin = position - at
        while True:
            left = BLOCK - (begin + at) % BLOCK
            if left < HEADER:
                if at + left > len(data):
                    break
                at += left
                continue
            if at + HEADER > len(data):
                break
            crc, length, kind = unpack_from("<IHB", data, at)
            if kind == 0 and length == 0:
                if at + left > len(data):
                    break
                at += left
                continue
            if at + HEADER + length > len(data):
                break
            body = data[at + HEADER : at + HEADER + length]
            record += 1
            if zlib.crc32(body, zlib.crc32(bytes([kind]))) != crc or kind not in (1, 2, 3, 4):
                table.skip(record, "record with a wrong checksum")
                pieces.clear()
            elif kind == 1:
                take(table, body, record)
            else:
                if kind == 2:
                    pieces.clear()
                pieces.append(body)
                if kind == 4:
                    take(table, b"".join(pieces), record)
                    pieces.clear()
            at += HEADER + length
        position = begin + at
        if final and at < len(data):
            table.skip(record + 1, "record cut short")
        return at

    return parse


def take(table: Table, body: bytes, line: int) -> None:
    """One Record: history (2), statistics (7), exit (18)."""
    try:
        for number, value in fields(body):
            if number == 2 and isinstance(value, bytes):
                history(table, value, line)
            elif number == 7 and isinstance(value, bytes):
                stats(table, value, line)
            elif number == 18:
                table.ended = True
    except (ValueError, IndexError):
        table.skip(line, "damaged record")


def items(body: bytes, item: int) -> dict[str, object]:
    row: dict[str, object] = {}
    for number, value in fields(body):
        if number != item or not isinstance(value, bytes):
            continue
        key, text = "", b"null"
        for k, v in fields(value):
            if k == 1 and isinstance(v, bytes):
                key = v.decode("utf-8", "replace")
            elif k == 2 and isinstance(v, bytes):
                key = f"{key}/{v.decode('utf-8', 'replace')}" if key else v.decode("utf-8", "replace")
            elif k == 16 and isinstance(v, bytes):
                text = v
        try:
            row[key] = json.loads(text)
        except (ValueError, RecursionError):
            continue
    return row


def history(table: Table, body: bytes, line: int) -> None:
    pairs = list(flat(items(body, 1)))
    hidden = {"_step", "_timestamp", "_runtime", "epoch", "train/epoch", "train/global_step"}
    values = [p for p in pairs if p[0] not in hidden]
    step, epoch, time = (
        pick(pairs, ("train/global_step", "_step")),
        pick(pairs, ("train/epoch", "epoch")),
        pick(pairs, ("_timestamp",)),
    )
    if values:
        table.row(values, line=line, step=as_step(step), epoch=epoch, time=time)


def stats(table: Table, body: bytes, line: int) -> None:
    time = nan
    for number, value in fields(body):
        if number == 2 and isinstance(value, bytes):
            time = float(next((v for k, v in fields(value) if k == 1 and isinstance(v, int)), 0))
    table.row(((f"system/{k}", v) for k, v in flat(items(body, 3))), line=line, time=time)


READER = Reader(id="wandb", sniff=sniff, start=start, kind="bytes", what="Weights & Biases offline run")
