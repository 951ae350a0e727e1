"""Reading with limits: whatever path is given, the answer is its content or one clear error, and soon."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import select
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from papertrain.core.errors import PapertrainError, of_system

TEXT_LIMIT = 50 * 2**20


def sha256_file(path: Path) -> str:
    """The SHA-256 of a file, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as f:
        for piece in blocks(f):
            digest.update(piece)
    return digest.hexdigest()


def blocks(f: IO[bytes], size: int = 1 << 20) -> Iterator[bytes]:
    """A file in pieces up to where it ends now: a program may write to it faster than it is read."""
    now = os.fstat(f.fileno())
    left = now.st_size - f.tell() if now.st_size else sys.maxsize
    while left > 0 and (piece := f.read(min(size, left))):
        left -= len(piece)
        yield piece


def sha256_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def regular_file(path: Path, what: str = "file") -> Path:
    """The path, if it is a plain readable file. Raises PapertrainError: missing, a folder, a pipe, a device, unreadable."""
    try:
        found = path.stat()
    except OSError as error:
        gone = isinstance(error, FileNotFoundError)
        reason = "not found" if gone else f"cannot be read: {(error.strerror or str(error)).lower()}"
        raise PapertrainError(f"{what} {reason}", code="no-file", file=path) from None
    except ValueError:
        raise PapertrainError(f"{what} name is not valid: {str(path)!r}", code="no-file") from None
    if not stat.S_ISREG(found.st_mode):
        kind = "a folder" if stat.S_ISDIR(found.st_mode) else "not a regular file"
        raise PapertrainError(f"{what} expected, this is {kind}", code="not-a-file", file=path)
    if not os.access(path, os.R_OK):
        raise PapertrainError(f"{what} cannot be read: permission denied", code="no-permission", file=path)
    if not found.st_size and made_as_read(path):
        raise PapertrainError(
            f"{what} expected, this is made by the system as it is read", code="not-a-file", file=path
        )
    return path


def made_as_read(path: Path) -> bool:
    """Whether the kernel makes it while it is read (`/proc`, `/sys`, `trace_pipe`): it may never end.

    Nobody can wait for a file on a disk, so the kernel refuses that; those it lets one wait for.
    """
    if not hasattr(select, "epoll"):
        return False
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        with select.epoll() as waiting:
            waiting.register(file)
    except OSError:
        return False
    finally:
        os.close(file)
    return True


def read_text(path: Path, *, limit: int = TEXT_LIMIT, what: str = "file") -> str:
    """A text file as UTF-8 (broken bytes replaced; a byte-order mark understood).

    Raises PapertrainError where it is missing, no regular file, larger than `limit` bytes, or binary.
    """
    regular_file(path, what)
    try:
        size = path.stat().st_size
        if size > limit:
            raise PapertrainError(
                f"{what} has {size:,} bytes, more than the {limit:,} that are read", code="too-large", file=path
            )
        with path.open("rb") as f:
            raw = f.read(limit + 1)  # it may grow while it is read, and files of /proc have no size
    except OSError as error:
        raise of_system(error, path) from None
    if len(raw) > limit:
        raise PapertrainError(f"{what} has more than the {limit:,} bytes that are read", code="too-large", file=path)
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return raw.decode("utf-16")
        except UnicodeDecodeError:
            raise PapertrainError(f"{what} starts as UTF-16 and does not go on so", code="binary", file=path) from None
    if b"\x00" in raw[:8192]:
        raise PapertrainError(f"{what} is binary, text was expected", code="binary", file=path)
    return raw.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")


def json_object(path: Path, *, limit: int = TEXT_LIMIT) -> dict[str, Any] | None:
    """The JSON object in a file that a program left there; None where it is missing, no file, broken, or no object."""
    try:
        content = json.loads(read_text(path, limit=limit))
    except (PapertrainError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def unified(old: str, new: str, name: str) -> str:
    """A unified diff from old to new, or an empty text where they are the same."""
    lines = difflib.unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), f"a/{name}", f"b/{name}")
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)


def size_of(path: Path) -> int:
    """Bytes of a file; 0 where there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def written_at(path: Path) -> float:
    """When it was last written; long ago where it has just gone away."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
