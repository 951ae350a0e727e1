"""The two rule sets, as arithmetic on the laws in `facts/laws`: `method` is the published method, `evidence` what 389
published configurations and the measured sweeps support. No wording here: `steps*` say why."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Literal, get_args

from papertrain.core.models import ModelSpec
from papertrain.core.units import significant
from papertrain.core.values import Value
from papertrain.facts.laws import law

Rules = Literal["method", "evidence"]
Task = Literal["sft", "pt", "dpo", "kto", "orpo", "simpo", "rm", "ppo", "grpo", "classification", "image"]
TASKS: tuple[str, ...] = get_args(Task)
PREFERENCE = frozenset({"dpo", "kto", "orpo", "simpo", "rm"})
REINFORCED = frozenset({"ppo", "grpo"})
PAIRED = frozenset({"dpo", "orpo", "simpo", "rm"})
ADAPTERS = frozenset({"lora", "rslora", "dora", "qlora"})
METHODS = ("full", "lora", "qlora", "dora", "rslora", "freeze")

# A rate is not known more finely than this: half a step of the sweeps that were published is 1.8x.
GRID = (1.0, 1.25, 1.6, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)

_FAMILIES = (
    ("llama-3", re.compile(r"llama-?3|llama-?4|tulu-?3", re.I)),
    ("mixtral", re.compile(r"mixtral", re.I)),
    ("mistral", re.compile(r"mistral|ministral|zephyr|codestral", re.I)),
    ("gemma", re.compile(r"gemma", re.I)),
    ("olmo", re.compile(r"olmo", re.I)),
    ("qwen", re.compile(r"qwen|qwq", re.I)),
    ("t5", re.compile(r"(?<![a-z])(?:u?m|by)?t5(?![0-9])", re.I)),
    ("llama-2", re.compile(r"llama|vicuna|alpaca|wizardlm", re.I)),
)


def tuner(method: str) -> str:
    """`lora` for every method that trains adapters, else `full`: the two columns of the laws."""
    return "lora" if method in ADAPTERS else "full"


def family_of(name: str, architecture: str = "", vocab: int = 0) -> str:
    """The base model's family, by its name, else by its architecture; `other` where neither tells."""
    base = name.rstrip("/").rpartition("/")[2]
    for family, pattern in _FAMILIES:
        if pattern.search(base):
            return family
    # Llama-3 has the architecture of Llama-2 and its own vocabulary of 128,256.
    if architecture == "LlamaForCausalLM" and vocab == 128_256:
        return "llama-3"
    for family, pattern in _FAMILIES[:-1]:
        if pattern.search(architecture):
            return family
    return "other"


class Rate(Value, frozen=True, kw_only=True):
    """A learning rate and the factors it is the product of."""

    value: float
    base: float
    base_batch: int
    batch_factor: float
    unclamped: float
    family_factor: float
    size_factor: float
    flat: tuple[int, int] | None
    path: str


def to_grid(rate: float) -> float:
    """The nearest of 1, 1.25, 1.6, 2, 2.5, 3, 4, 5, 6, 8 × 10^n."""
    power = math.floor(math.log10(rate))
    step = min(GRID, key=lambda g: abs(math.log(g * 10.0**power / rate)))
    return float(f"{step * 10.0**power:.3g}")


def rate(
    rules: str,
    *,
    task: str,
    method: str,
    family: str,
    parameters: int | None,
    batch: int | None,
    capped_by: float = 1.0,
) -> Rate:
    """The peak learning rate. `parameters` or `batch` None (a published recipe may not say): its factor is 1."""
    rates = law("learning_rate")
    column = tuner(method)
    path = f"base.{column}.{task}"
    base = float(rates.get(f"{path}.rate"))
    by_size = rates.get(f"{path}.by_size")
    # Preference tuning moves with size in the evidence only; an encoder's rate cannot be said without its size.
    if by_size and parameters and (rules == "evidence" or task == "classification"):
        base = between(by_size["parameters"], by_size["rates"], parameters)
    factor, unclamped, flat = _batch_factor(rules, column, batch, rates.get(f"{path}.batch"))
    kin = float(rates.get("family.full.factors", {}).get(family, 1.0)) if column == "full" and task == "sft" else 1.0
    size = _size_factor(column, parameters) if rules == "evidence" and not by_size else 1.0
    product = base * factor * kin * size * capped_by
    value = to_grid(product) if rules == "evidence" else significant(product, 2)
    return Rate(
        value=value, base=base, base_batch=rates.get(f"{path}.batch"), batch_factor=factor, unclamped=unclamped,
        family_factor=kin, size_factor=size, flat=flat, path=path,
    )  # fmt: skip


