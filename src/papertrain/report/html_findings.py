"""Signals with their levels, and diagnoses with evidence, what was ruled out, and the patch as a coloured diff."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

from papertrain.core.sentences import translated
from papertrain.core.texts import say
from papertrain.report.html import raw, table, tag

LONG, HEAD = 40, 24
"""From how many lines on a text is cut, and how many are shown then."""


def signals_table(signals: Sequence[Mapping[str, Any]], *, live: bool = False) -> str:
    """Known signals of `watch`, the worst first; the unknown ones folded away with how to log them.

    live: the line is a button, with which the page shows the place in the log.
    """
    order = ("critical", "warning", "normal")
    known = sorted((s for s in signals if s["level"] in order), key=lambda s: order.index(s["level"]))
    rows = [(s["name"], raw(tag(s["level"], s["level"])), s["says"], _place(s, live)) for s in known]
    unknown = [(s["name"], s["says"]) for s in signals if s["level"] not in order]
    folded = (
        f'<details class="fold"><summary>'
        f"{escape(say('{n} signals are not in the log', n=len(unknown)))}</summary>"
        f"{table((say('signal'), say('how to log it')), unknown)}</details>"
        if unknown
        else ""
    )
    heads = (say("signal"), say("level"), say("says"), say("line"))
    return (table(heads, rows) if rows else "") + folded


def _where(s: Mapping[str, Any]) -> str:
    seen = s.get("evidence") or []
    return f"{str(seen[0]['file']).rpartition('/')[2]}:{seen[0]['line']}" if seen and seen[0].get("line") else ""


def _place(s: Mapping[str, Any], live: bool) -> str | bytes:
    where = _where(s)
    return raw(f'<button type="button" class="place">{escape(where)}</button>') if live and where else where


def diagnosis_card(d: Mapping[str, Any], *, live: str = "") -> str:
    """One diagnosis, as `diagnose --json` gives it. live: `text` where a patch can be copied, `files` where it can be
    applied too; empty on paper."""
    kind = "" if d.get("benign") else " critical"
    head = f"<h4>{escape(str(d['id']))} · {escape(translated(str(d['title'])))}</h4><p><code>{escape(str(d['class']))}</code> {escape(say('confidence {c:.0f} %', c=100 * float(d.get('confidence') or 0)))}</p>"
    cause = f"<p>{escape(translated(str(d.get('cause') or '')))}</p>"
    lines = "\n".join(f"{_short(str(e['file']))}:{e['line']}: {e['text']}" for e in d.get("evidence", ()))
    quoted = f'<h4>{escape(say("Evidence"))}</h4><pre tabindex="0">{escape(lines)}</pre>' if lines else ""
    out = "".join(
        f"<li><code>{escape(str(r['class']))}</code>: {escape(translated(str(r['because'])))}</li>"
        for r in d.get("ruled_out", ())
    )
    ruled = f"<h4>{escape(say('Ruled out'))}</h4><ul>{out}</ul>" if out else ""
    check = (
        f"<p><strong>{escape(say('Next check'))}</strong>: {escape(translated(str(d['next_check'])))}</p>"
        if d.get("next_check")
        else ""
    )
    return f'<article class="card{kind}">{head}{cause}{quoted}{ruled}{check}{"".join(fix_part(f, live=live) for f in d.get("fixes", ()))}</article>'


def _short(file: str) -> str:
    """A run's file by its place below the workspace: where the workspace lay is nobody's business."""
    return file[file.rindex("/runs/") + 1 :] if "/runs/" in file else file.rpartition("/")[2]


def fix_part(f: Mapping[str, Any], *, live: str = "") -> str:
    """One proposed change: what it touches, the diff, the proof."""
    effect = str(f.get("effect") or "")
    words = say("changes the experiment") if effect == "experiment" else say("changes only the execution")
    head = f"<h4>{escape(str(f['id']))} · {escape(translated(str(f['title'])))} {tag(words, 'warning' if effect == 'experiment' else 'ok')}</h4>"
    edits = "".join(
        f"<li><code>{escape(str(e.get('key') or e.get('knob')))}</code>: {escape(_json(e.get('old')))} → <strong>{escape(_json(e.get('new')))}</strong></li>"
        for e in f.get("edits", ())
    )
    commands = "\n".join(map(str, f.get("commands", ())))
    proof = (
        f"<p><strong>{escape(say('Proof'))}</strong>: {escape(translated(str(f['proof'])))}</p>"
        if f.get("proof")
        else ""
    )
    patch = diff(str(f["patch"])) if f.get("patch") else ""
    listed = f"<ul>{edits}</ul>" if edits and not patch else ""
    typed = f'<pre tabindex="0">{escape(commands)}</pre>' if commands else ""
    return f'<div class="fix">{head}{listed}{patch}{typed}{proof}{_buttons(f, live)}</div>'


def _buttons(f: Mapping[str, Any], live: str) -> str:
    """Copy the patch; show the exact bytes that applying it would write. What is copied is read from the diff itself."""
    name = escape(str(f["id"]))
    copy = f'<button type="button" class="copy" aria-label="{escape(say("Copy the patch"))} {name}">{escape(say("Copy the patch"))}</button> ' if f.get("patch") else ""  # fmt: skip
    show = f'<button type="button" class="propose" data-fix="{name}" aria-label="{escape(say("Show what it would write"))}: {name}">{escape(say("Show what it would write"))}</button>' if live == "files" and f.get("applies_to") else ""  # fmt: skip
    return f'<p class="do">{copy}{show} <span role="status" class="small soft"></span></p><div class="proposed"></div>' if live and (copy or show) else ""  # fmt: skip


def _json(value: Any) -> str:
    return "–" if value is None else str(value)


def diff(text: str) -> str:
    """A unified diff with its lines coloured; the signs stay, so that it can be copied and read without colour."""

    def one(line: str) -> str:
        kind = "file" if line.startswith(("+++", "---")) else "add" if line.startswith("+") else "del" if line.startswith("-") else "hunk" if line.startswith("@@") else ""  # fmt: skip
        return f'<span class="{kind}">{escape(line) or " "}</span>' if kind else f"<span>{escape(line) or ' '}</span>"

    def block(lines: Sequence[str]) -> str:
        label = escape(say("patch"))
        return f'<pre class="diff" tabindex="0" role="group" aria-label="{label}">{"".join(map(one, lines))}</pre>'

    return cut(text.splitlines(), block)


def cut(lines: Sequence[str], block: Callable[[Sequence[str]], str]) -> str:
    """The start of a long text, and the rest folded away: it is there on a screen, and no ten pages on paper."""
    if len(lines) <= LONG:
        return block(lines)
    rest = escape(say("{n} more lines", n=len(lines) - HEAD))
    return f'{block(lines[:HEAD])}<details class="fold"><summary>{rest}</summary>{block(lines[HEAD:])}</details>'
