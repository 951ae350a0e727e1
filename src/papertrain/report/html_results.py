"""The results table with its marks: every cell leads to its evidence, every gap says why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from itertools import groupby
from typing import Any

from papertrain.core.results import Column, Evidence, Test
from papertrain.core.sentences import translated
from papertrain.core.texts import say
from papertrain.core.units import show_number
from papertrain.report.html import raw, scroll, table
from papertrain.report.latex import note_mark
from papertrain.report.table import ARROW, Sheet, Shown, number

SIGNS = {"dagger": "<sup>†</sup>", "circle": "<sup>°</sup>", "": ""}


def results_table(s: Sheet, title: str, link: Callable[[str], str] = lambda id: f"#{id}") -> str:
    """link: evidence id → address. Names are escaped."""
    groups = [(d, len(list(g))) for d, g in groupby(s.datasets)]
    top = "".join(f'<th scope="colgroup" colspan="{n}">{escape(d)}</th>' for d, n in groups)
    over = f"<tr><td></td>{top}</tr>" if any(s.datasets) else ""
    heads = "".join(f'<th scope="col" class="n">{escape(m)}{" " + ARROW[w] if w is not None else ""}</th>' for m, w in zip(s.metrics, s.directions))  # fmt: skip
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th>{"".join(_cell(c, link) for c in row)}</tr>'
        for name, row in zip(s.rows, s.cells)
    )
    notes = "".join(
        f'<p class="small"><sup>{note_mark(i)}</sup> {escape(translated(n))}</p>' for i, n in enumerate(s.notes)
    )
    return (
        scroll(
            f'<table class="results"><caption>{escape(title)}</caption><thead>{over}<tr><th scope="col">{escape(say("method"))}</th>{heads}</tr></thead><tbody>{rows}</tbody></table>'
        )
        + notes
        + f'<p class="small soft">{escape(" ".join(map(translated, s.legend)))}</p>'
    )


def _cell(c: Shown, link: Callable[[str], str]) -> str:
    text = "–" if c.text == "--" else escape(c.text)
    if c.mark:
        text = f"<b>{text}</b>" if c.mark == "best" else f"<u>{text}</u>"
    text += f" ± {escape(c.plus_minus)}" if c.plus_minus else ""
    text += f" {escape(c.interval)}" if c.interval else ""
    note = f"<sup>{note_mark(c.note)}</sup>" if c.note is not None else ""
    if c.evidence:
        text = f'<a href="{escape(link(c.evidence))}" title="{escape(c.comment, quote=True)}">{text}</a>'
    elif c.text == "--":
        text = f'<span class="missing" title="{escape(c.comment, quote=True)}">{text}</span>'
    return f'<td class="n">{text}{SIGNS[c.sign]}{note}</td>'


def tests_table(tests: Sequence[Test], columns: Sequence[Column], names: Sequence[str]) -> str:
    """Each comparison with its difference, interval, n and adjusted p; a refused one with its reason."""
    rows: list[tuple[Any, ...]] = []
    for t in tests:
        column = names[t.column] if 0 <= t.column < len(columns) else ""
        if t.refused:
            rows.append((column, _pair(t), (say("no test: {why}", why=translated(t.refused)), "missing"), "", "", ""))
            continue
        c = columns[t.column]
        interval = "" if t.ci is None else f"[{number(t.ci.low, c)}, {number(t.ci.high, c)}]"
        difference = "–" if t.difference is None else number(t.difference, c, sign=True)
        p = t.p_adjusted if t.p_adjusted is not None else t.p
        rows.append((column, _pair(t), raw(_test(t)), f"{difference} {interval}", _count(t), (_p(p), "ok" if t.significant else "")))  # fmt: skip
    heads = (
        say("column"),
        say("compared"),
        say("test"),
        say("difference (points or the metric's unit)"),
        "n",
        say("p, adjusted"),
    )
    return table(heads, rows, numeric=(3, 4, 5)) if rows else ""


def _pair(t: Test) -> str:
    """Which two; a test of one training of each says which training."""
    seeds = [str(t.details[k]) for k in ("seed_a", "seed_b") if t.details.get(k) is not None]
    alone = t.details.get("role") == "per-seed" and len(seeds) == 2
    return f"{t.a} – {t.b}" + (say(", seeds {a} and {b}", a=seeds[0], b=seeds[1]) if alone else "")


def _test(t: Test) -> str:
    """The test's name, which opens what it assumes and how it was counted."""
    told = "".join(f"<li>{escape(a)}</li>" for a in t.assumptions)
    if t.signature:
        told += f'<li><span class="mono">{escape(t.signature)}</span></li>'
    name = escape(t.test)
    return f'<details class="test"><summary>{name}</summary><ul class="small">{told}</ul></details>' if told else name


def _count(t: Test) -> str:
    units = t.unit if t.n == 1 else " and ".join(f"{u}s" for u in t.unit.split(" and "))
    return translated(f"{t.n:,} {units}")


def _p(p: float | None) -> str:
    return "–" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def evidence_table(entries: Sequence[Evidence], held: Mapping[str, str], old: set[str]) -> str:
    """One row per measured number, with an anchor that cells lead to."""
    heads = (say("id"), say("claim"), say("value"), say("status"), say("source"), say("now"))
    top = "".join(f'<th scope="col"{" class=n" if i == 2 else ""}>{escape(h)}</th>' for i, h in enumerate(heads))
    rows = "".join(_evidence(e, held, old) for e in entries)
    return scroll(f"<table><thead><tr>{top}</tr></thead><tbody>{rows}</tbody></table>")


def _evidence(e: Evidence, held: Mapping[str, str], old: set[str]) -> str:
    value = "–" if e.value is None else show_number(e.value) if isinstance(e.value, float) else str(e.value)
    now, cls = (say("stale: {why}", why=held[e.id]), "warning") if e.id in held else (say("read anew later"), "soft") if e.id in old else (say("holds"), "ok")  # fmt: skip
    source = f'{escape(e.file)} {escape(e.pointer)}<br><small class="soft mono">sha256 {escape(e.sha256[:12])}</small>'
    return f'<tr id="{escape(e.id)}"><th scope="row">{escape(e.id)}</th><td>{escape(e.claim)}</td><td class="n" title="{escape(str(e.value))}">{escape(value)}</td><td>{escape(e.status)}</td><td>{source}</td><td class="{cls}">{escape(now)}</td></tr>'
