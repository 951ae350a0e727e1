"""Not-a-number: the largest ambiguous group. Which of its classes the step, the learning rate, the stage, the dtype and
the neighbours speak for."""

from __future__ import annotations

import math
import re
from typing import Any

from papertrain.core.findings import LogLine, RuledOut
from papertrain.diagnose import finite
from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, unique
from papertrain.diagnose.shapes import NonFinite, non_finite

MASKED = (
    "tokenization mismatch",
    "WARNING: tokenization mismatch",
    "all labels are -100",
    "no trainable tokens",
    "trainable tokens: 0",
    "labels are all ignored",
    "All labels in your dataset are -100",
    "This instance will be ignored in loss calculation",
    "[-100, -100 ~ ^\\W*(?:label_ids\\W*)?\\[(?:-100, )+-100\\]\\W*$",
)
AUTOCAST = ("torch.cuda.amp.autocast(", "torch.cuda.amp.GradScaler(")
"""The warnings that torch prints about them: mixed precision by hand, whose default on CUDA is fp16."""
SDPA = ("cuDNN SDPA backward", "cudnn SDPA")
BAD_DATA = (
    "non-finite ~ (?i)(input|batch|sample|row|feature|data)\\S*.{0,60}non-finite|non-finite.{0,40}(input|batch|sample|row|feature|data)",
    "contains NaN",
    "Input contains NaN",
    "nan in input",
    "NaN in batch",
    "found nan in",
)
BF16_FAMILIES = re.compile(r"(?i)gemma|glm-?4|t5|mt5|flan|qwen-?(?:2|3)|llama-?3|deepseek|bloom|phi-?3")
NAMES = ("nan-deepspeed-overlap-comm", "nan-attention-kernel", "nan-attention-padding-mask", "nan-all-labels-masked", "loss-zero-all-labels-masked", "nan-half-precision-weights",
         "fp16-overflow-model-specific", "loss-zero-fp16", "dpo-nan-fp16", "nan-lr-too-high", "nan-grad-norm-reduced-in-bf16", "nan-multi-gpu-p2p-acs",
         "loss-zero-8bit-without-fp16", "loss-zero-peft-version", "nan-bad-data")  # fmt: skip


def broken(case: Case) -> NonFinite | None:
    if "nan" not in case.memo:
        case.memo["nan"] = non_finite(case)
    found: NonFinite | None = case.memo["nan"]
    return found


def weights(case: Case, nf: NonFinite) -> dict[str, float]:
    """Relative likelihood of each class."""
    f = case.facts
    stage, gpus, precision = f.number("zero_stage"), f.number("gpus"), f.precision
    w = dict.fromkeys(NAMES, 0.05)
    masked = bool(case.find(*MASKED))
    fp16 = precision == "fp16" or case.count("OVERFLOW!") > 0
    family = bool(BF16_FAMILIES.search(str(f.get("model", ""))))
    quantised = bool(f.true("load_in_8bit") or f.true("load_in_4bit") or f.get("quantization"))
    dpo = (case.rl and any("rewards/" in k for r in case.rows[:50] for k in r.values)) or f.get("stage") == "dpo"

    overlap = (
        2.5
        if (f.get("version:deepspeed") or case.find("deepspeed", "DeepSpeed")) and stage is None and gpus != 1
        else 0.7
    )
    if stage in (1, 2):
        overlap += 5
    if f.true("overlap_comm"):
        overlap += 7
    version = f.version("deepspeed")
    if version is not None and version >= (0, 12, 4) and stage in (1, 2):
        overlap += 3
    if f.true("overlap_comm") is False or stage in (0, 3) or gpus == 1 or not nf.grad_bad:
        overlap = 0.08
    elif nf.lr_at_foot:
        overlap += 1.5
    if case.find("overlap_comm", "overlap_com"):
        overlap += 3
    if nf.hidden and nf.grad_bad and math.isfinite(nf.row.get("grad_norm") or math.nan):
        overlap += 3
    if len(nf.before) > 200 or nf.grew:
        overlap *= 0.5
    w["nan-deepspeed-overlap-comm"] = overlap * (0.5 if fp16 and not f.true("overlap_comm") else 1)

    told = case.find(
        "flash_attn ~ (?i)flash_attn\\W{1,3}(?:disabled|sdpa|eager)",
        "attn_implementation ~ (?i)eager.{0,60}(?:work|fix|solve|help)",
        "cudnn_sdp",
    )
    kernel = 3.5 if gpus == 1 else 2.2
    w["nan-attention-kernel"] = (
        9 if case.find(*SDPA) else 6 if told else kernel if precision == "bf16" and not nf.grew else 0.7
    )
    if nf.grad_first and not f.true("overlap_comm") and stage not in (1, 2):
        micro = f.number("micro_batch_size")
        w["nan-attention-padding-mask"] = 0.2 if micro == 1 else 5 if micro else 1.5
    if masked:
        w["nan-all-labels-masked"], w["loss-zero-all-labels-masked"] = (9, 2) if not nf.hidden else (3, 9)
    elif not nf.before and not nf.grad_bad:
        w["nan-all-labels-masked"] = 3.5 if nf.loss_bad else 0.8
    elif nf.early:
        w["nan-all-labels-masked"] = 0.8
    if fp16:
        w["fp16-overflow-model-specific" if family else "nan-half-precision-weights"] += 6
        if nf.hidden:
            w["loss-zero-fp16"] += 3 if family else 8
        if dpo:
            w["dpo-nan-fp16"] += 14
    elif precision is None:
        if case.find(*AUTOCAST):
            w["nan-half-precision-weights"] += 6
        w["nan-half-precision-weights"] += 1.4
        w["loss-zero-fp16"] += 1.0 if nf.hidden else 0
    if str(f.get("weights_dtype", "")).lower() in ("float16", "fp16", "half", "torch.float16"):
        w["nan-half-precision-weights"] += 5
    if quantised and nf.hidden and len(nf.before) <= 1:
        w["loss-zero-8bit-without-fp16"] += (
            6 if (f.true("load_in_8bit") or f.number("quantization") == 8) and precision in (None, "fp32") else 0.5
        )
        w["loss-zero-peft-version"] += 3
    w["nan-lr-too-high"] = 6.0 if nf.grew else 1.2 if nf.before else 0.6
    rate, peak = (
        nf.lr or 0.0,
        1e-3 if "lora" in str(f.get("method", "")).lower() or f.get("lora_rank") or quantised else 1e-4,
    )
    if nf.lr_at_foot and not nf.grew:
        w["nan-lr-too-high"] = 0.08
    elif not nf.grew and nf.lr and nf.peak_lr and nf.lr < 0.7 * nf.peak_lr and rate <= peak:
        w["nan-lr-too-high"] = 0.5
    elif rate > peak:
        w["nan-lr-too-high"] += 5 if 0 < len(nf.before) < 10 else 1.5 if not nf.before else 0
    if (f.number("pipeline_parallel") or 1) > 1 and nf.grad_first:
        w["nan-grad-norm-reduced-in-bf16"] += 6
    if case.find("IOMMU", "ACS ~ \\bACS\\b"):
        w["nan-multi-gpu-p2p-acs"] += 6
    elif (gpus or 0) > 1 and stage not in (1, 2):
        w["nan-multi-gpu-p2p-acs"] += 0.4
    if finite.find(case) is not None:
        w["nan-bad-data"] += 40
    elif case.find(*BAD_DATA):
        w["nan-bad-data"] += 9
    elif len(nf.before) > 2 and not nf.grew and not fp16:
        w["nan-bad-data"] += (
            1.0
            if f.true("overlap_comm") and stage in (1, 2)
            else 2.2
            if precision == "bf16" or stage is not None
            else 4
        )
    return w


