"""The logits: bytes alive per logit when the loss is computed, by what computes it."""

from __future__ import annotations

import math

from papertrain.core.values import Value
from papertrain.plan.memory_dtypes import Dtypes, family
from papertrain.plan.setup import Setup


class Loss(Value, frozen=True, kw_only=True):
    """per_logit × vocabulary × tokens, + fixed. hidden: bytes per token of the last norm. cache: logits' buffers that
    the allocator keeps, bytes per token. fp32: bytes of one token's logits in fp32, at_once: how many of them lie there
    at a time (0 = all)."""

    per_token: float
    fixed: float
    hidden: float
    cache: float
    fused_cache: bool
    fp32: float = 0.0
    at_once: float = 0.0

    def logits(self, tokens: float) -> float:
        pieces = tokens * self.fp32 / self.at_once if self.at_once else 1.0
        return self.per_token * tokens / (1.0 if pieces <= 1 else 4 * math.ceil(pieces / 4)) + self.fixed


def loss(s: Setup, d: Dtypes, weights: float = 0.0) -> Loss:
    """weights: bytes on the card before the first step, for a loss that measures what is free."""
    m, p = s.model, d.profile
    h, vocab = float(m.hidden), float(m.vocab)
    arch = family(m)
    path = s.loss or p.loss
    native = p.loss_in == "model" or (p.loss_in == "family" and _native(arch))
    full = not d.adapters
    fp32_head = d.upcast or (d.compute == 4.0)
    packed = path in p.fused_norms_with or path in p.fused_layers_with
    hidden = (4 * h + 4) if m.norm == "rmsnorm" and p.norms == "python" and not packed else d.stream * h + 8
    if full or d.quantised is None:
        hidden += d.stream * h if full else 0.0
    head = next((x for x in m.linears if x.place == "head"), None)
    if m.kind in ("encoder", "vision") or (head is not None and head.outputs != m.vocab):
        width = float(head.outputs) if head is not None else 2.0
        rows = 1.0 if m.kind == "encoder" and width == vocab else 0.0
        return Loss(per_token=rows * width * 12, fixed=0.0, hidden=hidden, cache=0.0, fused_cache=False)
    per, fixed = 0.0, 0.0
    variant = "+compiled" if s.compiled else "+full" if full else ""
    stated = next((p.logits[k] for k in (path + variant, f"{path}@{arch}", path) if k in p.logits), None)
    if path == "fused_linear_ce":
        # a chunk of about tokens × width / vocabulary rows at a time; gradient of the hidden states; of the head if trained
        per = 6.0 * h + d.stream * h
        fixed = d.compute * vocab * h if full else 0.0
    elif stated is not None:
        per = stated * vocab
    elif path == "fused_ce":
        per = (3.0 * d.compute if native else 8.0) * vocab
    elif path in ("chunked_ce", "chunked_linear_ce"):
        per = (4.5 if s.compiled else 7.5) * vocab if path == "chunked_ce" else (8.0 if full else 4.0) * vocab
    elif native:
        per = 4.0 * d.compute * vocab
    elif arch == "qwen":
        per = (8.0 if d.engine == "deepspeed" else 12.0) * vocab
    elif arch.startswith("granite"):
        per = 12.0 * vocab
    else:
        held = 16.0 if fp32_head and (not d.autocast or not p.casts_outputs) else 14.0
        per = held * vocab
    if p.quantised_head and d.quantised is not None:
        fixed += 4.0 * vocab * h
    cache = (
        0.0
        if path in ("fused_linear_ce", "chunked_linear_ce")
        else ((4.0 if native else 8.0) if path == "fused_ce" else 4.0) * vocab
    )
    at_once = p.logits_at_once
    if at_once and s.gpu is not None:
        at_once = min(at_once, max(at_once / 64, (s.gpu.memory_bytes - weights) / 2))
    return Loss(
        per_token=per, fixed=fixed, hidden=hidden, cache=cache, fused_cache=path == "fused_ce", fp32=4.0 * vocab, at_once=at_once,
    )  # fmt: skip


def _native(arch: str) -> bool:
    """GPT-2 and its descendants compute the loss in the dtype of the logits."""
    return arch in ("gpt2", "gptbigcode")
