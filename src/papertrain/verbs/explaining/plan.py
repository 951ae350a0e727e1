"""A decision of a plan as a chain from the inputs to its value; without a plan, the law that it follows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from papertrain.core.commands import quoted
from papertrain.core.sentences import translated
from papertrain.core.texts import say
from papertrain.core.training import TrainingPlan
from papertrain.core.units import show_bytes, show_count, show_number, show_seconds
from papertrain.core.values import Decision, Estimate, plain
from papertrain.report import plan as words
from papertrain.report.plan import wrapped
from papertrain.verbs.explaining.answer import Answer, opened

DEEP = 6


def decision(id: str, where: Path | None, method: str | None) -> Answer | None:
    from papertrain.plan.derive_question import SETTABLE

    name = id.replace("-", "_")
    p = opened(where, method)
    d = None if p is None else p.decision(name)
    if p is not None and d is not None:
        return in_plan(p, d, where)
    if name not in SETTABLE:
        return None
    if p is not None:
        return Answer(
            id=name, kind="decision", result=say("this plan has no {name}", name=name), data={"decision": None},
            explanation=say("it trains {method} for {task}, where there is no such parameter", method=p.method.value, task=p.task),
        )  # fmt: skip
    return in_laws(name)


def prediction(id: str, where: Path | None, method: str | None) -> Answer | None:
    """Memory and time of a plan: what they are made of, and what they rest on."""
    if id not in ("memory", "time", "fits") or where is None or (p := opened(where, method)) is None:
        return None
    m, d = p.memory, p.duration
    rows = []
    if m is not None and id != "time":
        meters = (("allocated, torch", m.allocated_bytes), ("reserved, its allocator", m.reserved_bytes), ("process" if p.compute.gpu.id == "cpu" else "device, nvidia-smi", m.device_bytes),
                  ("host, a node", m.host_bytes), ("disk, a checkpoint", m.disk_bytes))  # fmt: skip
        rows += [(name, predicted(e, show_bytes)) for name, e in meters]
        rows += [(f"at the peak: {k}", show_bytes(v)) for k, v in m.components.items()]
        rows += [(f"live in {k.replace('_', ' ')}", show_bytes(v)) for k, v in m.phases.items()]
        rows += [("nearest measured", b) for b in words.measured(m)]
    if d is not None and id != "memory":
        rows += [
            ("one step", predicted(d.step_seconds, show_seconds)),
            ("the run", predicted(d.total_seconds, show_seconds)),
        ]
        rows += [("tokens a second and card", predicted(d.tokens_per_second_per_gpu, lambda x: f"{x or 0:,.0f}"))]
    lines = [line for name, text in rows for line in wrapped(f"  {name:<26} ", text)]
    return Answer(
        id=id, kind="prediction", result=words.result_line(p), body="\n".join(["", *lines]) + "\n",
        explanation=translated(p.micro_batch_size.why) if id != "time" else (p.duration.basis if p.duration is not None and p.duration.basis else say("counted from work, traffic, launches and links")),
        data={"fits": p.fits, "memory": plain(p.memory), "time": plain(p.duration)},
    )  # fmt: skip


def _written(value: object) -> str:
    """A value as `--set` reads it."""
    import json

    return (
        ",".join(map(str, value))
        if isinstance(value, list | tuple)
        else value
        if isinstance(value, str)
        else json.dumps(value)
    )


def predicted(e: Estimate, show: Callable[[float | None], str]) -> str:
    if e.value is None:
        return say("unknown: {why}", why=e.unknown or "?")
    return show(e.value) + (
        say(" ({low} to {high})", low=show(e.low), high=show(e.high))
        if e.low is not None and e.high is not None
        else ""
    )


def in_plan(p: TrainingPlan, d: Decision[Any], where: Path | None) -> Answer:
    """The chain from the inputs to the value, each link with this plan's own numbers."""
    lines = wrapped(f"  {d.name} = {show_number(d.value)}{unit(d)}   ", translated(d.why))
    lines += [line for lead, text in chain(p, d, 1, {d.name}) for line in wrapped(lead, text)]
    doubts = [
        line for c in d.contested_by for line in wrapped(f"  {say('against')}    ", f"{translated(c.says)} ({c.ref})")
    ]
    source = f"{translated(d.source.kind)}: {d.source.ref}" + (
        f" ({say('read on')} {d.source.read_on})" if d.source.read_on else ""
    )
    published = nearby(p) if d.name == "learning_rate" else []
    return Answer(
        id=d.name, kind="decision", result=f"{d.name} = {show_number(d.value)}{unit(d)}", explanation=translated(d.why),
        body="\n".join(["", *lines, "", *wrapped(f"  {say('source')}     ", source), *doubts, *published]) + "\n",
        action=f"papertrain plan {quoted(where)} --set {quoted(f'{d.name}={_written(d.value)}')}" if where is not None and where.is_dir() else "papertrain plan --help",
        data={"decision": plain(d), "chain": links(p, d), "published": published},
    )  # fmt: skip


