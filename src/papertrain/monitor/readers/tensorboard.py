"""TensorBoard event files: scalars as floats and as tensors, read from the wire format without building messages.

`u64 length | u32 masked crc32c(length) | data | u32 masked crc32c(data)`. Event: wall_time 1, step 2, summary 5;
Summary.Value: tag 1, simple_value 2, tensor 8. Most records differ from one before only in their numbers, so that a tag
is looked up by its bytes; `bench/tfevents.py` shows what this is worth. Checksums are tested on the first records only,
where a wrong one says that the file is no event file; later ones count as damage when they cannot be parsed.
"""

from __future__ import annotations

from pathlib import Path
from struct import Struct, error, pack, unpack_from

from papertrain.monitor.reader import ByteParser, Reader
from papertrain.monitor.readers._crc import masked_crc32c
from papertrain.monitor.readers._proto import fields, varint
from papertrain.monitor.table import LARGEST_STEP, MAX_COLUMNS, MAX_POINTS, Column, Table

LENGTH = Struct("<QI")
LARGEST = 1 << 26
CHECKED = 64
DTYPES = {1: "f", 2: "d", 3: "i", 9: "q"}


def sniff(head: bytes, path: Path) -> float:
    if len(head) < 16:
        return 0.0
    length, crc = LENGTH.unpack_from(head, 0)
    if not 0 < length < LARGEST or masked_crc32c(head[:8]) != crc:
        return 0.6 if b"brain.Event:2" in head[:64] or "tfevents" in path.name else 0.0
    return 0.99 if b"brain.Event" in head[:64] else 0.7


def start(table: Table) -> ByteParser:
    known: dict[bytes, Column] = {}
    tails: list[int] = []
    count = 0

    def parse(data: bytes, final: bool) -> int:
        nonlocal count
        at, end = 0, len(data)
        head, double, float32 = LENGTH.unpack_from, Struct("<d").unpack_from, Struct("<f").unpack_from
        while at + 16 <= end:
            length, crc = head(data, at)
            body = at + 12
            stop = body + length
            doubtful = length > LARGEST or count < CHECKED or (stop + 4 > end and final)
            if doubtful and masked_crc32c(data[at : at + 8]) != crc:
                table.skip(count + 1, "record length with a wrong checksum")
                at = next_record(data, at + 1)
                continue
            if stop + 4 > end:
                break
            count += 1
            if count <= CHECKED and masked_crc32c(data[body:stop]) != unpack_from("<I", data, stop)[0]:
                table.skip(count, "record with a wrong checksum")
                at = stop + 4
                continue
            at = stop + 4
            # 09 <wall time> 10 <step> 2a <size> 0a <size> 0a <size> tag, then 15 <float>, or a tensor that holds one
            if length > 20 and data[body] == 9:
                p = body + 9
                step = 0
                if data[p] == 0x10:
                    p += 1
                    b = data[p]
                    p += 1
                    if b < 0x80:
                        step = b
                    else:
                        step, p = varint(data, p - 1)
                        if step >= LARGEST_STEP:
                            step = 0
                end_of_number = stop
                column = known.get(data[p : stop - 4])
                if column is None:
                    for tail in tails:
                        end_of_number = stop - tail
                        column = known.get(data[p : end_of_number - 4] + data[end_of_number:stop])
                        if column is not None:
                            break
                if column is not None:
                    column.steps.append(step)
                    column.values.append(float32(data, end_of_number - 4)[0])
                    column.lines.append(count)
                    column.times.append(double(data, body + 1)[0])
                    if len(column.values) > MAX_POINTS:
                        close(column)
                        column.compact()
                        for key in [k for k, c in known.items() if c is column]:
                            del known[key]
                    continue
                slow(table, data[body:stop], count, known, p - body, tails)
                continue
            slow(table, data[body:stop], count, known, None, tails)
        table.rows = count
        if final:
            if at < end:
                table.skip(count + 1, "record cut short")
            for column in known.values():
                close(column)
        return at

    return parse


