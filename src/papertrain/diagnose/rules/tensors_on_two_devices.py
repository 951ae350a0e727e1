"""One operation meets tensors of two devices."""

import re

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix

_TWO = re.compile(r"at least two devices, ([\w:]+)(?: and |, )([\w:]+)")


def judge(case: Case) -> Match | None:
    hits = case.find(*RULE.sig)
    if not hits:
        return None
    m = _TWO.search(hits[0].text)
    batch = fix(
        "bring the batch (or what the script made itself) to the device of the model",
        "batch = {k: v.to(model.device) for k, v in batch.items()}",
        proof="the first step passes",
    )
    if m and "cpu" not in (m[1], m[2]):
        return RULE.found(
            0.85,
            hits[:1],
            cause=f"{RULE.why} Here {m[1]} and {m[2]}: the model is spread over cards (device_map, or DataParallel of several visible ones).",
            remedies=(*RULE.fixes, batch),
        )
    return RULE.found(0.85, hits[:1], remedies=(batch, *RULE.fixes))


RULE = cause(
    "TR675",
    "tensors-on-two-devices",
    "index-dtype-graph",
    title="One operation meets tensors of two devices",
    why="Part of the model or of the batch lies elsewhere than the rest.",
    judge=judge,
    sig=(
        "Expected all tensors to be on the same device",
        "Input type (torch.FloatTensor) and weight type (torch.cuda ~ Input type",
    ),
    next_check='python -c "print({n: p.device for n, p in model.named_parameters()})"',
    fixes=(
        fix(
            "one visible card, or one process per card by a launcher",
            "torchrun --nproc_per_node <cards> train.py",
            env={"CUDA_VISIBLE_DEVICES": "0"},
            proof="the first step passes",
        ),
        fix(
            "the whole model on the card of its process",
            "from_pretrained(…, device_map={'': local_rank})   # not 'auto', where it is trained",
            proof="the first step passes",
        ),
    ),
    kinds=(
        (
            "(?:on|in|have) (?:the )?(?:same|original|different|two|another|wrong) devices?\\b|found (?:one of them )?on device|device (?:type )?mismatch|(?:cpu|cuda:\\d+).{0,24}\\b(?:and|but|vs)\\b.{0,40}\\b(?:cpu|cuda:\\d+)\\b",
            "RuntimeError: module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one of them on device: cpu",
        ),
    ),
    fires="RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:1 and cuda:0!",
    quiet="all tensors on cuda:0",
)
