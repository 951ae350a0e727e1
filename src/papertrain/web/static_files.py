"""The page's own files, by name. Nothing else is ever served from the package."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from papertrain.report.html import style

TYPES = {".js": "text/javascript", ".css": "text/css", ".txt": "text/plain; charset=utf-8"}
FOLDER = Path(__file__).with_name("static")
UPLOT = "uplot-1.6.32.iife.min.js"
UPLOT_STYLE = "uplot-1.6.32.min.css"


@cache
def asset(name: str) -> tuple[bytes, str] | None:
    """Content and type of a file of the page, or None. `name` is compared with the list, never joined to a path."""
    if name == "page.css":
        return style().encode(), "text/css"
    known = {p.name: p for p in FOLDER.iterdir() if p.suffix in TYPES}
    return (known[name].read_bytes(), TYPES[known[name].suffix]) if name in known else None
