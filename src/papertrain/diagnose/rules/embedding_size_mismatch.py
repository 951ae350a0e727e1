"""The checkpoint and the model have vocabularies of different size."""

import re

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, by_signature, cause, fix

_SHAPES = re.compile(
    r"torch\.Size\(\[\d+, (\d+)\]\) from checkpoint,[ ,]*(?:where )?the shape (?:in current model )?is torch\.Size\(\[\d+, (\d+)\]\)"
)


def judge(case: Case) -> Match | None:
    """Rows alone differ: another vocabulary. Where the width differs too it is another architecture."""
    lines = case.find("size mismatch for")
    if any(m[1] != m[2] for x in lines for m in _SHAPES.finditer(x.text)):
        return None
    return by_signature(RULE, case)


RULE = cause(
    "TR661",
    "embedding-size-mismatch",
    "environment",
    title="The checkpoint and the model have vocabularies of different size",
    why="The embedding of the checkpoint has another number of rows than the model's: a token was added before it was trained, or it belongs to another base model.",
    sig=(
        "size mismatch for ~ size mismatch for \\S*(?:embed|emb\\.|_emb\\b|lm_head|wte|output_layer)\\S*: copying a param",
    ),
    confidence=0.93,
    judge=judge,
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
    kinds=(
        (
            "vocab(?:ulary)?(?:_| )?size.{0,80}(?:mismatch|match|differ|larger|smaller|not equal|but)|resiz\\w+ .{0,24}embedding|not found in the vocabulary",
            "ValueError: The student model has vocab_size 151936 but the teacher model has vocab_size 152064.",
        ),
    ),
    fires="RuntimeError: Error(s) in loading state_dict for PeftModelForCausalLM:\n\tsize mismatch for base_model.model.model.embed_tokens.weight: copying a param with shape torch.Size([32001, 4096]) from checkpoint, the shape in current model is torch.Size([32000, 4096]).",
    quiet="embedding of 32000 rows loaded",
)
