"""Out of memory: the numbers of the message against each other, the phase by its frames, the states against the card."""

from __future__ import annotations

import re
from typing import Any

from papertrain.core.findings import LogLine, RuledOut
from papertrain.core.units import GIB, show_bytes
from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match
from papertrain.diagnose.rules import _oom_fixes as mend
from papertrain.diagnose.rules._oom_message import PHASE_WORDS, SIGNATURES, Oom, find

LITERALS = (*SIGNATURES, *PHASE_WORDS)


def states_bytes(case: Case) -> float | None:
    """Weights, gradients and Adam states per card in bytes, where model, method and sharding are known."""
    n, gpus = case.facts.billions, int(case.facts.number("gpus") or 1)
    if n is None:
        return None
    stage = int(case.facts.number("zero_stage") or 0)
    method = str(case.facts.get("method", "")).lower()
    bits = case.facts.number("quantization") or (
        4 if case.facts.true("load_in_4bit") else 8 if case.facts.true("load_in_8bit") else None
    )
    if "lora" in method or "freeze" in method or bits or case.facts.get("lora_rank") is not None:
        return n * 1e9 * ((bits or 16) / 8) / (gpus if stage == 3 else 1)
    weights, grads, optimizer = 2.0, 2.0, 12.0
    if stage >= 1:
        optimizer /= gpus
    if stage >= 2:
        grads /= gpus
    if stage >= 3:
        weights /= gpus
    if "offload" in str(case.facts.get("offload", "")) or str(case.facts.get("offload")) in (
        "cpu",
        "optimizer",
        "params+optimizer",
        "nvme",
    ):
        optimizer = 0.0
    return n * 1e9 * (weights + grads + optimizer)


PROSE = {
    "oom-eval": r"(?i)\b(?:during|while|in|at|after|when|before)\b.{0,40}\b(?:evaluat|validat)\w*|(?:evaluation|validation|eval) (?:phase|step|loop|stage)|compute_metrics",
    "oom-resume-checkpoint": r"(?i)\bresum\w+.{0,120}(?:out of memory|\bOOM\b)|(?:out of memory|\bOOM\b).{0,120}\b(?:resum\w+|load_checkpoint|load_state)",
    "oom-saving-fsdp": r"(?i)(?:out of memory|\bOOM\b).{0,100}\b(?:saving|save)\b|\b(?:saving|save)\w* .{0,60}(?:out of memory|\bOOM\b)",
}
"""What people write beside a message without frames."""


def foreign(oom: Oom) -> float:
    """Bytes of the card that neither this process nor anybody's free space accounts for."""
    if (
        oom.total is None
        or oom.free is None
        or oom.process is not None
        or (oom.allocated is None and oom.unallocated is None)
    ):
        return 0.0
    return oom.total - oom.free - (oom.allocated or 0.0) - (oom.unallocated or 0.0)


def weights(case: Case, oom: Oom) -> dict[str, float]:
    """Relative likelihood of each class."""
    facts, by_phase = (
        case.facts,
        {
            "eval": "oom-eval",
            "save": "oom-saving-fsdp",
            "resume": "oom-resume-checkpoint",
            "optimizer": "oom-optimizer-step",
            "load": "oom-model-states",
        },
    )
    if not re.search("Tried to allocate|out of memory|显存|内存不足", oom.line.text, re.I):
        return {}
    out = dict.fromkeys(
        (
            "oom-eval",
            "oom-saving-fsdp",
            "oom-resume-checkpoint",
            "oom-optimizer-step",
            "oom-default-checkpointing-changed",
        ),
        0.25,
    )
    out |= {"oom-model-states": 0.4, "oom-activations": 0.4, "oom-fragmentation": 0.2, "oom-long-sequence-outlier": 0.2}
    if oom.others and oom.process and oom.others > oom.process:
        out["gpu-memory-held-by-others"] = 14
    elif foreign(oom) > 0.35 * (oom.total or 1):
        out["gpu-memory-held-by-others"] = 9
    elif oom.tried is None and oom.total is None and oom.steps == 0 and "CUDA error: out of memory" in oom.line.text:
        # The driver itself had nothing left while the first tensors were moved: somebody else holds the card.
        out["gpu-memory-held-by-others"] = 16 if oom.phase in ("load", "") else 4
    if oom.phase in by_phase:
        out[by_phase[oom.phase]] += 9
        if oom.phase == "optimizer":
            out["oom-model-states"] += 1
        if oom.phase == "save" and not (facts.get("zero_stage") == 3 or case.find("FSDP", "fsdp")):
            out["oom-saving-fsdp"] -= 4
    # A few hundred MiB between live and reserved are normal on a full card: pieces count from a twentieth of it on.
    spare, asked = oom.unallocated, oom.tried
    split = spare is not None and asked is not None and spare > 1.5 * asked and spare > 0.05 * (oom.total or 16 * GIB)
    if split:
        out["oom-fragmentation"] += 8
    if case.find("allocator cache flushes"):
        out["oom-fragmentation"] += 4
    for name, pattern in PROSE.items():
        if not oom.frames and re.search(pattern, case.prose):
            out[name] += 6
    if oom.phase in by_phase:
        return out
    if oom.steps >= 5:
        out["oom-long-sequence-outlier"] += 5 + (2 if oom.steps >= 50 else 0)
        out["oom-activations"] += 1
    else:
        out["oom-activations"] += (1.5 if split else 4) + (1 if oom.phase in ("forward", "backward") else 0)
        out["oom-model-states"] += 2.5
        share = (oom.tried or 0) / oom.total if oom.total else None
        if share is not None:
            out["oom-activations"] += 3 if share > 0.03 and not split else 0
            out["oom-model-states"] += 2 if share < 0.01 and oom.phase not in ("forward", "backward") else 0
        states = states_bytes(case)
        if states is not None and oom.total:
            out["oom-model-states"] += 12 if states > 0.9 * oom.total else -1.5 if states < 0.5 * oom.total else 0
            out["oom-activations"] += 4 if states < 0.5 * oom.total else 0
        micro = facts.number("micro_batch_size")
        if micro is not None:
            out["oom-activations" if micro >= 8 else "oom-model-states"] += 2 if micro >= 8 or micro <= 1 else 0
    if re.search(
        r"(?i)after (?:upgrading|updating|the upgrade|i upgraded)|worked (?:fine )?(?:with|in|on|before)|upgraded? (?:from|to) v?\d",
        case.prose,
    ):
        out["oom-default-checkpointing-changed"] += 8
    if case.find("Continuing training from", "Resuming training from") and oom.steps == 0:
        out["oom-resume-checkpoint"] += 4
    return {k: max(0.05, v) for k, v in out.items()}


