"""What `explain` can explain, one look-up per kind of thing. Each gives an Answer, or None where the id is not its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import msgspec

from papertrain.core.commands import line, quoted
from papertrain.core.errors import PapertrainError
from papertrain.core.findings import Rule
from papertrain.core.sentences import translated
from papertrain.core.texts import say
from papertrain.core.units import show_bytes, show_count, show_number
from papertrain.core.values import plain
from papertrain.core.wide import padded
from papertrain.report.plan import wrapped
from papertrain.verbs.explaining.answer import Answer, Lookup
from papertrain.verbs.explaining.plan import decision, prediction
from papertrain.verbs.explaining.topics import test_set
from papertrain.verbs.explaining.written import evidence, stored

RULES = {
    "monitor": "papertrain.monitor.rules",
    "configs": "papertrain.configs.checks",
    "diagnose": "papertrain.diagnose.rules",
    "results": "papertrain.results.manuscript",
}
SEES = {"monitor": "watch", "configs": "check", "diagnose": "diagnose", "results": "check"}


def recipes(id: str, where: Path | None, method: str | None) -> Answer | None:
    if id != "recipes":
        return None
    from papertrain.verbs.planning.recipes import rows, table

    found = rows()
    good = sum(r.fits == "yes" for r in found)
    return Answer(
        id=id, kind="recipes", body=table(found) + "  " + say("Z: ZeRO stage; o: optimizer, p: parameters and optimizer offloaded to a host of 1 TB") + "\n", data={"recipes": [plain(r) for r in found]},
        result=say("{n} recipes: 3 model sizes on every card on record; {good} fit on the cards they are computed for", n=len(found), good=good),
        explanation=say("computed now by the planner, not typed: LoRA SFT at 2,048 tokens on one node of each card; what does not fit says what would"),
        action='papertrain plan Qwen/Qwen2.5-7B-Instruct --gpu "4x A100-80GB"',
    )  # fmt: skip


def every_rule() -> Iterator[tuple[str, Rule]]:
    """(room, rule) over the folders that hold rules; a module may hold one RULE or several RULES."""
    for room, package_name in RULES.items():
        package = import_module(package_name)
        for info in iter_modules(package.__path__, package_name + "."):
            if info.name.rpartition(".")[2].startswith("_"):
                continue
            module = import_module(info.name)
            one = getattr(module, "RULE", None)
            for rule in (one,) if isinstance(one, Rule) else tuple(getattr(module, "RULES", ())):
                if isinstance(rule, Rule):
                    yield room, rule


def rule(id: str, where: Path | None, method: str | None) -> Answer | None:
    """A rule by its id or its name; a failure class is the name of a rule of `diagnose`."""
    named = [(room, r) for room, r in every_rule() if id.lower() in (r.id.lower(), r.name.lower())]
    # A failure class may bear the name of the check that would have prevented it: the class is what a log names.
    found = next((x for x in named if x[0] == "diagnose"), named[0] if named else None)
    if found is None:
        return None
    room, r = found
    parts = ((say("why"), translated(r.why)), (say("but"), translated(r.known_problems)), (say("applies"), translated(r.applies)),
             (say("source"), f"{translated(r.source.kind)}: {r.source.ref}"), (say("status"), f"{translated(r.status)}, {translated(r.level)}"))  # fmt: skip
    lines = ["", *wrapped("  ", translated(r.what))]
    lines += [line for label, text in parts if text for line in wrapped(f"  {padded(label, 9)}", text)]
    for label, sample in ((say("fires"), r.fires), (say("quiet"), r.quiet)):
        if sample:
            lines += [f"  {label}", *(f"    | {line}" for line in sample.splitlines()[:12])]
    seen_by = line("papertrain", SEES[room], "--help" if where is None else where)
    return Answer(
        action=seen_by,
        id=r.id, kind="class" if room == "diagnose" else "rule", result=f"{r.id} {r.name} ({translated(r.level)})", explanation=translated(r.why), body="\n".join(lines) + "\n",
        data={"rule": {"id": r.id, "name": r.name, "level": r.level, "what": r.what, "why": r.why, "known_problems": r.known_problems,
                       "status": r.status, "source": plain(r.source), "seen_by": SEES[room], "fires": r.fires, "quiet": r.quiet}},
    )  # fmt: skip


def card(id: str, where: Path | None, method: str | None) -> Answer | None:
    from papertrain.facts.load import gpu, gpu_ids

    if id.lower() not in gpu_ids() and id.lower() != "cpu":
        return None
    g = gpu(id.lower())
    fields = (
        "memory_bytes",
        "peak_bf16_dense_flops",
        "peak_fp16_dense_flops",
        "peak_fp32_flops",
        "memory_bytes_per_second",
        "link",
        "link_bytes_per_second",
        "peer_to_peer",
        "compute_capability",
    )
    lines, refs = [""], list(dict.fromkeys(g.sources[f] for f in fields if f in g.sources))
    for f in fields:
        mark = f"[{refs.index(g.sources[f]) + 1}]" if f in g.sources else ""
        lines.append(f"  {f:<26} {figure(getattr(g, f), UNITS.get(f, '')):<14} {mark}")
    lines += [line for i, s in enumerate(refs, 1) for line in wrapped(f"  [{i}] ", f"{translated(s.kind)}: {s.ref}")]
    return Answer(
        id=g.id, kind="fact", result=f"{g.label}: {show_bytes(g.memory_bytes)}, {'bf16' if g.has_bf16 else say('no bf16')}", body="\n".join(lines) + "\n",
        explanation="; ".join(map(translated, g.notes)) or say("every figure with its source; peaks are dense, with fp32 accumulation"),
        action=line("papertrain", "plan", "Qwen/Qwen2.5-7B-Instruct", "--gpu", f"1x {g.names[0] if g.names else g.id}"), data={"gpu": plain(g)},
    )  # fmt: skip


UNITS = {
    "memory_bytes": "GiB",
    "peak_bf16_dense_flops": "TFLOP/s",
    "peak_fp16_dense_flops": "TFLOP/s",
    "peak_fp32_flops": "TFLOP/s",
    "memory_bytes_per_second": "GB/s",
    "link_bytes_per_second": "GB/s",
}
SIZES = {"GiB": 2**30, "TFLOP/s": 1e12, "GB/s": 1e9}


def figure(value: Any, unit: str = "") -> str:
    """A figure in the unit that datasheets print it in."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return show_number(value)
    return f"{float(value) / SIZES[unit]:,.1f} {unit}" if unit else show_count(float(value))


