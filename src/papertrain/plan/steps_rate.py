"""How fast it moves: learning rate, schedule, weight decay, clipping, and the tie to the reference model."""

from __future__ import annotations

from papertrain.core.models import ModelSpec
from papertrain.core.units import show_count, show_number
from papertrain.core.values import Contest, Decision
from papertrain.facts.laws import law
from papertrain.plan.rulesets import Rate, family_of, rate, tuner


def learning_rate(rules: str, task: str, method: str, model: ModelSpec, batch: int) -> Decision[float]:
    """base × batch factor (× family, × size), each named in the reason with this plan's own numbers."""
    family = family_of(model.name, model.architecture, model.vocab)
    r = rate(rules, task=task, method=method, family=family, parameters=model.parameters, batch=batch)
    rates = law("learning_rate")
    column = tuner(method)
    contests = rates.contests(r.path) + rates.contests(f"{rules}.batch_lora" if column == "lora" else f"{rules}.batch")
    own = f"family.{family}" if r.family_factor > 1 else ""
    if r.family_factor < 1:
        contests += rates.contests("family.full")
    if column == "lora" and method != "full":
        contests += (
            Contest(
                ref="arXiv:2602.06204",
                says="with alpha = 2 x rank the best rate falls as 1/rank: alpha × rate is what counts",
            ),
        )
    return Decision(
        name="learning_rate", value=r.value, rests_on=("task", "method", "model", "global_batch_size"),
        source=rates.source(own or r.path), contested_by=contests, why=reason(r, rules, task, method, model, batch, family),
    )  # fmt: skip


def reason(r: Rate, rules: str, task: str, method: str, model: ModelSpec, batch: int, family: str) -> str:
    what = {"classification": "fine-tuning of a classifier", "image": "fine-tuning of an image classifier"}.get(
        task, task.upper()
    )
    parts = [f"base {show_number(r.base)} for {method} {what}"]
    if r.flat and rules == "method":
        low, high = r.flat
        if low <= batch <= high:
            parts.append(f"× 1, as batch {batch} lies in the flat range of {low}-{high} sequences")
        else:
            edge = low if batch < low else high
            parts.append(f"× sqrt({batch}/{edge}) = {r.unclamped:.2f}{_held(r)}")
    elif rules == "method":
        parts.append(f"at batch {r.base_batch} × sqrt({batch}/{r.base_batch}) = {r.unclamped:.2f}{_held(r)}")
    else:
        parts.append(f"at any batch (here {batch}), as practice keeps it")
    if r.family_factor != 1:
        bear = "bear less" if r.family_factor < 1 else "need more"
        parts.append(f"× {r.family_factor:g}, as {family} models {bear} than Llama-2")
    if r.size_factor != 1:
        parts.append(f"× {r.size_factor:.2f} for {show_count(model.parameters)} parameters")
    if rules == "evidence":
        parts.append(f"→ {show_number(r.value)} on the grid of published sweeps")
    return " ".join(parts)


def _held(r: Rate) -> str:
    return (
        ""
        if abs(r.unclamped - r.batch_factor) < 1e-9
        else f", held at {r.batch_factor:g} (the law breaks above the noise scale)"
    )


def lr_scheduler(task: str) -> Decision[str]:
    table = law("schedule")
    if task in ("ppo", "grpo"):
        return Decision(
            name="lr_scheduler",
            value=table.get("scheduler.rl.value"),
            source=table.source("scheduler.rl"),
            rests_on=("task",),
            why="the end of a reinforcement run is not known beforehand",
        )
    if task == "classification":
        return Decision(
            name="lr_scheduler",
            value=table.get("scheduler.classification"),
            source=table.source("scheduler"),
            rests_on=("task",),
            why="BERT and its successors are tuned with linear decay to zero",
        )
    return Decision(name="lr_scheduler", value=table.get("scheduler.value"), source=table.source("scheduler"), rests_on=("task",), contested_by=table.contests("scheduler"), why="cosine to zero, in 157 of 262 published configurations")  # fmt: skip


def weight_decay(rules: str, task: str, model: ModelSpec, total: int | None, rate: float) -> Decision[float]:
    table = law("schedule")
    t = table.get(f"weight_decay.{rules}")
    size = show_count(model.parameters)
    contests = table.contests(f"weight_decay.{rules}")
    shrink = ""
    if rules == "evidence":
        value = t["classification"] if task in ("classification", "image") else t["value"]
        why = "several epochs on a small encoder, where it can count" if value else "0 in most released configurations"
        source = table.source("weight_decay.evidence")
    else:
        large = model.parameters >= t["large_from"]
        value = t["large"] if large else t["value"]
        why = f"{size} is {'at or above' if large else 'below'} the {show_count(t['large_from'])} from which the method uses {t['large']}"
        source = table.named_source(t["source_large"]) if large else table.source("weight_decay.method")
    share = 0.5 * rate * value * (total or 0)
    if share >= 1e-3:
        # A cosine's mean rate is half its peak: this is the share by which decay alone shrinks a weight over the run.
        shrink = f"; over {total:,} steps it shrinks the weights by {100 * share:.2g} %"
    return Decision(name="weight_decay", value=value, source=source, rests_on=("model", "learning_rate", "total_steps"), contested_by=contests, why=why + shrink)  # fmt: skip


def max_grad_norm(method: str) -> Decision[float]:
    table = law("schedule")
    value = table.get("clip.qlora") if method == "qlora" else table.get("clip.value")
    why = "QLoRA's own value" if method == "qlora" else "nearly universal; Adam is scale-free, so it only cuts spikes"
    return Decision(
        name="max_grad_norm",
        value=value,
        source=table.source("clip"),
        rests_on=("method",),
        contested_by=table.contests("clip"),
        why=why,
    )


def beta(task: str) -> Decision[float] | None:
    """The tie to the reference model; no decision for tasks that have none."""
    table = law("preference")
    if not isinstance(table.get(task), dict) or task in ("sources", "source"):
        return None
    what = "KL coefficient" if task in ("ppo", "grpo") else "beta"
    return Decision(name="beta", value=float(table.get(f"{task}.beta")), source=table.source(task), rests_on=("task",), contested_by=table.contests(task), why=f"{what} of the published {task.upper()} recipes")  # fmt: skip
