"""The table as a self-contained HTML page fragment: for a page, a mail, a wiki."""

from __future__ import annotations

from html import escape

from papertrain.report.latex import note_mark
from papertrain.report.table import ARROW, Sheet, Shown

SIGNS = {"dagger": "<sup>†</sup>", "circle": "<sup>°</sup>", "": ""}
STYLE = (
    "table.papertrain{border-collapse:collapse;border-top:2px solid;border-bottom:2px solid;font-variant-numeric:tabular-nums}"
    "table.papertrain thead tr:last-child th{border-bottom:1px solid}table.papertrain td,table.papertrain th{padding:.2em .7em;text-align:right}"
    "table.papertrain td:first-child,table.papertrain th:first-child{text-align:left}table.papertrain caption{text-align:left;max-width:60em}"
)


def _cell(c: Shown) -> str:
    text = "–" if c.text == "--" else escape(c.text)
    if c.mark:
        text = f"<b>{text}</b>" if c.mark == "best" else f"<u>{text}</u>"
    text += f" ± {escape(c.plus_minus)}" if c.plus_minus else ""
    text += f" {escape(c.interval)}" if c.interval else ""
    note = f"<sup>{note_mark(c.note)}</sup>" if c.note is not None else ""
    return f'<td title="{escape(c.comment, quote=True)}">{text}{SIGNS[c.sign]}{note}</td>'


def page(s: Sheet, title: str) -> str:
    """Names are escaped; the evidence id of a cell shows when the mouse rests on it."""
    heads = "".join(
        f"<th>{escape(m)}{' ' + ARROW[w] if w is not None else ''}</th>" for m, w in zip(s.metrics, s.directions)
    )
    groups = f"<tr><th></th>{''.join(f'<th>{escape(d)}</th>' for d in s.datasets)}</tr>" if any(s.datasets) else ""
    rows = "\n".join(
        f"<tr><td>{escape(name)}</td>{''.join(map(_cell, row))}</tr>" for name, row in zip(s.rows, s.cells)
    )
    notes = "".join(f"<p><sup>{note_mark(i)}</sup> {escape(n)}</p>" for i, n in enumerate(s.notes))
    caption = escape(" ".join((title, *s.legend)))
    return (
        f'<!doctype html>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n<style>{STYLE}</style>\n<table class="papertrain">\n<caption>{caption}</caption>\n'
        f"<thead>{groups}<tr><th>Method</th>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>\n{notes}\n"
    )
