"""No verb waits for ever on a path that it is given: pipes, devices, streams of the kernel, files that grow as they are read."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import pytest
import scene
from runner import command, warm

from papertrain import verbs
from papertrain.core.files import blocks, made_as_read, sha256_file
from papertrain.core.params import Parameter, parameters

NAMES_A_PLACE = {"env", "target", "cases"}
ODD = ["pipe", "pipe.yaml", "pipe.jsonl", "zero.log", "box", "/dev/zero", "/dev/random", "/proc/kmsg"]


def places(name: str) -> list[Parameter]:
    return [p for p in parameters(verbs.load(name)) if p.kind is Path or p.name in NAMES_A_PLACE]


TRIED = [(verb, p.name) for verb in verbs.names() if verb not in scene.STAY | {"demo"} for p in places(verb)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    warm()
    root = tmp_path_factory.mktemp("waiting")
    scene.build(root)
    (root / "box").mkdir()
    for name in ("pipe", "pipe.yaml", "pipe.jsonl", "box/x.log", "box/x.yaml", "box/predictions.csv", "box/config.json", "box/trainer_state.json", "box/pyvenv.cfg"):  # fmt: skip
        os.mkfifo(root / name)
    (root / "zero.log").symlink_to("/dev/zero")
    return root


def test_every_verb_is_tried() -> None:
    assert set(scene.GIVEN) | scene.STAY == set(verbs.names())


@pytest.mark.slow
@pytest.mark.parametrize(("verb", "name"), TRIED)
def test_a_path_that_gives_nothing_or_never_ends_is_answered(place: Path, verb: str, name: str) -> None:
    for odd in ODD:
        if odd == "/proc/kmsg" and not (Path(odd).exists() and os.access(odd, os.R_OK)):
            continue
        done = command(*scene.words(verb, {name: odd}), cwd=place, wall=20)
        assert not done.late, (verb, name, odd)
        assert done.code in (0, 1, 2, 3) and done.seconds < 4, (verb, name, odd, done)


@pytest.mark.skipif(not os.access("/proc/kmsg", os.R_OK), reason="the kernel's messages are not readable here")
def test_what_the_kernel_makes_is_told_from_files(tmp_path: Path) -> None:
    assert made_as_read(Path("/proc/kmsg")) and made_as_read(Path("/proc/cpuinfo"))
    (tmp_path / "empty").touch()
    assert not made_as_read(tmp_path / "empty") and not made_as_read(Path(__file__))


class Growing(io.FileIO):
    """A file to which a program writes as often as somebody reads."""

    def readinto(self, buffer: Any) -> int:
        count = super().readinto(buffer)
        if count and os.fstat(self.fileno()).st_size < MUCH:
            with Plain(self.name, "ab") as more:
                more.write(LINE * 500)
        return count or 0

    def read(self, size: int | None = -1) -> bytes:
        buffer = bytearray(2**16 if size is None or size < 0 else size)
        return bytes(buffer[: self.readinto(buffer)])


LINE = b"{'loss': 1.0, 'grad_norm': 1.0, 'learning_rate': 1e-04, 'epoch': 1}\n"
MUCH = 32 * 2**20
Plain = io.FileIO


def growing() -> None:
    """From now on every file that is opened for reading bytes is such a one."""
    opened = Path.open

    def open_(path: Path, mode: str = "r", buffering: int = -1, **more: Any) -> Any:
        if mode != "rb" or path.name != "grow.log":
            return opened(path, mode, buffering, **more)
        return Growing(path) if buffering == 0 else io.BufferedReader(Growing(path), 2**16)

    Path.open = open_  # type: ignore[method-assign,assignment]


@pytest.mark.parametrize("verb", ["diagnose", "watch"])
def test_a_log_that_grows_as_fast_as_it_is_read_is_read_to_where_it_was(place: Path, verb: str) -> None:
    file = place / "grow.log"
    file.write_bytes(LINE * 2000)
    done = command(verb, "grow.log", cwd=place, first=growing)
    assert not done.late and done.code in (0, 1), done
    assert LINE * 2500 in file.read_bytes() and file.stat().st_size < MUCH / 2


def test_pieces_end_where_the_file_ended_when_they_were_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"ab" * 5000)
    assert b"".join(blocks(Growing(file), 700)) == b"ab" * 5000
    assert file.stat().st_size > 20_000
    assert sha256_file(Path("/proc/version")) != sha256_file(Path("/dev/null"))
