"""The skill is valid, its references are what the facts say, and its evals hold when their commands are run."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from papertrain import verbs
from papertrain.verbs import _skill

BIN = Path(sys.executable).parent
EVALS = json.loads((_skill.FOLDER / "evals" / "evals.json").read_text("utf-8"))["evals"]
QUICK = {"check-misspelt-key", "diagnose-disk-full", "status-of-nothing"}


def test_skill_md_is_valid_by_the_specification() -> None:
    """Name of the folder, lower case with hyphens, at most 64; description at most 1024; body under 500 lines and 5000 tokens."""
    text = (_skill.FOLDER / "SKILL.md").read_text("utf-8")
    _, head, body = text.split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in head.strip().splitlines())
    assert fields["name"] == _skill.FOLDER.name and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", fields["name"])
    assert len(fields["name"]) <= 64 and 0 < len(fields["description"]) <= 1024 and "Use when" in fields["description"]
    assert set(fields) <= {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
    assert len(fields.get("compatibility", "")) <= 500
    assert len(body.splitlines()) < 500 and len(body) / 4 < 5000


def test_what_skill_md_points_to_is_there_and_what_it_says_can_be_run() -> None:
    text = (_skill.FOLDER / "SKILL.md").read_text("utf-8")
    for link in re.findall(r"\]\(([^)]+)\)", text):
        assert (_skill.FOLDER / link).is_file(), link
    for name in re.findall(r"papertrain ([a-z]+)", text):
        assert name in verbs.names(), name


def test_references_are_what_the_facts_say() -> None:
    """Renewed by `python -m papertrain.verbs._skill`."""
    for name, text in _skill.references().items():
        assert (_skill.FOLDER / "references" / name).read_text("utf-8") == text, (
            f"{name}: python -m papertrain.verbs._skill"
        )


def test_there_are_twenty_evals_about_every_step() -> None:
    assert len(EVALS) >= 20 and len({e["id"] for e in EVALS}) == len(EVALS)
    used = {shlex.split(c)[1] for e in EVALS for c in e["commands"]}
    assert {"plan", "generate", "check", "launch", "watch", "diagnose", "compare", "status", "next", "explain"} <= used


@pytest.mark.parametrize("eval_", [pytest.param(e, id=e["id"], marks=() if e["id"] in QUICK else pytest.mark.slow) for e in EVALS])  # fmt: skip
def test_the_eval_holds(eval_: dict[str, Any], tmp_path: Path) -> None:
    for name, text in eval_["files"].items():
        (tmp_path / name).write_text(text)
    env = {**os.environ, "NO_COLOR": "1", "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    done = None
    for command in eval_["commands"]:
        words = shlex.split(command)
        assert words[0] == "papertrain" and "--json" in words
        done = subprocess.run([str(BIN / "papertrain"), *words[1:]], capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path, env=env, stdin=subprocess.DEVNULL)  # fmt: skip
        assert "Traceback" not in done.stderr
    assert done is not None
    answer = json.loads(done.stdout)
    assert answer["result"] is not None and "explanation" in answer and "action" in answer
    for want in eval_["expect"]:
        expect(want, answer, done, eval_["files"], tmp_path)


def expect(want: dict[str, Any], answer: Any, done: subprocess.CompletedProcess[str], files: dict[str, str], folder: Path) -> None:  # fmt: skip
    if "exit" in want:
        assert done.returncode == want["exit"], answer["result"]
    elif "exit_in" in want:
        assert done.returncode in want["exit_in"], answer["result"]
    elif "unchanged" in want:
        assert (folder / want["unchanged"]).read_text() == files[want["unchanged"]]
    elif "path" not in want:
        assert want["lacks"] not in done.stdout
    else:
        found = at(answer, want["path"].split("."))
        several = found if "*" in want["path"] else [found]
        assert several, f"nothing at {want['path']}"
        if "is" in want:
            assert all(x == want["is"] for x in several), f"{want}: {found!r}"
        elif "has" in want:
            assert any(x == want["has"] or (isinstance(x, str) and str(want["has"]).lower() in x.lower()) for x in several), f"{want}: {found!r}"  # fmt: skip
        elif "lacks" in want:
            assert not any(want["lacks"] in str(x) for x in several)
        elif "above" in want:
            assert all(x > want["above"] for x in several), f"{want}: {found!r}"
        else:
            assert want["filled"] and all(x not in (None, "", [], {}) for x in several), f"{want}: {found!r}"


def at(value: Any, path: list[str]) -> Any:
    """`a.0.b`; `*` is every item of a list; a name picks the item of that name from a list."""
    if not path:
        return value
    first, rest = path[0], path[1:]
    if isinstance(value, list):
        if first == "*":
            return [at(v, rest) for v in value]
        item = value[int(first)] if first.isdigit() else next(v for v in value if v.get("name") == first)
        return at(item, rest)
    return at(value[first], rest)


@pytest.mark.parametrize("tool", ["claude-code", "codex", "cursor", "gemini", "copilot"])
def test_it_is_installed_where_the_tool_looks_and_an_edit_is_kept(tool: str, tmp_path: Path) -> None:
    from papertrain.core.errors import Refused
    from papertrain.verbs.skill import PLACES

    verbs.load("skill")("install", tool=tool, output=tmp_path)
    there = tmp_path / PLACES[tool] / "paper-train"
    for file in ("SKILL.md", "references/recipes.md", "evals/evals.json"):
        assert (there / file).is_file()
    (there / "SKILL.md").write_text("a person's own words")
    with pytest.raises(Refused):
        verbs.load("skill")("install", tool=tool, output=tmp_path)
    assert (there / "SKILL.md").read_text() == "a person's own words"
