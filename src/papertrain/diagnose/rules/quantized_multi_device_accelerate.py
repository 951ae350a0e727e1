"""A quantised model spread over devices, and an accelerate that refuses it."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR602",
    "quantized-multi-device-accelerate",
    "not-learning",
    title="A quantised model spread over devices, and an accelerate that refuses it",
    why="device_map='auto' in a distributed start, or an accelerate too old to train a model on several devices.",
    sig=(
        "device_map='auto' in any distributed mode",
        "loaded in 8-bit precision on multiple devices",
        "loaded with `device_map='auto'` in any distributed mode",
        "precision on multiple devices in any distributed mode",
        "load your model in 8-bit or 4-bit precision on multiple devices",
    ),
    confidence=0.95,
    next_check="pip show accelerate | grep Version; env | grep WORLD_SIZE",
    fixes=(
        fix(
            "one model per rank", 'device_map={"": int(os.environ.get("LOCAL_RANK", 0))}', proof="the trainer is built"
        ),
        fix(
            "or start a single process (model parallel), with a current accelerate",
            "pip install -U accelerate; python train.py …",
        ),
    ),
    kinds=(
        (
            "device_map.{0,20}auto.{0,120}(?:quantized|4bit|8bit|4-bit|8-bit|distributed)|`?\\.to`? is not supported for `?[48]-?bit",
            "ValueError: `.to` is not supported for `4-bit` or `8-bit` bitsandbytes models. Please use the model as it is",
        ),
    ),
    fires="ValueError: You can't train a model that has been loaded with `device_map='auto'` in any distributed mode. Please rerun your script specifying `--num_processes=1` or by launching with `python {{myscript.py}}`.",
    quiet="device_map: {'': 0}",
)
