"""Saving does not fit: the whole model is gathered on every rank."""

from typing import Any

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix
from papertrain.diagnose.rules import _oom as oom

CLONE = "Failed to clone() tensor ~ out of memory"


def share(case: Case, rule: Any) -> Match | None:
    """FSDP only warns where a tensor finds no room, and goes on to save memory that holds something else."""
    warned = case.find(CLONE)
    return RULE.found(0.9, warned[:2]) if warned else oom.judge(case, rule)


RULE = cause(
    "TR619",
    "oom-saving-fsdp",
    "memory-gpu",
    title="Saving does not fit: the whole model is gathered on every rank",
    why="A full state dict under FSDP (or ZeRO-3) collects all weights on the card.",
    share=share,
    sig=(*oom.LITERALS, "FSDP", "fsdp", CLONE),
    next_check="grep -nE 'state_dict_type|save' fsdp*.yaml *.sh",
    fixes=(
        fix(
            "a sharded state dict, or a full one on the host of rank 0 only",
            "FullStateDictConfig(offload_to_cpu=True, rank0_only=True)",
            sets={"fsdp_state_dict_type": "SHARDED_STATE_DICT"},
            proof="the checkpoint is written",
        )
    ),
    fires='Saving model checkpoint to out/checkpoint-500\nTraceback (most recent call last):\n  File "transformers/trainer.py", line 3100, in _save_checkpoint\n    self.save_model(output_dir, _internal_call=True)\n  File "torch/distributed/fsdp/_state_dict_utils.py", line 710, in _post_state_dict_hook\n    _full_post_state_dict_hook\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 500.00 MiB. GPU 2 has a total capacity of 79.15 GiB of which 301.12 MiB is free.',
    quiet="Saving model checkpoint to out/checkpoint-500",
)
