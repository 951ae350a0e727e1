"""The derivation, read from top to bottom: a Question becomes a TrainingPlan.

Each step is one small function in `steps_*`, which says why with this plan's own numbers; `search` places the
experiment on the cards; `rulesets` holds the arithmetic of the two rule sets, whose numbers are in `facts/laws`.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import structs

from papertrain.core.counts import agreed
from papertrain.core.errors import PapertrainError
from papertrain.core.models import ModelSpec
from papertrain.core.texts import english
from papertrain.core.training import Alternative, TrainingPlan
from papertrain.core.units import show_bytes, show_number
from papertrain.core.values import Decision
from papertrain.facts.hardware import one_processor
from papertrain.facts.laws import law
from papertrain.plan import steps_batch, steps_lora, steps_rate, steps_task
from papertrain.plan.derive_alternatives import alternatives, retold
from papertrain.plan.derive_question import Question, by_user, settle
from papertrain.plan.derive_reasons import execution_decisions
from papertrain.plan.derive_refusals import (
    copied,
    refuse_attention,
    refuse_endless_decay,
    refuse_layout,
    unknown_template,
)
from papertrain.plan.memory_nearest import with_basis
from papertrain.plan.rulesets import ADAPTERS, REINFORCED, TASKS
from papertrain.plan.search import Draft, Placed, place, setup_of, time_of

SIZED = re.compile(r"\d\s?GB", re.I)
EXECUTION = ("micro_batch_size", "gradient_accumulation_steps", "zero_stage", "offload", "gradient_checkpointing")


TASKS_OF = {"encoder": "classification", "vision": "image", "speech": "sft"}
KINDS = {"encoder": "an encoder", "vision": "an image model", "speech": "a speech model"}


@english()
def derive(q: Question, *, ways: bool | None = True) -> TrainingPlan:
    """The plan that the question leads to. Raises PapertrainError where the question contradicts itself. ways: whether the
    alternatives of a plan that fits are searched too; those of one that does not fit always are, except with None."""
    sets = dict(q.sets)
    task = steps_task.task_of(q.model, q.dataset, q.task or sets.pop("task", None))
    check(q, task)
    method = steps_task.method(q.model, task, q.method or sets.pop("method", None))
    if method.source.kind == "user" or "precision" in sets or task in REINFORCED:
        return assemble(q, sets, task, method, ways=ways)
    plan = assemble(q, sets, task, method, ways=ways)
    if plan.fits == "no" and method.value == "lora" and q.compute.gpu.vendor == "nvidia" and q.model.quantized is None:
        smaller = structs.replace(
            method,
            value="qlora",
            why=f"16-bit weights do not fit ({show_bytes(needed(plan))} of {show_bytes(q.compute.gpu.memory_bytes)} a card), 4-bit ones may: {method.why}",
        )
        other = assemble(q, sets, task, smaller, ways=ways)
        return other if other.fits in ("yes", "tight") else plan
    return plan


def needed(plan: TrainingPlan) -> float | None:
    return None if plan.memory is None else plan.memory.device_bytes.value


def check(q: Question, task: str) -> None:
    if task not in TASKS:
        raise PapertrainError(f"no task {task!r}: one of {', '.join(TASKS)}", code="unknown-task")
    if q.compute.gpus < 1:
        raise PapertrainError("a plan needs at least one device", code="no-gpu")
    one_processor(q.compute.gpu.id, q.compute.gpus_per_node, q.compute.nodes)
    offload, stage = q.sets.get("offload"), q.sets.get("zero_stage")
    if stage is not None and offload in ("optimizer", "params+optimizer") and stage < (3 if "params" in offload else 2):
        needed_stage = 3 if "params" in offload else 2
        raise PapertrainError(
            f"offload {offload} needs ZeRO stage {needed_stage}, not {stage}",
            code="offload-needs-stage",
            ask=[f"--set zero_stage={needed_stage}"],
        )
    steps_task.refuse_bf16(q.compute.gpu, q.sets.get("precision"))
    refuse_attention(q.compute.gpu, q.sets.get("attention"))
    steps_task.check_format(task, q.dataset)
    if q.sets.get("packing") and task not in ("sft", "pt"):
        raise PapertrainError(f"examples are packed for sft and pt only, not for {task}", code="no-packing")
    check_kind(q.model, task)


def check_kind(m: ModelSpec, task: str) -> None:
    """What a model of that kind can be trained for at all."""
    only = TASKS_OF.get(m.kind)
    if only is not None and task != only:
        raise PapertrainError(f"{m.name} is {KINDS[m.kind]}: it can be trained for {only}, not for {task}", code="wrong-task", ask=[f"--task {only}"])  # fmt: skip
    if only is None and task == "image":
        raise PapertrainError(f"{m.name} is a language model: it cannot be trained for {task}", code="wrong-task", ask=["a vision model such as google/vit-base-patch16-224"])  # fmt: skip


def assemble(
    q: Question, sets: dict[str, Any], task: str, method: Decision[str], *, ways: bool | None = True
) -> TrainingPlan:
    model, data, compute, rules = q.model, q.dataset, q.compute, q.rules
    steps_task.check_method(model, compute, method.value)
    precision = settle(steps_task.precision(compute.gpu, model), sets)
    optimizer = settle(steps_task.optimizer(), sets)
    attention = settle(steps_task.attention(compute.gpu, model), sets)
    asked_length = q.seq_len if q.seq_len is not None else sets.get("sequence_length")
    length = steps_task.sequence_length(model, task, data, asked_length)
    packing = settle(steps_task.packing(task, data, length.value), sets)

    share = settle(steps_batch.validation_share(task, data, q.validation), sets)
    sequences = steps_batch.train_sequences(task, data, share.value, length.value, packing.value)
    epochs = settle(steps_batch.epochs(rules, task, method.value, data), sets)
    batch = global_batch(q, sets, task, method.value, sequences, epochs.value)
    check_batch(batch, sequences, compute.gpus)
    total = settle(steps_batch.total_steps(sequences, batch.value, epochs.value), sets)
    refuse_endless_decay(q, total.value)
    warmup = settle(steps_batch.warmup_steps(rules, task, total.value), sets)
    check_warmup(warmup, total)

    derived_rate = steps_rate.learning_rate(rules, task, method.value, model, batch.value)
    rate = settle(derived_rate, sets)
    template = optional(steps_task.template(model, task), sets)
    decay = settle(steps_rate.weight_decay(rules, task, model, total.value, rate.value), sets)
    evals = settle(steps_batch.eval_steps(total.value, share.value > 0 or q.validation is not None), sets)
    saves = saved(settle(steps_batch.save_steps(total.value, evals.value), sets), evals.value)
    adapters = adapter_decisions(q, sets, method.value)
    loss = optional(steps_task.loss(task, model), sets)

    draft = Draft(
        model=model, compute=compute, task=task, method=method.value, sequence_length=length.value, global_batch=batch.value,
        precision=precision.value, optimizer=optimizer.value, attention=attention.value, total_steps=total.value, loss=None if loss is None else loss.value,
        lora_rank=adapters["lora_rank"].value if adapters else None, lora_targets=targets_of(adapters),
        lora_dropout=adapters["lora_dropout"].value if adapters else None,
        memory_shift=q.memory_shift, time_shift=q.time_shift,
    )  # fmt: skip
    fixed = {k: sets[k] for k in EXECUTION if k in sets}
    refuse_layout(draft, fixed.get("offload"), fixed.get("zero_stage"))
    placed = place(draft, fixed)
    time = time_of(draft, placed.layout)
    known = placed.memory.device_bytes.value is not None and q.compute.gpu.id != "cpu"
    memory = with_basis(placed.memory, setup_of(draft, placed.layout)) if known else placed.memory
    plan = TrainingPlan(
        name=q.name, task=task, rules=rules, model=model, dataset=data, compute=compute, fits=placed.fits, method=method,
        **execution_decisions(draft, placed, batch.value, sets),
        global_batch_size=batch, learning_rate=rate, lr_scheduler=settle(steps_rate.lr_scheduler(task), sets), epochs=epochs,
        total_steps=total, warmup_steps=warmup, weight_decay=decay, optimizer=optimizer, precision=precision, attention=attention,
        packing=packing, sequence_length=length, max_grad_norm=settle(steps_rate.max_grad_norm(method.value), sets),
        seed=settle(steps_task.seed(), sets), eval_steps=evals, save_steps=saves,
        early_stopping_patience=settle(steps_batch.patience(evals.value), sets), validation_share=share, loss=loss,
        template=template, beta=optional(steps_rate.beta(task), sets),
        **adapters, memory=memory, duration=time, alternatives=alternatives(draft, fixed, placed) if ways or (ways is False and placed.fits != "yes") else (),
        warnings=(*warnings(q, task, placed, batch.value, total.value), *unused(sets, task, method.value), *doubts(q, sets, template, length.value, derived_rate.value)),
        provisional=data is None,
    )  # fmt: skip
    return structs.replace(plan, alternatives=tuple(as_planned(q, plan, a) for a in plan.alternatives))


LEARNED = ("method", "sequence_length", "precision", "optimizer")


def as_planned(q: Question, plan: TrainingPlan, a: Alternative) -> Alternative:
    """Another method, length, number format or optimizer, with the figures that its own plan would have."""
    if "gpus" in a.changes or not any(k in a.changes for k in LEARNED):
        return a
    sets = {k: v for k, v in q.sets.items() if k not in a.changes}
    sets |= {k: a.changes[k] for k in ("precision", "optimizer") if k in a.changes}
    asked = structs.replace(
        q,
        method=a.changes.get("method", plan.method.value),
        seq_len=a.changes.get("sequence_length", q.seq_len),
        sets=sets,
    )
    try:
        return retold(a, plan, derive(asked, ways=None))
    except PapertrainError:
        return a  # what the user fixed does not go with it


def optional(decision: Decision[Any] | None, sets: dict[str, Any]) -> Decision[Any] | None:
    return None if decision is None else settle(decision, sets)


def global_batch(
    q: Question, sets: dict[str, Any], task: str, method: str, sequences: int | None, epochs: float
) -> Decision[int]:
    """The law's batch, or the user's: set by name, or as micro-batch × accumulation × cards."""
    cards = q.compute.gpus
    derived = steps_batch.global_batch_size(task, method, sequences, epochs, cards)
    micro, accumulate, asked = (
        sets.get(k) for k in ("micro_batch_size", "gradient_accumulation_steps", "global_batch_size")
    )
    if micro and accumulate:
        product = micro * accumulate * cards
        if asked and asked != product:
            raise PapertrainError(
                f"micro-batch {micro} × accumulation {accumulate} × {cards} cards = {product}, not {asked}: leave one of the three to be derived",
                code="batches-disagree",
            )
        return structs.replace(
            derived,
            value=product,
            source=by_user("micro_batch_size, gradient_accumulation_steps"),
            why=f"set by the user: {micro} × {accumulate} × {cards} cards; the rule gives {derived.value}",
        )
    value = asked or derived.value
    unit = (micro or accumulate or 1) * cards
    if value % unit:
        low, high = value // unit * unit, -(-value // unit) * unit
        if asked:
            choices = " or ".join(f"{n}" for n in dict.fromkeys((low, high)) if n)
            raise PapertrainError(
                f"global batch {asked} is not a multiple of {unit} ({cards} cards × {unit // cards}); use {choices}",
                code="batches-disagree",
            )
        return structs.replace(
            derived, value=high, why=f"{derived.why}; raised to {high}, a multiple of {unit // cards} × {cards} cards"
        )
    return settle(derived, sets)


def check_batch(batch: Decision[int], sequences: int | None, cards: int) -> None:
    """A step never reaches beyond the end of an epoch: a batch that holds more than an epoch is none that anybody sees."""
    if sequences is None or batch.source.kind != "user":
        return
    most = -(-sequences // cards) * cards
    if batch.value > most:
        raise PapertrainError(
            f"a global batch of {batch.value:,}, but an epoch has {sequences:,} sequences and its last step ends with it: no step would see more",
            code="batch-too-large",
            ask=[f"--set global_batch_size={most} at most"],
        )


def check_warmup(warmup: Decision[int | None], total: Decision[int | None]) -> None:
    if warmup.value is not None and total.value is not None and warmup.value >= total.value and total.value > 1:
        raise PapertrainError(
            f"warm-up of {warmup.value} steps in a run of {total.value}: the rate would never be reached; set warmup_steps below {total.value}",
            code="warmup-too-long",
        )


def saved(saves: Decision[int | None], evals: int | None) -> Decision[int | None]:
    """The best checkpoint can be loaded only where it was saved: a multiple of the looks."""
    if saves.value is None or evals is None or saves.value % evals == 0:
        return saves
    raised = -(-saves.value // evals) * evals
    return structs.replace(
        saves,
        value=raised,
        why=f"{saves.why}; raised to {raised}, a multiple of eval_steps {evals}, so that the best checkpoint can be loaded",
    )


def adapter_decisions(q: Question, sets: dict[str, Any], method: str) -> dict[str, Any]:
    if method not in ADAPTERS:
        return {}
    rank = settle(steps_lora.lora_rank(q.rules, q.model, q.dataset, q.fine_grained), sets)
    found = (
        rank,
        steps_lora.lora_alpha(q.rules, rank.value),
        steps_lora.lora_dropout(method, q.dataset),
        steps_lora.lora_targets(q.model),
    )
    settled = {d.name: settle(d, sets) for d in found}
    names = {x.name for x in q.model.linears}
    wanted = settled["lora_targets"].value
    if isinstance(wanted, list) and names and (unknown := [t for t in wanted if t not in names]):
        from papertrain.core.errors import nearest

        raise PapertrainError(
            f"no module {unknown[0]!r} in {q.model.name}", code="unknown-name", nearest=nearest(unknown[0], names)
        )
    return settled


def targets_of(adapters: dict[str, Any]) -> tuple[str, ...] | str | None:
    if not adapters:
        return None
    value = adapters["lora_targets"].value
    return value if isinstance(value, str) else tuple(value)


def unused(sets: dict[str, Any], task: str, method: str) -> list[str]:
    """What the user fixed and this plan has no place for."""
    said = [
        f"{k} is set and not used: {method} trains no adapters"
        for k in sets
        if k.startswith("lora_") and method not in ADAPTERS
    ]
    if "beta" in sets and steps_rate.beta(task) is None:
        said.append(f"beta is set and not used: {task} has none")
    return said


def doubts(
    q: Question, sets: dict[str, Any], template: Decision[str | None] | None, length: int, derived: float
) -> list[str]:
    """What was chosen, or read into a word, that a person would want to look at before anything is spent."""
    said = []
    if template is not None and not template.value and q.model.instruct:
        said.append(
            f"{q.model.name} is a chat model and its template is not known here: with a wrong one it learns a format that it never spoke; name it with --set template=NAME"
        )
    if template is not None and (said_of := unknown_template(q.model, sets.get("template"))):
        said.append(said_of)
    rate = sets.get("learning_rate")
    if rate and derived and not derived / 10 <= rate <= derived * 10:
        times = max(rate / derived, derived / rate)
        said.append(
            f"learning_rate {show_number(rate)} is {times:,.0f} times {'above' if rate > derived else 'below'} the derived {show_number(derived)}"
        )
    data = q.dataset
    if data is not None and data.examples and data.lengths is not None:
        share = data.truncated_examples / data.examples if data.truncated_examples and data.cutoff == length else 0.0
        if share > 0.05:
            said.append(f"{share:.0%} of the examples are longer than {length:,} tokens, and their ends are cut off")
        elif data.cutoff != length and data.lengths.p95 > length:
            said.append(f"more than 5 % of the examples are longer than {length:,} tokens, and their ends are cut off")
    asked, _, card = q.compute.said.partition(":")[0].partition(" read as ")
    if SIZED.search(card) and not SIZED.search(asked):
        said.append(f"{asked} read as {card}: if yours has another memory, name it in full")
    return said


KEPT = 3
"""Checkpoints on the disk at once: every config keeps two (save_total_limit), and removes one after the next is written."""


def disk_short(q: Question, p: Placed) -> str:
    one, free = p.memory.disk_bytes.value, q.compute.disk_bytes
    if one is None or free is None or KEPT * one <= free:
        return ""
    return f"{show_bytes(free)} of disk are not enough: a checkpoint takes {show_bytes(one)}, and while one is written two older ones are kept: {show_bytes(KEPT * one)}"


def warnings(q: Question, task: str, p: Placed, batch: int, total: int | None) -> list[str]:
    said = []
    if not q.model.exact:
        said.append(f"{q.model.name}: a rough shape from the size alone; every figure that follows is assumed")
    if said_of := copied(q.model):
        said.append(said_of)
    if said_of := disk_short(q, p):
        said.append(said_of)
    if q.compute.gpus > batch:
        said.append(f"{q.compute.gpus} cards for a batch of {batch}")
    if total is not None and total < law("batch").get("steps_least"):
        said.append(
            f"only {total} optimizer steps: fewer than 100 rarely settle; more data would help more than more epochs"
        )
    if q.dataset is None:
        said.append(
            "without --data: batch and length are the medians of practice, and all that hangs on the data is unknown"
        )
    elif not q.dataset.exact:
        said.append("token counts are an interval: the model's own tokenizer was not found")
    if q.dataset is not None and task == "classification" and len(q.dataset.labels) == 1:
        said.append(
            f"every example has the label {next(iter(q.dataset.labels))[:40]}: there is nothing to learn from it"
        )
    if q.dataset is not None and q.dataset.bad_rows:
        said.append(
            f"{q.dataset.bad_rows:,} rows do not fit the format {q.dataset.format}: plan and script leave such rows out"
        )
    if p.memory.device_bytes.value is None and p.memory.device_bytes.unknown:
        said.append(f"memory and time are unknown: {p.memory.device_bytes.unknown}")
    if q.model.kind == "encoder-decoder":
        said.append("no measured run of an encoder-decoder is on record: take memory and time as rough")
    return list(map(agreed, said))
