"""A plan for people: the short answer on a terminal, and `plan.md`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from papertrain.core.sentences import translated
from papertrain.core.texts import english, say
from papertrain.core.training import Alternative, Memory, TrainingPlan
from papertrain.core.units import show_bytes, show_count, show_number, show_seconds, show_size
from papertrain.core.values import Decision, Estimate, Value
from papertrain.core.wide import folded, padded
from papertrain.core.wide import width as columns

FIRST = (
    "method", "precision", "micro_batch_size", "gradient_accumulation_steps", "global_batch_size", "learning_rate", "warmup_steps", "epochs",
    "total_steps", "lora_rank", "lora_targets", "optimizer", "gradient_checkpointing", "zero_stage", "offload", "weight_decay",
    "sequence_length", "template",
)  # fmt: skip
SOMETIMES = ("warmup_steps", "offload", "weight_decay")
"""Shown where they differ from the framework's default; the rest of FIRST always."""
WIDE = 100


class Difference(Value, frozen=True, kw_only=True):
    """One parameter on which the two rule sets disagree by more than 1.5x."""

    name: str
    ours: Any
    theirs: Any
    rules: str
    why: str


def result_line(p: TrainingPlan) -> str:
    """`It fits: 20.3 GiB of 24.0 on each card (18.9-22.0); 1,926 steps, 3 h 40 min (2.9-5.0)`."""
    over = ""
    if p.fits == "tight" and p.memory is not None and p.memory.capacity_bytes is not None:
        middle = p.memory.device_bytes.value or 0.0
        over = say(", over the card in the middle, fits at the low end") if middle > p.memory.capacity_bytes else ""
    return f"{verdict(p.fits)}: {memory_words(p)}{over}; {time_words(p)}"


def verdict(fits: str) -> str:
    if fits == "yes":
        return say("It fits")
    if fits == "tight":
        return say("Tight")
    return say("It does not fit") if fits == "no" else say("Whether it fits is unknown")


def memory_words(p: TrainingPlan) -> str:
    m = p.memory
    where = (
        say("on this machine")
        if p.compute.gpu.id == "cpu"
        else say("on each card")
        if p.compute.gpus > 1
        else say("on the card")
    )
    if m is None or m.device_bytes.value is None:
        return m.device_bytes.unknown if m is not None else say("memory unknown")
    room = "" if m.capacity_bytes is None else say(" of {room}", room=gigabytes(m.capacity_bytes))
    return f"{gigabytes(m.device_bytes.value)} GiB{room} {where}{span(m.device_bytes, gigabytes)}"


def time_words(p: TrainingPlan) -> str:
    steps = p.total_steps.value
    d = p.duration
    counted = (
        say("1 step")
        if steps == 1
        else say("{n} steps", n=f"{steps:,}")
        if steps is not None
        else say("steps unknown without --data")
    )
    if d is None or d.step_seconds.value is None:
        return say("{steps}, time unknown", steps=counted)
    if d.total_seconds.value is None or steps is None:
        return say("{steps}, {seconds} a step", steps=counted, seconds=show_seconds(d.step_seconds.value))
    took = show_seconds(d.total_seconds.value)
    took = say("roughly {time}", time=took) if p.compute.gpu.id == "cpu" else took
    return f"{counted}, {took}{span(d.total_seconds, show_seconds)}{spent(p)}"


def spent(p: TrainingPlan) -> str:
    """`, 0.019 GPU-hours` of the whole run; nothing on a processor, or where the time is unknown."""
    seconds = None if p.duration is None else p.duration.total_seconds.value
    if seconds is None or p.compute.gpu.id == "cpu":
        return ""
    hours = seconds * p.compute.gpus / 3600
    return say(", {n} GPU-hours", n=f"{hours:.2g}" if hours < 100 else f"{hours:,.0f}")


def gigabytes(n: float | None) -> str:
    return "unknown" if n is None else f"{n / 2**30:.1f}"


