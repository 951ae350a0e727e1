"""Resuming does not fit although a fresh start does: the checkpoint was loaded onto the card."""

from papertrain.diagnose.rule import cause, fix
from papertrain.diagnose.rules import _oom as oom
from papertrain.diagnose.rules import _oom_fixes as mend

RULE = cause(
    "TR618",
    "oom-resume-checkpoint",
    "memory-gpu",
    title="Resuming does not fit although a fresh start does: the checkpoint was loaded onto the card",
    why="The saved states lie on the GPU beside the model's own.",
    share=oom.judge,
    sig=(*oom.LITERALS, "Continuing training from", "Resuming training from"),
    next_check="the same command without resume_from_checkpoint: it fits",
    fixes=(
        fix(
            "load the checkpoint to the host, and free it before training",
            "torch.load(path, map_location='cpu'); del state; torch.cuda.empty_cache()",
            proof="memory at the first step equals that of a fresh start",
        ),
        mend.ZERO,
    ),
    fires='Traceback (most recent call last):\n  File "transformers/trainer.py", line 1900, in _inner_training_loop\n    self._load_optimizer_and_scheduler(resume_from_checkpoint)\n  File "torch/serialization.py", line 1100, in load\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 86.00 MiB. GPU 0 has a total capacity of 39.39 GiB of which 21.12 MiB is free.',
    quiet="resumed from checkpoint-500",
)
