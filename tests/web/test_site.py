"""The documentation as a site: every page has its place in it."""

from __future__ import annotations

import re
from pathlib import Path

from papertrain.core.yaml import load

ROOT = Path(__file__).resolve().parents[2]


def test_every_page_is_in_the_sites_contents_and_every_entry_is_a_page() -> None:
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert load(text, "mkdocs.yml").value["use_directory_urls"] is False, "the site must work from disk"
    listed = set(re.findall(r": (\S+\.md)$", text, re.MULTILINE))
    docs = ROOT / "docs"
    pages = [p for p in docs.rglob("*.md") if p.parent != docs / "reference" / "rules"]  # those are reached from a list
    there = {p.relative_to(docs).as_posix() for p in pages}
    assert listed == there


def test_no_page_links_out_of_the_site() -> None:
    """The site is read from disk, alone: what lies beside docs/ is not in it."""
    docs = ROOT / "docs"
    for page in docs.rglob("*.md"):
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text("utf-8")):
            assert (page.parent / target).resolve().is_relative_to(docs), f"{page.name} links to {target}"
