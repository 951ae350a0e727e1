"""Tied weights stop safetensors from saving."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR560",
    "safetensors-shared-tensors",
    "checkpoint-disk",
    title="Tied weights stop safetensors from saving",
    why="Two names share one memory; safetensors refuses unless the model declares the tie.",
    sig=(
        "Some tensors share memory",
        "The weights trying to be saved contained shared tensors",
        "shared tensors ~ (?i)saved contained shared tensors",
    ),
    confidence=0.96,
    next_check='python -c "print(model.config.tie_word_embeddings, type(model))"   # a compiled or wrapped model loses the tie',
    fixes=(
        fix(
            "save the unwrapped model",
            "accelerator.unwrap_model(model).save_pretrained(dir)",
            proof="the checkpoint is written",
        ),
        fix("the older format (before transformers 5)", sets={"save_safetensors": False}),
    ),
    kinds=(
        (
            "shared tensors|tied weights.{0,60}sav|share memory",
            "RuntimeError: cannot save shared tensors in this format",
        ),
    ),
    fires="RuntimeError: Some tensors share memory, this will lead to duplicate memory on disk and potential differences when loading them again: [{'lm_head.weight', 'model.embed_tokens.weight'}]",
    quiet="tied weights: lm_head, embed_tokens",
)
