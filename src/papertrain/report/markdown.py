"""The same table as Markdown, as CSV, and for the terminal."""

from __future__ import annotations

import csv
import io
import textwrap
import unicodedata
from collections.abc import Sequence

from papertrain.core.results import ResultTable, Test
from papertrain.core.sentences import translated
from papertrain.core.texts import say
from papertrain.core.wide import folded
from papertrain.report.escape import csv_cell, markdown
from papertrain.report.latex import note_mark
from papertrain.report.table import ARROW, Sheet, Shown

SIGNS = {"dagger": "†", "circle": "°", "": ""}


def _cell(c: Shown, *, marks: bool = True, sign: bool = True) -> str:
    text = c.text.replace("--", "–") if c.text == "--" else c.text
    if c.plus_minus:
        text += f" ± {c.plus_minus}"
    if c.interval:
        text += f" {c.interval}"
    if marks and c.mark:
        text = f"**{text}**" if c.mark == "best" else f"<u>{text}</u>"
    return text + (SIGNS[c.sign] if sign else "") + (f" ({note_mark(c.note)})" if c.note is not None else "")


def _heads(s: Sheet) -> list[str]:
    several = len(set(s.datasets)) > 1 or (any(s.datasets) and len(s.metrics) > 1)
    return [
        f"{d + ' ' if d and several else ''}{m}{' ' + ARROW[w] if w is not None else ''}"
        for d, m, w in zip(s.datasets, s.metrics, s.directions)
    ]


def table(s: Sheet, title: str) -> str:
    """GitHub Markdown with the legend and the notes below."""
    head = ["Method", *map(markdown, _heads(s))]
    lines = [f"**{markdown(title)}**", "", "| " + " | ".join(head) + " |", "| --- |" + " ---: |" * len(s.metrics)]
    lines += [
        "| " + " | ".join([markdown(name), *(_cell(c) for c in row)]) + " |" for name, row in zip(s.rows, s.cells)
    ]
    lines += ["", *s.legend]
    lines += [f"({note_mark(i)}) {markdown(n)}" for i, n in enumerate(s.notes)]
    return "\n".join(lines) + "\n"


def long_csv(t: ResultTable) -> str:
    """One line per cell, values unrounded, missing ones empty with their reason."""
    out = io.StringIO()
    w = csv.writer(out, lineterminator="\n")
    w.writerow(
        [
            "method",
            "dataset",
            "metric",
            "value",
            "std",
            "n_seeds",
            "ci_low",
            "ci_high",
            "ci_method",
            "rank",
            "unit",
            "status",
            "evidence",
            "reason",
        ]
    )
    for name, row in zip(t.rows, t.cells):
        for c, column in zip(row, t.columns):
            ci = (c.ci.low, c.ci.high, c.ci.method) if c.ci is not None else ("", "", "")
            w.writerow([csv_cell(name), csv_cell(column.dataset), csv_cell(column.metric), _plain(c.value), _plain(c.std), c.n_seeds, *ci, c.rank or "", column.unit, c.status,
                        c.evidence, csv_cell(c.reason or "")])  # fmt: skip
    return out.getvalue()


TESTS_HEADER = ("a", "b", "dataset", "metric", "role", "test", "sampled", "n", "difference", "low", "high", "unit", "p", "p_adjusted", "adjustment", "significant", "signature", "refused")  # fmt: skip


def tests_csv(t: ResultTable, tests: Sequence[Test]) -> str:
    """One line per test, values unrounded; a refused one has its reason and no numbers."""
    out = io.StringIO()
    w = csv.writer(out, lineterminator="\n")
    w.writerow(TESTS_HEADER)
    for x in tests:
        c = t.columns[x.column]
        low, high = (x.ci.low, x.ci.high) if x.ci is not None else (None, None)
        known = "" if x.significant is None else str(x.significant).lower()
        w.writerow([*map(csv_cell, (x.a, x.b, c.dataset, c.metric)), x.details.get("role", "primary"), x.test, x.unit, x.n or "", _plain(x.difference), _plain(low), _plain(high), c.unit,
                    _plain(x.p), _plain(x.p_adjusted), x.adjustment, known, x.signature, csv_cell(x.refused)])  # fmt: skip
    return out.getvalue()