def judge(case: Case, rule: Any) -> Match | None:
    name: str = rule.name
    nf = broken(case)
    if nf is None or case.find("loss scale already at minimum"):
        return None
    if "nan-weights" not in case.memo:
        case.memo["nan-weights"] = weights(case, nf)
    share: dict[str, float] = case.memo["nan-weights"]
    confidence = 0.97 * share[name] / sum(share.values())
    if confidence < 0.1:
        return None
    rows = finite.find(case) if name == "nan-bad-data" else None
    evidence = [
        nf.row.quote(),
        *([LogLine(file=rows.file, line=rows.lines[0], text=rows.says())] if rows else []),
        *_before(case, nf),
        *case.find(*MASKED, *SDPA, *BAD_DATA)[:1],
        *case.facts.where("overlap_comm", "zero_stage", "bf16", "fp16")[:2],
    ]
    unsure = (
        ""
        if confidence >= 0.5 or case.configs
        else "diagnose with --config: stage, cards and dtype decide; then: " + rule.next_check
    )
    return Match(
        rule=rule,
        next_check=unsure,
        confidence=round(confidence, 3),
        evidence=unique(evidence),
        cause=rule.why + seen(nf),
        ruled_out=tuple(against(case, nf, name)),
    )


def _before(case: Case, nf: NonFinite) -> list[Any]:
    good = [r for r in case.rows if r.line < nf.row.line and r.file == nf.row.file and r.get("loss") is not None]
    return [good[-1].quote()] if good else []


def seen(nf: NonFinite) -> str:
    what = "grad_norm" if nf.grad_bad else "loss"
    step = f" (step {nf.row.step:.0f})" if nf.row.step is not None else ""
    text = f" Here {what} broke at line {nf.row.line}{step}"
    if nf.before:
        text += f", after a loss of {nf.before[-1]:.4g}"
    if nf.lr is not None:
        text += f", at a learning rate of {nf.lr:.2g}"
    return text + (", and the Trainer prints 0.0 for a loss that is not a number." if nf.hidden else ".")


def against(case: Case, nf: NonFinite, name: str) -> list[RuledOut]:
    f, out = case.facts, []
    if name != "nan-lr-too-high" and not nf.grew and nf.lr is not None:
        because = (
            f"the learning rate was {nf.lr:.2g}"
            + (f" of {nf.peak_lr:.2g}" if nf.peak_lr and nf.peak_lr > nf.lr else "")
            + " and nothing had grown before"
        )
        out.append(RuledOut(cls="nan-lr-too-high", because=because))
    if not name.startswith(("fp16", "nan-half", "loss-zero-fp16", "dpo-nan")) and f.precision == "bf16":
        out.append(RuledOut(cls="nan-half-precision-weights", because="the run is in bf16"))
    if name != "nan-deepspeed-overlap-comm" and (f.number("zero_stage") in (0, 3) or f.number("gpus") == 1):
        out.append(RuledOut(cls="nan-deepspeed-overlap-comm", because="neither ZeRO-1/2 nor several cards"))
    if "masked" not in name and nf.before and max(nf.before[-3:]) > 0.05:
        out.append(
            RuledOut(
                cls="nan-all-labels-masked", because=f"the loss was {nf.before[-1]:.4g} before, so labels carry loss"
            )
        )
    return out


def eval_only(case: Case) -> Any:
    """The first evaluation loss that is not finite, in a run whose training losses are."""
    if broken(case) is not None:
        return None
    return next((r for r, v in case.series("eval_loss") if not math.isfinite(v)), None)
