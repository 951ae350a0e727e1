"""What `explain` can explain, one look-up per kind of thing. Each gives an Answer, or None where the id is not its own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from papertrain.core.errors import PapertrainError
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.training import TrainingPlan
from papertrain.core.units import show_bytes, show_count, show_number
from papertrain.core.values import Decision, Value, plain
from papertrain.report.plan import wrapped

ROOMS = ("monitor", "configs", "diagnose")
RULES = {
    "monitor": "papertrain.monitor.rules",
    "configs": "papertrain.configs.checks",
    "diagnose": "papertrain.diagnose.rules",
}
SEES = {"monitor": "watch", "configs": "check", "diagnose": "diagnose"}
DEEP = 6


class Answer(Value, frozen=True, kw_only=True):
    id: str
    kind: str
    result: str
    explanation: str
    body: str = ""
    details: str = ""
    action: str | None = None
    data: dict[str, Any] = {}


Lookup = Callable[[str, Path | None, str | None], Answer | None]


def opened(where: Path | None, method: str | None) -> TrainingPlan | None:
    """The plan of a workspace, or of a plan.json."""
    if where is None:
        return None
    from papertrain.core.workspace import Workspace

    if where.is_file():
        import msgspec

        from papertrain.core.files import read_text
        from papertrain.core.training import read_plan

        try:
            return read_plan(read_text(where, limit=5 * 2**20))
        except msgspec.MsgspecError as error:
            raise PapertrainError(
                f"not a plan that papertrain wrote: {error}", code="broken-plan", file=where
            ) from None
    space = Workspace.open(where)
    return space.plan(method) if method is not None or space.methods() else None


# ---------------------------------------------------------------- recipes


def recipes(id: str, where: Path | None, method: str | None) -> Answer | None:
    if id != "recipes":
        return None
    from papertrain.verbs._recipes import rows, table

    found = rows()
    good = sum(r.fits == "yes" for r in found)
    return Answer(
        id=id, kind="recipes", body=table(found) + "  " + say("Z: ZeRO stage; o: optimizer, p: parameters and optimizer offloaded to a host of 1 TB") + "\n", data={"recipes": [plain(r) for r in found]},
        result=say("{n} recipes: 3 model sizes on every card on record; {good} fit on the cards they are computed for", n=len(found), good=good),
        explanation=say("computed now by the planner, not typed: LoRA SFT at 2,048 tokens on one node of each card; what does not fit says what would"),
        action='papertrain plan Qwen/Qwen2.5-7B-Instruct --data FILE --gpu "4x A100-80GB"',
    )  # fmt: skip


# ---------------------------------------------------------------- decisions


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


# ---------------------------------------------------------------- rules and failure classes


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
    lines = ["", *wrapped("  ", r.what), *wrapped(f"  {say('why')}      ", r.why)]
    if r.known_problems:
        lines += wrapped(f"  {say('but')}      ", r.known_problems)
    if r.applies:
        lines += wrapped(f"  {say('applies')}  ", r.applies)
    lines += [f"  {say('source')}   {r.source.kind}: {r.source.ref}", f"  {say('status')}   {r.status}, {r.level}"]
    for label, sample in ((say("fires"), r.fires), (say("quiet"), r.quiet)):
        if sample:
            lines += [f"  {label}", *(f"    | {line}" for line in sample.splitlines()[:12])]
    return Answer(
        id=r.id, kind="class" if room == "diagnose" else "rule", result=f"{r.id} {r.name} ({r.level})", explanation=r.why, body="\n".join(lines) + "\n",
        data={"rule": {"id": r.id, "name": r.name, "level": r.level, "what": r.what, "why": r.why, "known_problems": r.known_problems,
                       "status": r.status, "source": plain(r.source), "seen_by": SEES[room], "fires": r.fires, "quiet": r.quiet}},
    )  # fmt: skip


# ---------------------------------------------------------------- evidence, findings, diagnoses

EVIDENCE = re.compile(r"E\d{1,9}")
STORED = re.compile(r"(D\d+(\.F\d+)?|F-[\w.-]+|C\d+)")


def evidence(id: str, where: Path | None, method: str | None) -> Answer | None:
    if not EVIDENCE.fullmatch(id):
        return None
    if where is None:
        raise PapertrainError(
            f"{id} is an evidence id: say which workspace it is in",
            code="needs-plan",
            ask=["--plan WORK"],
            command=f"papertrain explain {id} --plan work",
        )
    from papertrain.core.evidence import read_evidence
    from papertrain.core.workspace import Workspace

    space = Workspace.open(where)
    entries = read_evidence(space.root)
    e = next((x for x in entries if x.id == id), None)
    if e is None:
        raise PapertrainError(
            f"no evidence {id} in {where} (it has {len(entries)})",
            code="unknown-id",
            nearest=entries[-1].id if entries else None,
        )
    lines = ["", f"  {e.claim}: {e.value} {'' if e.unit == '1' else e.unit}".rstrip()]
    lines += [
        f"  {say('read in')}  {e.file}{' at ' + e.pointer if e.pointer else ''}",
        f"  sha256   {e.sha256}",
        f"  {say('made by')}  {e.made_by or '?'}",
    ]
    lines += [f"  {say('read at')}  {e.read_at}"] if e.read_at else []
    now = unchanged(space.root / e.file, e.sha256)
    return Answer(
        id=id,
        kind="evidence",
        result=f"{e.claim}: {e.value} ({e.status})",
        explanation=now,
        body="\n".join(lines) + "\n",
        data={"evidence": plain(e), "now": now},
    )


def unchanged(path: Path, digest: str) -> str:
    from papertrain.core.files import sha256_file

    if not path.is_file():
        return say("its file is not there any more")
    return (
        say("its file still has the content it was read from")
        if sha256_file(path) == digest
        else say("its file has changed since it was read")
    )


def stored(id: str, where: Path | None, method: str | None) -> Answer | None:
    """A diagnosis, fix or finding that was written into the workspace: debug logs and the tool's own state."""
    if not STORED.fullmatch(id):
        return None
    if where is None:
        raise PapertrainError(
            f"{id} belongs to a workspace: say which",
            code="needs-plan",
            ask=["--plan WORK"],
            command=f"papertrain explain {id} --plan work",
        )
    from papertrain.core.workspace import Workspace

    space = Workspace.open(where)
    for file in sorted([*space.root.glob("runs/*/debug/*.md"), *space.root.glob(".papertrain/*.json")])[:500]:
        try:
            text = file.read_text("utf-8", errors="replace")[: 2**20]
        except OSError:
            continue
        item = by_id(text, id) if file.suffix == ".json" else None
        lines = (
            [line for line in text.splitlines() if re.search(rf"(?<![\w.]){re.escape(id)}(?![\w.])", line)]
            if file.suffix == ".md"
            else []
        )
        if item is not None or lines:
            shown = json.dumps(item, indent=1, ensure_ascii=False).splitlines()[:60] if item is not None else lines[:20]
            name = file.relative_to(space.root)
            title = str(
                (item or {}).get("title") or (item or {}).get("says") or (lines[0].strip("# ") if lines else id)
            )
            return Answer(id=id, kind="finding", result=f"{id}: {title}", explanation=say("as written in {file}", file=name), body="\n".join(["", *(f"  {x}" for x in shown)]) + "\n", data={"file": str(name), "item": item})  # fmt: skip
    return None


