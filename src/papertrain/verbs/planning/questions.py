"""Helpers of `plan` and `explain`: from words to a Question, from a plan to JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import structs

from papertrain.core.errors import PapertrainError
from papertrain.core.models import Compute, DatasetProfile, ModelSpec
from papertrain.core.texts import say
from papertrain.core.training import TrainingPlan
from papertrain.core.units import show_number
from papertrain.core.values import Estimate, plain
from papertrain.plan.derive_question import SETTABLE, Question
from papertrain.report.plan import Difference

QUESTION = "question.json"
Asked = TypeVar("Asked", Question, TrainingPlan)
REPROFILE_BELOW = 64 * 2**20
MUCH = 1.5


def compute_of(gpu: str | None, nodes: int | None, host_ram: str | None, disk: str | None) -> Compute:
    """The cards that were named, else this machine's; where there are none, the answer asks."""
    from papertrain.core.units import parse_bytes
    from papertrain.facts.hardware import detect_compute, parse_compute

    ram = None if host_ram is None else parse_bytes(host_ram)
    space = None if disk is None else parse_bytes(disk)
    if gpu is not None:
        return parse_compute(gpu, nodes=nodes, host_ram=ram, disk=space)
    found = detect_compute()
    if found is None:
        raise PapertrainError(
            "no accelerator found on this machine: say which cards the run will have", code="no-gpu",
            ask=['--gpu "4x A100-80GB"', "--gpu cpu for this processor"],
        )  # fmt: skip
    return structs.replace(
        found, nodes=nodes or found.nodes, host_memory_bytes=ram if ram is not None else found.host_memory_bytes,
        disk_bytes=space if space is not None else found.disk_bytes,
    )  # fmt: skip


def profile_of(
    path: Path, model: ModelSpec, task: str | None, seq_len: int | None, columns: Mapping[str, str] | None = None
) -> DatasetProfile:
    """The data, counted once; again where the length that follows cuts some of it and the file is small."""
    from papertrain.core.progress import bar
    from papertrain.data.profile import profile
    from papertrain.plan.steps_task import sequence_length, task_of, template

    name = None if (t := template(model, task or "sft")) is None else t.value
    first = seq_len or model.max_positions or 2**20

    def decided_for(found: DatasetProfile) -> int:
        return seq_len or sequence_length(model, task_of(model, found, task), found, None).value

    def count(cutoff: int) -> DatasetProfile:
        with bar(say("counting tokens")) as advance:
            return profile(
                path,
                model=model,
                cutoff=cutoff,
                template=name,
                task=task,
                columns=columns,
                packed_at=decided_for,
                progress=advance,
            )

    found = count(first)
    if seq_len is None:
        decided = decided_for(found)
        longest = found.lengths.longest if found.lengths else 0
        if decided < first and longest > decided and found.bytes < REPROFILE_BELOW:
            return count(decided)
        return found if decided == first else structs.replace(found, cutoff=decided)
    return found


def validation_of(place: Path | None, data: Path | None) -> str | None:
    """The validation file that the study in that place names for this training data."""
    from papertrain.core.workspace import STUDY, Workspace

    if place is None or data is None or not (place / STUDY).is_file():
        return None
    for d in Workspace(place).study.datasets:
        if d.validation and d.train and (place / d.train).resolve() == data.resolve():
            return d.validation
    return None


def moved(data: DatasetProfile) -> bool:
    """Whether the file is there and no longer the one that was counted (a large one: by its size)."""
    from papertrain.core.files import sha256_file

    path = Path(data.path)
    if not path.is_file():
        return False
    size = path.stat().st_size
    return (bool(data.bytes) and size != data.bytes) or (size < REPROFILE_BELOW and sha256_file(path) != data.sha256)