def span(e: Estimate, show: Any) -> str:
    return "" if e.low is None or e.high is None else f" ({show(e.low)}-{show(e.high)})"


def shown(p: TrainingPlan, defaults: Mapping[str, Any]) -> list[Decision[Any]]:
    """What a run is made of, and what else differs from the framework's own default; what the user set comes first."""
    mine = [d for d in p.decisions() if d.source.kind == "user" and d.name not in ("method", "sequence_length")]
    found = [d for name in FIRST if (d := p.decision(name)) is not None and d not in mine and d.value is not None]
    return [
        *mine,
        *(d for d in found if d.name not in SOMETIMES or d.name not in defaults or defaults[d.name] != d.value),
    ]


def table(p: TrainingPlan, decisions: Sequence[Decision[Any]], differences: Sequence[Difference] = ()) -> list[str]:
    """Aligned columns: parameter, value, why; what the other rule set says stands at the end."""
    rows = []
    theirs = {d.name: d for d in differences}
    for d in decisions:
        name, value = d.name, show_number(d.value)
        if d.name == "lora_rank" and p.lora_alpha is not None:
            name, value = "lora_rank / alpha", f"{value} / {show_number(p.lora_alpha.value)}"
        why = translated(d.why)
        if d.name in theirs:
            why += f"   {theirs[d.name].rules}: {show_number(theirs[d.name].theirs)}"
        rows.append((name, value, why))
    first = max([*(len(r[0]) for r in rows), 9])
    second = min(max([*(len(r[1]) for r in rows), 5]), 24)
    heads = [say("parameter"), say("value"), say("why")]
    lines = [f"  {padded(heads[0], first)}  {padded(heads[1], second)}  {heads[2]}"]
    for name, value, why in rows:
        lead = f"  {name:<{first}}  {value:<{second}}  "
        lines.extend(wrapped(lead, why))
    return lines


def wrapped(lead: str, text: str, width: int = WIDE) -> list[str]:
    indent = columns(lead)
    parts = folded(text, max(30, width - indent))
    return [lead + parts[0], *(" " * indent + part for part in parts[1:])]


def label(text: str) -> str:
    """What a line of the answer is about, in a column of its own."""
    return f"  {padded(text, 16)}  "


def memory_line(m: Memory) -> str:
    """One line: `weights 14.2 ▇▇▇▇▇▇▇  activations 2.9 ▇ …`; the parts that are shown add up to the total that is shown."""
    parts = sorted(parts_of(m).items(), key=lambda kv: -kv[1])
    return "  ".join(f"{translated(k)} {gigabytes(v)} {bar(v)}" for k, v in parts)


RESERVE = "allocator reserve"


def parts_of(m: Memory) -> dict[str, float]:
    """The parts of 0.1 GiB and more, and what the allocator holds beyond them, so that they add up to the device."""
    tenth = 2**30 / 10
    found = {k: round(v / tenth) * tenth for k, v in m.components.items() if round(v / tenth) > 0}
    if m.device_bytes.value is not None:
        rest = round(m.device_bytes.value / tenth) * tenth - sum(found.values())
        if round(rest / tenth) > 0:
            found[RESERVE] = rest
    return found


def parts_text(m: Memory) -> str:
    """The parts in words. Tenths of a GiB add up on a large device; a small one is said as it was predicted."""
    whole = m.device_bytes.value
    if whole is not None and whole >= 10 * 2**30:
        return ", ".join(f"{k} {gigabytes(v)} GiB" for k, v in parts_of(m).items())
    found = {k: v for k, v in m.components.items() if v >= 2**20 / 10}
    rest = 0.0 if whole is None else whole - sum(m.components.values())
    return ", ".join(f"{k} {show_bytes(v)}" for k, v in {**found, **({RESERVE: rest} if rest >= 2**20 else {})}.items())


def measured(m: Memory) -> list[str]:
    """The measured runs that are nearest, after the framework's profile; nothing where there is the profile alone."""
    return list(m.basis) if any(not b.startswith("profile ") for b in m.basis) else []


