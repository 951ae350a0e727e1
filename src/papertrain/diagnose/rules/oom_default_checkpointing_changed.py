"""Out of memory since an upgrade: a default changed."""

from papertrain.diagnose.rule import cause, fix
from papertrain.diagnose.rules import _oom as oom
from papertrain.diagnose.rules import _oom_fixes as mend

RULE = cause(
    "TR620",
    "oom-default-checkpointing-changed",
    "memory-gpu",
    title="Out of memory since an upgrade: a default changed",
    why="Nothing but a version changed: gradient checkpointing (or the evaluation batch, or the loss) has another default now.",
    share=oom.judge,
    sig=oom.LITERALS,
    next_check="pip freeze of both environments; grep -n gradient_checkpointing in both logs",
    fixes=(mend.CHECKPOINTING, fix("the versions from before", "pip install -r requirements.old.txt")),
    fires='after upgrading from 0.11 to 0.12 the same script fails\nTraceback (most recent call last):\n  File "train.py", line 41, in <module>\n    loss.backward()\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.10 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.02 GiB is free.',
    quiet="gradient checkpointing: on",
)
