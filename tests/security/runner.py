"""The command line in a forked child: as a user's process, without the second that a fresh interpreter takes to start."""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import os
import pkgutil
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

HEAVY = ("numpy", "scipy.stats", "matplotlib.figure", "matplotlib.backends.backend_pdf", "matplotlib.backends.backend_agg", "sklearn.metrics",
         "ruamel.yaml", "tokenizers", "jinja2", "sacrebleu", "rouge_score.rouge_scorer", "pyarrow", "papertrain.verbs.plan")  # fmt: skip


@dataclass(frozen=True)
class Done:
    """How a child ended: exit code (negative: the signal), what it printed, processor seconds, peak memory."""

    code: int
    out: str
    err: str
    seconds: float
    bytes: int
    late: bool = False


def warm() -> None:
    """Import once what every child needs."""
    for name in HEAVY:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    import papertrain

    for module in pkgutil.walk_packages(papertrain.__path__, "papertrain."):
        if "script_files" not in module.name and not module.name.endswith(("__main__", ".extract")):
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)
    # What the test program holds is no work of the child's collector.
    gc.collect()
    gc.freeze()


def _resident() -> int:
    """What this process holds now: a forked child starts with it on its account, and only what it adds is its own."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def child(act: Callable[[], int], *, cwd: Path, stdin: bytes = b"", wall: float = 30.0) -> Done:
    """Run `act` in a forked child whose standard streams are files."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        sys.stdout.flush()
        sys.stderr.flush()
        before = _resident()
        pid = os.fork()
        if pid == 0:
            _become(act, cwd, given.fileno(), out.fileno(), err.fileno())
        status, used, late = _wait(pid, wall)
        texts = []
        for f in (out, err):
            f.seek(0)
            texts.append(f.read().decode("utf-8", "replace"))
    code = os.waitstatus_to_exitcode(status)
    return Done(code, texts[0], texts[1], used.ru_utime + used.ru_stime, max(0, used.ru_maxrss * 1024 - before), late)


def _become(act: Callable[[], int], cwd: Path, given: int, out: int, err: int) -> None:
    code = 97
    try:
        os.chdir(cwd)
        for at, fd in enumerate((given, out, err)):
            os.dup2(fd, at)
        sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), encoding="utf-8", errors="replace")
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w", closefd=False)), encoding="utf-8")
        sys.stderr = io.TextIOWrapper(io.BufferedWriter(io.FileIO(2, "w", closefd=False)), encoding="utf-8")
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        code = act()
    except SystemExit as leave:
        code = leave.code if isinstance(leave.code, int) else 98
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code & 0xFF)


def _wait(pid: int, wall: float) -> tuple[int, resource.struct_rusage, bool]:
    end, pause, late = time.monotonic() + wall, 0.001, False
    while True:
        got, status, used = os.wait4(pid, os.WNOHANG)
        if got:
            return status, used, late
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            late, end = True, end + 60
        time.sleep(pause)
        pause = min(pause * 1.5, 0.02)


def command(
    *argv: object, cwd: Path, stdin: bytes = b"", wall: float = 30.0, first: Callable[[], None] | None = None
) -> Done:
    """`papertrain …` in a child. first: called in the child before it (limits, planted faults)."""
    words = [str(a) for a in argv]

    def act() -> int:
        from papertrain.cli import main

        if first is not None:
            first()
        return main(words)

    return child(act, cwd=cwd, stdin=stdin, wall=wall)


def tree(root: Path, leave: Sequence[str] = ()) -> dict[str, bytes]:
    """Every file below, by name."""
    return {
        p.relative_to(root).as_posix(): p.read_bytes()
        for p in sorted(root.rglob("*"))
        if p.is_file() and not p.is_symlink() and not any(part in leave for part in p.parts)
    }
