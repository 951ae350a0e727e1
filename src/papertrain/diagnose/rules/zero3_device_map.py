"""ZeRO-3 does not go with device_map, low_cpu_mem_usage or quantised loading."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR550",
    "zero3-device-map",
    "deepspeed-parallel",
    title="ZeRO-3 does not go with device_map, low_cpu_mem_usage or quantised loading",
    why="All of them place the weights; only one may.",
    sig=(
        "DeepSpeed Zero-3 is not compatible with",
        "is not compatible with `low_cpu_mem_usage=True` or with passing a `device_map`",
        "DeepSpeed ZeRO-3 or FSDP is incompatible with",
        "is incompatible with DeepSpeed ZeRO-3",
    ),
    confidence=0.97,
    next_check="grep -nE 'device_map|low_cpu_mem_usage|quantization|load_in' *.yaml *.py",
    fixes=(
        fix(
            "no device_map under ZeRO-3",
            "remove device_map=… and low_cpu_mem_usage=…",
            sets={"device_map": None, "low_cpu_mem_usage": None},
            proof="the model loads",
        ),
        fix("ZeRO-2, which allows it", sets={"zero_stage": 2}),
    ),
    fires="ValueError: DeepSpeed Zero-3 is not compatible with `low_cpu_mem_usage=True` or with passing a `device_map`.",
    quiet="Detected DeepSpeed ZeRO-3: activating zero.init() for this model",
)
