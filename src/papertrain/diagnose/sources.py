"""Where the text comes from: files, folders, compressed files, standard input, notebooks."""

from __future__ import annotations

import codecs
import gzip
import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, Any

from papertrain.core.errors import PapertrainError
from papertrain.core.files import blocks, made_as_read, read_text
from papertrain.core.values import Value

CHUNK = 8 << 20
LOG_SUFFIXES = frozenset({".log", ".txt", ".out", ".err", ".gz", ".jsonl", ".ipynb", ".stderr", ".stdout", ".dump"})
CONFIG_SUFFIXES = frozenset({".yaml", ".yml", ".json", ".py", ".sh", ".slurm", ".sbatch", ".toml"})
METRIC_NAMES = ("trainer_state.json",)
SKIP_FOLDERS = frozenset({".git", "__pycache__", "node_modules", ".venv", "site-packages"})
NOTEBOOK_LIMIT = 200 * 2**20
MOST_FILES = 400
MOST_ENTRIES = 50_000


class Source(Value, frozen=True, kw_only=True):
    """One thing to read. `path` is None for standard input; `inside` says that it was found in a folder, not named."""

    name: str
    path: Path | None
    inside: bool = False


def expand(paths: Sequence[str | Path]) -> list[Source]:
    """Files named, and the logs inside folders named. Raises PapertrainError for what is not there."""
    found: list[Source] = []
    for given in paths:
        if str(given) == "-":
            found.append(Source(name="<stdin>", path=None))
            continue
        path = Path(given)
        if not path.exists():
            raise PapertrainError(f"{path}: no such file or folder", code="missing-file", file=path)
        if path.is_dir():
            inside = [Source(name=str(p), path=p, inside=True) for p in logs_in(path)]
            if not inside:
                raise PapertrainError(
                    f"{path}: no log in this folder",
                    code="no-log",
                    file=path,
                    ask=["a log file, or - for standard input"],
                )
            found += inside
        elif (path.is_file() and not made_as_read(path)) or path.is_fifo():
            found.append(Source(name=str(path), path=path))
        else:
            raise PapertrainError(f"{path}: neither a file nor a folder", code="not-a-file", file=path)
    if not found:
        raise PapertrainError("name a log file, a run's folder, or - for standard input", code="missing-argument",
                              command="papertrain diagnose train.log")  # fmt: skip
    return found


def logs_in(folder: Path) -> list[Path]:
    """The logs of a folder, newest folder levels last; checkpoints' own trainer states only where none lies above."""
    every = list(walk(folder))
    found = [p for p in every if is_log(p)]
    states = [p for p in every if p.name in METRIC_NAMES]
    if states:
        found.append(max(states, key=lambda p: (p.stat().st_mtime, -len(p.parts))))
    return sorted(dict.fromkeys(found))[:MOST_FILES]


def is_log(path: Path) -> bool:
    name = path.name.lower()
    if name.startswith("events.out.tfevents") or name.endswith((".wandb", ".safetensors", ".bin", ".pt")):
        return False
    if path.suffix.lower() == ".jsonl" and any(
        w in name for w in ("predict", "generat", "data", "train.jsonl", "test", "evidence")
    ):
        return False
    if path.suffix.lower() == ".txt" and name in {"vocab.txt", "merges.txt", "requirements.txt", "readme.txt"}:
        return False
    return (
        path.suffix.lower() in LOG_SUFFIXES
        or name.startswith(("slurm-", "nohup", "stderr", "stdout"))
        or ".log." in name
    )


def walk(folder: Path, depth: int = 6) -> Iterator[Path]:
    """Files below a folder, without following links, at most some levels deep.

    Raises PapertrainError where so much lies below it that it is no run's folder (a disk, a home).
    """
    if folder.is_dir() and not os.access(folder, os.R_OK | os.X_OK):
        raise PapertrainError("this folder cannot be read: permission denied", code="no-permission", file=folder)
    left = [MOST_ENTRIES]
    for path in _walk(folder, depth, left):
        if left[0] < 0:
            raise PapertrainError(
                f"more than {MOST_ENTRIES:,} files lie below this folder: name the run's own folder",
                code="too-many-files",
                file=folder,
            )
        yield path


