"""A number lives once: the figures that README quotes are those of the benchmarks page, with its date."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NUMBER = re.compile(r"\d[\d,]*\.?\d*")


@pytest.mark.parametrize("page, head", [("README.md", "## Honest figures"), ("README.zh.md", "## 如实的数字")])
def test_each_figure_of_readme_is_on_the_page_that_says_how_it_was_made(page: str, head: str) -> None:
    section = (ROOT / page).read_text("utf-8").partition(head)[2].partition("\n## ")[0]
    made = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    known = {n.rstrip(".,") for n in NUMBER.findall(made)}
    quoted = {n.rstrip(".,") for n in NUMBER.findall(section)}
    assert len(quoted) > 15 and not quoted - known, f"{sorted(quoted - known)} is not in docs/benchmarks.md"
    assert re.search(r"\d{4}-\d{2}-\d{2}", section)


def test_both_languages_quote_the_same_figures() -> None:
    def table(page: str, head: str) -> list[list[str]]:
        section = (ROOT / page).read_text("utf-8").partition(head)[2].partition("\n## ")[0]
        return [sorted(NUMBER.findall(line)) for line in section.splitlines() if line.startswith("| ")]

    assert table("README.md", "## Honest figures") == table("README.zh.md", "## 如实的数字")