def by_id(text: str, id: str) -> dict[str, Any] | None:
    """The object with that `id` anywhere in a JSON text."""
    try:
        queue: list[Any] = [json.loads(text)]
    except (ValueError, RecursionError):
        return None
    while queue:
        x = queue.pop()
        if isinstance(x, dict):
            if x.get("id") == id:
                return x
            queue += x.values()
        elif isinstance(x, list):
            queue += x
    return None


# ---------------------------------------------------------------- facts


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
        lines.append(f"  {f:<26} {figure(getattr(g, f)):<12} {mark}")
    lines += [line for i, s in enumerate(refs, 1) for line in wrapped(f"  [{i}] ", f"{s.kind}: {s.ref}")]
    return Answer(
        id=g.id, kind="fact", result=f"{g.label}: {show_bytes(g.memory_bytes)}, {'bf16' if g.has_bf16 else 'no bf16'}", body="\n".join(lines) + "\n",
        explanation="; ".join(g.notes) or say("every figure with its source; peaks are dense, with fp32 accumulation"),
        action=f'papertrain plan MODEL --gpu "1x {g.names[0] if g.names else g.id}"', data={"gpu": plain(g)},
    )  # fmt: skip


def figure(value: Any) -> str:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return show_number(value)
    return show_count(float(value))


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
        f"  {m.architecture}, {m.layers} layers of width {m.hidden}, {m.heads} heads ({m.kv_heads} for keys and values), vocabulary {m.vocab:,}",
    ]
    parts = [
        ("embeddings", m.embedding_parameters),
        ("norms and other", m.other_parameters),
        *((x.name, x.parameters) for x in m.linears),
    ]
    lines += [f"  {name:<18} {n:>18,}" for name, n in parts if n]
    lines += [f"  {'all':<18} {m.parameters:>18,}", f"  {say('source')}  {m.source.kind}: {m.source.ref}"]
    return Answer(
        id=m.name, kind="fact", result=f"{m.name}: {m.parameters:,} parameters" + ("" if m.exact else say(" (a rough size)")), body="\n".join(lines) + "\n",
        explanation=say("{active} of them active for a token", active=f"{m.active_parameters:,}"), action=f'papertrain plan {id} --gpu "1x A100-80GB"', data={"model": plain(m)},
    )  # fmt: skip


LOOKUPS: tuple[Lookup, ...] = (recipes, decision, evidence, card, rule, stored, model)


def every_id(where: Path | None, method: str | None) -> list[str]:
    """All names that could have been meant, for the nearest one."""
    from papertrain.facts.load import gpu_ids
    from papertrain.plan.derive_question import SETTABLE

    found = ["recipes", *SETTABLE, *gpu_ids()]
    for _, r in every_rule():
        found += [r.id, r.name]
    return list(dict.fromkeys(found))
