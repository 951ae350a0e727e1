"""FSDP cannot shard weights that are stored as integers."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR676",
    "fsdp-quantized-storage",
    "deepspeed-parallel",
    title="FSDP cannot flatten weights that are stored as integers",
    why="4-bit weights are kept as uint8 where nothing else is said; FSDP shards floating-point tensors only.",
    sig=("Cannot flatten integer dtype tensors",),
    confidence=0.93,
    next_check="grep -n bnb_4bit_quant_storage *.py *.yaml",
    fixes=(
        fix(
            "store the 4-bit weights in the dtype of the rest",
            "BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16, bnb_4bit_quant_storage=torch.bfloat16)",
            'pip install -U "bitsandbytes>=0.43" "accelerate>=0.28" "peft>=0.10"',
            proof="the model is wrapped",
        ),
        fix("DeepSpeed or plain DDP for a quantized model", sets={"zero_stage": 2}, proof="the model is wrapped"),
    ),
    fires="ValueError: Cannot flatten integer dtype tensors",
    quiet="FSDP: flat parameter of 1,024,000 bf16",
)
