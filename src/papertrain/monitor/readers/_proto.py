"""The wire format of protocol buffers, as much as logs need."""

from __future__ import annotations

from collections.abc import Iterator


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A number and where it ended. Raises IndexError at the end of the data, ValueError beyond ten bytes."""
    result = shift = 0
    while True:
        b = data[at]
        at += 1
        result |= (b & 0x7F) << shift
        if b < 0x80:
            return result, at
        shift += 7
        if shift > 63:
            raise ValueError("varint too long")


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field number and value: an int for varints, bytes for the rest. Raises IndexError or ValueError when damaged."""
    at, end = 0, len(data)
    while at < end:
        key, at = varint(data, at)
        kind = key & 7
        value: int | bytes
        if kind == 0:
            value, at = varint(data, at)
        else:
            if kind == 1:
                size = 8
            elif kind == 5:
                size = 4
            elif kind == 2:
                size, at = varint(data, at)
            else:
                raise ValueError(f"wire type {kind}")
            if at + size > end:
                raise ValueError("field cut short")
            value = data[at : at + size]
            at += size
        yield key >> 3, value
