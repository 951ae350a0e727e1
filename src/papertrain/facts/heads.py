"""What transformers puts on an encoder to classify: the head's own parameters, exactly."""

from __future__ import annotations

from msgspec.structs import replace

from papertrain.core.errors import PapertrainError
from papertrain.core.models import Linear, ModelSpec

# architecture → (the bare model's pooler stays, layers before the last one)
_DROPS_POOLER = {"roberta", "xlm-roberta", "camembert", "mpnet"}
_DENSE_FIRST = {"roberta", "xlm-roberta", "camembert", "electra", "mpnet"}


def with_classifier(spec: ModelSpec, labels: int) -> ModelSpec:
    """The model as `AutoModelForSequenceClassification` (or image classification) builds it, with that many labels.

    Decoders lose their output head and get a `score` matrix; encoders keep or lose their pooler as their class does.
    """
    if not 1 <= labels <= 1_000_000:
        raise PapertrainError(f"{labels} labels: a classifier needs at least 1", code="bad-labels")
    kept = tuple(
        m
        for m in spec.linears
        if m.place != "head" and not (spec.architecture in _DROPS_POOLER and m.name.startswith("pooler"))
    )
    head, other = _head(spec, labels)
    linears = (*kept, *head)
    total = spec.embedding_parameters + spec.other_parameters + other + sum(m.parameters for m in linears)
    idle = spec.parameters - spec.active_parameters
    return replace(
        spec, linears=linears, other_parameters=spec.other_parameters + other, parameters=total, active_parameters=total - idle, tied=False,
        notes=(*spec.notes, f"with a classification head for {labels} labels"),
    )  # fmt: skip


def _head(spec: ModelSpec, labels: int) -> tuple[tuple[Linear, ...], int]:
    h, kind = spec.hidden, spec.architecture

    def dense(name: str, outputs: int, *, bias: bool = True, inputs: int | None = None) -> Linear:
        return Linear(name=name, inputs=inputs or h, outputs=outputs, count=1, active=1, bias=bias, place="head")

    if kind in _DENSE_FIRST:
        return (dense("classifier.dense", h), dense("classifier.out_proj", labels)), 0
    if kind == "distilbert":
        return (dense("pre_classifier", h), dense("classifier", labels)), 0
    if kind in ("deberta", "deberta-v2"):
        return (dense("pooler.dense", h), dense("classifier", labels)), 0
    if kind == "modernbert":
        return (dense("head.dense", h, bias=False), dense("classifier", labels)), h
    if kind == "dinov2":
        return (dense("classifier", labels, inputs=2 * h),), 0
    if spec.kind in ("encoder", "vision"):
        return (dense("classifier", labels),), 0
    if spec.kind == "encoder-decoder":
        return (dense("classification_head.dense", h), dense("classification_head.out_proj", labels)), 0
    return (dense("score", labels, bias=False),), 0