def bar(n: float) -> str:
    """One block for 2 GiB, seven at most fill a line; under a quarter of that, a thin one."""
    blocks = n / 2e9
    return "▇" * min(12, round(blocks)) if blocks >= 0.75 else "▏"


def cards_line(p: TrainingPlan) -> str:
    """`2 nodes of 8 × H100 SXM; H100 read as …`: which cards were meant, and how the name was read."""
    c = p.compute
    text = f"{c.gpus_per_node} × {c.gpu.label}"
    if c.nodes > 1:
        text = say("{n} nodes of {cards}", n=c.nodes, cards=text)
    if c.host_memory_bytes is not None:
        text += say(", {ram} of host memory each", ram=show_size(c.host_memory_bytes))
    return text + (f"; {translated(c.said)}" if c.said else "")


def disk_line(p: TrainingPlan) -> str:
    """What a checkpoint takes of the disk that was stated; empty where none was."""
    free, one = p.compute.disk_bytes, None if p.memory is None else p.memory.disk_bytes.value
    if free is None:
        return ""
    return say("{one} a checkpoint of {free} free, up to three of them at once", one=show_bytes(one), free=show_size(free))  # fmt: skip


def data_line(p: TrainingPlan) -> str:
    d = p.dataset
    if d is None:
        return say("none given: batch and length are the medians of practice")
    parts = [say("{rows} rows", rows=f"{d.rows:,}")]
    left = []
    if d.empty_answers:
        bare = d.format.startswith(("text", "classification"))
        n = f"{d.empty_answers:,}"
        left.append(say("{n} rows without text", n=n) if bare else say("{n} empty answers", n=n))
    if d.bad_rows:
        left.append(say("{n} rows that do not fit {format}", n=f"{d.bad_rows:,}", format=d.format))
    parts.append(say("{n} examples", n=f"{d.examples:,}") + (f" ({', '.join(left)})" if left else ""))
    if d.tokens is not None and not d.exact and d.tokens_low and d.tokens_high and d.tokens_low < d.tokens_high:
        trained = "" if d.trainable_tokens is None else say(", ≈ {n} trained", n=show_count(d.trainable_tokens))
        parts.append(
            say("≈ {low} to {high} tokens", low=show_count(d.tokens_low), high=show_count(d.tokens_high)) + trained
        )
    elif d.tokens is not None:
        trained = "" if d.trainable_tokens is None else say(", {n} trained", n=show_count(d.trainable_tokens))
        parts.append(say("{n} tokens", n=show_count(d.tokens)) + trained)
    elif d.tokens_low is not None:
        parts.append(say("{low} to {high} tokens", low=show_count(d.tokens_low), high=show_count(d.tokens_high)))
    text = " → ".join(parts)
    if d.truncated_examples and d.examples:
        text += say(
            "; {share} cut at {length}",
            share=f"{d.truncated_examples / d.examples:.1%}",
            length=f"{p.sequence_length.value:,}",
        )
    return text


def alternative_words(a: Alternative) -> str:
    cost = ""
    if (ratio := a.relative_time) is not None:
        if ratio >= 1.05:
            cost = say(", {n}x slower", n=f"{ratio:.2g}")
        elif ratio <= 0.67:
            cost = say(", {n}x faster", n=f"{1 / ratio:.2g}")
        else:
            cost = say(", {n} % faster", n=f"{100 * (1 - ratio):.0f}") if ratio <= 0.95 else say(", as fast")
    need = "" if a.device_bytes is None else f", {show_bytes(a.device_bytes)}"
    verdict = {
        "yes": say("fits"),
        "tight": say("tight"),
        "no": say("does not fit"),
        "unknown": say("not known to fit"),
    }[a.fits]
    effect = say(" (changes the experiment)") if a.effect == "experiment" else ""
    return f"{translated(a.what)}: {verdict}{need}{cost}{effect}"


