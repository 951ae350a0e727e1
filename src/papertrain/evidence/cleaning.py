"""One file on its way into the package: cleaned where it is text, searched where it is not, left behind where neither can be done."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any

from papertrain.core.redact import Hidden, holds_secret, names_home, redact

MOST_UNPACKED = 64 * 2**20
PACKED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
OPAQUE = {".zip", ".tar", ".tgz", ".7z", ".rar", ".zst", ".lz4", ".pkl", ".pickle", ".joblib", ".wandb", ".db", ".sqlite", ".sqlite3", ".hdf5", ".h5"}  # fmt: skip
"""Files that hold other things packed: what is in them cannot be searched here."""
MAGIC = (
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"7z\xbc\xaf",
    b"Rar!",
    b"\x28\xb5\x2f\xfd",
    b"\x04\x22\x4d\x18",
    b"SQLite format 3",
    b"\x89HDF",
    b"\x80\x02",
    b"\x80\x03",
    b"\x80\x04",
    b"\x80\x05",
    b"ARROW1",
    b"FEA1",
    b"ORC",
    b"Obj\x01",
)
"""How such files begin, whatever they are called: archives and office documents, databases, pickles, columns."""
PACKED_MAGIC = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ": ".xz"}
SPARED_CHUNKS = {b"tEXt", b"zTXt", b"iTXt", b"eXIf", b"tIME"}
"""What programs and cameras write into a PNG besides the picture: its author, the program, the place."""
WORDS = re.compile(rb"[\x20-\x7e\x80-\xff]{6,}")


def text_of(raw: bytes) -> str | None:
    """The file as text, whatever it is called; None where it is none. Windows programs write UTF-16."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return raw.decode("utf-16")
        except UnicodeDecodeError:
            return None
    if b"\x00" in raw or raw[:4] == b"%PDF":
        return None
    text = raw.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    broken = text.count("\ufffd")
    # A log may have some broken bytes; where a tenth is broken it is no text.
    if broken * 10 > max(len(text), 1):
        return None
    return text if not broken else "".join(_by_line(raw))


def _by_line(raw: bytes) -> Iterator[str]:
    """Lines that are no UTF-8 were written by a program of another coding: names in them must be read to be found."""
    for line in raw.removeprefix(b"\xef\xbb\xbf").splitlines(keepends=True):
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError:
            yield _decoded(line)


def _decoded(line: bytes) -> str:
    for coding in ("gb18030", "cp1252"):
        try:
            text = line.decode(coding)
        except UnicodeDecodeError:
            continue
        # two letters of Western Europe in a row are rare, and two bytes of Chinese are the rule
        if coding != "gb18030" or re.search(r"[\u4e00-\u9fff]{2}", text):
            return text
    return line.decode("utf-8", "replace")


def name_of(name: str, hide: Iterable[Hidden]) -> str:
    """The name under which it is packed: a secret or a person may stand in the name of a file too."""
    # Between slashes, so that a part of it is told from a word.
    return "/".join(redact(f"/{part}/", extra=hide)[1:-1] or part for part in PurePosixPath(name).parts)


def cleaned(name: str, raw: bytes, hide: Iterable[Hidden]) -> tuple[bytes | None, str]:
    """(what is packed, "") or (None, why it stays behind)."""
    text = text_of(raw)
    if text is not None:
        return redact(text, extra=hide).encode(), ""
    suffix = PurePosixPath(name).suffix.lower()
    if suffix in OPAQUE or raw.startswith(MAGIC) or raw[257:262] == b"ustar":
        return None, "it holds other files packed, which cannot be searched for secrets"
    data = without_notes(raw)
    try:
        parts = list(inside(data, suffix))
    except (OSError, ValueError, EOFError, zlib.error, lzma.LZMAError):
        return None, "it is packed and damaged, and cannot be searched for secrets"
    if sum(map(len, parts)) > MOST_UNPACKED:
        return None, "it unpacks to more than can be searched for secrets"
    if any(part.startswith((*MAGIC, *PACKED_MAGIC)) for part in parts):
        return None, "it is packed more than once, and cannot be searched for secrets"
    for part in (data, *parts):
        if any(holds_secret(m[0].decode("latin-1")) for m in WORDS.finditer(part)):
            return None, "it holds a secret, and is no text that could be cleaned"
        if any(names_home(m[0].decode("latin-1")) for m in WORDS.finditer(part)):
            return None, "it names a home folder, and is no text that could be cleaned"
    return data, ""


def inside(data: bytes, suffix: str = "") -> Iterator[bytes]:
    """What is packed in it, up to a size: the streams of a PDF, a compressed log, the columns of a Parquet file, the letters
    of a text with two or four bytes for each."""
    suffix = next((s for magic, s in PACKED_MAGIC.items() if data.startswith(magic)), suffix)
    if data[:4000].count(b"\x00") * 4 > len(data[:4000]):
        yield data.replace(b"\x00", b"")
    if data[:4] == b"%PDF":
        left = MOST_UNPACKED
        for m in re.finditer(rb"stream\r?\n(.*?)endstream", data, re.DOTALL):
            try:
                part = zlib.decompressobj().decompress(m[1], left)
            except zlib.error:
                continue
            left = max(1, left - len(part))
            yield part
    elif suffix in PACKED:
        with PACKED[suffix](io.BytesIO(data)) as f:
            yield f.read(MOST_UNPACKED + 1)
    elif data[:4] == b"PAR1":
        yield _columns(data)


def _columns(data: bytes) -> bytes:
    try:
        import pyarrow.parquet as parquet
    except ModuleNotFoundError:
        raise ValueError("pyarrow is needed to look into it") from None
    table = parquet.read_table(io.BytesIO(data))
    if table.nbytes > MOST_UNPACKED:
        return b"\x00" * (MOST_UNPACKED + 1)
    words = [str(v) for column in table.columns for v in column.to_pylist() if v is not None and not isinstance(v, (int, float))]  # fmt: skip
    return "\n".join([str(table.schema), *words]).encode("utf-8", "replace")


def without_notes(data: bytes) -> bytes:
    """A picture without the notes that programs and cameras write into it; other files as they are."""
    if data[:8] == b"\x89PNG\r\n\x1a\n":
        return _png(data) or data
    if data[:3] == b"\xff\xd8\xff":
        return _jpeg(data) or data
    return data


def _png(data: bytes) -> bytes | None:
    parts, at = [data[:8]], 8
    while at + 12 <= len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        end = at + 12 + size
        if end > len(data):
            return None
        if kind not in SPARED_CHUNKS:
            parts.append(data[at:end])
        at = end
        if kind == b"IEND":
            return b"".join(parts)
    return None


def _jpeg(data: bytes) -> bytes | None:
    parts, at = [data[:2]], 2
    while at + 4 <= len(data) and data[at] == 0xFF:
        kind = data[at + 1]
        if kind == 0xDA:
            return b"".join([*parts, data[at:]])
        end = at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        # APP1 to APP15 and comments, but for the colour profile (APP2) and Adobe's colour mark (APP14)
        if not (0xE1 <= kind <= 0xEF and kind not in (0xE2, 0xEE)) and kind != 0xFE:
            parts.append(data[at:end])
        at = end
    return None
