"""A checkpoint's keys or shapes are not the model's."""

import re

from msgspec.structs import replace

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, by_signature, cause, fix

_LORA = re.compile(r"size mismatch for \S*lora_[AB]\S*: copying a param with shape torch\.Size\(\[(\d+), (\d+)\]\)")
_PREFIX = re.compile(
    r'(?:Missing|Unexpected) key\(s\) in state_dict:.{0,40}"(module\.|_orig_mod\.|base_model\.model\.|model\.)'
)


def judge(case: Case) -> Match | None:
    """An adapter of another rank and a wrapper's prefix have their own remedies."""
    found = by_signature(RULE, case)
    if found is None:
        return None
    whole = " ".join(e.message for e in case.exceptions)[:4000]
    if m := _LORA.search(whole):
        rank = min(int(m[1]), int(m[2]))
        same = fix(
            f"the rank that the adapter was trained with: {rank}",
            sets={"lora_rank": rank},
            effect="experiment",
            proof="the adapter loads",
        )
        return replace(
            found, confidence=0.9, title="The adapter was trained with another rank", remedies=(same, *RULE.fixes)
        )
    if m := _PREFIX.search(whole):
        strip = fix(
            f"the keys without what the wrapper put before them ({m[1]})",
            f"state = {{k.removeprefix({m[1]!r}): v for k, v in state.items()}}; print(sorted(set(state) ^ set(model.state_dict()))[:10])",
            proof="load_state_dict names no key",
        )
        return replace(found, remedies=(strip, *RULE.fixes))
    return found


RULE = cause(
    "TR679",
    "state-dict-mismatch",
    "checkpoint-disk",
    title="The checkpoint's keys or shapes are not the model's",
    judge=judge,
    why="The model was built with other sizes, another head, adapter or wrapper than the one that was saved.",
    sig=(
        "Error(s) in loading state_dict for",
        "`ignore_mismatched_sizes` to `False`",
        "Missing key(s) in state_dict",
        "Unexpected key(s) in state_dict",
    ),
    confidence=0.72,
    yields=("embedding-size-mismatch", "zero3-empty-weights-saved", "checkpoint-parallel-size", "low-score-model-init"),
    next_check="python -c \"import torch; s = torch.load('CHECKPOINT', map_location='meta'); print([(k, tuple(v.shape)) for k, v in list(s.items())[:8]])\"",
    fixes=(
        fix(
            "build the model with the config that lies beside the checkpoint",
            "diff CHECKPOINT/config.json MODEL/config.json",
            effect="experiment",
            proof="load_state_dict names no key",
        ),
        fix(
            "where only the head is another on purpose: leave the head out",
            "from_pretrained(…, ignore_mismatched_sizes=True)   # the head starts new",
            effect="experiment",
            proof="only the head's keys are named as new",
        ),
    ),
    kinds=(
        (
            r"KeyError: '(?:optimizer|model|scheduler|epoch|iteration|state_dict|\w*_state_dict|total_iters|[\w.]*\.weight)'.{0,40}@ .{0,300}(?:load|checkpoint|ckpt|resume|state)|KeyError: .{0,80}@ .{0,300}(?:checkpoint|ckpt|state_dict)\[|inconsistent tensor size|(?:missing|unexpected)_keys|(?:missing|unexpected) (?:\w+ )?keys?\b.{0,60}(?:load|state|checkpoint|weight)|cannot load model parameters",
            "RuntimeError: Unexpected missing keys when loading checkpoint model weights: ['lm_head.weight'].",
        ),
    ),
    fires="RuntimeError: Error(s) in loading state_dict for Net:\n\tsize mismatch for fc.weight: copying a param with shape torch.Size([1000, 512]) from checkpoint, the shape in current model is torch.Size([10, 512]).",
    quiet="<All keys matched successfully>",
)
