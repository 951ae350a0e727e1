"""A token id or a position is beyond the embedding."""

import re

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix
from papertrain.diagnose.rules import _asserts as asserts

LENGTHS = "must match the size of tensor b"
_SIZES = re.compile(
    r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension 1"
)
_POSITIONS = re.compile(r"\bpos\b|positions?\b|position_embed|pos_embed|embed_positions")


def judge(case: Case) -> Match | None:
    found = asserts.judge(
        case, RULE, r"embedding|embed_tokens|position_ids|wte\b|wpe\b|_prepare_decoder_attention_mask|inputs_embeds"
    )
    return found if found is not None else too_long(case)


def too_long(case: Case) -> Match | None:
    """A sum of embeddings and positions whose lengths differ: the sequence is longer than the table of positions."""
    for line in case.find(LENGTHS):
        m = _SIZES.search(line.text)
        if m is None or int(m[1]) <= int(m[2]):
            continue
        log, at = case.place(line)
        above = [x.text for x in log.lines[max(0, at - 4) : at]]
        if any(_POSITIONS.search(x) for x in above):
            says = f"A sequence has {m[1]} positions, and the model's table of positions has {m[2]}."
            cut = fix(
                f"inputs and labels of at most {m[2]} tokens: filter the longer rows, or truncate them",
                f"dataset = dataset.filter(lambda row: len(row['labels']) <= {m[2]})",
                effect="experiment",
                proof="the longest row passes",
            )
            return RULE.found(0.86, [line], title="A sequence is longer than the model's table of positions", cause=says, remedies=(cut, RULE.fixes[1]))  # fmt: skip
    return None


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
    more=(LENGTHS,),
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
    kinds=(
        (
            "(?:sequence|input|token|prompt|position)\\w* .{0,60}(?:longer|exceeds?|greater|larger) than .{0,60}(?:max\\w*|context|block|position)",
            "ValueError: Input length of input_ids is 4213, it is longer than the maximum context of 4096",
        ),
        (
            "IndexError: (?:index|tensor index)? ?\\d* ?.{0,20}out of (?:range|bounds).{0,80}@ .*(?:embedding|functional|sparse)",
            "IndexError: index 50257 out of bounds @ torch/nn/modules/sparse.py",
        ),
    ),
    fires="../aten/src/ATen/native/cuda/Indexing.cu:1146: indexSelectLargeIndex: block: [66,0,0], thread: [1,0,0] Assertion `srcIndex < srcSelectDimSize` failed.",
    quiet="vocabulary 32000, embedding 32000",
)
