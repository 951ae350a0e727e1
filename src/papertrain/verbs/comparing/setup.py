"""The paragraph on the experimental setup: every number from a plan, a record or the comparison, none by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from papertrain.core.training import TrainingPlan
from papertrain.core.units import show_count, show_number
from papertrain.results import names, statement

if TYPE_CHECKING:
    from papertrain.verbs.comparing.build import Comparison
    from papertrain.verbs.comparing.study import Cost

OPTIMIZERS = {
    "adamw": "AdamW",
    "adamw_torch": "AdamW",
    "sgd": "SGD",
    "adafactor": "Adafactor",
    "lion": "Lion",
    "muon": "Muon",
}
PRECISIONS = {
    "bf16": "bfloat16 mixed precision",
    "fp16": "float16 mixed precision with loss scaling",
    "fp32": "float32",
    "pure_bf16": "bfloat16",
}


def setup(
    found: Comparison, plans: dict[str, TrainingPlan], costs: Sequence[Cost], trials: dict[str, int]
) -> list[str]:
    """Sentences; what is not known is left out, never guessed."""
    out = [s for method, p in plans.items() for s in _training(found.labels.get(method, method), p)]
    out += _runs(found)
    out += _budget(trials, found.labels)
    out += _scores(found)
    out += _tests(found)
    return out + _compute(costs, found)


def _training(name: str, p: TrainingPlan) -> list[str]:
    v = p.values()
    how = {
        "full": "all parameters are trained",
        "lora": "LoRA",
        "qlora": "QLoRA (4-bit base weights)",
        "dora": "DoRA",
    }.get(str(v["method"]), str(v["method"]))
    if v.get("lora_rank") is not None:
        how += f" with rank {show_number(v['lora_rank'])}, alpha {show_number(v['lora_alpha'])} and dropout {show_number(v['lora_dropout'])}"
    first = f"{name}: {p.model.name} ({show_count(p.model.parameters)} parameters; {how}) is trained"
    if p.dataset is not None:
        tokens = f", {p.dataset.tokens:,} tokens" if p.dataset.tokens is not None else ""
        first += f" on {p.dataset.examples:,} examples{tokens}"
    epochs = v["epochs"]
    steps = f" ({v['total_steps']:,} steps)" if v.get("total_steps") else ""
    first += f" for {show_number(epochs)} epoch{'' if epochs == 1 else 's'}{steps}"
    second = (
        f"It uses {OPTIMIZERS.get(str(v['optimizer']), str(v['optimizer']))} with a peak learning rate of {show_number(v['learning_rate'])}, a {v['lr_scheduler']} schedule"
        + (f" after {v['warmup_steps']:,} warm-up steps" if v.get("warmup_steps") else "")
        + f", weight decay {show_number(v['weight_decay'])}, gradients clipped at {show_number(v['max_grad_norm'])}, {v['global_batch_size']:,} sequences of at most {v['sequence_length']:,} tokens in a batch, and {PRECISIONS.get(str(v['precision']), str(v['precision']))}"
    )
    stop = (
        f"Training stops early after {v['early_stopping_patience']} evaluations without a better validation loss"
        if v.get("early_stopping_patience")
        else ""
    )
    return [f"{s}." for s in (first, second, stop) if s]


def _runs(found: Comparison) -> list[str]:
    seeds = {r: max((c.n_seeds for c in row), default=0) for r, row in zip(found.table.rows, found.table.cells)}
    several = {found.labels.get(r, r): n for r, n in seeds.items() if n > 0}
    if not several:
        return []
    if len(set(several.values())) == 1:
        n = next(iter(several.values()))
        return [f"Every method is run with {n} seed{'s' if n > 1 else ''}."]
    return [f"Seeds per method: {', '.join(f'{m} {n}' for m, n in several.items())}."]


def _budget(trials: dict[str, int], labels: dict[str, str]) -> list[str]:
    if not trials:
        return ["How many configurations were tried for each method is not recorded."]
    if len(set(trials.values())) == 1:
        return [f"Each method was tuned with the same budget of {next(iter(trials.values()))} trials."]
    return [f"Tuning trials: {', '.join(f'{labels.get(m, m)} {n}' for m, n in trials.items())}."]


def _scores(found: Comparison) -> list[str]:
    sizes = {e.measured.n for runs in found.board.entries.values() for e in runs.values() if e.measured is not None}
    metrics = list(dict.fromkeys(names.pretty(c.metric).replace("$R^2$", "R²") for c in found.table.columns))
    if not metrics:
        return []
    where = list(dict.fromkeys(c.dataset for c in found.table.columns if c.dataset))
    text = f"We report {', '.join(metrics)}" + (f" on {', '.join(where)}" if where else "")
    return [text + (f" ({next(iter(sizes)):,} test examples)." if len(sizes) == 1 else ".")]


def _tests(found: Comparison) -> list[str]:
    made = [t for t in found.tests if not t.refused and t.details.get("role") == "primary"]
    if not made:
        return ["No significance test is reported: the results do not carry one."]
    kinds = list(dict.fromkeys(f"{statement.TESTS.get(t.test, t.test)} over {_unit(t)}" for t in made))
    text = f"Differences are tested two-sided ({'; '.join(kinds)}; α = {made[0].details.get('alpha', 0.05):g}"
    family: Any = made[0].details.get("family", 1)
    if statement.corrected(made[0]):
        text += f"; {statement.CORRECTIONS[made[0].adjustment]} correction over {family} comparisons"
    return [text + "); intervals are at 95 %."]


def _unit(t: Any) -> str:
    return {
        "example": "shared test examples",
        "cluster": "clusters of test examples",
        "seed": "seeds",
        "fold": "folds",
        "pair": "pairs",
    }.get(t.unit, "shared test examples")


def _compute(costs: Sequence[Cost], found: Comparison) -> list[str]:
    """Measured only: what has no record is not mentioned."""
    known = [c for c in costs if c.hours_in_all is not None]
    if not known:
        return ["No run left a record of its time, so that the compute is not stated."]
    devices = list(dict.fromkeys(c.device for c in known if c.device))
    versions = list(dict.fromkeys(e.framework for e in found.evidence if e.framework))
    if all(c.gpu_hours_in_all is not None for c in known):
        total = sum(c.gpu_hours_in_all or 0 for c in known)
        amount = f"{total:.3g} GPU-hours"
    else:
        amount = f"{sum(c.hours_in_all or 0 for c in known):.3g} hours of wall time"
    text = f"All {sum(c.starts for c in known)} starts, failed ones included, took {amount}" + (
        f" on {', '.join(devices)}" if devices else ""
    )
    return [text + (f", with {versions[0]}." if len(versions) == 1 else ".")]
