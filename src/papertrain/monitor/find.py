"""Which files of a run are logs, and in whose format: by content. What is no log is said in one line."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from papertrain.core.commands import quoted
from papertrain.core.discover import discover
from papertrain.core.errors import PapertrainError
from papertrain.monitor import readers, said
from papertrain.monitor.reader import Reader
from papertrain.monitor.readers._text import looks_binary
from papertrain.monitor.table import Table

HEAD = 1 << 18
TAIL = 1 << 17
SURE = 0.55
"""The most that the reader of any text says of itself."""
PROBES = 6
MOST_HOLE = 1 << 14
"""Pieces of zeros that are passed over at the start of a file: a hole of 4 GB."""
PROBE = 1 << 15
DEPTH = 4
MOST_FILES = 5000
SUFFIXES = frozenset(
    (
        ".jsonl",
        ".json",
        ".csv",
        ".tsv",
        ".log",
        ".txt",
        ".out",
        ".err",
        ".wandb",
        ".db",
        ".ndjson",
        ".stdout",
        ".stderr",
    )
)
PASSED_OVER = frozenset(("tokenizer.json", "config.json", "generation_config.json", "special_tokens_map.json", "vocab.json", "plan.json",
                         "record.json", "package.json", "added_tokens.json", "adapter_config.json", "tokenizer_config.json",
                         "wandb-metadata.json", "wandb-summary.json", "requirements.txt", "merges.txt", "all_results.json",
                         "train_results.json", "eval_results.json", "dataset_info.json"))  # fmt: skip
CHECKPOINTS = ("checkpoint-", "global_step")
"""How the folders of checkpoints begin: thousands of files, none of them a log of the run."""
SIDES = frozenset(("train", "training", "val", "valid", "validation", "eval", "test"))
EXPECTED = "expected a training log: trainer_log.jsonl, trainer_state.json, console output, metrics.csv, TensorBoard events, a .wandb file"


@lru_cache
def all_readers() -> dict[str, Reader]:
    return discover(readers, "READER")


def recognise(path: Path) -> Reader | None:
    """The reader that is surest about the file, or None."""
    if path.is_dir():
        return next((r for r in all_readers().values() if r.kind == "whole" and r.sniff(b"", path) > 0), None)
    return of_head(sample(path), path)


def of_head(head: bytes, path: Path) -> Reader | None:
    """The reader that is surest about a file of which this is the sample."""
    binary = looks_binary(head)
    return surest(head, path, [r for r in all_readers().values() if not (binary and r.kind == "lines")])


def surest(head: bytes, path: Path, readers: Iterable[Reader]) -> Reader | None:
    """The readers of any text come last, and are not asked where another is as sure as they can be."""
    best, found = 0.0, None
    for reader in sorted(readers, key=lambda r: r.last):
        if reader.last and best >= SURE:
            break
        sure = reader.sniff(head, path)
        if sure > best:
            best, found = sure, reader
    return found


def sample(path: Path) -> bytes:
    """The head of a file and, where it is longer, its tail and pieces between: programs print their own source, a banner or
    a launcher's thousand lines first."""
    with path.open("rb") as f:
        head = f.read(HEAD)
        for _ in range(MOST_HOLE):
            if head.strip(b"\0") or len(head) < HEAD:
                break
            head = f.read(HEAD)
        begin = f.tell() - len(head)
        size = f.seek(0, os.SEEK_END) - begin
        if size > HEAD:
            binary = looks_binary(head)
            room = size - HEAD - TAIL
            for i in range(1, PROBES + 1) if room > 0 and not binary else ():
                f.seek(begin + HEAD + room * i // (PROBES + 1))
                head += b"\n" + f.read(min(PROBE, room)).partition(b"\n")[2]
            f.seek(begin + max(HEAD, size - TAIL))
            head += b"\n" + f.read(TAIL)
    return head


def regular(path: Path) -> None:
    """Raises PapertrainError unless the path is a file or folder that can be read."""
    try:
        s = path.stat()
    except FileNotFoundError:
        if path.is_symlink():
            raise PapertrainError(
                f"{path} is a link to a file that does not exist", code="no-such-file", file=path
            ) from None
        raise PapertrainError(f"{path}: no such file or folder", code="no-such-file", file=path) from None
    except PermissionError:
        raise PapertrainError(f"{path} cannot be read: permission denied", code="unreadable", file=path) from None
    except OSError as error:
        raise PapertrainError(
            f"{path} cannot be read: {error.strerror or error}", code="unreadable", file=path
        ) from None
    if stat.S_ISDIR(s.st_mode):
        return
    if not stat.S_ISREG(s.st_mode):
        raise PapertrainError(
            f"{path} is a pipe, socket or device, not a file; write the log to a file, or pass it as `-`",
            code="not-a-file",
            file=path,
        )
    if s.st_size == 0:
        raise PapertrainError(f"{path} is empty; {EXPECTED}", code="empty-file", file=path)
    if not os.access(path, os.R_OK):
        raise PapertrainError(f"{path} cannot be read: permission denied", code="unreadable", file=path)


def one_file(path: Path) -> Reader:
    """The reader of a file that the user named. Raises PapertrainError when no reader knows it."""
    regular(path)
    try:
        head = sample(path)
        found = of_head(head, path)
    except OSError as error:
        raise PapertrainError(
            f"{path} cannot be read: {error.strerror or error}", code="unreadable", file=path
        ) from None
    if found is None:
        if looks_binary(head):
            what, unpack = said.binary(head)
            if unpack:
                raise PapertrainError(
                    f"{path} is {what}: unpack it first; {EXPECTED}",
                    code="no-log",
                    file=path,
                    command=f"{unpack} {quoted(path)}",
                )
            raise PapertrainError(f"{path} is {what}; {EXPECTED}", code="no-log", file=path)
        raise PapertrainError(f"{path} has no row of training numbers (loss, step, learning rate …); if it is a crash log, diagnose reads it",
                              code="no-log", file=path, command=f"papertrain diagnose {quoted(path)}")  # fmt: skip
    return found


def looked_into(folder: str) -> bool:
    """Whether a folder below a run's may hold what the run wrote of itself: not hidden, no cache, no checkpoint."""
    return not folder.startswith((".", "__", *CHECKPOINTS))


def candidates(folder: Path) -> Iterator[Path]:
    """Files of a run folder that may be logs, by name and place; checkpoints and hidden folders are passed over."""
    count = 0
    for top, dirs, files in os.walk(folder, followlinks=False):
        here = Path(top)
        depth = len(here.relative_to(folder).parts)
        dirs[:] = sorted(d for d in dirs if looked_into(d) and d != "debug") if depth < DEPTH else []
        if (here / "meta.yaml").is_file() and (here / "metrics").is_dir():
            yield here
            dirs[:] = [d for d in dirs if d not in ("metrics", "params", "tags", "artifacts")]
        for name in sorted(files):
            count += 1
            if count > MOST_FILES:
                return
            path = here / name
            likely = Path(name).suffix.lower() in SUFFIXES or "tfevents" in name
            if likely and name not in PASSED_OVER and path.is_file() and path.stat().st_size > 0:
                yield path


def logs_in(folder: Path) -> list[tuple[Path, Reader]]:
    """Every log of a run folder with its reader; the newest checkpoint's state where there is no better."""
    if (own := recognise(folder)) is not None:
        return [(folder, own)]
    found = [(p, r) for p in candidates(folder) if os.access(p, os.R_OK) and (r := recognise_safely(p)) is not None]
    if not any(r.id == "hf_trainer_state" for _, r in found):
        states = sorted(
            folder.glob("checkpoint-*/trainer_state.json"), key=lambda p: (int(p.stat().st_mtime), step_of(p))
        )
        found += [(p, r) for p in states[-1:] if (r := recognise_safely(p)) is not None]
    return without_older_boards(folder, found)


def step_of(state: Path) -> int:
    digits = state.parent.name.rpartition("-")[2]
    return int(digits) if digits.isdigit() else -1


def without_older_boards(folder: Path, found: list[tuple[Path, Reader]]) -> list[tuple[Path, Reader]]:
    """The Trainer begins a new folder below `runs/` at each start: the newest counts, its name holds the time."""
    boards = [p for p, r in found if r.id == "tensorboard" and p.parent.parent == folder / "runs"]
    if len({p.parent for p in boards}) < 2 or len(boards) == len(found):
        return found
    newest = max(boards, key=lambda p: p.name.partition("tfevents.")[2]).parent
    return [(p, r) for p, r in found if p not in boards or p.parent == newest]


def recognise_safely(path: Path) -> Reader | None:
    try:
        return recognise(path)
    except OSError:
        return None


def runs_in(folder: Path) -> list[tuple[str, list[tuple[Path, Reader]]]]:
    """The runs below a folder: itself, or its subfolders when logs lie only there and apart from each other."""
    found = logs_in(folder)
    if not found:
        raise PapertrainError(
            f"{folder} holds {said.folder(folder)}, no training log; {EXPECTED}", code="no-log", file=folder
        )
    metrics = [p for p, r in found if not r.telemetry]
    stores = sum(p.suffix == ".wandb" for p in metrics) > 1
    groups: dict[str, list[tuple[Path, Reader]]] = {}
    for path, reader in found:
        group = path.parent.name if stores and path.suffix == ".wandb" else group_of(path.relative_to(folder))
        groups.setdefault(group, []).append((path, reader))
    roots = [p for p in metrics if p in [q for q, _ in groups.get("", [])]]
    if roots or len(groups) <= 1:
        return [(folder.name or str(folder), found)]
    return [(name, files) for name, files in sorted(groups.items())]


def group_of(relative: Path) -> str:
    """The folder that makes a run of its own; `runs/`, `logs/`, `train/`, `validation/` and the like do not."""
    common = {
        "runs",
        "logs",
        "log",
        "tb",
        "tensorboard",
        "lightning_logs",
        "wandb",
        "csv_logs",
        "telemetry",
        "mlruns",
        "output",
        "outputs",
    }
    parts = [p for p in relative.parts[:-1] if p.lower() not in SIDES]
    kept = [p for p in parts if p.lower() not in common and not p.startswith("checkpoint-")]
    hf_board = bool(relative.parts) and relative.parts[0] == "runs" and "tfevents" in relative.name and len(kept) == 1
    if relative.suffix == ".wandb" or hf_board:
        kept = kept[:-1]
    return "/".join(kept)


def read_text(text: str, name: str = "<text>") -> Table:
    """A log that is no file: standard input, the sample of a rule. Raises PapertrainError when no reader knows it."""
    data = text.encode("utf-8", "replace")
    head = data[:HEAD] + (b"\n" + data[-TAIL:] if len(data) > HEAD else b"")
    found = surest(head, Path(name), [r for r in all_readers().values() if r.kind == "lines"])
    if found is None:
        raise PapertrainError(
            f"{name} has no row of training numbers (loss, step, learning rate …)", code="no-log", file=name
        )
    table = Table(name, found.id)
    parse = found.start(table)
    for number, line in enumerate(text.splitlines(), 1):
        if line and len(line) <= found.longest:
            parse(line, number)  # type: ignore[call-arg, arg-type]
    table.finish()
    return table
