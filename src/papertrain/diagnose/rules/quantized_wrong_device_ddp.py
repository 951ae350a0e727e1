"""The quantised model lies on another device than this rank's."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR601",
    "quantized-wrong-device-ddp",
    "not-learning",
    title="The quantised model lies on another device than this rank's",
    why="A quantised model cannot be moved: it must be loaded where it will be trained.",
    sig=(
        "loaded in 8-bit precision on a different device",
        "loaded in 8-bit or 4-bit precision on a different device",
        "precision on a different device ~ loaded in \\d-?bit precision on a different device",
        "precision on a different device than the one you are training on",
        "You can't train a model that has been loaded in 8-bit",
    ),
    confidence=0.95,
    never=("device_map='auto' in any distributed mode",),
    next_check='python -c "print(model.hf_device_map)"',
    fixes=(
        fix(
            "load it on this rank's card",
            'device_map={"": int(os.environ.get("LOCAL_RANK", 0))}',
            proof="the trainer is built on every rank",
        ),
    ),
    fires="ValueError: You can't train a model that has been loaded in 8-bit precision on a different device than the one you're training on. Make sure you loaded the model on the correct device using for example `device_map={'':torch.cuda.current_device()}`",
    quiet="8-bit model on cuda:0",
)
