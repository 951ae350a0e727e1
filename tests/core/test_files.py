"""The writer: all or nothing, never outside, never over a person's work."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from papertrain.core.errors import PapertrainError, Refused
from papertrain.core.files import read_text, regular_file, unified
from papertrain.core.writing import Writer, write_atomic


def test_files_are_written_together_and_known_as_new(tmp_path: Path) -> None:
    with Writer(tmp_path) as w:
        w.text("a/x.yaml", "one: 1\n")
        w.binary("b.png", b"\x89PNG\x00")
    assert (tmp_path / "a/x.yaml").read_text() == "one: 1\n"
    assert [(c.path, c.kind) for c in w.changes] == [("a/x.yaml", "new"), ("b.png", "new")]


def test_an_error_in_the_block_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Writer(tmp_path) as w:
        w.text("a", "x")
        _ = 1 / 0
    assert not (tmp_path / "a").exists()


def test_own_files_are_rewritten_and_edited_ones_refused_with_nothing_written(tmp_path: Path) -> None:
    with Writer(tmp_path) as w:
        w.text("mine", "1\n")
        w.text("yours", "1\n")
    (tmp_path / "yours").write_text("edited\n")
    with pytest.raises(Refused, match="yours"), Writer(tmp_path) as w:
        w.text("mine", "2\n")
        w.text("yours", "2\n")
    assert (tmp_path / "mine").read_text() == "1\n" and (tmp_path / "yours").read_text() == "edited\n"
    with Writer(tmp_path, overwrite=True) as w:
        w.text("yours", "2\n")
    assert (tmp_path / "yours").read_text() == "2\n"


def test_a_file_that_was_there_before_us_counts_as_a_persons(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine\n")
    with pytest.raises(Refused), Writer(tmp_path) as w:
        w.text("notes", "ours\n")


def test_a_dry_run_shows_the_difference_and_leaves_no_trace(tmp_path: Path) -> None:
    place = tmp_path / "new"
    with Writer(place, dry_run=True) as w:
        w.text("x", "a\nb\n")
    assert w.changes[0].kind == "new" and "+b" in w.changes[0].diff and not place.exists()


@pytest.mark.parametrize("name", ["../out", "/etc/x", "a/../../out", ""])
def test_nothing_leads_out_of_the_named_place(tmp_path: Path, name: str) -> None:
    with pytest.raises(Refused), Writer(tmp_path / "in") as w:
        w.text(name, "x")


def test_a_link_out_of_the_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "in/link").symlink_to(tmp_path / "out")
    with pytest.raises(Refused), Writer(tmp_path / "in") as w:
        w.text("link/x", "y")
    assert not list((tmp_path / "out").iterdir())


def test_secrets_do_not_reach_the_disk(tmp_path: Path) -> None:
    token = "hf_" + "abcdefghijABCDEFGHIJ0123456789"
    with Writer(tmp_path) as w:
        w.text("x", f"export HF_TOKEN={token}\n")
        w.append("log.jsonl", token)
    assert token not in (tmp_path / "x").read_text() + (tmp_path / "log.jsonl").read_text()


def test_appending_closes_a_torn_line_first(tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_text('{"a": 1}\n{"b"')
    with Writer(tmp_path) as w:
        w.append("e.jsonl", '{"c": 3}')
    assert (tmp_path / "e.jsonl").read_text().splitlines() == ['{"a": 1}', '{"b"', '{"c": 3}']


def test_a_removed_file_goes_only_if_nobody_edited_it(tmp_path: Path) -> None:
    with Writer(tmp_path) as w:
        w.text("a", "1")
        w.text("b", "1")
    (tmp_path / "b").write_text("mine")
    with Writer(tmp_path) as w:
        w.text("c", "1")
        w.remove("a")
        w.remove("b")
    assert not (tmp_path / "a").exists() and (tmp_path / "b").exists()


def test_two_writers_take_turns(tmp_path: Path) -> None:
    def many(name: str) -> None:
        for i in range(10):
            with Writer(tmp_path) as w:
                w.text(f"{name}{i}", name)
                w.append("all.jsonl", name)

    threads = [threading.Thread(target=many, args=(n,)) for n in "ab"]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len((tmp_path / "all.jsonl").read_text().splitlines()) == 20
    with Writer(tmp_path) as w:  # every digest survived: none of the files counts as edited
        for n in "ab":
            w.text(f"{n}9", "new")


KILLED = """
import os, sys
from pathlib import Path
from papertrain.core import writing
real, at = os.fsync, int(sys.argv[2])
count = 0
def dying(fd):
    global count
    count += 1
    if count == at:
        os.kill(os.getpid(), 9)
    real(fd)
os.fsync = dying
with writing.Writer(Path(sys.argv[1])) as w:
    for name in "abc":
        w.text(name, "new " * 1000)
