"""Kinds of wording on which a blind set was first answered wrongly, each in another wording than there."""

from __future__ import annotations

import pytest

from papertrain.diagnose.answer import diagnoses
from papertrain.diagnose.configs import read
from papertrain.diagnose.decide import decide
from papertrain.diagnose.look import look_at_text


def top(text: str) -> str:
    found = decide(look_at_text(text)).matches
    return found[0].rule.name if found else ""


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ValueError: text input must be of type `str` (single example), `list[str]` (batch)", "dataset-row-without-text"),
        ("TypeError: TextEncodeInput must be Union[TextInputSequence, Tuple[InputSequence, InputSequence]]", "dataset-row-without-text"),
        ("train.py: error: argument --bf16: not allowed with argument --fp16", "config-options-conflict"),
        ('  File "/e/torch/optim/sgd.py", line 40, in __init__\n    if lr < 0.0:\nTypeError: \'<\' not supported between instances of \'str\' and \'float\'', "config-number-is-text"),
        ("TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'num_train_epoch'", "unexpected-config-key"),
        ("train.py: error: argument --optim: invalid choice: 'adamw8bit' (choose from 'adamw_torch', 'adamw_8bit')", "config-value-not-in-enum"),
        ("ValueError: Target module Qwen2VisionPatch() is not supported. Currently, only the following modules are supported: `torch.nn.Linear`.", "lora-target-not-found"),
        ("ValueError: You can't train a model that has been loaded in 4-bit precision on a different device than the one you're training on.", "quantized-wrong-device-ddp"),
        ("RuntimeError: The expanded size of the tensor (700) must match the existing size (512) at non-singleton dimension 1.  Target sizes: [4, 700].  Tensor sizes: [1, 512]", "device-assert-token-range"),
        ("RuntimeError: The expanded size of the tensor (517) must match the existing size (502) at non-singleton dimension 3.  Target sizes: [4, 1, 517, 517].  Tensor sizes: [4, 1, 502, 502]", "parallel-sequence-padding"),
        ("RuntimeError: all elements of target should be between 0 and 1", "device-assert-label-range"),
        ("ImportError: Using `bitsandbytes` 4-bit quantization requires the latest version of bitsandbytes: `pip install -U bitsandbytes`", "package-missing"),
    ],
)  # fmt: skip
def test_a_kind_is_known_in_other_words_too(text: str, name: str) -> None:
    assert top(text) == name


def test_a_curve_that_does_not_move_is_not_blamed_on_fsdp_without_a_word_of_it() -> None:
    flat = "\n".join(f"{{'loss': {1.1 + 0.002 * (i % 3):.3f}, 'grad_norm': 0.8, 'learning_rate': 3e-05, 'epoch': {i / 20}}}" for i in range(40))  # fmt: skip
    assert top(flat) != "loss-flat-optimizer-not-linked"


def test_rows_that_every_rank_prints_are_one_row_and_no_frozen_norm() -> None:
    rows = [f"{{'loss': 0.0, 'grad_norm': {0.2 + k / 100}, 'reward': 0.6, 'reward_std': 0.3, 'kl': {k / 1000}, 'epoch': {k / 10}}}" for k in range(1, 5)]  # fmt: skip
    assert not decide(look_at_text("\n".join(f"[rank{r}]: {x}" for x in rows for r in range(4)))).matches


def test_other_processes_in_the_message_hold_the_card_when_this_one_is_named_by_a_number_too() -> None:
    text = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 96.00 MiB. GPU 1 has a total capacity of 47.40 GiB of which 12.00 MiB is free. "
        "Process 11 has 44.10 GiB memory in use. Process 98 has 3.20 GiB memory in use. Of the allocated memory 2.60 GiB is allocated by PyTorch, and 80.00 MiB is reserved by PyTorch but unallocated."
    )
    assert top(text) == "gpu-memory-held-by-others"
    alone = text.replace("Process 11 has 44.10 GiB memory in use. Process 98 has 3.20 GiB memory in use.", "Process 98 has 47.30 GiB memory in use.").replace("2.60 GiB is alloc", "46.1 GiB is alloc")  # fmt: skip
    assert top(alone) != "gpu-memory-held-by-others"


def test_a_training_loss_that_is_the_accumulation_times_the_evaluation_is_scaled() -> None:
    rows = "  Gradient Accumulation steps = 4\n"
    for k in range(6):
        loss = 1.4 - k / 100
        rows += f"{{'loss': {4.05 * loss:.4f}, 'grad_norm': 6.0, 'learning_rate': 1e-05, 'epoch': {k / 10}}}\n{{'eval_loss': {loss:.4f}, 'eval_runtime': 3.0, 'epoch': {k / 10}}}\n"
    assert top(rows) == "loss-scaled-by-grad-accum"
    assert top(rows.replace("= 4", "= 16")) != "loss-scaled-by-grad-accum"


def test_a_resumed_run_whose_rate_begins_anew_is_seen_after_few_rows_and_without_a_word_of_resuming() -> None:
    def row(epoch: float, rate: float) -> str:
        return f"{{'loss': 0.8, 'grad_norm': 0.5, 'learning_rate': {rate:.2e}, 'epoch': {epoch}}}"

    first = [row(0.1 * k, 2e-5 * (1 - k / 40)) for k in range(1, 21)]
    again = [row(2 + 0.1 * k, 2e-5) for k in range(1, 5)]
    end = "{'train_runtime': 90.0, 'train_samples_per_second': 9.0, 'train_loss': 0.8, 'epoch': 2.0}"
    assert top("\n".join([*first, end, *again])) == "resume-lr-scheduler-reset"
    ahead = [row(2 + 0.1 * k, 2e-5 * (1 - (20 + k) / 40)) for k in range(1, 5)]
    assert top("\n".join([*first, end, *ahead])) != "resume-lr-scheduler-reset"


@pytest.mark.parametrize(
    ("config", "text", "patch"),
    [
        ("per_device_train_batch_size: 2\nlearning_rat: 0.003\n", "TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'learning_rat'", "+learning_rate: 0.003"),
        ("per_device_train_batch_size: 2\nlr_scheduler_type: cosin\n", "ValueError: cosin is not a valid SchedulerType, please select one of ['linear', 'cosine', 'polynomial']", "+lr_scheduler_type: cosine"),
        ("per_device_train_batch_size: 2\nlearning_rate: 3e-3\n", '  File "/e/torch/optim/adamw.py", line 36, in __init__\n    if not 0.0 <= lr:\nTypeError: \'<=\' not supported between instances of \'float\' and \'str\'', "+learning_rate: 0.003"),
        ("per_device_train_batch_size: 2\nbf16: true\nfp16: true\n", "ValueError: At most one of fp16 and bf16 can be True, but not both", "+fp16: false"),
    ],
)  # fmt: skip
def test_the_value_that_was_meant_is_written_into_the_users_own_file(config: str, text: str, patch: str) -> None:
    from pathlib import Path

    case = look_at_text(text, configs=[read(Path("train.yaml"), config)])
    found = diagnoses(decide(case), case)[0]
    assert found.fixes[0].patch is not None and patch in found.fixes[0].patch, found
