"""The help of a verb has each heading once, fits a terminal, and is there in Chinese to the last paragraph."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from papertrain import cli, verbs
from papertrain.cli import parser_of
from papertrain.core.help import described, helped, paragraphs
from papertrain.core.params import parameters
from papertrain.core.texts import CATALOGUES, language
from papertrain.core.wide import width

ZH = tomllib.loads((CATALOGUES / "help" / "zh.toml").read_text("utf-8"))["help"]
NAMES = re.compile(
    r"--[a-z][a-z-]+|`[^`]+`|[A-Z]{2,}[0-9]+|[a-z_<>]+/[a-z_<>/.]+|[a-z_]+\.(?:toml|jsonl?|yaml|md|log|html)"
)
SAME = ("`# papertrain: ignore[TR305] reason`", "right/wrong")
"""What is translated in it, though it looks like a name."""


@pytest.fixture
def zh() -> Iterator[None]:
    token = language.set("zh")
    yield
    language.reset(token)


def texts() -> set[str]:
    """Every sentence and paragraph that a help may show."""
    found: set[str] = set()
    for name in verbs.names():
        verb = verbs.load(name)
        for text, examples in paragraphs(verb.__doc__):
            found |= {text, *(comment for _, comment in examples)}
        found |= {p.arg.help for p in parameters(verb)}
    for node in ast.walk(ast.parse(Path(cli.__file__).read_text("utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("helped", "filled") and isinstance(node.args[0], ast.Constant):  # fmt: skip
            found.add(str(node.args[0].value))
    return found - {""}


@pytest.mark.parametrize("verb", verbs.names())
def test_no_heading_stands_twice(verb: str) -> None:
    heads = re.findall(r"^([a-z][a-z ]+):$", parser_of(verb).format_help(), re.M)
    assert len(heads) == len(set(heads)) and "options of every verb" in heads, heads


def test_every_help_text_is_there_in_chinese_and_none_is_left_over() -> None:
    assert not sorted(texts() - ZH.keys()), "add its Chinese to core/catalogues/help/zh.toml"
    assert not sorted(ZH.keys() - texts()), "no help says this any more"


@pytest.mark.parametrize("english", sorted(ZH))
def test_names_options_and_codes_are_kept_in_chinese(english: str) -> None:
    told = ZH[english]
    assert re.search("[\u4e00-\u9fff]", told) or "," in english, told
    missing = [n for n in NAMES.findall(english) if n.rstrip(".") not in told and n not in SAME]
    assert not missing, told


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("verb", verbs.names())
def test_a_help_fits_eighty_columns_but_for_commands_to_copy(
    verb: str, lang: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    token = language.set(lang)
    try:
        text = parser_of(verb).format_help()
    finally:
        language.reset(token)
    assert not [
        x
        for x in text.splitlines()
        if width(x) > 80 and not x.startswith(("  papertrain ", "  --", "  ssh")) and " " in x.strip()
    ]


def test_a_help_in_chinese_says_the_same_commands_as_in_english(zh: None) -> None:
    for name in verbs.names():
        doc = verbs.load(name).__doc__
        for _, examples in paragraphs(doc):
            assert all(command in described(doc, 100) for command, _ in examples), name


def test_a_paragraph_that_nobody_translated_is_told_in_english(zh: None) -> None:
    assert helped("what was written a minute ago") == "what was written a minute ago"
    assert described("Do it.\n\nNew words\nof today.\n\npapertrain plan work    a new comment", 100).splitlines() == [
        "Do it.", "", "New words of today.", "", "  papertrain plan work   a new comment",
    ]  # fmt: skip


def _run(*words: str, **env: str) -> str:
    exe = str(Path(sys.executable).with_name("papertrain"))
    kept = {k: v for k, v in os.environ.items() if k not in ("PAPERTRAIN_LANG", "LC_ALL", "LC_MESSAGES", "LANG")}
    return subprocess.run([exe, *words], capture_output=True, text=True, timeout=60, check=False, env=kept | env).stdout


def test_the_language_of_a_help_is_chosen_as_that_of_an_answer() -> None:
    assert "用法" in _run("plan", "--help", "--lang", "zh") == _run("--lang", "zh", "plan", "--help")
    assert "用法" in _run("help", "plan", "--lang=zh") and "用法" in _run("--lang=zh", "--help")
    assert "用法" in _run("--help", LANG="zh_CN.UTF-8") and "usage" in _run("--help", LANG="zh_CN.UTF-8", LC_ALL="C")
    assert "usage" in _run("--help", LANG="zh_CN.UTF-8", PAPERTRAIN_LANG="en")


def test_a_help_in_english_reads_no_catalogue() -> None:
    code = "import sys; from papertrain import cli; from papertrain.core import help; cli.main(['--help']); sys.exit(help._catalogue.cache_info().currsize)"
    kept = {**os.environ, "PAPERTRAIN_LANG": "en"}
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, env=kept, check=False).returncode == 0
