"""Layers were left on the meta device by device_map."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR504",
    "meta-tensor-offload",
    "memory-gpu",
    title="Layers were left on the meta device by device_map",
    why="device_map='auto' offloaded layers, so some weights are placeholders without data; moving the model copies nothing.",
    sig=(
        "Cannot copy out of meta tensor",
        "Tensor on device meta is not on the expected device",
        "offload the whole model to the disk",
    ),
    confidence=0.92,
    next_check="python -c \"print(model.hf_device_map)\"   # any 'cpu', 'disk' or 'meta' there is the cause",
    fixes=(
        fix(
            "load the whole model on this rank's card",
            'AutoModelForCausalLM.from_pretrained(name, device_map={"": int(os.environ.get("LOCAL_RANK", 0))})',
            proof="model.hf_device_map names cards only",
        ),
        fix(
            "no device_map at all under DeepSpeed or FSDP: they place the weights",
            "remove device_map=… and low_cpu_mem_usage=… from from_pretrained",
        ),
    ),
    kinds=(
        (
            "dispatched on the (?:CPU|cpu) or the disk|device_map (?:that )?(?:contains|has|had) .{0,40}(?:CPU|cpu|disk)|offload.{0,60}(?:disk|folder|_dir)|(?:on|is) (?:the )?meta device|meta tensors?",
            "ValueError: Some modules are dispatched on the CPU or the disk. Make sure you have enough GPU RAM to fit the quantized model.",
        ),
    ),
    fires="NotImplementedError: Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to()",
    quiet="initialising on the meta device, then loading 4 shards",
)
