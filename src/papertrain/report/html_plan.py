"""A plan as HTML: every value with its reason and what contests it, and the memory bar against the card."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from papertrain.core.sentences import translated
from papertrain.core.texts import say
from papertrain.core.training import TrainingPlan
from papertrain.core.units import show_bytes, show_number, show_seconds
from papertrain.core.values import Decision, Estimate
from papertrain.report import plan as words
from papertrain.report.html import scroll, swatch, table, tag

WIDTH = 1000


def plan_section(plan: TrainingPlan, *, state: tuple[str, str] | None = None) -> str:
    """Verdict, memory bar, parameters with reasons, alternatives, what the plan rests on."""
    head = (
        f"<p>{escape(plan.model.name)} · {escape(plan.task)} · {plan.compute.gpus} × {escape(plan.compute.gpu.label)} "
        f"{tag(words.verdict(plan.fits), plan.fits)}{' ' + tag(*state) if state else ''}</p>"
        f"<p>{escape(words.result_line(plan))}</p>"
    )
    warned = "".join(f'<p class="warning">{escape(w)}</p>' for w in map(translated, plan.warnings))
    first = [d for name in words.FIRST if (d := plan.decision(name)) is not None and d.value is not None]
    rest = [d for d in plan.decisions() if d not in first]
    more = f"<details><summary>{escape(say('{n} more parameters', n=len(rest)))}</summary>{decisions(rest)}</details>"
    return head + memory_bar(plan) + warned + decisions(first) + more + alternatives(plan)


def decisions(found: Sequence[Decision[Any]]) -> str:
    """A row each: name, value, why; the source below, and what contests it beside a bar."""
    rows = "".join(
        f'<tr><th scope="row">{escape(d.name)}</th><td{keep(value_of(d))}>{escape(value_of(d))}</td><td>{reason(d)}</td></tr>'
        for d in found
    )
    heads = "".join(f'<th scope="col">{escape(h)}</th>' for h in (say("parameter"), say("value"), say("why")))
    return scroll(f'<table class="plan"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>')


def keep(text: str) -> str:
    """A short value stays on one line."""
    return ' class="keep"' if len(text) < 20 else ""


def value_of(d: Decision[Any]) -> str:
    return "–" if d.value is None else ", ".join(d.value) if isinstance(d.value, list) else show_number(d.value)


def reason(d: Decision[Any]) -> str:
    """Why, from where, resting on what, contested by whom."""
    rests = f" · {say('rests on')} {', '.join(d.rests_on)}" if d.rests_on else ""
    contests = "".join(
        f'<p class="contest"><strong>{escape(say("contested"))}</strong>: {escape(translated(c.says))} <span class="soft">({escape(c.ref)})</span></p>'
        for c in d.contested_by
    )
    return f'{escape(translated(d.why))}<br><small class="soft">{escape(translated(d.source.kind))}: {escape(d.source.ref)}{escape(rests)}</small>{contests}'


def memory_bar(plan: TrainingPlan) -> str:
    """Predicted memory of one card by component with its 90 % range against the card, host and disk beside it."""
    memory = plan.memory
    if memory is None or memory.device_bytes.value is None:
        why = memory.device_bytes.unknown if memory is not None else ""
        return f'<p class="unknown">{escape(say("memory: unknown"))}{": " + escape(why) if why else ""}</p>'
    device, capacity = memory.device_bytes, memory.capacity_bytes
    whole = 1.04 * max(capacity or 0, device.high or 0, device.value or 0)
    parts = [(n, s) for n, s in memory.components.items() if s and s > 0]
    left = (device.value or 0) - sum(s for _, s in parts)
    if left > 0.005 * whole:
        parts.append((say("allocator reserve"), left))
    x, boxes = 0.0, ""
    for i, (name, size) in enumerate(parts):
        w = WIDTH * size / whole
        boxes += f'<rect x="{x:.1f}" y="16" width="{w:.1f}" height="26" class="f{i % 8}"><title>{escape(translated(name))} {show_bytes(size)}</title></rect>'
        x += w
    said = say("{value} expected, {low} to {high} at 90 %", value=show_bytes(device.value), low=show_bytes(device.low), high=show_bytes(device.high))  # fmt: skip
    if capacity:
        said += say(", of {room} on the card", room=show_bytes(capacity)) if plan.compute.gpu.id != "cpu" else say(", of {room} on this machine", room=show_bytes(capacity))  # fmt: skip
    drawn = _room(capacity, whole) + boxes + _range(device, whole) + _limit(capacity, whole)
    key = "".join(f"<li>{swatch(i)}{escape(translated(n))} {show_bytes(s)}</li>" for i, (n, s) in enumerate(parts))
    return (
        f'<figure class="memory"><svg viewBox="0 0 {WIDTH} 60" preserveAspectRatio="none" role="img" aria-label="{escape(said)}">{drawn}</svg>'
        f'<figcaption>{escape(said)}</figcaption><ul class="key">{key}</ul>{_beside(plan)}</figure>'
    )


def _range(e: Estimate, whole: float) -> str:
    if e.low is None or e.high is None:
        return ""
    a, b = WIDTH * e.low / whole, WIDTH * e.high / whole
    return f'<path d="M{a:.1f} 46v8m0-4H{b:.1f}m0-4v8" stroke="currentColor" stroke-width="2" fill="none" vector-effect="non-scaling-stroke"/>'


def _room(capacity: int | None, whole: float) -> str:
    """The whole card behind what is used of it."""
    return f'<path d="M0 16H{WIDTH * capacity / whole:.1f}v26H0z" class="room"/>' if capacity else ""


def _limit(capacity: int | None, whole: float) -> str:
    if not capacity:
        return ""
    x = WIDTH * capacity / whole
    return f'<path d="M{x:.1f} 2V56" stroke="currentColor" stroke-width="3" vector-effect="non-scaling-stroke"/>'


def _beside(plan: TrainingPlan) -> str:
    memory, time = plan.memory, plan.duration
    assert memory is not None
    rows = [(say("host memory"), span(memory.host_bytes, show_bytes)), (say("disk"), span(memory.disk_bytes, show_bytes))]  # fmt: skip
    if time is not None:
        rows += [(say("one step"), span(time.step_seconds, show_seconds)), (say("in all"), span(time.total_seconds, show_seconds))]  # fmt: skip
    basis = "; ".join(memory.basis) or say("none like yours: launch --smoke measures yours")
    rows.append((say("nearest measured"), translated(basis)))
    return table((say("besides"), say("estimate")), rows)


def span(e: Estimate, show: Callable[[float | None], str]) -> str:
    """`12 GiB (11 to 14)`, or why it is not known."""
    if e.value is None:
        return say("unknown: {why}", why=translated(e.unknown or e.ask or "-"))
    return show(e.value) + ("" if e.low is None or e.high is None else f" ({show(e.low)} – {show(e.high)})")


def alternatives(plan: TrainingPlan) -> str:
    """Other ways to run, and whether each changes only the execution."""
    if not plan.alternatives:
        return ""
    rows = [
        (
            translated(a.what), (translated(a.fits), a.fits), (translated(a.effect), "warning" if a.effect == "experiment" else "ok"),
            "–" if a.device_bytes is None else show_bytes(a.device_bytes), "–" if a.relative_time is None else f"{a.relative_time:.2g}x",
        )
        for a in plan.alternatives
    ]  # fmt: skip
    memory = say("memory") if plan.compute.gpu.id == "cpu" else say("memory per card")
    heads = (say("another way"), say("fits"), say("changes"), memory, say("time of the run"))
    return f"<h3>{escape(say('Alternatives'))}</h3>" + table(heads, rows, numeric=(3, 4))
