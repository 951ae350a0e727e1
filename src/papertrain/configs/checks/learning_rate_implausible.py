"""A learning rate that nobody trains with."""

from __future__ import annotations

import re
from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, number
from papertrain.configs.checking.world import World
from papertrain.configs.checks._common import adapts
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source, Value

# Published runs lie between 8e-8 (preference training) and 6e-3; SGD, LoRA+ and muon go higher.
LOW, HIGH = 1e-8, 2e-2
BOLD = {"sgd", "adafactor", "muon", "lion_32bit", "schedule_free_sgd", "adalomo", "lomo"}
OWN_RATES = ("use_muon", "use_galore", "use_apollo", "use_badam")


class Range(Value, frozen=True, kw_only=True):
    """What published runs of one method and task use: the middle half, and the ends outside of which there is none."""

    usual: tuple[float, float]
    least: float
    most: float


# Family-weighted quartiles and ends of 389 published configurations. Preference and reinforcement training with adapters:
# ten times the full rate, as for SFT (LoRA Without Regret; TRL's documentation), as there are few records.
_RANGES: dict[tuple[str, str], Range] = {
    ("full", "sft"): Range(usual=(5e-6, 2e-5), least=5e-7, most=1e-4),
    ("lora", "sft"): Range(usual=(1e-4, 3e-4), least=5e-6, most=2e-3),
    ("full", "pt"): Range(usual=(2e-5, 2e-4), least=5e-7, most=1e-3),
    ("lora", "pt"): Range(usual=(5e-5, 2e-4), least=5e-6, most=2e-3),
    ("full", "preference"): Range(usual=(5e-7, 1e-6), least=5e-8, most=2e-5),
    ("lora", "preference"): Range(usual=(5e-6, 1e-5), least=5e-7, most=2e-4),
    ("full", "rm"): Range(usual=(3e-6, 2e-5), least=5e-7, most=2e-4),
    ("lora", "rm"): Range(usual=(3e-5, 2e-4), least=5e-6, most=2e-3),
    ("full", "rl"): Range(usual=(3e-7, 3e-6), least=5e-8, most=2e-5),
    ("lora", "rl"): Range(usual=(3e-6, 3e-5), least=5e-7, most=2e-4),
}
TASKS = {
    "sft": "sft", "pt": "pt", "rm": "rm", "reward": "rm", "ppo": "rl", "grpo": "rl", "gdpo": "rl", "rloo": "rl", "online_dpo": "rl",
    "dpo": "preference", "kto": "preference", "orpo": "preference", "cpo": "preference", "ipo": "preference", "simpo": "preference",
}  # fmt: skip
# SmolLM2 135M and 360M were tuned at 1e-3, all weights: below a billion parameters ten times the rate is published.
SMALL, HOTTER = 1e9, 10.0


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    at: tuple[str, ...] = ("optimizer", "params", "lr") if document.kind == "deepspeed" else ("learning_rate",)
    value = number(document.at(*at))
    optimizer = str(document.get("optim", "")).lower()
    if (
        value is None
        or value <= 0
        or optimizer in BOLD
        or any(name in optimizer for name in ("galore", "apollo", "muon", "lomo"))
        or any(document.settings.get(k) is True for k in OWN_RATES)
        or document.role in ("chat", "export", "predict", "evaluate", "eval")
    ):
        return
    case = _case(document)
    method, task = case if case else ("", "")
    known = _RANGES.get((method, TASKS.get(task, "")))
    low, high = known.usual if known else (1e-6, 1e-3)
    says = ""
    if value > HIGH:
        says = say(
            "a learning rate of {value:g} is far above every published run: is the exponent missing?", value=value
        )
    elif value < LOW:
        says = say("a learning rate of {value:g} is below every published run: it moves nothing in bf16", value=value)
    elif known and value > known.most * (HOTTER if method == "full" and _small(document, world) else 1) * (1 + 1e-9):
        says = say(
            "{value:g} is above what is published for {case}: usual are {low:g} to {high:g}; such runs diverge or forget",
            value=value, case=_named(method, task), low=low, high=high,
        )  # fmt: skip
    elif known and value < known.least * (1 - 1e-9):
        says = say(
            "{value:g} is below what is published for {case}: usual are {low:g} to {high:g}; hardly anything is learnt",
            value=value, case=_named(method, task), low=low, high=high,
        )  # fmt: skip
    if says:
        instead = say("between {low:g} and {high:g}", low=low, high=high)
        yield Wrong(says=says, at=at, instead=instead, effect="experiment")


def _case(document: ConfigDocument) -> tuple[str, str] | None:
    """(method, task) where the file says both; None where it does not."""
    settings = document.settings
    if document.kind == "llamafactory" and document.role in ("train", "script", "override"):
        if document.role != "train" and not {"stage", "finetuning_type"} <= set(settings):
            return None
        return ("lora" if adapts(document) else "full"), str(settings.get("stage", "sft"))
    if document.kind == "axolotl" and document.role != "override":
        task = str(settings.get("rl") or ("pt" if settings.get("pretraining_dataset") else "sft"))
        return ("lora" if adapts(document) else "full"), "rm" if settings.get("reward_model") is True else task
    if document.kind == "trl":
        # A script may add its adapters anywhere: only where all of it was read is it known to have none.
        adapters = adapts(document) or document.format == "python"
        return ("lora" if adapters else "full"), document.role
    return None


def _named(method: str, task: str) -> str:
    return say("full fine-tuning ({task})", task=task) if method == "full" else say("LoRA ({task})", task=task)


def _small(document: ConfigDocument, world: World) -> bool:
    """Whether the model's name says that it has less than a billion parameters."""
    model = str(document.get("model_name_or_path") or world.model or "")
    sizes = re.findall(r"(?<![\w.])(\d+(?:\.\d+)?)([mb])(?![a-z])", model.rpartition("/")[2].lower().replace("_", "-"))
    return any(float(n) * (1e6 if unit == "m" else 1e9) < SMALL for n, unit in sizes)


RULE = Rule(
    id="TR335",
    name="learning-rate-implausible",
    level="warning",
    status="stable",
    check=check,
    applies="llamafactory trl axolotl trainer deepspeed",
    effect="experiment",
    what="The learning rate is outside what published runs of that method and task use.",
    why="`5` for `5e-5`, or a value meant for adapters in a full fine-tune, diverges within the first steps.",
    source=Source(
        kind="rule",
        ref="389 published configurations, one vote per family: SFT full 5e-6 to 2e-5, SFT LoRA 1e-4 to 3e-4, DPO full 5e-7 to 1e-6, reward models 3e-6 to 2e-5; adapters ten times the full rate (LoRA Without Regret)",
    ),
    fires="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nlearning_rate: 5\n",
    quiet="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nlearning_rate: 5.0e-5\n",
)
