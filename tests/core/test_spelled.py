"""Names that are no UTF-8, in text, in JSON, in a shell, and back."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from papertrain.core.commands import line, quoted
from papertrain.core.redact import document, redact
from papertrain.core.spelled import encoded, meant, spelled

NAMES = [b"ca\xff", b"\xe9t\xe9.log", b"a b\xff", b"it's\xff\\n", b"\xff\nx", b"-\xff", "名".encode("gb18030")]


def test_it_is_written_as_other_programs_show_it() -> None:
    assert spelled(os.fsdecode(b"ca\xfff.log")) == r"ca\xfff.log"
    assert spelled("\ud800") == r"\ud800"
    assert spelled("naïve 名") == "naïve 名"


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_shell_reads_the_very_name_back(name: bytes) -> None:
    shown = line("printf", "%s", quoted_path := Path(os.fsdecode(name)))
    shown.encode()
    done = subprocess.run(["bash", "-c", shown], capture_output=True, check=True)
    assert done.stdout == (b"./" if name.startswith(b"-") else b"") + name, quoted(quoted_path)


def test_names_without_such_bytes_are_quoted_as_ever() -> None:
    assert (quoted("a b"), quoted("x"), quoted(Path("-x"))) == ("'a b'", "x", "./-x")


@pytest.mark.parametrize("name", [n for n in NAMES if b"\n" not in n], ids=ascii)
def test_the_file_is_found_by_what_was_written(tmp_path: Path, name: bytes) -> None:
    file = tmp_path / "runs" / os.fsdecode(name) / "x.csv"
    file.parent.mkdir(parents=True)
    file.write_text("x")
    assert meant(tmp_path, spelled(file.relative_to(tmp_path).as_posix())) == file


def test_a_file_that_is_really_called_so_is_meant_first(tmp_path: Path) -> None:
    (tmp_path / r"ca\xff").write_text("plain")
    (tmp_path / os.fsdecode(b"ca\xff")).write_text("odd")
    assert meant(tmp_path, r"ca\xff").read_text() == "plain"
    assert meant(tmp_path, r"no\xff") == tmp_path / r"no\xff"


def test_documents_and_texts_can_always_be_sent() -> None:
    odd = os.fsdecode(b"ca\xff")
    content = {odd: [odd, (odd, 1, None)], "plain": "ü"}
    assert json.loads(encoded(content)) == {r"ca\xff": [r"ca\xff", [r"ca\xff", 1, None]], "plain": "ü"}
    assert document(content) == encoded(content)
    assert redact(f"see {odd}\nand go on") == "see ca\\xff\nand go on"
