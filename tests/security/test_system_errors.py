"""What the system refuses is said to whoever asked, whichever face it was: never a fault of ours, never in silence."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
from runner import command

from papertrain import mcp, verbs
from papertrain.core.schema import readable

READABLE = [p for p in readable(verbs.load("check")) if p.name == "files"]


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EACCES, errno.ENAMETOOLONG, errno.ESTALE, errno.EMFILE, errno.EDQUOT])  # fmt: skip
def test_the_tool_server_names_what_the_system_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:  # fmt: skip
    def refused(files: list[Path]) -> object:
        raise OSError(number, os.strerror(number), str(tmp_path / "x"))

    monkeypatch.setattr(verbs, "load", lambda name: refused)
    monkeypatch.setattr(mcp, "readable", lambda verb: READABLE)
    monkeypatch.setattr(mcp, "unwritten", lambda verb: {})
    document, failed = mcp.call("check", {"files": [str(tmp_path)]}, [tmp_path])
    error = document["data"]["error"]
    assert failed and error["code"] == "system" and os.strerror(number).lower() in error["says"]
    assert error["where"]["file"].endswith("x") and "fault" not in json.dumps(document)


def test_a_name_too_long_for_the_system_is_the_callers_mistake(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in verbs.names():
        if name not in mcp.READING:
            continue
        for value in (
            "x" * 5000,
            "a\x00b",
            "\udcff",
            "/dev/full",
            "/proc/self/mem",
            "~nobody-here/x",
            str(tmp_path / "loop"),
        ):
            key = {"check": "files", "diagnose": "paths", "watch": "paths", "evaluate": "targets", "compare": "paths", "status": "work", "next": "work", "plan": "target", "estimate": "cases", "explain": "plan"}.get(name)  # fmt: skip
            if key is None:
                continue
            given = [value] if key in ("files", "paths", "targets") else value
            document, _ = mcp.call(
                name,
                {key: given} | ({"id": "E1"} if name == "explain" else {}),
                [tmp_path, Path("/dev"), Path("/proc")],
            )
            error = document["data"].get("error")
            assert error is None or error["code"] != "fault", (name, value[:20], error)


def test_a_log_that_goes_away_while_logs_are_listed_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    for name in ("a", "b"):
        (tmp_path / f"runs/{name}").mkdir(parents=True)
        (tmp_path / f"runs/{name}/stdout.log").write_text("x\n")
    is_file = Path.is_file

    def gone(self: Path) -> bool:
        there = is_file(self)
        if there and self.parent.name == "a":
            self.unlink()
        return there

    monkeypatch.setattr(Path, "is_file", gone)
    assert len(mcp.logs([tmp_path])) == 2


@pytest.mark.parametrize("place", [".papertrain/lock", ".papertrain/digests.json", "runs/earlier/x/record.json", "evidence.jsonl", "MANIFEST.json"])  # fmt: skip
@pytest.mark.parametrize("odd", ["pipe", "folder", "broken", "deep", "loop"])
def test_whatever_stands_where_the_tool_reads_or_locks_is_one_line_and_no_wait(tmp_path: Path, place: str, odd: str) -> None:  # fmt: skip
    study = tmp_path / "work"
    (study / "runs/a.d.1").mkdir(parents=True)
    (study / "study.toml").write_text(
        '[study]\nseeds = [1]\n[methods.a]\nkind = "command"\ncommand = "x"\n[datasets.d]\n'
    )
    file = study / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    make = {"pipe": lambda: os.mkfifo(file), "folder": file.mkdir, "loop": lambda: file.symlink_to(file.name), "broken": lambda: file.write_bytes(b'{"a": "\xe9\xff'), "deep": lambda: file.write_text("[" * 200_000)}  # fmt: skip
    make[odd]()
    for words in (["status", study], ["status", study, "--confirm", "derive"], ["package", study, "-o", study.parent / "b", "--anonymous"], ["evaluate", study]):  # fmt: skip
        done = command(*words, cwd=tmp_path)
        assert done.code in (0, 1, 2, 3) and "Traceback" not in done.err, (words, done.err)
        assert done.code < 2 or len(done.err.strip().splitlines()) == 1, (words, done.err)
