"""The Chinese catalogue: every sentence of the verbs is there, keeps its values, and no sentence is left over."""

from __future__ import annotations

import ast
import os
import string
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from papertrain.core.texts import CATALOGUES, language, say

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src" / "papertrain"
ZH = tomllib.loads((CATALOGUES / "zh.toml").read_text("utf-8"))["messages"]
SHARE = 0.95
"""How much of the rest (rooms, page) must be there: its sentences change more often than the verbs'."""


def literals(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from literals(node.body)
        yield from literals(node.orelse)


@cache
def sentences() -> dict[str, set[str]]:
    """Sentence → the files that say it."""
    found: dict[str, set[str]] = {}
    for path in SRC.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "say" and node.args:
                for text in literals(node.args[0]):
                    found.setdefault(text, set()).add(path.relative_to(SRC).as_posix())
    return found


def fields(text: str) -> list[tuple[str, str | None, str | None]]:
    return sorted((name, spec or "", how or "") for _, name, spec, how in string.Formatter().parse(text) if name is not None)  # fmt: skip


def test_every_sentence_of_the_verbs_is_there_in_chinese() -> None:
    assert not sorted(
        s for s, where in sentences().items() if any(w.startswith("verbs/") for w in where) and s not in ZH
    )


def test_nearly_every_other_sentence_is_there_too() -> None:
    known = sentences()
    missing = sorted(s for s in known if s not in ZH)
    share = 1 - len(missing) / len(known)
    print(f"{share:.1%} of {len(known)} sentences have Chinese; missing: {missing}")
    assert share >= SHARE, missing


@pytest.mark.parametrize("sentence", sorted(ZH))
def test_a_sentence_keeps_its_values(sentence: str) -> None:
    assert fields(sentence) == fields(ZH[sentence])


def test_no_sentence_is_only_copied() -> None:
    assert not [k for k, v in ZH.items() if k == v and any(c.isalpha() for c in "".join(t for t, *_ in string.Formatter().parse(k)))]  # fmt: skip


def test_the_language_is_chosen_by_the_option_else_by_the_environment() -> None:
    exe = str(Path(sys.executable).with_name("papertrain"))

    def ask(*words: str, **env: str) -> str:
        done = subprocess.run([exe, "next", *words], capture_output=True, text=True, timeout=60, check=True, env={**os.environ, **env}, cwd=ROOT / "docs")  # fmt: skip
        return done.stdout

    assert "行动" in ask("--lang", "zh") and "行动" in ask(PAPERTRAIN_LANG="zh_CN.UTF-8")
    assert "Action" in ask(PAPERTRAIN_LANG="fr") and "Action" in ask("--lang", "en", PAPERTRAIN_LANG="zh")


def test_english_stays_what_the_code_says() -> None:
    assert say("{n} steps", n=3) == "3 steps"
    token = language.set("zh")
    try:
        assert say("{n} steps", n=3) == "3 步" and say("a sentence nobody translated") == "a sentence nobody translated"
    finally:
        language.reset(token)


@pytest.mark.parametrize("english", ["README.md", "docs/tutorial.md"])
def test_readme_and_tutorial_are_there_in_both_languages_with_the_same_commands(english: str) -> None:
    chinese = ROOT / english.replace(".md", ".zh.md")

    def commands(text: str) -> list[str]:
        return [line for line in text.splitlines() if line.startswith(("$ papertrain", "make ", "papertrain "))]

    def words(lines: list[str]) -> list[str]:
        return [line.split("  ")[0].strip() for line in lines]

    there = words(commands((ROOT / english).read_text("utf-8")))
    assert there and words(commands(chinese.read_text("utf-8"))) == there