def card_by_name(id: str, where: Path | None, method: str | None) -> Answer | None:
    """A card by any name that `plan --gpu` takes; what a short name is taken to mean is said."""
    from papertrain.facts.names import find

    hit = find(id) if len(id) < 200 else None
    answer = card(hit[0].gpu.id, where, method) if hit is not None else None
    if answer is None or hit is None or not hit[1]:
        return answer
    return msgspec.structs.replace(answer, explanation=f"{translated(hit[1])}; {answer.explanation}")


def model(id: str, where: Path | None, method: str | None) -> Answer | None:
    from papertrain.facts.models import find_model

    if not re.search(r"\d|/|-", id):
        return None
    try:
        m = find_model(id)
    except PapertrainError:
        return None
    lines = [
        "",
        "  "
        + say(
            "{architecture}, {layers} layers of width {hidden}, {heads} heads ({kv_heads} for keys and values), vocabulary {vocab:,}",
            architecture=m.architecture,
            layers=m.layers,
            hidden=m.hidden,
            heads=m.heads,
            kv_heads=m.kv_heads,
            vocab=m.vocab,
        ),
    ]
    parts = [
        (say("embeddings"), m.embedding_parameters),
        (say("norms and other"), m.other_parameters),
        *((x.name, x.parameters) for x in m.linears),
    ]
    lines += [f"  {padded(name, 18)} {n:>18,}" for name, n in (*parts, (say("all"), m.parameters)) if n]
    lines += [f"  {say('source')}  {translated(m.source.kind)}: {m.source.ref}"]
    return Answer(
        id=m.name, kind="fact", result=say("{name}: {n} parameters", name=m.name, n=f"{m.parameters:,}") + ("" if m.exact else say(" (a rough size)")), body="\n".join(lines) + "\n",
        explanation=say("{active} of them active for a token", active=f"{m.active_parameters:,}"), action=f'papertrain plan {quoted(id)} --gpu "1x A100-80GB"', data={"model": plain(m)},
    )  # fmt: skip


LOOKUPS: tuple[Lookup, ...] = (
    recipes,
    test_set,
    prediction,
    decision,
    evidence,
    card,
    rule,
    stored,
    card_by_name,
    model,
)


def every_id(where: Path | None, method: str | None) -> list[str]:
    """All names that could have been meant, for the nearest one."""
    from papertrain.facts.load import gpu_ids
    from papertrain.plan.derive_question import SETTABLE

    found = ["recipes", "test-set", "study.toml", *SETTABLE, *gpu_ids()]
    for _, r in every_rule():
        found += [r.id, r.name]
    return list(dict.fromkeys(found))
