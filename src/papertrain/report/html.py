"""A Report, or a whole workspace, as one HTML page that needs no network and no script."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from typing import Any

from papertrain.core.report import Report
from papertrain.core.training import TrainingPlan
from papertrain.core.units import show_bytes, show_number, show_seconds

STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#5c6670;--paper:#fff;--panel:#f5f6f8;--line:#d8dde3;--good:#0b7a4b;--warn:#9a6700;--bad:#b3261e;--accent:#0072b2}
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ec;--soft:#a2acb6;--paper:#14171a;--panel:#1d2125;--line:#343a41;--good:#4cc38a;--warn:#e2b343;--bad:#ff8a80;--accent:#56b4e9}}
*{box-sizing:border-box}body{margin:0 auto;max-width:72rem;padding:1.5rem;font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
h1{font-size:1.6rem;margin:.2rem 0 1rem}h2{font-size:1.2rem;margin:2rem 0 .6rem;border-bottom:1px solid var(--line);padding-bottom:.2rem}h3{font-size:1rem;margin:1.2rem 0 .4rem}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.92rem}th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid var(--line);vertical-align:top}th{color:var(--soft);font-weight:600}td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
pre{background:var(--panel);padding:.8rem;overflow-x:auto;font-size:.85rem;border-radius:6px}code{font-size:.9em}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.4rem 1rem;background:var(--panel);padding:1rem;border-radius:8px;margin:0 0 1rem}dt{font-weight:600}dd{margin:0;white-space:pre-wrap}
.normal,.done,.yes{color:var(--good)}.warning,.tight,.stale,.unconfirmed{color:var(--warn)}.critical,.error,.no,.failed{color:var(--bad)}.missing,.unknown{color:var(--soft)}
figure{margin:0 0 1rem}figcaption{color:var(--soft);font-size:.88rem}img,svg{max-width:100%;height:auto}
.bar{display:flex;height:1.4rem;border:1px solid var(--line);border-radius:4px;overflow:hidden;background:var(--panel)}.bar span{display:block}
.key{display:flex;flex-wrap:wrap;gap:.2rem 1rem;font-size:.85rem;padding:0;list-style:none}.key i{display:inline-block;width:.8em;height:.8em;margin-right:.3em;border-radius:2px}
nav a{margin-right:1rem}@media print{body{max-width:none}h2{break-after:avoid}figure,table{break-inside:avoid}}
"""
COLOURS = ("#0072b2", "#56b4e9", "#009e73", "#e69f00", "#d55e00", "#cc79a7", "#999999")


def page(title: str, sections: Sequence[tuple[str, str]], *, lead: str = "") -> str:
    """One self-contained document; sections are (heading, HTML)."""
    links = "".join(f'<a href="#s{i}">{escape(head)}</a>' for i, (head, _) in enumerate(sections))
    parts = "".join(
        f'<section id="s{i}"><h2>{escape(head)}</h2>{body}</section>' for i, (head, body) in enumerate(sections)
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><header><h1>{escape(title)}</h1>{lead}"
        f'<nav aria-label="sections">{links}</nav></header><main>{parts}</main></body></html>\n'
    )


def three_parts(report: Report) -> str:
    """Result, explanation, action as a definition list, the body below it as written."""
    rows = [
        ("📊 Result", report.result),
        ("💡 Explanation", report.explanation),
        ("🎯 Action", report.action or "none"),
    ]
    body = "\n".join(filter(None, (report.head, report.body, report.details)))
    warned = "".join(f'<p class="warning">{escape(w)}</p>' for w in report.warnings)
    listed = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in rows)
    return f"<dl>{listed}</dl>{warned}" + (f"<pre>{escape(body)}</pre>" if body else "")


