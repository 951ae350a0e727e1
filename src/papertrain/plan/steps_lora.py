"""The adapters: rank from size and data, alpha from the rank, dropout from the data, where they sit."""

from __future__ import annotations

from papertrain.core.models import DatasetProfile, ModelSpec
from papertrain.core.units import show_count
from papertrain.core.values import Decision
from papertrain.facts.laws import law
from papertrain.plan.rulesets import power_of_two_at_least, rank_unit


def trained_tokens(data: DatasetProfile | None) -> int | None:
    if data is None:
        return None
    return data.trainable_tokens if data.trainable_tokens is not None else data.tokens


def lora_rank(rules: str, model: ModelSpec, data: DatasetProfile | None, fine_grained: bool) -> Decision[int]:
    """`method`: a range by size, the place in it by the trained tokens; `evidence`: by the trained tokens alone."""
    table = law("lora")
    unit = rank_unit(model)
    tokens = trained_tokens(data)
    size = show_count(model.parameters)
    path = f"rank.{rules}"
    needed = None if tokens is None or unit == 0 else tokens / unit
    said = (
        "the data is not known"
        if tokens is None
        else f"{show_count(tokens)} trained tokens / {show_count(unit)} adapter parameters per unit of rank = {needed or 0:.2g}"
    )
    if rules == "evidence":
        t = table.get(path)
        value = t["default"] if needed is None else min(max(power_of_two_at_least(needed), t["least"]), t["most"])
        why = f"{said}; at least {t['least']}, at most {t['most']}"
    else:
        large = model.parameters >= table.get(f"{path}.large_from")
        which = "fine_grained" if fine_grained else "large" if large else "small"
        low, high = table.get(f"{path}.{which}")
        value = high if needed is None or needed > low else low
        where = "for a fine-grained task" if fine_grained else f"for {size} parameters"
        why = f"{low}-{high} {where}; {said}, so the {'lower' if value == low else 'upper'} end"
    return Decision(
        name="lora_rank",
        value=value,
        source=table.source(path),
        rests_on=("model", "data"),
        contested_by=table.contests(path),
        why=why,
    )


def lora_alpha(rules: str, rank: int) -> Decision[int]:
    table = law("lora")
    path = f"alpha.{rules}"
    if rules == "evidence":
        return Decision(
            name="lora_alpha",
            value=table.get(f"{path}.fixed"),
            source=table.source(path),
            contested_by=table.contests(path),
            why="fixed, so that the rate need not change with the rank",
        )
    times = table.get(f"{path}.times_rank")
    return Decision(name="lora_alpha", value=times * rank, source=table.source(path), rests_on=("lora_rank",), contested_by=table.contests(path), why=f"{times} × rank {rank}; alpha × learning rate is what counts")  # fmt: skip


def lora_dropout(method: str, data: DatasetProfile | None) -> Decision[float]:
    table = law("lora")
    t = table.get("dropout")
    n = None if data is None else data.examples
    if n is not None and n < t["small_data_below"]:
        value, why = (
            t["small_data"],
            f"{n:,} examples are fewer than {t['small_data_below']:,}: a little guards against over-fitting",
        )
    elif method == "qlora":
        value, why = t["qlora"], "as QLoRA; low importance"
    else:
        value, why = (
            t["value"],
            "no measured gain from 10,000 examples on, and 0 is faster"
            if n
            else "no measured gain on larger data, and 0 is faster",
        )
    return Decision(
        name="lora_dropout",
        value=value,
        source=table.source("dropout"),
        rests_on=("data", "method"),
        contested_by=table.contests("dropout"),
        why=why,
    )


def lora_targets(model: ModelSpec) -> Decision[str | list[str]]:
    mlp = sum(x.count * (x.inputs + x.outputs) for x in model.linears if x.place in ("mlp", "expert"))
    every = rank_unit(model)
    share = (
        f"; the MLP holds {100 * (mlp / every):.0f} % of this model's adapter parameters, so attention alone would leave most out"
        if every and mlp / every > 0.5
        else ""
    )
    return Decision(
        name="lora_targets",
        value="all-linear",
        source=law("lora").source("targets"),
        rests_on=("model",),
        why=f"all linear layers{share}",
    )
