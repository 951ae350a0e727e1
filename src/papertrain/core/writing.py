"""The one writer: atomic, locked, redacting, mindful of what a person edited.

It remembers the digest of everything it wrote (`.papertrain/digests.json` in the place it writes to). What the tool wrote
and nobody touched is rewritten; what a person edited is refused without `overwrite`.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import IO

from msgspec.structs import replace

from papertrain.core.errors import PapertrainError, Refused
from papertrain.core.files import json_object, sha256_file, size_of, unified
from papertrain.core.redact import redact
from papertrain.core.values import Value

HIDDEN = ".papertrain"
DIGESTS = f"{HIDDEN}/digests.json"
PENDING = f"{HIDDEN}/pending.json"
"""What a write is about to put in place: a run that is killed in the middle did not thereby become a person's edit."""
LEFTOVER = re.compile(r"\..+\.\d+\.[0-9a-f]{8}\.tmp")

_reading: ContextVar[bool] = ContextVar("reading", default=False)
_places: ContextVar[set[Path] | None] = ContextVar("places", default=None)


@contextlib.contextmanager
def only_reading() -> Iterator[None]:
    """While it holds nothing is written: every writer makes a dry run (tool server, page)."""
    token = _reading.set(True)
    try:
        yield
    finally:
        _reading.reset(token)


@contextlib.contextmanager
def places_written() -> Iterator[set[Path]]:
    """The places that writers wrote to meanwhile."""
    outer, places = _places.get(), set[Path]()
    token = _places.set(places)
    try:
        yield places
    finally:
        _places.reset(token)
        if outer is not None:
            outer |= places


class Written(Value, frozen=True, kw_only=True):
    """One file of a write: new, changed, same, or kept (a person's edit, left alone)."""

    path: str
    kind: str
    diff: str = ""
    size: int = 0


def contained(root: Path, *paths: Path) -> None:
    """Raises Refused where one of them leads out of that place through a link: nothing is moved, removed or written there."""
    for path in paths:
        if not path.resolve().is_relative_to(root.resolve()):
            name = os.path.relpath(path, root)
            raise Refused(f"{name!r} is a link out of {root}: it is not followed", code="outside", file=path)


@contextlib.contextmanager
def locked(root: Path, *, wait_seconds: float = 20.0) -> Iterator[None]:
    """One writer at a time in this place. Raises Refused when another keeps it longer than that."""
    folder = root / HIDDEN
    contained(root, folder, folder / "lock")
    folder.mkdir(parents=True, exist_ok=True)
    with writable_file(folder / "lock").open("a") as handle:
        end = time.monotonic() + wait_seconds
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > end:
                    raise Refused(
                        f"another papertrain is writing to {root}: try again when it is done", code="locked"
                    ) from None
                time.sleep(0.05)
        try:
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)


@contextlib.contextmanager
def held(root: Path, what: str) -> Iterator[None]:
    """One process at a time does this here (a run), however long it takes. Raises Refused at once where another does."""
    folder = root / HIDDEN
    lock = folder / f"{re.sub('[^A-Za-z0-9_.-]', '_', what)}.lock"
    contained(root, folder, lock)
    folder.mkdir(parents=True, exist_ok=True)
    with writable_file(lock).open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Refused(
                f"another papertrain is busy with {what} in {root}: nothing was started", code="locked"
            ) from None
        yield  # the file stays: one that is removed and made again would be two locks