def relocated(q: Asked, old: Path, new: Path) -> Asked:
    """A question or plan with its file names, as seen from `old`, as they are seen from `new`: a workspace names its files
    from itself, whoever's folder the command was typed in."""
    from papertrain.configs.target import seen_from

    def name(path: str) -> str:
        return seen_from(new, old / path)

    if q.dataset is not None:
        q = structs.replace(q, dataset=structs.replace(q.dataset, path=name(q.dataset.path)))
    if q.model.local_path is not None:
        q = structs.replace(q, model=structs.replace(q.model, local_path=name(q.model.local_path)))
    return q


def model_for(target: str, *, online: bool) -> ModelSpec:
    from papertrain.facts.models import find_model

    return find_model(target, online=online)


def with_head(model: ModelSpec, task: str, data: DatasetProfile | None) -> ModelSpec:
    """The classifier's own shape: a head of as many classes as the data has, instead of the language model's."""
    if task not in ("classification", "image"):
        return model
    from papertrain.facts.models import with_classifier

    return with_classifier(model, max(2, len(data.labels)) if data is not None else 2)


def read_question(file: Path) -> Question:
    """The question that a plan was derived from. Raises PapertrainError."""
    from papertrain.core.files import read_text

    if not file.is_file():
        raise PapertrainError(
            "the inputs of this plan were not kept: plan again from the model", code="no-question", file=file
        )
    try:
        q = msgspec.json.decode(read_text(file, limit=5 * 2**20), type=Question)
        return structs.replace(q, sets={k: again(k, v) for k, v in sane(q).sets.items()})
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise PapertrainError(f"not the inputs that papertrain wrote: {error}", code="broken-plan", file=file) from None


def sane(q: Question) -> Question:
    """The file may have been edited: sizes that no model or card has are refused before anything divides by them."""
    m, c = q.model, q.compute
    whole = (
        m.layers,
        m.hidden,
        m.heads,
        m.kv_heads,
        m.vocab,
        m.parameters,
        c.gpus_per_node,
        c.nodes,
        c.gpu.memory_bytes,
    )
    if min(whole) < 1 or max(whole) > 10**17 or not 0.1 <= q.memory_shift <= 10 or not 0.1 <= q.time_shift <= 10:
        raise ValueError("a size in it is out of all bounds")
    return q


def again(name: str, value: Any) -> Any:
    """A stored value of --set, read as strictly as the first time."""
    if name not in SETTABLE:
        raise ValueError(f"no decision {name!r}")
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    found = SETTABLE[name](name, text)
    return int(found) if name == "zero_stage" else found


def write_question(q: Question) -> str:
    return msgspec.json.format(msgspec.json.encode(q), indent=1).decode() + "\n"


def differences(plan: TrainingPlan, other: TrainingPlan) -> list[Difference]:
    """Parameters on which the rule sets disagree by more than 1.5x, or in kind."""
    found = []
    for d in plan.decisions():
        o = other.decision(d.name)
        if (
            o is None
            or d.source.kind == "user"
            or d.name in ("micro_batch_size", "gradient_accumulation_steps", "eval_steps", "save_steps")
        ):
            continue
        if d.name == "weight_decay" and harmless(plan, d.value, o.value):
            continue
        if differs(d.value, o.value):
            found.append(Difference(name=d.name, ours=d.value, theirs=o.value, rules=other.rules, why=o.why))
    return found


def harmless(plan: TrainingPlan, *decays: float) -> bool:
    """Below 1 % of shrinking over the whole run, weight decays are the same choice (half the peak is a cosine's mean rate)."""
    steps = plan.total_steps.value or 1000
    return all(0.5 * plan.learning_rate.value * w * steps < 0.01 for w in decays)


def differs(a: Any, b: Any) -> bool:
    numbers = all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in (a, b))
    if not numbers:
        return bool(a != b) and a is not None and b is not None
    if a == b:
        return False
    if min(a, b) <= 0:
        return True
    return bool(max(a, b) / min(a, b) > MUCH)