def table(head: Sequence[str], rows: Sequence[Sequence[Any]], *, numeric: Sequence[int] = ()) -> str:
    """A table; a cell (text, class) is coloured by its class."""
    top = "".join(f'<th scope="col">{escape(h)}</th>' for h in head)

    def cell(i: int, value: Any) -> str:
        text, name = value if isinstance(value, tuple) else (value, "")
        name = " ".join(filter(None, (name, "n" if i in numeric else "")))
        return f"<td{f' class={chr(34)}{escape(name)}{chr(34)}' if name else ''}>{escape(str(text))}</td>"

    lines = "".join("<tr>" + "".join(cell(i, v) for i, v in enumerate(row)) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table></div>'


def plan_section(plan: TrainingPlan) -> str:
    """Every decision with its reason and doubt, and the memory bar against the card."""
    rows = [
        (
            d.name,
            show_number(d.value),
            d.why + ("" if not d.contested_by else "  Contested: " + "; ".join(c.says for c in d.contested_by)),
            f"{d.source.kind}: {d.source.ref}",
        )
        for d in plan.decisions()
    ]
    head = f"<p>{escape(plan.model.name)}, {escape(plan.task)}, on {plan.compute.gpus} × {escape(plan.compute.gpu.label)}: fits <strong class={chr(34)}{escape(plan.fits)}{chr(34)}>{escape(plan.fits)}</strong>.</p>"
    return head + memory_bar(plan) + table(("parameter", "value", "why", "source"), rows, numeric=(1,))


def memory_bar(plan: TrainingPlan) -> str:
    """Predicted memory of one card by component, with the range; nothing where it is unknown."""
    memory = plan.memory
    if memory is None or memory.device_bytes.value is None:
        return '<p class="unknown">memory: unknown</p>'
    whole = max(memory.capacity_bytes or 0, memory.device_bytes.value)
    parts = [(name, size) for name, size in memory.components.items() if size and size > 0]
    spans = "".join(
        f'<span style="width:{100 * size / whole:.2f}%;background:{COLOURS[i % len(COLOURS)]}" title="{escape(name)} {show_bytes(size)}"></span>'
        for i, (name, size) in enumerate(parts)
    )
    key = "".join(
        f'<li><i style="background:{COLOURS[i % len(COLOURS)]}"></i>{escape(name)} {show_bytes(size)}</li>'
        for i, (name, size) in enumerate(parts)
    )
    said = f"estimate {show_bytes(memory.device_bytes.value)} ({show_bytes(memory.device_bytes.low)} to {show_bytes(memory.device_bytes.high)}) of {show_bytes(memory.capacity_bytes)} a card"
    time = "" if plan.duration is None else f"; {show_seconds(plan.duration.total_seconds.value)} in all, estimated"
    return f'<figure><div class="bar" role="img" aria-label="{escape(said)}">{spans}</div><figcaption>{escape(said + time)}</figcaption><ul class="key">{key}</ul></figure>'


def curve(name: str, series: Sequence[tuple[str, Sequence[float], Sequence[float]]], *, unit: str = "step") -> str:
    """Lines over steps as inline SVG: (label, x, y) each; non-finite points break the line and are marked."""
    finite = [(x, y) for _, xs, ys in series for x, y in zip(xs, ys) if y == y and abs(y) != float("inf")]
    if len(finite) < 2:
        return f'<p class="unknown">{escape(name)}: fewer than two points</p>'
    (x0, x1), (y0, y1) = ((min(c), max(c)) for c in zip(*finite))
    y1 = y1 if y1 > y0 else y0 + 1
    x1 = x1 if x1 > x0 else x0 + 1
    w, h, left, bottom = 720, 240, 60, 34

    def at(x: float, y: float) -> str:
        return (
            f"{left + (x - x0) / (x1 - x0) * (w - left - 10):.1f},{10 + (y1 - y) / (y1 - y0) * (h - bottom - 10):.1f}"
        )

    lines, key = "", ""
    for i, (label, xs, ys) in enumerate(series):
        colour = COLOURS[i % len(COLOURS)]
        points = " ".join(at(x, y) for x, y in zip(xs, ys) if y == y and abs(y) != float("inf"))
        lines += f'<polyline fill="none" stroke="{colour}" stroke-width="1.6" points="{points}"/>'
        key += f'<li><i style="background:{colour}"></i>{escape(label)}</li>'
    axis = "".join(
        f'<text x="{left - 6}" y="{10 + (y1 - y) / (y1 - y0) * (h - bottom - 10) + 4:.1f}" text-anchor="end" font-size="12" fill="currentColor">{y:.3g}</text>'
        for y in (y0, (y0 + y1) / 2, y1)
    )
    axis += f'<text x="{left}" y="{h - 8}" font-size="12" fill="currentColor">{x0:g}</text><text x="{w - 10}" y="{h - 8}" text-anchor="end" font-size="12" fill="currentColor">{x1:g} {escape(unit)}</text>'
    frame = f'<path d="M{left} 10V{h - bottom}H{w - 10}" fill="none" stroke="currentColor" opacity=".4"/>'
    return f'<figure><svg viewBox="0 0 {w} {h}" role="img" aria-label="{escape(name)}">{frame}{axis}{lines}</svg><figcaption>{escape(name)}</figcaption><ul class="key">{key}</ul></figure>'


def picture(png: bytes, caption: str) -> str:
    """An embedded PNG."""
    return f'<figure><img alt="{escape(caption)}" src="data:image/png;base64,{base64.b64encode(png).decode()}"><figcaption>{escape(caption)}</figcaption></figure>'
