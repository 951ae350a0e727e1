"""The first optimizer step does not fit: its states are created there."""

from papertrain.diagnose.rule import cause, fix
from papertrain.diagnose.rules import _oom as oom
from papertrain.diagnose.rules import _oom_fixes as mend

RULE = cause(
    "TR614",
    "oom-optimizer-step",
    "memory-gpu",
    title="The first optimizer step does not fit: its states are created there",
    why="Forward and backward passed; the optimizer then makes two states per trainable parameter and temporaries.",
    share=oom.judge,
    sig=oom.LITERALS,
    next_check="papertrain estimate   # peak phase: optimizer_step",
    fixes=(
        fix(
            "the fused optimizer: no temporaries",
            sets={"optimizer": "adamw_torch_fused"},
            proof="the first step passes",
        ),
        mend.ZERO,
        mend.OFFLOAD,
        mend.EIGHT_BIT,
        mend.LORA,
    ),
    fires='Traceback (most recent call last):\n  File "train.py", line 51, in <module>\n    optimizer.step()\n  File "torch/optim/adamw.py", line 220, in step\n    has_complex = self._init_group(\n  File "torch/optim/adamw.py", line 150, in _init_group\n    state["exp_avg_sq"] = torch.zeros_like(\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 172.00 MiB. GPU 0 has a total capacity of 23.64 GiB of which 31.50 MiB is free.',
    quiet="optimizer: adamw_torch_fused",
)