def trainable(plan: TrainingPlan) -> int:
    """Parameters that the optimizer moves."""
    from papertrain.plan.memory_state import adapter_parameters
    from papertrain.plan.search import trained_layers

    if plan.method.value == "freeze":
        return trained_layers(plan.model)
    if plan.lora_rank is None or plan.lora_targets is None:
        return plan.model.parameters
    targets = plan.lora_targets.value
    return int(
        adapter_parameters(
            plan.model,
            plan.lora_rank.value,
            targets if isinstance(targets, str) else tuple(targets),
            plan.method.value == "dora",
        )
    )


def data_of(plan: TrainingPlan, diffs: Sequence[Difference]) -> dict[str, Any]:
    """`data` of the envelope, as contracts.md section 4 draws it."""
    m, c = plan.model, plan.compute
    return {
        "model": {
            "name": m.name, "parameters": m.parameters, "active_parameters": m.active_parameters, "trainable_parameters": trainable(plan),
            "exact": m.exact, "architecture": m.architecture, "kind": m.kind, "source": plain(m.source),
        },
        "dataset": {} if plan.dataset is None else plain(plan.dataset),
        "compute": {
            "gpu": c.gpu.id, "label": c.gpu.label, "gpus_per_node": c.gpus_per_node, "nodes": c.nodes, "gpus": c.gpus, "said": c.said,
            "memory_bytes": c.gpu.memory_bytes, "host_memory_bytes": c.host_memory_bytes, "disk_bytes": c.disk_bytes,
        },
        "name": plan.name,
        "task": plan.task,
        "fits": plan.fits,
        "decisions": [plain(d) for d in plan.decisions()],
        "memory": memory_of(plan),
        "time": time_of(plan),
        "alternatives": [plain(a) for a in plan.alternatives],
        "rules": {"used": plan.rules, "differ": [{"name": d.name, plan.rules: d.ours, d.rules: d.theirs, "why": d.why} for d in diffs]},
        "provisional": plan.provisional,
    }  # fmt: skip


def interval(e: Estimate) -> dict[str, Any]:
    found: dict[str, Any] = {"value": e.value, "low": e.low, "high": e.high}
    if e.value is None:
        found |= {"reason": e.unknown, "ask": e.ask}
    return found


def memory_of(plan: TrainingPlan) -> dict[str, Any]:
    m = plan.memory
    if m is None:
        return {}
    known = m.device_bytes.value is not None
    return {
        "gpu": {
            "allocated_bytes": interval(m.allocated_bytes), "reserved_bytes": interval(m.reserved_bytes), "device_bytes": interval(m.device_bytes),
            "capacity_bytes": m.capacity_bytes, "components": m.components if known else {}, "peak_phase": m.peak_phase if known else None,
            "phases": m.phases if known else {}, "basis": list(m.basis),
        },
        "host": {"peak_bytes": interval(m.host_bytes)},
        "disk": {"bytes": m.disk_bytes.value, "low": m.disk_bytes.low, "high": m.disk_bytes.high},
    }  # fmt: skip


def time_of(plan: TrainingPlan) -> dict[str, Any]:
    d = plan.duration
    if d is None:
        return {}
    total = d.total_seconds.value
    return {
        "step_seconds": interval(d.step_seconds),
        "total_seconds": interval(d.total_seconds),
        "tokens_per_second_per_gpu": interval(d.tokens_per_second_per_gpu),
        "gpu_hours": None if total is None else total * plan.compute.gpus / 3600,
        "basis": d.basis,
    }