"""


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_a_kill_at_any_write_leaves_the_old_or_the_new_file_and_the_next_run_works(tmp_path: Path, at: int) -> None:
    with Writer(tmp_path) as w:
        for name in "abc":
            w.text(name, "old")
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), str(at)], check=False)
    assert done.returncode == -9
    assert all((tmp_path / n).read_text() in ("old", "new " * 1000) for n in "abc")
    with Writer(tmp_path, overwrite=True) as w:
        for name in "abc":
            w.text(name, "next")
    assert {(tmp_path / n).read_text() for n in "abc"} == {"next"}


def test_a_place_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(PapertrainError) as caught, Writer(tmp_path / "file" / "in") as w:
        w.text("x", "y")
    assert caught.value.exit == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_one_clear_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(PapertrainError, match="permission"), Writer(tmp_path) as w:
        w.text("x", "y")


def test_reading_says_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "bin").write_bytes(b"\x00\x01" * 100)
    (tmp_path / "bom").write_bytes(b"\xef\xbb\xbfa: 1\r\n")
    (tmp_path / "utf16").write_bytes("a: 1\n".encode("utf-16"))
    os.mkfifo(tmp_path / "pipe")
    assert read_text(tmp_path / "bom") == "a: 1\r\n"
    assert read_text(tmp_path / "utf16") == "a: 1\n"
    for name, words in (("bin", "binary"), ("none", "not found"), (".", "folder"), ("pipe", "not a regular")):
        with pytest.raises(PapertrainError, match=words):
            read_text(tmp_path / name)
    with pytest.raises(PapertrainError, match="more than"):
        read_text(tmp_path / "bom", limit=3)
    with pytest.raises(PapertrainError):
        regular_file(Path("a\x00b"))


def test_a_write_keeps_the_mode_of_the_file(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    write_atomic(script, b"one", executable=True)
    write_atomic(script, b"two")
    assert os.access(script, os.X_OK) and script.read_bytes() == b"two"


def test_a_diff_says_when_the_last_line_has_no_end() -> None:
    assert unified("a", "b", "f").count("No newline at end of file") == 2


def test_a_file_that_cannot_be_read_to_its_end_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "x.yaml"
    file.write_text("a: 1\n")
    opened = Path.open

    def broken(self: Path, *args: object, **options: object) -> object:
        if self == file:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(self))
        return opened(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "open", broken)
    with pytest.raises(PapertrainError, match="input/output error") as said:
        read_text(file)
    assert said.value.exit == 2 and said.value.file == str(file)


def test_what_the_system_makes_as_it_is_read_is_no_file() -> None:
    if not Path("/proc/cpuinfo").exists():
        pytest.skip("no /proc here")
    with pytest.raises(PapertrainError, match="made by the system"):
        read_text(Path("/proc/cpuinfo"))


def test_a_file_that_grows_over_the_limit_as_it_is_opened_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, opened = tmp_path / "x.log", Path.open
    file.write_text("a" * 40)

    def grown(path: Path, mode: Any = "r") -> object:
        with opened(path, "ab") as f:
            f.write(b"b" * 40)
        return opened(path, mode)

    monkeypatch.setattr(Path, "open", grown)
    with pytest.raises(PapertrainError, match="more than the 50 bytes"):
        read_text(file, limit=50)


def test_the_tools_own_notes_do_not_lead_out_either(tmp_path: Path) -> None:
    """A workspace that somebody else made may hold links instead of `.papertrain`, its lock, or any folder on the way."""
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("whole", "lock", "evidence", "folder", "dangling"):
        root = tmp_path / name
        root.mkdir()
        if name == "whole":
            (root / ".papertrain").symlink_to(outside)
        elif name == "lock":
            (root / ".papertrain").mkdir()
            (root / ".papertrain/lock").symlink_to(outside / "made")
        elif name == "evidence":
            (root / "evidence.jsonl").symlink_to(outside / "made")
        elif name == "folder":
            (root / "runs").symlink_to(outside)
        else:
            (root / "x.yaml").symlink_to(outside / "made")
        with pytest.raises(Refused, match="link out of"), Writer(root) as w:
            w.text("runs/x.yaml" if name == "folder" else "x.yaml", "a: 1\n")
            w.append("evidence.jsonl", "{}")
        assert not list(outside.iterdir()), name


def test_bytes_that_are_no_text_are_compared_without_a_diff(tmp_path: Path) -> None:
    for dry_run in (True, False):
        with Writer(tmp_path, dry_run=dry_run) as w:
            w.binary("x.log", b"\xff\xfeodd" * 3)
        assert [(c.kind, c.diff) for c in w.changes] == [("new", "")]
    with Writer(tmp_path) as w:
        w.binary("x.log", b"\xff\xff\xff")
    assert [(c.kind, c.diff) for c in w.changes] == [("changed", "")]