def next_record(data: bytes, at: int) -> int:
    """Where the next record with a right length begins, within a mebibyte; else the end of the data."""
    for p in range(at, min(len(data) - 12, at + (1 << 20))):
        length, crc = LENGTH.unpack_from(data, p)
        if length < 1 << 20 and masked_crc32c(data[p : p + 8]) == crc:
            return p
    return len(data)


def close(column: Column) -> None:
    """Epochs are not in the file: fill them up in one go."""
    missing = len(column.values) - len(column.epochs)
    if missing > 0:
        column.epochs.frombytes(Struct("<d").pack(float("nan")) * missing)


def slow(
    table: Table, event: bytes, count: int, known: dict[bytes, Column], head: int | None, tails: list[int]
) -> None:
    """Any event. One with a single float32 teaches the quick way where in such records the number stands: `known` holds
    what is around it, `tails` how many bytes may follow it (TF2 repeats the plugin's name there)."""
    try:
        time, step, summary = 0.0, 0, []
        for number, value in fields(event):
            if number == 1 and isinstance(value, bytes):
                time = unpack_from("<d", value)[0]
            elif number == 2 and isinstance(value, int):
                step = value if value < LARGEST_STEP else 0
            elif number == 5 and isinstance(value, bytes):
                summary.append(value)
        values = [v for s in summary for n, v in fields(s) if n == 1 and isinstance(v, bytes)]
        for value in values:
            tag, found = scalar(value)
            if found is None:
                continue
            column = table.columns.get(tag)
            if column is None:
                if len(table.columns) >= MAX_COLUMNS:
                    continue
                column = table.columns[tag] = Column()
            close(column)
            column.add(step, found, count, time=time)
            if head is not None and len(values) == 1 and column.merged == 1:
                learn(event, head, found, column, known, tails)
    except (ValueError, IndexError, OverflowError, error):
        table.skip(count, "damaged record")


def learn(event: bytes, head: int, found: float, column: Column, known: dict[bytes, Column], tails: list[int]) -> None:
    """Where the float stands, if there is one place only: behind 15 (simple_value), or 2a 04 or 22 04 in a tensor of floats."""
    places = []
    for mark in (b"\x15", b"\x08\x01\x12\x00\x2a\x04", b"\x08\x01\x12\x00\x22\x04"):
        at = event.rfind(mark + pack("<f", found), head)
        if at >= 0:
            places.append(at + len(mark) + 4)
    if len(places) != 1 or len(known) >= 4 * MAX_COLUMNS:
        return
    tail = len(event) - places[0]
    if tail and tail not in tails:
        if len(tails) >= 4:
            return
        tails.append(tail)
    known[event[head : places[0] - 4] + event[places[0] :]] = column


def scalar(value: bytes) -> tuple[str, float | None]:
    """Tag and number of one Summary.Value; None for pictures, histograms and texts."""
    tag, found = "", None
    for number, v in fields(value):
        if number == 1 and isinstance(v, bytes):
            tag = v.decode("utf-8", "replace")
        elif number == 2 and isinstance(v, bytes):
            found = unpack_from("<f", v)[0]
        elif number == 8 and isinstance(v, bytes):
            found = tensor(v)
    return tag, found


def tensor(data: bytes) -> float | None:
    """The single number in a TensorProto, or None."""
    dtype, content, size = 0, None, 1
    for number, v in fields(data):
        if number == 1 and isinstance(v, int):
            dtype = v
        elif number == 2 and isinstance(v, bytes):
            for n, d in fields(v):
                if n == 2 and isinstance(d, bytes):
                    size *= next((x for k, x in fields(d) if k == 1 and isinstance(x, int)), 1)
        elif number == 4 and isinstance(v, bytes):
            content = v
        elif number in (5, 6) and isinstance(v, bytes) and len(v) in (4, 8):
            return float(unpack_from("<f" if number == 5 else "<d", v)[0]) if size == 1 else None
        elif number in (7, 10) and size == 1:
            return float(v if isinstance(v, int) else varint(v, 0)[0])
    if content is not None and size == 1 and dtype in DTYPES and len(content) == Struct("<" + DTYPES[dtype]).size:
        return float(unpack_from("<" + DTYPES[dtype], content)[0])
    return None


READER = Reader(id="tensorboard", sniff=sniff, start=start, kind="bytes", what="TensorBoard event file")