def between(sizes: Sequence[float], values: Sequence[float], size: float) -> float:
    """A straight line in logarithms through the points; constant outside of them."""
    if size <= sizes[0]:
        return float(values[0])
    for (x0, y0), (x1, y1) in zip(zip(sizes, values), zip(sizes[1:], values[1:])):
        if size <= x1:
            return float(y0 * (y1 / y0) ** (math.log(size / x0) / math.log(x1 / x0)))
    return float(values[-1])


def _batch_factor(
    rules: str, column: str, batch: int | None, base_batch: int
) -> tuple[float, float, tuple[int, int] | None]:
    table = law("learning_rate").get(f"{rules}.batch_lora" if column == "lora" else f"{rules}.batch")
    flat = tuple(table["flat"]) if "flat" in table else None
    if not batch:
        return 1.0, 1.0, flat
    if flat:
        ratio = batch / flat[0] if batch < flat[0] else batch / flat[1] if batch > flat[1] else 1.0
    else:
        ratio = batch / base_batch
    unclamped = ratio ** float(table["exponent"])
    return min(max(unclamped, table["least"]), table["most"]), unclamped, flat


def _size_factor(column: str, parameters: int | None) -> float:
    table = law("learning_rate").get(f"evidence.size.{column}")
    if not parameters:
        return 1.0
    factor = (parameters / table["reference"]) ** table["exponent"]
    return float(min(max(factor, table["least"]), table["most"]))


def epochs_for(rules: str, *, task: str, method: str, examples: int | None) -> tuple[float, str]:
    """The number of passes and the law's path. Without data, as for 20,000 to 100,000 examples."""
    key = f"{task}_lora" if task == "classification" and tuner(method) == "lora" else task
    table = law("epochs").get(f"{rules}.{key}")
    n = 50_000 if examples is None else examples
    place = sum(n >= b for b in table["below"])
    return float(table["epochs"][place]), f"{rules}.{key}"


def rank_unit(model: ModelSpec, targets: Sequence[str] | str = "all-linear") -> int:
    """Adapter parameters per unit of rank: the sum of inputs + outputs over the targeted matrices."""
    return sum(
        x.count * (x.inputs + x.outputs)
        for x in model.linears
        if (x.place not in ("head", "router") if isinstance(targets, str) else x.name in targets)
    )


def power_of_two_at_least(x: float) -> int:
    return 1 if x <= 1 else 1 << math.ceil(math.log2(x))


def warmup_for(rules: str, task: str, total_steps: int) -> int:
    """Warm-up steps: 10 % for `method`; 3 % (10 % for preferences and short runs) within 10-200 steps for `evidence`."""
    table = law("schedule").get(f"warmup.{rules}")
    if rules == "method":
        return min(round(float(table["ratio"]) * total_steps), max(0, total_steps - 1))
    if total_steps < table["short_run"]:
        ratio = table["short_ratio"]
    elif task in PREFERENCE | REINFORCED:
        ratio = table["ratio_preference"]
    elif task in ("classification", "image"):
        ratio = table["ratio_classification"]
    else:
        ratio = table["ratio"]
    least, most = float(table["least_steps"]), float(table["most_steps"])
    steps = min(max(ratio * total_steps, least), most, float(table["most_ratio"]) * total_steps)
    return int(min(max(1, round(steps)), max(0, total_steps - 1)))
