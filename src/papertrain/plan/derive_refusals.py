"""What a user sets and no run could have: told here, in one line with the nearest that works, and not by the run."""

from __future__ import annotations

from papertrain.core.errors import PapertrainError, nearest
from papertrain.core.models import Gpu, ModelSpec
from papertrain.facts.frameworks.load import framework, registered
from papertrain.plan.derive_question import Question
from papertrain.plan.search import Draft, packed, shards, stages_with
from papertrain.plan.steps_task import lacks_bf16


def flashes(card: Gpu) -> bool:
    """Whether FlashAttention-2 has kernels for the card: NVIDIA's from compute capability 8.0 on, and AMD's."""
    return card.vendor in ("nvidia", "amd") and not lacks_bf16(card)


def refuse_attention(card: Gpu, asked: object) -> None:
    if asked == "flash" and not flashes(card):
        why = f"it needs compute capability 8.0, this card has {card.compute_capability}" if card.vendor == "nvidia" else "it is made for NVIDIA and AMD cards"  # fmt: skip
        raise PapertrainError(f"no FlashAttention-2 on {card.label}: {why}", code="no-flash", ask=["--set attention=sdpa"])  # fmt: skip


def unknown_template(model: ModelSpec, asked: object) -> str:
    """What is to be said of a template that LLaMA-Factory does not have. Raises PapertrainError where one is surely meant;
    for a model that is not on record the template too may be newer than the record."""
    if not isinstance(asked, str):
        return ""
    factory = framework("llamafactory")
    known = factory.more["templates"]
    if asked in known:
        return ""
    right, entry = registered(model.name)
    close = nearest(asked, known, cutoff=0.75)
    if close or right or entry:
        raise PapertrainError(
            f"--set template={asked}: LLaMA-Factory {factory.version} has no template of that name",
            code="unknown-name",
            nearest=close or right or "default",
        )
    return f"template {asked} is not in LLaMA-Factory {factory.version}: a run with an older one than it needs stops"


def refuse_endless_decay(q: Question, total: int | None) -> None:
    if q.sets.get("lr_scheduler") == "warmup_stable_decay" and total is None:
        raise PapertrainError(
            "lr_scheduler warmup_stable_decay decays over the last steps, and their number is not known",
            code="no-data",
            ask=["--data FILE", "--set total_steps=N", "--set lr_scheduler=cosine"],
        )


def refuse_layout(d: Draft, asked: object, stage: object) -> None:
    """Offload is DeepSpeed's: it runs on some cards only, and weights are moved by stage 3, which packed integers cannot be."""
    if stage == 3 and packed(d):
        raise PapertrainError(
            "ZeRO stage 3 shards the weights, and a base packed in few bits cannot be",
            code="packed-and-sharded",
            ask=["--set zero_stage=2"],
        )
    if not isinstance(asked, str) or asked in ("none", "activations") or stages_with(d, asked):
        return
    if not shards(d.compute):
        raise PapertrainError(f"no offload on {d.compute.gpu.label}: DeepSpeed does not run there", code="no-offload", ask=["--set offload=none"])  # fmt: skip
    raise PapertrainError(
        f"offload {asked} shares the weights by ZeRO stage 3, which a base packed in few bits cannot be",
        code="no-offload",
        ask=["--set offload=optimizer", "--method lora"] if d.model.quantized is None else ["--set offload=optimizer"],
    )


def copied(model: ModelSpec) -> str:
    """That the name is not on record, and whose shape was taken for it: it may be a copy, or a slip of the hand."""
    start = "taken as a copy of "
    of = next((n.removeprefix(start) for n in model.notes if n.startswith(start)), "")
    return f"{model.name} is not on record: its shape is assumed to be that of {of}, and every config names {model.name}; if that is a slip of the hand, plan {of}" if of else ""  # fmt: skip