def unit(d: Decision[Any]) -> str:
    return "" if d.unit == "1" else f" {d.unit}"


def chain(p: TrainingPlan, d: Decision[Any], depth: int, seen: set[str]) -> Iterator[tuple[str, str]]:
    """(lead, reason) of each link; what was shown above is not shown again."""
    for name in d.rests_on:
        lead = "  " + "   " * (depth - 1) + "└─ "
        other = p.decision(name)
        if name in seen or depth > DEEP:
            continue
        seen.add(name)
        if other is None:
            yield f"{lead}{name}: ", translated(input_words(p, name))
        else:
            yield f"{lead}{name} = {show_number(other.value)}{unit(other)}   ", translated(other.why)
            yield from chain(p, other, depth + 1, seen)


def links(p: TrainingPlan, d: Decision[Any]) -> list[dict[str, Any]]:
    """The same as data: every decision and input that it rests on, each once."""
    found: dict[str, dict[str, Any]] = {}
    queue = list(d.rests_on)
    while queue:
        name = queue.pop(0)
        if name in found:
            continue
        other = p.decision(name)
        found[name] = {"name": name, "value": input_words(p, name)} if other is None else plain(other)
        queue += () if other is None else other.rests_on
    return list(found.values())


def input_words(p: TrainingPlan, name: str) -> str:
    m, c, d = p.model, p.compute, p.dataset
    known = {
        "model": f"{m.name}: {show_count(m.parameters)} parameters, {m.layers} layers of width {m.hidden}",
        "compute": f"{c.gpus} × {c.gpu.label}, {show_bytes(c.gpu.memory_bytes)} each",
        "data": "no data given"
        if d is None
        else f"{d.examples:,} examples, {show_count(d.tokens)} tokens ({Path(d.path).name})",
        "task": p.task,
    }
    return known.get(name, "?")


def nearby(p: TrainingPlan) -> list[str]:
    """Published configurations of the same task and kind of tuning, nearest in size, one per family."""
    from papertrain.plan.rulesets import tuner
    from papertrain.verbs.planning.recipes import published

    def far(r: dict[str, Any]) -> float:
        n = r.get("n_params") or 1e9
        return max(float(n) / p.model.parameters, p.model.parameters / float(n))

    kind = tuner(p.method.value)
    same = [
        r
        for r in published()
        if r.get("task") == p.task and tuner(str(r.get("method"))) == kind and r.get("tier") in ("A", "B")
    ]
    chosen: dict[str, dict[str, Any]] = {}
    for r in sorted(same, key=far):
        chosen.setdefault(r["family"], r)
    return [
        f"  {say('published')}  {show_number(r['learning_rate'])}  {r['model']}, batch {r.get('global_batch') or '?'} ({r['source']})"
        for r in list(chosen.values())[:4]
    ]


def in_laws(name: str) -> Answer:
    """Without a plan: which law the decision follows, with its sources."""
    from papertrain.facts.laws import law, laws

    about = {
        "learning_rate": "learning_rate", "global_batch_size": "batch", "micro_batch_size": "machine", "epochs": "epochs", "beta": "preference",
        "lora_rank": "lora", "lora_alpha": "lora", "lora_dropout": "lora", "lora_targets": "lora", "warmup_steps": "schedule",
        "weight_decay": "schedule", "max_grad_norm": "schedule", "lr_scheduler": "schedule", "early_stopping_patience": "schedule",
        "eval_steps": "schedule", "save_steps": "schedule", "validation_share": "schedule", "packing": "schedule",
    }.get(name, "machine")  # fmt: skip
    assert about in laws(), about
    sources = law(about).get("sources", {})
    lines = [f"  {s['kind']:<9} {s['ref']}" for s in sources.values()]
    return Answer(
        id=name, kind="decision", result=say("{name} is derived by the law in facts/laws/{law}.toml", name=name, law=about),
        explanation=say("with --plan WORK the chain from that plan's inputs to its value is shown"), body="\n".join(["", *lines]) + "\n",
        action='papertrain plan Qwen/Qwen2.5-7B-Instruct --gpu "1x A100-80GB"', data={"law": about, "sources": sources},
    )  # fmt: skip
