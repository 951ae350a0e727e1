"""HTML for people: one self-contained document. No script, no network, light and dark, printable, narrow to wide.

The look is `page.css` beside this file; the live page serves the same one.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from papertrain.core.report import Report
from papertrain.core.sentences import translated
from papertrain.core.spelled import spelled
from papertrain.core.texts import language, say

Section = tuple[str, str]
"""A heading, and the HTML below it."""


@cache
def style() -> str:
    """The style sheet of reports and pages."""
    return Path(__file__).with_name("page.css").read_text("utf-8")


def page(title: str, sections: Sequence[Section], *, lead: str = "") -> str:
    """One document with a contents line; `lead` is HTML that stands under the title."""
    links = "".join(f'<a href="#s{i}">{escape(head)}</a>' for i, (head, _) in enumerate(sections))
    parts = "".join(
        f'<section id="s{i}" aria-labelledby="h{i}"><h2 id="h{i}">{escape(head)}</h2>{body}</section>'
        for i, (head, body) in enumerate(sections)
    )
    return (
        f'<!doctype html><html lang="{lang()}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><link rel=icon href=data:,><style>{style()}</style></head><body><header><h1>{escape(title)}</h1>{lead}"
        f'<nav class="sections" aria-label="{escape(say("sections"))}">{links}</nav></header><main>{parts}</main></body></html>\n'
    )


def lang() -> str:
    """The document's language, as HTML names it."""
    return {"zh": "zh-Hans"}.get(language.get(), "en")


def three_parts(report: Report) -> str:
    """Result, explanation, action as a definition list, the body below it as written."""
    from papertrain.report.show import LABELS

    aside = f"       # {report.aside}" if report.aside else ""
    said = (report.result, report.explanation, (report.action or say("none")) + aside)
    listed = "".join(
        f"<dt>{sign} {word}</dt><dd>{escape(text)}</dd>"
        for (sign, word), text in zip(LABELS[language.get()], said, strict=True)
    )
    body = "\n".join(filter(None, (report.head, report.body, report.details)))
    warned = "".join(f'<p class="warning">{escape(w)}</p>' for w in report.warnings)
    return f'<dl class="parts">{listed}</dl>{warned}' + (f'<pre tabindex="0">{escape(body)}</pre>' if body else "")


def table(head: Sequence[str], rows: Sequence[Sequence[Any]], *, numeric: Sequence[int] = (), cls: str = "") -> str:
    """A table; a cell (text, class) is coloured by its class, a cell of bytes is HTML already."""
    top = "".join(f'<th scope="col"{" class=n" if i in numeric else ""}>{escape(h)}</th>' for i, h in enumerate(head))

    def cell(i: int, value: Any) -> str:
        text, name = value if isinstance(value, tuple) else (value, "")
        name = " ".join(filter(None, (name, "n" if i in numeric else "")))
        inner = text.decode() if isinstance(text, bytes) else escape(str(text))
        return f"<td{f' class={chr(34)}{escape(name)}{chr(34)}' if name else ''}>{inner}</td>"

    lines = "".join("<tr>" + "".join(cell(i, v) for i, v in enumerate(row)) + "</tr>" for row in rows)
    return scroll(f"<table{f' class={cls}' if cls else ''}><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>")


def raw(html: str) -> bytes:
    """A cell that is HTML already."""
    return spelled(html).encode()


def scroll(inner: str) -> str:
    """What may be wider than a phone: it scrolls in itself, by keyboard too."""
    return f'<div class="scroll" tabindex="0" role="group" aria-label="{escape(say("table"))}">{inner}</div>'


def tag(text: str, cls: str) -> str:
    """A word with the colour of its level; the word itself says it too."""
    return f'<span class="tag {escape(cls)}">{escape(translated(text))}</span>'


def picture(image: bytes | str, caption: str) -> str:
    """A figure: a PNG that is embedded, or the address of one."""
    source = image if isinstance(image, str) else f"data:image/png;base64,{base64.b64encode(image).decode()}"
    return f'<figure class="picture"><img alt="{escape(caption)}" src="{escape(source)}"><figcaption>{escape(caption)}</figcaption></figure>'


def swatch(i: int) -> str:
    """The colour of the i-th component, without an inline style."""
    return f'<svg viewBox="0 0 1 1" aria-hidden="true"><rect width="1" height="1" class="f{i % 8}"/></svg>'
