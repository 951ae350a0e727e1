"""Every promise of SECURITY.md has a test, and every test that is named exists."""

from __future__ import annotations

import ast
import io
import re
import tomllib
import zipfile
from pathlib import Path

import pytest
import scene

from papertrain import verbs
from papertrain.core.errors import PapertrainError

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
PROMISED = re.findall(r"^\| (P\d+) \|", (ROOT / "SECURITY.md").read_text(), re.MULTILINE)
NAMED: dict[str, list[str]] = tomllib.loads((Path(__file__).parent / "promises.toml").read_text())


def functions(file: Path) -> set[str]:
    return {n.name for n in ast.walk(ast.parse(file.read_text())) if isinstance(n, ast.FunctionDef)}


def test_every_promise_has_a_test_that_exists() -> None:
    without = []
    for promise in PROMISED:
        tests = NAMED.get(promise, [])
        there = [
            t
            for t in tests
            if (TESTS / t.split("::")[0]).is_file() and t.split("::")[1] in functions(TESTS / t.split("::")[0])
        ]
        if not tests or len(there) != len(tests):
            without.append(f"{promise}: {sorted(set(tests) - set(there)) or 'no test'}")
    print(f"\npromises: {len(PROMISED)} in SECURITY.md, {len(without)} without a test")
    assert len(PROMISED) >= 20 and not without, "\n".join(without)
    assert set(NAMED) == set(PROMISED), "a promise that is tested is written down"


def test_a_promise_without_a_test_would_be_found() -> None:
    assert "P99" not in NAMED and "test_no_such" not in functions(Path(__file__))


def test_nothing_in_the_package_unpickles_or_evaluates() -> None:
    """By name, over the whole source: pickle, torch.load, yaml.load of another library, eval, os.system, a shell.

    `exec` stands in one place: the figure scripts that papertrain itself has just written are run as they will be run.
    """
    found = []
    for file in (ROOT / "src").rglob("*.py"):
        if "script_files" in file.parts:
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
                found += [
                    f"{file.name}: {n}"
                    for n in names
                    if n.split(".")[0] in ("pickle", "marshal", "shelve", "dill", "torch", "yaml")
                ]
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                if name in ("eval", "os.system", "os.popen", "subprocess.getoutput") or (
                    name == "exec" and file.name != "_figure.py"
                ):
                    found.append(f"{file.name}: {name}")
                if any(k.arg == "shell" and getattr(k.value, "value", None) is True for k in node.keywords):
                    found.append(f"{file.name}: shell=True")
    assert not found, found


def test_no_generated_file_trusts_remote_code(tmp_path: Path) -> None:
    work = scene.build(tmp_path)
    for target in ("llamafactory", "script", "trl", "accelerate", "deepspeed"):
        try:
            verbs.load("generate")(work, target=[target])
        except PapertrainError:
            continue
    written = [p for p in (work / "configs").rglob("*") if p.is_file()] + [work / "commands.sh", work / "commands.md"]
    assert len(written) > 4
    for file in written:
        text = file.read_text(errors="replace")
        assert not re.search(r"trust_remote_code[\"']?\s*[:=]\s*[\"']?true", text, re.IGNORECASE), file


def archive(*members: tuple[str, bytes, int]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data, mode in members:
            info = zipfile.ZipInfo(name)
            info.external_attr, info.compress_type = mode << 16, zipfile.ZIP_DEFLATED
            z.writestr(info, data)
    return out.getvalue()


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    "members",
    [
        [("../x", b"", 0o100644)], [("/x", b"", 0o100644)], [("..\\x", b"", 0o100644)], [("x", b"/etc/passwd", 0o120777)], [("x", b"", 0o020666)], [("x", b"", 0o010666)],
        [("x", b"\x00" * 150_000_000, 0o100644)], [("x", b"a", 0o100644), ("x", b"b", 0o100644)],
    ],
    ids=["up", "absolute", "backslash", "link", "device", "pipe", "bomb", "twins"],
)  # fmt: skip
def test_an_unsafe_archive_is_refused(tmp_path: Path, members: list[tuple[str, bytes, int]]) -> None:
    (tmp_path / "b.zip").write_bytes(archive(("MANIFEST.json", b'{"files": {}}', 0o100644), *members))
    with pytest.raises(PapertrainError) as refused:
        verbs.load("package")(verify=tmp_path / "b.zip")
    assert refused.value.code == "unsafe-archive" and [p.name for p in tmp_path.iterdir()] == ["b.zip"]