def _plain(x: float | None) -> str:
    return "" if x is None else repr(x)


def width(text: str) -> int:
    """Columns on a terminal: wide characters count two, combining ones none."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _pad(text: str, to: int, *, right: bool = False) -> str:
    gap = " " * max(to - width(text), 0)
    return gap + text if right else text + gap


def _cut(text: str, limit: int) -> str:
    flat = "".join(c if c.isprintable() else " " for c in text)
    while width(flat) > limit:
        flat = flat[:-2] + "…"
    return flat


def aligned(rows: Sequence[Sequence[str]], *, left: int = 1, indent: str = "  ") -> str:
    """Columns aligned; the first `left` of them to the left, the others to the right."""
    widths = [max(width(r[j]) for r in rows if j < len(r)) for j in range(max(map(len, rows), default=0))]
    return "\n".join(
        indent + "  ".join(_pad(c, widths[j], right=j >= left) for j, c in enumerate(r)).rstrip() for r in rows
    )


def terminal(s: Sheet, *, limit: int = 100) -> str:
    """At most `limit` columns wide: methods as rows where they fit, else data sets as rows, and long tables cut with a count."""
    heads, cells = _heads(s), _stars(s)
    rows = [
        ["", *[_cut(h, 28) for h in heads]],
        *[[_cut(n, 32), *row] for n, row in zip(s.rows, cells)],
    ]
    text = aligned(rows)
    if max(map(width, text.splitlines())) <= limit and len(rows) <= 45:
        return "\n".join([text, *_foot(s)])
    names = [_cut(n, 18) for n in s.rows]
    for fits in range(max(1, min(len(names), 6)), 0, -1):
        turned = [
            ["", *names[:fits]],
            *[[_cut(h, 44), *[row[j].rstrip() for row in cells[:fits]]] for j, h in enumerate(heads)],
        ]
        if max(map(width, aligned(turned[:41]).splitlines())) <= limit:
            break
    shown = turned[:41]
    more = []
    if len(turned) > 41:
        more.append(say("  … {n} more rows", n=len(turned) - 41))
    if len(names) > fits:
        more.append(say("  … {n} more methods", n=len(names) - fits))
    return "\n".join([aligned(shown), *more, *_foot(s)])


def _stars(s: Sheet) -> list[list[str]]:
    """Cells with their marks: a rank, then a sign behind a space, so that two never run into each other and the digits
    of a column stay aligned."""
    marks = {"best": "*", "second": "_" if len(s.rows) > 2 else "", "": ""}
    tails = [[" ".join(filter(None, (marks[c.mark], SIGNS[c.sign]))) for c in row] for row in s.cells]
    wide = [max(map(len, column), default=0) for column in zip(*tails)]
    return [
        [_cell(c, marks=False, sign=False) + f"{t:<{n}}" for c, t, n in zip(row, tail, wide)]
        for row, tail in zip(s.cells, tails)
    ]


def wrapped(text: str, limit: int = 96) -> list[str]:
    if width(text) == len(text):
        return textwrap.wrap(text, limit, initial_indent="  ", subsequent_indent="    ")
    first, *more = folded(text, limit - 4)
    return [f"  {first}", *(f"    {line}" for line in more)]


def _foot(s: Sheet) -> list[str]:
    flat = [c for row in s.cells for c in row]
    out = []
    if any(c.mark for c in flat):
        out.append(
            f"  * {say('best')}"
            + (f"  _ {say('second best')}" if len(s.rows) > 2 and any(c.mark == "second" for c in flat) else "")
        )
    signs = next((line for line in s.legend if line.startswith(("†:", "°:"))), "")
    if signs:
        out += wrapped(translated(signs).replace("†:", "†").replace("°:", "°"))
    return out + [f"  ({note_mark(i)}) {_cut(translated(n), 92)}" for i, n in enumerate(s.notes[:8])]
