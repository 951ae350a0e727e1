"""What a path holds that is no log, in a few words."""

from __future__ import annotations

import os
import stat
from collections import Counter
from pathlib import Path

from papertrain.core.texts import say

MAGIC: tuple[tuple[bytes, str, str], ...] = (
    (b"\x1f\x8b", "gzip", "gunzip -k"), (b"\x28\xb5\x2f\xfd", "zstd", "zstd -dk"), (b"\xfd7zXZ", "xz", "xz -dk"), (b"BZh", "bzip2", "bunzip2 -k"),
    (b"PK\x03\x04", "zip", "unzip"), (b"7z\xbc\xaf", "7z", "7z x"),
)  # fmt: skip
OTHERS: tuple[tuple[bytes, str], ...] = (
    (b"\x7fELF", "a program"), (b"MZ", "a program"), (b"\x89PNG", "a picture"), (b"\xff\xd8\xff", "a picture"), (b"%PDF", "a PDF"), (b"SQLite format 3", "a database"),
    (b"\x93NUMPY", "a NumPy array"), (b"PAR1", "a Parquet table"), (b"ARROW1", "an Arrow table"), (b"GGUF", "model weights (GGUF)"), (b"\x80\x02", "a pickle"), (b"\x80\x04", "a pickle"),
)  # fmt: skip
MOST = 2000


def binary(head: bytes) -> tuple[str, str]:
    """(what it is, the command that unpacks it or nothing)."""
    for magic, name, command in MAGIC:
        if head.startswith(magic):
            return say("compressed ({name})", name=name), command
    if head[8:10] == b'{"' and b'"dtype"' in head[:4096]:
        return say("model weights (safetensors)"), ""
    return next(
        (name for magic, name in OTHERS if head.startswith(magic)), say("a binary file that no reader knows")
    ), ""


def folder(path: Path) -> str:
    """`1 empty file, 1 pipe, 1 .md file`; what is not there, cannot be read or leads in a circle is said."""
    kinds: Counter[str] = Counter()
    problems: list[OSError] = []
    for top, dirs, names in os.walk(path, followlinks=False, onerror=problems.append):
        dirs.sort()
        for name in sorted(names):
            kinds[kind(Path(top) / name)] += 1
            if sum(kinds.values()) >= MOST:
                break
        for d in list(dirs):
            if (Path(top) / d).is_symlink():
                kinds["link to a folder"] += 1
        if sum(kinds.values()) >= MOST:
            break
    for error in problems:
        kinds["folder that cannot be read" if isinstance(error, PermissionError) else "damaged folder"] += 1
    if not kinds:
        return say("nothing")
    return ", ".join(f"{n} {k}" for k, n in kinds.most_common(4)) + (", …" if len(kinds) > 4 else "")


def kind(path: Path) -> str:
    """One word for a file that is no log."""
    try:
        s = path.lstat()
        if stat.S_ISLNK(s.st_mode):
            return "link" if path.exists() else "broken link"
        if stat.S_ISFIFO(s.st_mode):
            return "pipe"
        if not stat.S_ISREG(s.st_mode):
            return "socket or device"
        if not os.access(path, os.R_OK):
            return "unreadable file"
        return (
            "empty file"
            if s.st_size == 0
            else f"{path.suffix.lower()[:12]} file"
            if path.suffix
            else "file without suffix"
        )
    except OSError:
        return "broken link"