@english()
def markdown(p: TrainingPlan, *, state: str, differences: Sequence[Difference] = ()) -> str:
    """`plan.md`: everything the plan decides, with reasons, sources and doubts. `state` says who confirmed it."""
    cards = cards_line(p)
    lines = [
        f"# Plan: {p.model.name}, {p.task}, {p.method.value}",
        "",
        f"Status: **{state}**"
        + (
            ""
            if state.startswith("confirmed")
            else ". Read it, then confirm it: `papertrain status WORK --confirm derive`."
        ),
        "",
        f"{result_line(p)}.",
        "",
        f"- model: {p.model.name}, {p.model.parameters:,} parameters ({p.model.source.ref})",
        f"- cards: {cards}",
        f"- data: {data_line(p)}"
        + ("" if p.dataset is None else f" (`{p.dataset.path}`, sha256 {p.dataset.sha256[:12]})"),
        f"- rules: {p.rules}",
        "",
        "## Parameters",
        "",
        "| parameter | value | why | source |",
        "| --- | --- | --- | --- |",
    ]
    lines += [
        f"| {d.name} | {cell(show_number(d.value))} | {cell(d.why)} | {cell(f'{d.source.kind}: {d.source.ref}')} |"
        for d in p.decisions()
    ]
    doubts = [(d.name, c) for d in p.decisions() for c in d.contested_by]
    if doubts:
        lines += ["", "## What disagrees", "", *(f"- {name}: {c.says} ({c.ref})" for name, c in doubts)]
    if differences:
        lines += ["", "## Where the other rule set differs by more than 1.5×", ""]
        lines += [
            f"- {d.name}: {p.rules} {show_number(d.ours)}, {d.rules} {show_number(d.theirs)}: {d.why}"
            for d in differences
        ]
    lines += memory_section(p) + time_section(p)
    if p.alternatives:
        lines += ["", "## Other ways", "", *(f"- {alternative_words(a)}" for a in p.alternatives)]
    if p.warnings:
        lines += ["", "## Warnings", "", *(f"- {w}" for w in p.warnings)]
    return "\n".join(lines) + "\n"


def memory_section(p: TrainingPlan) -> list[str]:
    m = p.memory
    if m is None:
        return []
    rows = (("allocated (torch)", m.allocated_bytes), ("reserved (its allocator)", m.reserved_bytes), ("process" if p.compute.gpu.id == "cpu" else "device (nvidia-smi)", m.device_bytes),
            ("host, a node", m.host_bytes), ("disk, one checkpoint", m.disk_bytes))  # fmt: skip
    lines = ["", "## Memory", "", "| meter | predicted | 90 % range |", "| --- | --- | --- |"]
    lines += [
        f"| {name} | {show_bytes(e.value)} | {show_bytes(e.low)} to {show_bytes(e.high)} |"
        for name, e in rows
        if e.value is not None
    ]
    lines += [f"| {name} | unknown: {cell(e.unknown)} | |" for name, e in rows if e.value is None]
    lines += [
        "",
        "Parts at the peak (" + m.peak_phase.replace("_", " ") + "): " + parts_text(m) + ".",
    ]
    return [
        *lines,
        "",
        "Nearest measured runs: "
        + ("; ".join(measured(m)) or "none like yours; `papertrain launch WORK --smoke` measures it")
        + ".",
    ]


def time_section(p: TrainingPlan) -> list[str]:
    d = p.duration
    if d is None or d.step_seconds.value is None:
        return [
            "",
            "## Time",
            "",
            "Unknown" + (f": {d.step_seconds.unknown}." if d is not None and d.step_seconds.unknown else "."),
        ]
    lines = ["", "## Time", "", f"- one step: {show_seconds(d.step_seconds.value)}{span(d.step_seconds, show_seconds)}"]
    if d.total_seconds.value is not None:
        lines.append(f"- the run: {show_seconds(d.total_seconds.value)}{span(d.total_seconds, show_seconds)}{spent(p)}")
    return [*lines, f"- basis: {d.basis}"] if d.basis else lines


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