def packages_of(plan: TrainingPlan) -> dict[str, str]:
    """Packages that this plan needs beyond torch and transformers → the decision that needs it."""
    offloads = plan.offload.value in ("optimizer", "params+optimizer")
    needs = {
        "deepspeed": "zero_stage" if plan.zero_stage.value else "offload" if offloads else "",
        "peft": "method" if plan.lora_rank is not None else "",
        "bitsandbytes": "method" if plan.method.value == "qlora" else "optimizer" if "8bit" in plan.optimizer.value or "32bit" in plan.optimizer.value else "",
        "flash-attn": "attention" if plan.attention.value == "flash" else "",
        "liger-kernel": "loss" if plan.loss is not None and plan.loss.value != "full_logits" else "",
        "trl": "task" if plan.task in ("dpo", "kto", "orpo", "simpo", "rm", "ppo", "grpo") else "",
    }  # fmt: skip
    return {package: decision for package, decision in needs.items() if decision}


def environment_notes(plan: TrainingPlan, env: str | None) -> tuple[list[str], list[str]]:
    """(warnings, unavailable): what the plan needs and the training environment does not have, or was not looked for in."""
    from papertrain.core.environment import read_environment

    needs = packages_of(plan)
    found = read_environment(env)
    if found is None:
        names = ", ".join(needs)
        return [], [
            say("training environment: not given (--env), so nobody checked that it has {names}", names=names)
        ] if needs else []
    missing = [
        say("{package} is not installed in {env}; {decision} needs it", package=p, env=found.path, decision=d)
        for p, d in needs.items()
        if found.version(p) is None
    ]
    return missing, []


def changed(old: TrainingPlan | None, new: TrainingPlan) -> list[str]:
    """`learning_rate 2.0e-4 → 1.0e-4`: what a new derivation changed."""
    if old is None:
        return []
    before, after = old.values(), new.values()
    asked = [f"{name} {was} → {now}" for name, was, now in _asked(old, new) if was != now]
    names = [*after, *(n for n in before if n not in after)]
    return asked + [
        f"{n} {show_number(before[n]) if n in before else '-'} → {show_number(after[n]) if n in after else '-'}"
        for n in names
        if before.get(n) != after.get(n)
    ]


def _asked(old: TrainingPlan, new: TrainingPlan) -> Iterator[tuple[str, str, str]]:
    """What the plans were asked for: (name, then, now). The same bytes in another place are the same data."""
    a, b = old.dataset, new.dataset
    if (a and a.sha256) != (b and b.sha256):
        same = a is not None and b is not None and Path(a.path).name == Path(b.path).name
        yield "data", _data_words(a, digest=same), _data_words(b, digest=same)
    yield "task", old.task, new.task
    yield "rules", old.rules, new.rules
    yield "cards", _cards(old.compute), _cards(new.compute)


def _cards(c: Compute) -> str:
    return f"{c.nodes * c.gpus_per_node} × {c.gpu.label}"


def _data_words(d: DatasetProfile | None, *, digest: bool) -> str:
    if d is None:
        return "-"
    return f"{Path(d.path).name} ({d.rows:,} rows" + (f", sha256 {d.sha256[:8]})" if digest else ")")


def factory_defaults() -> dict[str, Any]:
    """What LLaMA-Factory does where a key is not written, in our names and words."""
    from papertrain.facts.frameworks.load import framework

    keys = framework("llamafactory").keys("model", "data", "training", "finetuning")

    def default(name: str) -> Any:
        return keys[name].default if name in keys else None

    return {
        "learning_rate": default("learning_rate"), "lr_scheduler": default("lr_scheduler_type"), "weight_decay": default("weight_decay"),
        "max_grad_norm": default("max_grad_norm"), "epochs": default("num_train_epochs"), "seed": default("seed"),
        "micro_batch_size": default("per_device_train_batch_size"), "gradient_accumulation_steps": default("gradient_accumulation_steps"),
        "warmup_steps": default("warmup_steps"), "lora_rank": default("lora_rank"), "lora_dropout": default("lora_dropout"),
        "sequence_length": default("cutoff_len"), "zero_stage": 0, "offload": "none", "precision": "fp32", "gradient_checkpointing": "full",
    }  # fmt: skip
