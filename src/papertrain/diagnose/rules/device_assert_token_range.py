"""A token id or a position is beyond the embedding."""

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix
from papertrain.diagnose.rules import _asserts as asserts


def judge(case: Case) -> Match | None:
    return asserts.judge(
        case, RULE, r"embedding|embed_tokens|position_ids|wte\\b|wpe\\b|_prepare_decoder_attention_mask|inputs_embeds"
    )


RULE = cause(
    "TR534",
    "device-assert-token-range",
    "index-dtype-graph",
    title="A token id or a position is beyond the embedding",
    why="The lookup kernel asserts `srcIndex < srcSelectDimSize`: the tokenizer knows more tokens than the embedding has rows, or a sequence is longer than the position table.",
    judge=judge,
    sig=(
        "srcIndex < srcSelectDimSize",
        "index out of range in self",
        "index out of bounds ~ Assertion `-sizes\\[i\\] <= index",
        "ind >=0 && ind < ind_dim_size",
        "ind >= 0 && ind < ind_dim_size",
        "index >= -sizes[i] && index < sizes[i]",
        "vectorized_gather_kernel ~ Assertion",
        "expanded size ~ expanded size of the tensor \\(\\d+\\) must match .*Target sizes: \\[\\d+, \\d+\\]\\.\\s+Tensor sizes: \\[1, \\d+\\]",
    ),
    confidence=0.95,
    early=True,
    unlike=(("device-assert-label-range", "the assertion is in an index lookup, not in the loss"),),
    next_check='python -c "print(len(tokenizer), model.get_input_embeddings().num_embeddings, max(len(x) for x in batch), model.config.max_position_embeddings)"',
    fixes=(
        fix(
            "an embedding as large as the tokenizer",
            "model.resize_token_embeddings(len(tokenizer))",
            sets={"resize_vocab": True},
            effect="experiment",
            proof="one batch passes on the CPU",
        ),
        fix(
            "sequences no longer than the position table",
            sets={"sequence_length": "<max_position_embeddings>"},
            effect="experiment",
        ),
    ),
    fires="../aten/src/ATen/native/cuda/Indexing.cu:1146: indexSelectLargeIndex: block: [66,0,0], thread: [1,0,0] Assertion `srcIndex < srcSelectDimSize` failed.",
    quiet="vocabulary 32000, embedding 32000",
)
