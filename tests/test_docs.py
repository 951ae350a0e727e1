"""Docs that run: python and console blocks are executed, the reference is rebuilt and compared."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted(p for p in (ROOT / "docs").rglob("*.md") if "reference" not in p.parts)]
BLOCK = re.compile(r"^```(?P<kind>python|console)(?P<how>[^\n]*)\n(?P<body>.*?)^```", re.MULTILINE | re.DOTALL)
EXE = str(Path(sys.executable).with_name("papertrain"))


def blocks(page: Path, kind: str) -> list[str]:
    """Blocks of a kind; one marked `not-run` states a reason on the page and is left out."""
    return [m["body"] for m in BLOCK.finditer(page.read_text()) if m["kind"] == kind and "not-run" not in m["how"]]


def commands(body: str) -> list[tuple[str, str]]:
    """(command, expected output) of a console block."""
    parts = re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]
    return [(p.partition("\n")[0], p.partition("\n")[2].rstrip("\n")) for p in parts]


def place(tmp_path: Path) -> Path:
    """A copy of the samples that the pages use, so that nothing is written into the checkout."""
    target = tmp_path / "first-minutes"
    shutil.copytree(ROOT / "examples" / "first-minutes", target)
    return target


def matches(expected: str, got: str) -> bool:
    """Whole text; `…` alone on a line stands for any lines, `…` in a line for any characters."""
    pattern = "\n".join(
        r"(?:.*\n)*?.*" if line.strip() == "…" else re.escape(line.rstrip()).replace("…", ".*?")
        for line in expected.splitlines()
    )
    return re.fullmatch(pattern, "\n".join(line.rstrip() for line in got.rstrip("\n").splitlines())) is not None


@pytest.mark.parametrize(
    "page", [p for p in PAGES if p.exists() and blocks(p, "console")], ids=lambda p: str(p.relative_to(ROOT))
)
def test_console_blocks_print_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    here = place(tmp_path)
    env = {
        **os.environ,
        "NO_COLOR": "1",
        "COLUMNS": "100",
        "PATH": f"{Path(EXE).parent}:{os.environ['PATH']}",
        "HF_HUB_OFFLINE": "1",
    }
    for body in blocks(page, "console"):
        for command, expected in commands(body):
            if not command.startswith("papertrain"):
                continue
            words = shlex.split(command, comments=True)
            done = subprocess.run(
                [EXE, *words[1:]], capture_output=True, text=True, cwd=here, env=env, timeout=120, check=False
            )
            got = done.stdout + done.stderr
            assert matches(expected, got), (
                f"{page.name}: $ {command}\n--- the page says\n{expected}\n--- the program says\n{got}"
            )


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_action_on_a_page_can_be_pasted_into_a_shell(page: Path) -> None:
    for action in re.findall(r"^(?:🎯 Action|🎯 行动) +(.+)$", page.read_text("utf-8"), re.M):
        parsed = subprocess.run(["bash", "-n", "-c", action], capture_output=True, text=True)
        assert parsed.returncode == 0, (action, parsed.stderr)


@pytest.mark.parametrize(
    "page", [p for p in PAGES if p.exists() and blocks(p, "python")], ids=lambda p: str(p.relative_to(ROOT))
)
def test_python_blocks_run_in_order(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place(tmp_path))
    scope: dict[str, object] = {}
    for body in blocks(page, "python"):
        exec(compile(body, str(page), "exec"), scope)


def test_the_reference_is_what_the_code_says() -> None:
    spec = importlib.util.spec_from_file_location("docs_build", ROOT / "docs" / "build.py")
    assert spec and spec.loader
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    for name, text in build.pages().items():
        assert (ROOT / "docs" / "reference" / name).read_text() == text, (
            f"docs/reference/{name} is old: run `make docs`"
        )


def test_every_link_inside_the_repository_leads_somewhere() -> None:
    for page in [*PAGES, *ROOT.glob("*.md")]:
        if page.exists():
            for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text()):
                assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"


def test_no_page_names_this_machine() -> None:
    guilty = [
        str(p.relative_to(ROOT))
        for p in [*PAGES, *ROOT.glob("*.md")]
        if p.exists() and re.search(r"/(?:work|root|home)/", p.read_text()) and "alice" not in p.read_text()
    ]
    assert not guilty
