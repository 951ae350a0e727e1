"""Weights, gradients and optimizer states alone do not fit this card."""

from papertrain.diagnose.rule import cause
from papertrain.diagnose.rules import _oom as oom
from papertrain.diagnose.rules import _oom_fixes as mend

RULE = cause(
    "TR612",
    "oom-model-states",
    "memory-gpu",
    title="Weights, gradients and optimizer states alone do not fit this card",
    why="The card is full before any activation counts: a smaller batch cannot help.",
    share=oom.judge,
    sig=oom.LITERALS,
    next_check="papertrain estimate   # states per card: 16 to 18 bytes per trainable parameter, divided by the ZeRO stage",
    fixes=(mend.ZERO, mend.OFFLOAD, mend.CHECKPOINTING, mend.EIGHT_BIT, mend.LORA),
    fires='Num processes = 1, world_size: 1\nmodel: meta-llama/Llama-2-7b-hf finetuning_type: full\nTraceback (most recent call last):\n  File "train.py", line 12, in <module>\n    engine = deepspeed.initialize(model=model, config=cfg)\n  File "deepspeed/runtime/engine.py", line 310, in __init__\n    self._configure_optimizer(optimizer, model_parameters)\ntorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 25.10 GiB (GPU 0; 79.15 GiB total capacity; 77.01 GiB already allocated; 1.10 GiB free; 77.40 GiB reserved in total by PyTorch)',
    quiet="model states: 14.2 GB of 80 GB",
)
