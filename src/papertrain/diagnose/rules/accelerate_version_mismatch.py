"""accelerate and transformers do not fit each other."""

from papertrain.diagnose.rule import cause, fix

_OPTIMIZER = "(?:Adam\\w*|SGD|Lion|Adafactor|Optimizer\\w*|Optim)' object has no attribute '(?:train|eval)'"

RULE = cause(
    "TR576",
    "accelerate-version-mismatch",
    "environment",
    title="accelerate and transformers do not fit each other",
    why="One calls the other with an argument, or imports a name, that the installed version does not have.",
    sig=(
        "unexpected keyword argument 'keep_torch_compile'",
        "unexpected keyword argument 'dispatch_batches'",
        "unexpected keyword argument 'use_seedable_sampler'",
        "unexpected keyword argument 'even_batches'",
        "requires `accelerate",
        "Using the `Trainer` with `PyTorch` requires `accelerate",
        "cannot import name ~ cannot import name '\\w+' from 'accelerate",
        "Accelerator.__init__() got an unexpected keyword argument",
        "DataLoaderConfiguration.__init__() got an unexpected",
        "'Accelerator' object has no attribute",
        "AcceleratorState' object has no attribute",
        # accelerate 0.34 forwards train() to the optimizer, which only newer transformers (or a schedule-free one) expect.
        f"object has no attribute 'train' ~ {_OPTIMIZER}",
        f"object has no attribute 'eval' ~ {_OPTIMIZER}",
    ),
    confidence=0.94,
    next_check="pip show accelerate transformers | grep -E 'Name|Version'",
    fixes=(
        fix(
            "transformers and accelerate of the same time (the accelerate that this transformers asks for)",
            "pip install -U transformers accelerate",
            'pip install "accelerate>=0.26.0"',
            proof="python -c 'from transformers import TrainingArguments; TrainingArguments(\"x\")' passes",
        ),
    ),
    kinds=(
        (
            "accelerate.{0,24}(?:>=?|version|upgrade|update|install)|(?:upgrade|update|install|requires?) .{0,30}accelerate|from 'accelerate|module 'accelerate",
            "ImportError: Loading an FP8 quantized model requires accelerate > 0.32.1 (`pip install --upgrade accelerate`)",
        ),
    ),
    fires="TypeError: Accelerator.unwrap_model() got an unexpected keyword argument 'keep_torch_compile'",
    quiet="accelerate 1.11.0, transformers 5.6.0",
)
