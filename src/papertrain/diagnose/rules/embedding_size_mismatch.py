"""The checkpoint and the model have vocabularies of different size."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR661",
    "embedding-size-mismatch",
    "environment",
    title="The checkpoint and the model have vocabularies of different size",
    why="The embedding of the checkpoint has another number of rows than the model's: a token was added before it was trained, or it belongs to another base model.",
    sig=(
        "size mismatch for ~ size mismatch for \\S*(?:embed|lm_head|wte|output_layer)\\S*: copying a param with shape",
    ),
    confidence=0.93,
    next_check="python -c \"from transformers import AutoTokenizer as T; print(len(T.from_pretrained('.')))\"",
    fixes=(
        fix(
            "resize the embedding before the checkpoint is loaded",
            "model.resize_token_embeddings(len(tokenizer))   # with the tokenizer that was saved beside the checkpoint",
            proof="the checkpoint loads",
        ),
        fix(
            "or load it onto the base model that it was trained from",
            "grep base_model_name_or_path adapter_config.json",
        ),
    ),
    fires="RuntimeError: Error(s) in loading state_dict for PeftModelForCausalLM:\n\tsize mismatch for base_model.model.model.embed_tokens.weight: copying a param with shape torch.Size([32001, 4096]) from checkpoint, the shape in current model is torch.Size([32000, 4096]).",
    quiet="embedding of 32000 rows loaded",
)