def judge(case: Case, rule: Any) -> Match | None:
    """The match of one class of the group, with its share of the likelihood."""
    name: str = rule.name
    oom = find(case)
    if oom is None:
        return None
    if "oom-weights" not in case.memo:
        case.memo["oom-weights"] = weights(case, oom)
    share: dict[str, float] = case.memo["oom-weights"]
    if not share:
        return None
    confidence = 0.97 * share.get(name, 0.0) / sum(share.values())
    if confidence < 0.1:
        return None
    evidence = [oom.line]
    engine = (mend.ENGINE, *rule.fixes) if _in_engine(case, oom) else None
    return Match(remedies=engine, rule=rule, confidence=round(confidence, 3), evidence=tuple(evidence + case.facts.where("zero_stage", "micro_batch_size")[:2]),
                 cause=rule.why + _numbers(case, oom), ruled_out=tuple(against(case, oom, name)))  # fmt: skip


def _in_engine(case: Case, oom: Oom) -> bool:
    """Whether the generation engine beside the trainer asked for it, by the frames or the lines of code above."""
    if oom.frames:
        return any("/vllm/" in f for f in oom.frames)
    log, at = case.place(oom.line)
    return any("/vllm/" in x.text for x in log.lines[max(0, at - 12) : at])


def _numbers(case: Case, oom: Oom) -> str:
    parts = []
    if oom.total and oom.allocated:
        parts.append(f"{show_bytes(oom.allocated)} of {show_bytes(oom.total)} hold live tensors")
    if oom.unallocated is not None:
        parts.append(f"{show_bytes(oom.unallocated)} are reserved but unused")
    if oom.tried:
        parts.append(f"{show_bytes(oom.tried)} more were asked for")
    states = states_bytes(case)
    if states and oom.total:
        parts.append(f"weights, gradients and optimizer of this setup need about {show_bytes(states)} per card")
    return (" Here " + "; ".join(parts) + ".") if parts else ""


def against(case: Case, oom: Oom, name: str) -> list[RuledOut]:
    """What the numbers and frames speak against."""
    out = []
    if (
        name != "oom-fragmentation"
        and oom.unallocated is not None
        and oom.tried is not None
        and oom.unallocated < oom.tried
    ):
        out.append(
            RuledOut(
                cls="oom-fragmentation",
                because=f"only {show_bytes(oom.unallocated)} are reserved but unused, less than the {show_bytes(oom.tried)} asked for",
            )
        )
    if name not in ("oom-eval",) and oom.phase in ("forward", "backward", "optimizer", "load"):
        out.append(RuledOut(cls="oom-eval", because=f"the frames are in {oom.phase}, not in evaluation"))
    if name == "oom-eval":
        out.append(
            RuledOut(cls="oom-activations", because="the frames are in evaluation: training fits, its settings stay")
        )
    states = states_bytes(case)
    if name == "oom-activations" and states is not None and oom.total and states < 0.7 * oom.total:
        out.append(
            RuledOut(
                cls="oom-model-states", because=f"the states need about {show_bytes(states)} of {show_bytes(oom.total)}"
            )
        )
    return out


_LOGITS = re.compile(
    r"logits\s*=\s*logits\.float\(\)|logits\.float\(\)|cross_entropy|log_softmax|CrossEntropyLoss|\blm_head\(|shift_logits"
)


def logits(case: Case) -> LogLine | None:
    """The line of the code that shows that the logits (batch × length × vocabulary) were what was asked for."""
    oom = find(case)
    if oom is None or oom.phase not in ("forward", "backward", ""):
        return None
    log, at = case.place(oom.line)
    return next((log.quote(i) for i in range(at, max(-1, at - 14), -1) if _LOGITS.search(log.lines[i].text)), None)
