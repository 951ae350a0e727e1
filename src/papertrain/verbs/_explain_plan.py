"""A decision of a plan as a chain from the inputs to its value; without a plan, the law that it follows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from papertrain.core.texts import say
from papertrain.core.training import TrainingPlan
from papertrain.core.units import show_bytes, show_count, show_number
from papertrain.core.values import Decision, plain
from papertrain.report.plan import wrapped
from papertrain.verbs._explain_answer import Answer, opened

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


def in_plan(p: TrainingPlan, d: Decision[Any], where: Path | None) -> Answer:
    """The chain from the inputs to the value, each link with this plan's own numbers."""
    lines = wrapped(f"  {d.name} = {show_number(d.value)}{unit(d)}   ", d.why)
    lines += [line for lead, text in chain(p, d, 1, {d.name}) for line in wrapped(lead, text)]
    doubts = [line for c in d.contested_by for line in wrapped(f"  {say('against')}    ", f"{c.says} ({c.ref})")]
    source = f"{d.source.kind}: {d.source.ref}" + (
        f" ({say('read on')} {d.source.read_on})" if d.source.read_on else ""
    )
    published = nearby(p) if d.name == "learning_rate" else []
    return Answer(
        id=d.name, kind="decision", result=f"{d.name} = {show_number(d.value)}{unit(d)}", explanation=d.why,
        body="\n".join(["", *lines, "", *wrapped(f"  {say('source')}     ", source), *doubts, *published]) + "\n",
        action=f"papertrain plan {where} --set {d.name}=VALUE" if where is not None and where.is_dir() else None,
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
            yield f"{lead}{name}: ", input_words(p, name)
        else:
            yield f"{lead}{name} = {show_number(other.value)}{unit(other)}   ", other.why
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
    words = {
        "model": f"{m.name}: {show_count(m.parameters)} parameters, {m.layers} layers of width {m.hidden}",
        "compute": f"{c.gpus} × {c.gpu.label}, {show_bytes(c.gpu.memory_bytes)} each",
        "data": "no data given"
        if d is None
        else f"{d.examples:,} examples, {show_count(d.tokens)} tokens ({Path(d.path).name})",
        "task": p.task,
    }
    return words.get(name, "?")


def nearby(p: TrainingPlan) -> list[str]:
    """Published configurations of the same task and kind of tuning, nearest in size, one per family."""
    from papertrain.plan.rulesets import tuner
    from papertrain.verbs._recipes import published

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
        action=f"papertrain explain {name} --plan work", data={"law": about, "sources": sources},
    )  # fmt: skip
