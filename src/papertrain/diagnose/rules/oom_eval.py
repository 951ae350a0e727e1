"""Evaluation does not fit, training does: predictions are kept on the card."""

from msgspec import structs

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix
from papertrain.diagnose.rules import _oom as oom


def kept_logits(case: Case) -> str:
    """How large the kept logits are, where the log says how many examples, how long, and how many words."""
    examples = case.search(r"Num examples = ([\d,]+)", "Num examples")
    vocab = case.search(r"vocab_size\W{1,4}(\d{4,7})", "vocab_size")
    length = case.facts.number("sequence_length")
    if not (examples and vocab and length):
        return ""
    n = int(examples[1].replace(",", "")) * length * int(vocab[1]) * 4
    return f" {examples[1]} examples × {length:.0f} × {vocab[1]} values in fp32 are {n / 2**30:.1f} GiB."


def judge(case: Case) -> Match | None:
    found = oom.judge(case, RULE)
    return found if found is None else structs.replace(found, cause=found.cause + kept_logits(case))


RULE = cause(
    "TR615",
    "oom-eval",
    "memory-gpu",
    title="Evaluation does not fit, training does: predictions are kept on the card",
    why="With metrics the Trainer keeps the logits of every evaluation example (examples × length × vocabulary), or the evaluation batch is larger than the training batch.",
    judge=judge,
    sig=oom.LITERALS,
    next_check="grep -nE 'eval_batch_size|eval_accumulation|compute_metrics|predict_with_generate' *.py *.yaml",
    fixes=(
        fix(
            "keep what the metric needs, not the logits",
            "Trainer(…, preprocess_logits_for_metrics=lambda logits, labels: logits.argmax(-1))",
            proof="memory stays flat during evaluation",
        ),
        fix(
            "move predictions to the host every few steps, and smaller evaluation batches",
            sets={"eval_accumulation_steps": 4, "eval_batch_size": 1},
            proof="evaluation ends",
        ),
        fix("only the loss, if no metric needs predictions", sets={"prediction_loss_only": True}),
    ),
    fires="{'loss': 1.2, 'grad_norm': 1.0, 'learning_rate': 1e-05, 'epoch': 0.5}\n***** Running Evaluation *****\nTraceback (most recent call last):\n  File \"transformers/trainer.py\", line 3900, in evaluation_loop\n    all_preds.add(logits)\n  File \"transformers/trainer_pt_utils.py\", line 124, in nested_concat\n    return torch_pad_and_concatenate(tensors, new_tensors, padding_index=padding_index)\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.31 GiB. GPU 0 has a total capacity of 39.39 GiB of which 4.11 GiB is free.",
    quiet="eval_runtime 12.1, eval memory 20 GB",
)