def _walk(folder: Path, depth: int, left: list[int]) -> Iterator[Path]:
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda e: e.name)
    except OSError:
        return
    left[0] -= len(entries)
    for entry in entries:
        if left[0] < 0:
            yield folder
            return
        if entry.is_dir(follow_symlinks=False):
            if depth > 1 and entry.name not in SKIP_FOLDERS:
                yield from _walk(Path(entry.path), depth - 1, left)
        elif entry.is_file(follow_symlinks=False):
            yield Path(entry.path)


def chunks(source: Source, stdin: IO[bytes] | None = None) -> Iterator[bytes]:
    """The bytes of a source. Raises PapertrainError where it cannot be read or is no text."""
    if source.path is None:
        yield from _read(_whole(stdin or sys.stdin.buffer))
        return
    try:
        if source.path.suffix == ".gz":
            with _opened(source.path) as packed, gzip.open(packed) as f:
                yield from _read(_whole(f))
        elif source.path.suffix == ".ipynb":
            yield notebook_text(source.path)
        else:
            with _opened(source.path) as f:
                yield from _read(_whole(f) if source.path.is_fifo() else blocks(f, CHUNK))
    except (OSError, EOFError) as e:
        why = getattr(e, "strerror", None) or str(e) or type(e).__name__
        raise PapertrainError(f"{source.name}: cannot be read: {why}", code="unreadable", file=source.name) from None


def _opened(path: Path) -> IO[bytes]:
    """A file, or a pipe: one that nobody writes to ends at once, where opening it would wait for ever."""
    if not stat.S_ISFIFO(path.stat().st_mode):
        return path.open("rb", buffering=0)
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(handle, True)
    return os.fdopen(handle, "rb", buffering=0)


def _whole(stream: Any) -> Iterator[bytes]:
    return iter(lambda: stream.read(CHUNK), b"")


def _read(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Blocks of UTF-8. UTF-16 is what `> train.log` writes in PowerShell."""
    first = next(pieces, b"")
    if not first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        yield from filter(None, (first,))
        yield from pieces
        return
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    for piece in chain((first,), pieces):
        yield decoder.decode(piece).encode("utf-8", "replace")


def notebook_text(path: Path) -> bytes:
    """The saved output of a notebook's cells: streams, error tracebacks and plain-text results, in order."""
    text = read_text(path, limit=NOTEBOOK_LIMIT, what="notebook")
    try:
        book = json.loads(text)
        cells = [c for c in book["cells"] if isinstance(c, dict)]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise PapertrainError(f"{path}: not a notebook", code="bad-notebook", file=path) from None
    outputs = [o for c in cells if isinstance(c.get("outputs"), list) for o in c["outputs"]]
    parts = [_joined(text) for o in outputs for text in _texts(o)]
    return "\n".join(parts).encode("utf-8", "replace")


def _texts(output: Any) -> Iterable[Any]:
    if not isinstance(output, dict):
        return ()
    if output.get("output_type") == "error":
        return (output.get("traceback") or [f"{output.get('ename')}: {output.get('evalue')}"],)
    data = output.get("data")
    return (output.get("text") or (data.get("text/plain") if isinstance(data, dict) else "") or "",)


def _joined(text: Any) -> str:
    if isinstance(text, list):
        sep = "" if all(str(t).endswith("\n") for t in text[:-1]) else "\n"
        return sep.join(map(str, text))
    return str(text)


def looks_binary(head: bytes) -> bool:
    """No log: NUL bytes, or mostly bytes that no text has. A few broken bytes are forgiven."""
    sample = head[:65536]
    if not sample:
        return False
    if sample.count(b"\0") > len(sample) // 100:
        return True
    text = sample.decode("utf-8", "replace")
    odd = sum(1 for c in text if c == "\ufffd" or (c < " " and c not in "\n\r\t\x1b\x08\x07\x0c"))
    return odd > 0.2 * len(text)
