"""The frame of every page: title, the ways through, the language."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from papertrain.core.texts import language, say
from papertrain.report.html import Section, lang

ROOMS = ("plan", "run", "results", "package")


def shell(
    site: Any,
    title: str,
    sections: Sequence[Section],
    *,
    number: int | None = None,
    here: str = "",
    script: str = "",
    lead: str = "",
) -> str:
    """One document. `script` is the file of the page's own script; `here` the room that is shown."""
    from papertrain.web.static_files import UPLOT, UPLOT_STYLE

    ways = [("/", say("Workspaces"), here == "home"), ("/plan", say("New plan"), here == "new")]
    if number is not None:
        names = {"plan": say("Plan"), "run": say("Run"), "results": say("Results"), "package": say("Package")}
        ways += [(f"/w/{number}/{r}", names[r], here == r) for r in ROOMS]
        ways.append((f"/report/{number}", say("Report"), here == "report"))
    ways.append(("/diagnose", say("Diagnose"), here == "diagnose"))
    links = "".join(f'<a href="{a}"{" aria-current=page" if on else ""}>{escape(t)}</a>' for a, t, on in ways)
    other, word = ("en", "English") if language.get() == "zh" else ("zh", "中文")
    parts = "".join(
        f'<section aria-labelledby="h{i}"><h2 id="h{i}">{escape(head)}</h2>{body}</section>' if head else body
        for i, (head, body) in enumerate(sections)
    )
    scripts = f'<script src="/static/{UPLOT}" defer></script>' if script == "run.js" else ""
    own = ["common.js", *(["fix.js"] if script in ("run.js", "diagnose.js") else []), script] if script else []
    scripts += "".join(f'<script src="/static/{name}" defer></script>' for name in own)
    return (
        f'<!doctype html><html lang="{lang()}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<title>{escape(title)}</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/static/page.css"><link rel="stylesheet" href="/static/live.css">'
        f"{f'<link rel=stylesheet href=/static/{UPLOT_STYLE}>' if script == 'run.js' else ''}{scripts}</head><body>"
        f'<a class="skip" href="#main">{escape(say("skip to the content"))}</a>'
        f'<header><nav class="ways" aria-label="{escape(say("pages"))}">{links}<a class="lang" lang="{other}" hreflang="{other}" href="?lang={other}">{word}</a></nav>'
        f'<h1>{escape(title)}</h1>{lead}</header><main id="main">{parts}</main></body></html>\n'
    )
