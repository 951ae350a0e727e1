"""An out-of-memory error as the log tells it: the sizes of its message, who holds the card, the steps before it, the phase by its frames."""

from __future__ import annotations

import re

from papertrain.core.findings import LogLine
from papertrain.core.units import GIB
from papertrain.core.values import Value
from papertrain.diagnose.case import Case
from papertrain.diagnose.metrics import BAR
from papertrain.diagnose.trace import Exc

SIGNATURES = (
    "CUDA out of memory", "OutOfMemoryError ~ OutOfMemoryError", "HIP out of memory", "CUDA error: out of memory", "XPU out of memory", "MPS backend out of memory",
    "cudaErrorMemoryAllocation", "CUDA_ERROR_OUT_OF_MEMORY", "error=2 : out of memory", "cuda runtime error (2)", "Tried to allocate ~ out of memory",
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
    log, at = case.place(hit)
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