def writable_file(path: Path) -> Path:
    """The path, if a file may be put there. Raises PapertrainError where a folder, a pipe or a device stands."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return path
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise PapertrainError(f"{kind} stands where a file must be written", code="not-a-file", file=path)
    return path


def write_atomic(path: Path, data: bytes, *, executable: bool = False) -> None:
    """The old content or the new one, never a part: a temporary file beside it, synced, then renamed."""
    if _reading.get():
        raise Refused("only reading is granted here: nothing is written", code="only-reading", file=path)
    writable_file(path)
    temporary = path.with_name(f".{path.name[:180]}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as f:
            f.write(data)
            f.flush()
            os.fsync(f.fileno())
        if path.exists():
            temporary.chmod(stat.S_IMODE(path.stat().st_mode))
        if executable:
            temporary.chmod(0o755)
        temporary.replace(path)
        _sweep(path)
    except OSError as error:
        raise PapertrainError(
            f"cannot write: {(error.strerror or str(error)).lower()}", code="cannot-write", file=path
        ) from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _sweep(path: Path) -> None:
    """What a killed write of this very file left beside it goes away; the one of a process that still writes stays."""
    mine = f".{path.name[:180]}."
    with contextlib.suppress(OSError):
        for entry in os.scandir(path.parent):
            if entry.name.startswith(mine) and leftover(entry.name):
                try:
                    os.kill(int(entry.name.rsplit(".", 3)[1]), 0)
                except ProcessLookupError:
                    Path(entry.path).unlink(missing_ok=True)
                except OSError:
                    continue


def leftover(name: str) -> bool:
    """Whether a file of that name is what a killed write left behind."""
    return LEFTOVER.fullmatch(name) is not None


class Writer:
    """Stages files and writes them all at the end of the `with` block, or none.

    root: the place the user named; nothing outside it is ever written, also through links. overwrite: replace files that
    a person edited; keep: leave those alone and write the others, instead of refusing. dry_run: stage, compare, and
    write nothing. `changes` tells what happened, with diffs.
    """

    def __init__(self, root: Path, *, overwrite: bool = False, keep: bool = False, dry_run: bool = False) -> None:
        self.root = Path(root)
        self.overwrite = overwrite
        self.keep = keep and not overwrite
        self.dry_run = dry_run or _reading.get()
        self.changes: list[Written] = []
        self._staged: dict[str, tuple[bytes, bool]] = {}
        self._appended: dict[str, list[str]] = {}
        self._removed: list[str] = []
        self._sizes: dict[str, int] = {}

    def text(self, name: str, content: str, *, executable: bool = False) -> None:
        """Stage a text file. Secrets are taken out; paths and hosts stay, since configs must run on this machine."""
        self._staged[self._inside(name)] = (redact(content, terminal=True).encode(), executable)

    def binary(self, name: str, content: bytes) -> None:
        """Stage a binary file (a figure)."""
        self._staged[self._inside(name)] = (content, False)

    def append(self, name: str, line: str) -> None:
        """Add one line to an append-only file (`evidence.jsonl`); earlier lines are never touched."""
        self._appended.setdefault(self._inside(name), []).append(redact(line.rstrip("\n"), terminal=True) + "\n")

    def expect(self, name: str, size: int) -> None:
        """What is written was made for this file as it is now; where another process adds to it first, nothing is written."""
        self._sizes[self._inside(name)] = size

    def remove(self, name: str) -> None:
        """Stage the removal of a file that the tool wrote; one that a person made or edited stays."""
        self._removed.append(self._inside(name))

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None or not (self._staged or self._appended):
            return
        if self.dry_run:
            self._compare(self._digests())
            self._keep()
            return
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with locked(self.root):
                self._write()
            if (places := _places.get()) is not None:
                places.add(self.root)
        except OSError as error2:
            raise PapertrainError(
                f"cannot write here: {(error2.strerror or str(error2)).lower()}", code="cannot-write", file=self.root
            ) from None

    def _inside(self, name: str) -> str:
        pure = PurePosixPath(name)
        if pure.is_absolute() or ".." in pure.parts or not pure.parts:
            raise Refused(
                f"{name!r} leads out of {self.root}: nothing outside the named place is written", code="outside"
            )
        target = self.root / pure
        root = self.root.resolve()
        if not target.parent.resolve().is_relative_to(root) or (
            target.is_symlink() and not target.resolve().is_relative_to(root)
        ):
            raise Refused(f"{name!r} is a link out of {self.root}: it is not followed", code="outside")
        return str(pure)

    def _digests(self, name: str = DIGESTS) -> dict[str, str]:
        known = json_object(self.root / name) or {}
        return {k: v for k, v in known.items() if isinstance(v, str)}

    def _compare(self, digests: dict[str, str]) -> None:
        self.changes = []
        pending = self._digests(PENDING)
        for name, (data, _) in self._staged.items():
            path = self.root / name
            if not path.exists():
                diff = "" if _binary(data) else unified("", data.decode(), name)
                self.changes.append(Written(path=name, kind="new", diff=diff, size=len(data)))
                continue
            old = writable_file(path).read_bytes()
            if old == data:
                self.changes.append(Written(path=name, kind="same", size=len(data)))
                continue
            diff = (
                ""
                if _binary(data) or _binary(old)
                else unified(old.decode("utf-8", "replace"), data.decode("utf-8", "replace"), name)
            )
            edited = hashlib.sha256(old).hexdigest() not in (digests.get(name), pending.get(name))
            self.changes.append(Written(path=name, kind="edited" if edited else "changed", diff=diff, size=len(data)))

    def _keep(self) -> None:
        """What a person edited is no longer staged, and said to be kept."""
        if self.keep:
            self.changes = [replace(c, kind="kept") if c.kind == "edited" else c for c in self.changes]
            for change in self.changes:
                if change.kind == "kept":
                    self._staged.pop(change.path, None)

    def _write(self) -> None:
        for name, size in self._sizes.items():
            if size_of(self.root / name) != size:
                raise Refused(
                    f"another papertrain wrote to {name} meanwhile: nothing was written, run it again",
                    code="changed-meanwhile",
                    file=self.root / name,
                )
        digests = self._digests()
        self._compare(digests)
        self._keep()
        edited = [c for c in self.changes if c.kind == "edited"]
        if edited and not self.overwrite:
            names = ", ".join(c.path for c in edited[:4]) + (f" and {len(edited) - 4} more" if len(edited) > 4 else "")
            raise Refused(
                f"edited since papertrain wrote it, so left alone: {names}; nothing was written",
                code="edited-by-hand",
                file=self.root / edited[0].path,
                ask=["--dry-run shows the difference", "--overwrite replaces the edits", "or move the file away"],
            )
        staged = [c for c in self.changes if c.path in self._staged]
        after = {c.path: hashlib.sha256(self._staged[c.path][0]).hexdigest() for c in staged}
        if any(c.kind != "same" for c in staged):
            pending = self._digests(PENDING) | after
            write_atomic(self.root / PENDING, (json.dumps(pending, indent=0, sort_keys=True) + "\n").encode())
        for change in staged:
            data, executable = self._staged[change.path]
            if change.kind != "same":
                write_atomic(self.root / change.path, data, executable=executable)
        digests |= after
        for name, lines in self._appended.items():
            _append(self.root / name, "".join(lines))
        for name in self._removed:
            path = self.root / name
            if name not in self._staged and path.is_file() and digests.get(name) == sha256_file(path):
                path.unlink()
                digests.pop(name)
        if self._staged:
            write_atomic(self.root / DIGESTS, (json.dumps(digests, indent=0, sort_keys=True) + "\n").encode())
        self._tidy()

    def _tidy(self) -> None:
        """What an earlier, killed run left beside the files of this one goes away; nobody else writes meanwhile."""
        folders = {(self.root / name).parent for name in self._staged} | {self.root / HIDDEN}
        with contextlib.suppress(OSError):
            (self.root / PENDING).unlink(missing_ok=True)
            for folder in folders:
                for path in folder.glob(".*.tmp"):
                    if leftover(path.name):
                        path.unlink(missing_ok=True)


def _append(path: Path, text: str) -> None:
    """Lines added whole: a torn last line of a killed run is closed first."""
    writable_file(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+", buffering=0) as f:
        size = f.seek(0, os.SEEK_END)
        if size:
            f.seek(-1, os.SEEK_END)
            if f.read(1) != b"\n":
                text = "\n" + text
        data = text.encode()
        try:
            while data:
                data = data[f.write(data) :]
            os.fsync(f.fileno())
        except OSError:
            # A full disk takes a part of a line: better none of it.
            with contextlib.suppress(OSError):
                f.truncate(size)
            raise


def _binary(data: bytes) -> bool:
    if b"\x00" in data[:8192] or data[:4] == b"%PDF":
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return False


def open_log(path: Path) -> IO[bytes]:
    """A file that a run's output is written to, beside the writer: unbuffered and append-only."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return writable_file(path).open("ab", buffering=0)
