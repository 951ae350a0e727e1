"""Out of memory: the numbers of the message against each other, the phase by its frames, the states against the card."""

from __future__ import annotations

import re
from typing import Any

from papertrain.core.findings import LogLine, RuledOut
from papertrain.core.units import GIB, show_bytes
from papertrain.core.values import Value
from papertrain.diagnose.case import Case
from papertrain.diagnose.metrics import BAR
from papertrain.diagnose.rule import Match
from papertrain.diagnose.rules import _oom_fixes as mend
from papertrain.diagnose.trace import Exc

SIGNATURES = (
    "CUDA out of memory", "OutOfMemoryError ~ OutOfMemoryError", "HIP out of memory", "CUDA error: out of memory", "XPU out of memory", "MPS backend out of memory",
    "cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY", "Tried to allocate ~ out of memory",
    "显存不足", "显存溢出", "显存耗尽", "内存不足 ~ (?:CUDA|GPU|显卡).*内存不足",
)  # fmt: skip
PHASE_WORDS = (
    "Running Evaluation",
    "Running Prediction",
    "Saving model checkpoint",
    "Loading checkpoint shards",
    "Continuing training from",
    "Resuming training",
    "resume_from_checkpoint",
)
_UNITS = {"B": 1, "bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "KB": 10**3, "MB": 2**20, "GB": 2**30}
_SIZE = r"(?<![\d.])([\d.]{1,30}) (bytes|[KMG]i?B|B)"


class Oom(Value, frozen=True, kw_only=True):
    """One out-of-memory error. Sizes are bytes; None where the message does not say."""

    line: LogLine
    tried: float | None
    total: float | None
    free: float | None
    allocated: float | None
    unallocated: float | None
    process: float | None
    others: float | None
    phase: str
    steps: int
    frames: tuple[str, ...]


PHASES: tuple[tuple[str, str], ...] = (
    ("eval", r"evaluation_loop|prediction_step|nested_concat|torch_pad_and_concatenate|nested_gather|def evaluate|[.: ]evaluate\b|compute_metrics|_pad_across_processes|prediction_loop|predict_step|validation_step|\bvalidate\b|evaluation_step|\bmodel\.generate\(|trainer\.predict"),
    ("save", r"_save_checkpoint|save_model|save_checkpoint|save_pretrained|full_state_dict|_full_post_state_dict_hook|summon_full_params|get_state_dict|_zero3_consolidated|_consolidated_16bit|full_optim_state_dict|consolidate|_state_dict_utils"),
    ("resume", r"_load_from_checkpoint|_load_optimizer_and_scheduler|load_checkpoint|resume_from_checkpoint|_load_optimizer|load_state_dict\(torch\.load|optimizer\.load_state_dict|torch\.load\(.{0,40}(?:resume|ckpt|checkpoint)|_cuda_deserialize|restore_location"),
    ("optimizer", r"optim/(?:adam|sgd|optimizer|adafactor|lion)|optimizer\.step|optimizer_step|_foreach|_multi_tensor|_init_group|_single_tensor|exp_avg|state\[.*\] = torch\.zeros|fused_adam|initialize_optimizer_states|unscale_|stage_1_and_2\.py:step|stage3\.py:step|adamw\.py:step"),
    ("load", r"from_pretrained|load_pretrained|_load_state_dict_into|set_module_tensor|quantize|\bmodel\.(?:cuda|to)\(|_apply|deepspeed\.initialize|_configure_(?:zero_)?optimizer|_configure_distributed|create_\w*flat|flatten_dense|get_peft_model|dispatch_model|_move_model_to_device|prepare_model_for_kbit|initialize_model|ParameterList|DistributedDataParallel\(|_broadcast_coalesced|init_process"),
    ("backward", r"backward|autograd"),
    ("forward", r"forward|compute_loss|training_step|cross_entropy|modeling_|functional\.py|_call_impl"),
)  # fmt: skip


def find(case: Case) -> Oom | None:
    """The first out-of-memory error of the root cause, or of the log; remembered for the case."""
    if "oom" not in case.memo:
        case.memo["oom"] = _find(case)
    found: Oom | None = case.memo["oom"]
    return found


def _find(case: Case) -> Oom | None:
    hits = sorted(case.find(*SIGNATURES), key=lambda h: h.line)
    if not hits:
        return None
    hit = hits[0]
    root = case.root
    exc = next((e for e in case.exceptions if e.file == hit.file and abs(e.line - hit.line) <= 1), None)
    if root is not None and re.search("out of memory|OutOfMemory", root.type + root.message):
        exc, hit = root, next((h for h in hits if (h.file, h.line) == (root.file, root.line)), root.quote())
    text = _whole_message(case, hit) + (" " + exc.message if exc else "")
    steps = sum(1 for r in case.rows if r.line < hit.line and r.file == hit.file and "loss" in r.values)
    steps = max(steps, _progress(case, hit))
    frames = exc.frames if exc else ()
    allocated = _size(
        rf"(?:allocated memory {_SIZE} is allocated|{_SIZE} already allocated|{_SIZE} is allocated by PyTorch|{_SIZE} allowed.*allocated)",
        text,
    )
    reserved = _size(rf"{_SIZE} reserved in total", text)
    unallocated = _size(rf"{_SIZE} is reserved by PyTorch but unallocated", text)
    if unallocated is None and reserved is not None and allocated is not None:
        unallocated = max(0.0, reserved - allocated)
    process, others = holders(text, (allocated or 0.0) + (unallocated or 0.0))
    return Oom(
        line=hit, tried=_size(rf"[Tt]ried to allocate {_SIZE}", text), free=_size(rf"{_SIZE} (?:is )?free", text), allocated=allocated, unallocated=unallocated,
        total=_size(rf"(?:{_SIZE} total capacity|total capacity of {_SIZE}|{_SIZE} total)", text), process=process, others=others, phase=phase(case, hit, exc), steps=steps, frames=frames,
    )  # fmt: skip


def holders(text: str, mine: float) -> tuple[float | None, float | None]:
    """(memory of this process, of the others). In a container this process is named by its number like the others: it is
    the one whose memory is what PyTorch counts and the context, and no other fits."""
    process = _size(rf"this process has {_SIZE} memory in use", text)
    found = [float(n) * _UNITS.get(u, 1) for n, u in re.findall(rf"Process \d+ has {_SIZE} memory in use", text) if n.count(".") <= 1 and n != "."]  # fmt: skip
    if not found:
        return process, None
    if process is not None or not mine:
        return process, sum(found)
    own = [x for x in found if 0.98 * mine <= x <= 1.3 * mine + 3 * GIB]
    if not own:
        return mine, sum(found)
    closest = min(own)
    return closest, (sum(found) - closest) or None


def _whole_message(case: Case, hit: LogLine) -> str:
    log = next(x for x in case.logs if x.name == hit.file)
    i = next((i for i, x in enumerate(log.lines) if x.no == hit.line and "emory" in x.text), None)
    return log.joined(i, 3) if i is not None else hit.text


def _progress(case: Case, hit: LogLine) -> int:
    """Steps on the progress bar just above the error."""
    log = next(x for x in case.logs if x.name == hit.file)
    best = 0
    for line in log.lines:
        if line.no > hit.line:
            break
        if "it/s" not in line.text and "s/it" not in line.text:
            continue
        if m := BAR.search(line.text):
            best = int(m[1]) if int(m[2]) > int(m[1]) or best else best
    return best


def _size(pattern: str, text: str) -> float | None:
    m = re.search(pattern, text)
    if not m:
        return None
    number, unit = [g for g in m.groups() if g][:2]
    try:
        return float(number) * _UNITS.get(unit, 1)
    except ValueError:
        return None


def phase(case: Case, hit: LogLine, exc: Exc | None) -> str:
    """Where in the run it happened, by the frames; else by what the log announced last."""
    if exc is not None and exc.frames:
        joined = " ".join(exc.frames)
        for name, pattern in PHASES:
            if (
                name == "load"
                and re.search(PHASES[5][1] + "|" + PHASES[6][1], joined)
                and not re.search(r"from_pretrained|deepspeed\.initialize|\bmodel\.(?:cuda|to)\(", joined)
            ):
                continue
            if re.search(pattern, joined):
                return name
    log = next(x for x in case.logs if x.name == hit.file)
    at = next((i for i, x in enumerate(log.lines) if x.no >= hit.line), 0)
    code = " ".join(x.text for x in log.lines[max(0, at - 30) : at] if ".py" in x.text or "-->" in x.text)
    if re.search(
        r"_cuda_deserialize|_load_optimizer_and_scheduler|torch\.load\(.{0,40}(?:resume|ckpt|checkpoint)", code
    ):
        return "resume"
    if re.search(r"from_pretrained|_convert_to_deepspeed_param", code) and not re.search(
        r"backward|compute_loss|training_step|in forward\b", code
    ):
        return "load"
    for name, pattern in PHASES:
        if code and name not in ("load", "resume") and re.search(pattern, code):
            return name
    before = [x for x in case.find(*PHASE_WORDS) if x.file == hit.file and x.line < hit.line]
    last = max(before, key=lambda x: x.line, default=None)
    row = max((r.line for r in case.rows if r.file == hit.file and r.line < hit.line), default=0)
    if last is None or last.line < row:
        return ""
    for word, name in (
        ("Running", "eval"),
        ("Saving", "save"),
        ("Loading", "load"),
        ("esum", "resume"),
        ("Continuing", "resume"),
    ):
        if word in last.text:
            return name
    return ""


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
    log = next(x for x in case.logs if x.name == oom.line.file)
    at = next((i for i, x in enumerate(log.lines) if x.no >= oom.line.line), 0)
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
    log = next(x for x in case.logs if x.name == oom.line.file)
    at = next((i for i, x in enumerate(log.lines) if x.no >= oom.line.line), 0)
    return next((log.quote(i) for i in range(at, max(-1, at - 14), -1) if _LOGITS.search(log.lines[i].text)), None)
