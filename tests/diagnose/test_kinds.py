"""Families of messages: asked only where no signature fits, each with a sample, and quiet on what no failure is."""

from __future__ import annotations

import pytest

from papertrain.diagnose.catalogue import causes
from papertrain.diagnose.decide import decide
from papertrain.diagnose.kinds import pattern
from papertrain.diagnose.look import look_at_text

KINDS = [(r.name, p, sample) for r in causes().values() for p, sample in r.kinds]


def crash(message: str) -> str:
    text, _, frame = message.partition(" @ ")
    frame = frame or "site-packages/lib/core.py:run"
    path, _, code = frame.partition(":")
    inner = f'  File "/e/{path}", line 12, in run\n    {code.partition(" ")[2] or code}\n'
    return f'Traceback (most recent call last):\n  File "/w/train.py", line 61, in main\n    trainer.train()\n{inner}{text}\n'


@pytest.mark.parametrize(("name", "words", "sample"), KINDS, ids=[f"{n}-{i}" for i, (n, _, _) in enumerate(KINDS)])
def test_a_kind_of_message_names_its_class_and_is_no_certainty(name: str, words: str, sample: str) -> None:
    assert pattern(words).search(sample)
    answer = decide(look_at_text(crash(sample)))
    assert name in [m.rule.name for m in answer.matches]


@pytest.mark.parametrize("rule", causes().values(), ids=lambda r: r.name)
def test_no_kind_speaks_of_a_look_alike_that_is_no_failure(rule: object) -> None:
    quiet = rule.quiet  # type: ignore[attr-defined]
    answer = decide(look_at_text(f"step 1 loss 2.31\n{quiet}\nstep 2 loss 2.30"))
    if not answer.failed:
        assert not [m for m in answer.matches if m.rule.kinds and m.confidence <= m.rule.kind_confidence]


def test_a_signature_is_never_overruled_by_a_kind() -> None:
    text = "ValueError: --load_best_model_at_end requires the save and eval strategy to match, which is not supported"
    best = decide(look_at_text(crash(text))).matches[0]
    assert (best.rule.name, best.confidence > 0.9) == ("eval-save-strategy-mismatch", True)


def test_where_the_first_exception_says_nothing_a_later_one_is_asked() -> None:
    first = crash("KeyError: 'b7'")
    second = crash("RuntimeError: Gloo connectFullMesh failed with no error")
    found = decide(
        look_at_text(first + "\nDuring handling of the above exception, another exception occurred:\n\n" + second)
    )
    assert found.matches[0].rule.name == "nccl-system-error-interface"


@pytest.mark.parametrize(
    "text",
    [
        "TypeError: unsupported operand type(s) for //: 'NoneType' and 'NoneType'",
        "Exception: cublasLt ran into an error!",
        "KeyError: 'b7'",
        "IndexError: list index out of range",
        "AttributeError: 'NoneType' object has no attribute 'shape'",
    ],
)
def test_what_no_kind_of_message_fits_stays_unknown(text: str) -> None:
    answer = decide(look_at_text(crash(text)))
    assert answer.failed and not answer.matches


def test_an_adapter_of_another_rank_is_told_the_rank_it_had() -> None:
    text = (
        "RuntimeError: Error(s) in loading state_dict for PeftModelForCausalLM:\n\tsize mismatch for base_model.model.layers.0.q_proj.lora_A.default.weight: "
        "copying a param with shape torch.Size([8, 4096]) from checkpoint, the shape in current model is torch.Size([16, 4096])."
    )
    best = decide(look_at_text(crash(text))).matches[0]
    assert best.rule.name == "state-dict-mismatch"
    assert best.remedies is not None and dict(best.remedies[0].sets) == {"lora_rank": 8}


def test_keys_under_a_wrapper_s_name_are_told_how_to_lose_it() -> None:
    text = 'RuntimeError: Error(s) in loading state_dict for Net:\n\tMissing key(s) in state_dict: "conv.weight". \n\tUnexpected key(s) in state_dict: "module.conv.weight". '
    best = decide(look_at_text(crash(text))).matches[0]
    assert best.remedies is not None and "removeprefix('module.')" in best.remedies[0].commands[0]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("RuntimeError: device >= 0 && device < num_gpus INTERNAL ASSERT FAILED at \"CUDAContext.cpp\":49. device=3, num_gpus=2", "gpu-index-not-there"),
        ("RuntimeError: Error(s) in loading state_dict for Net:\n\tsize mismatch for char_emb.weight: copying a param of torch.Size([41, 8]) from checkpoint, where the shape is torch.Size([40, 8]) in current model.", "embedding-size-mismatch"),
        ("ERROR: error code -9", "host-ram-oom-killer"),
        ("terminate called after throwing an instance of 'std::runtime_error'\n  what():  NCCL Error 1: unhandled cuda error", "nccl-hang-p2p-driver"),
        ("WARNING: tokenization mismatch: 12 vs. 9. (ignored)\nWARNING: tokenization mismatch: 31 vs. 28. (ignored)\nWARNING: tokenization mismatch: 44 vs. 41. (ignored)", "loss-zero-all-labels-masked"),
        ("{'train_runtime': 9.1, 'train_loss': 0.7}\nUserWarning: Failed to clone() tensor with name lm_head.weight. Error: CUDA out of memory. Tried to allocate 1.00 GiB", "oom-saving-fsdp"),
        ("Traceback (most recent call last):\n  File \"train.py\", line 9, in main\n    best = checkpoint['best_f1']\nKeyError: 'best_f1'", "state-dict-mismatch"),
    ],
)  # fmt: skip
def test_what_a_ninth_hundred_of_public_threads_asked_for(text: str, name: str) -> None:
    found = decide(look_at_text(text)).matches
    assert found and found[0].rule.name == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('  File "/w/train.py", line 3, in load\n    v = state_dict[k]\nKeyError: \'layers.0.q_proj.weight\'', "state-dict-mismatch"),
        ("ValueError: Number of image tokens in input_ids (40) different from num_images (2).", "image-tokens-cut"),
        ("TypeError: 'str' object cannot be interpreted as an integer", "config-number-is-text"),
        ("ImportError: No bitsandbytes", "package-missing"),
        ("ValueError: You are attempting to pad samples but the tokenizer you are using (T) does not have one.", "pad-token-missing-model-config"),
        ("ValueError: 数据集过小，无法继续进行训练，请扩充数据集。", "dataset-too-small-zero-steps"),
        ("ValueError: mine is not an available dataset. Should be one of ['flowers', 'food']", "config-value-not-in-enum"),
        ("THCudaCheck FAIL file=/pytorch/torch/lib/THC/generic/THCStorage.cu line=58 error=2 : out of memory", "oom-activations"),
    ],
)  # fmt: skip
def test_what_a_tenth_set_of_public_threads_asked_for(text: str, name: str) -> None:
    found = decide(look_at_text(text)).matches
    assert found and found[0].rule.name in (name, "oom-model-states" if name.startswith("oom") else name)


def test_an_excerpt_that_begins_at_a_frame_is_a_traceback() -> None:
    case = look_at_text('  File "/w/a.py", line 3, in f\n    assert x == y\nAssertionError\nan ordinary line')
    assert case.root is not None
    assert (case.root.type, case.root.own is not None and case.root.own.code) == ("AssertionError", "assert x == y")


def test_a_dump_of_stacks_is_no_traceback() -> None:
    case = look_at_text(
        'Thread 0x00007f (most recent call first):\n  File "/e/queue.py", line 171 in get\n  File "/w/train.py", line 8 in main\n'
    )
    assert not case.exceptions
