"""The hard cases: what hides the cause, what only looks like one, and what nobody knows."""

from __future__ import annotations

import contextlib
import json
import random
import time
from pathlib import Path

import pytest

from papertrain.core.errors import PapertrainError
from papertrain.diagnose.configs import Config
from papertrain.diagnose.decide import Answer, decide
from papertrain.diagnose.look import look_at_text, look_at_texts

LOGS = Path(__file__).resolve().parents[2] / "../shared/data/logs"
OOM = [
    "Traceback (most recent call last):",
    '  File "train.py", line 88, in <module>',
    "    loss.backward()",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.02 GiB is free. "
    "Including non-PyTorch memory, this process has 78.12 GiB memory in use. Of the allocated memory 76.90 GiB is allocated by PyTorch, and 312.45 MiB "
    "is reserved by PyTorch but unallocated.",
]
TORCHRUN = [
    "W0101 10:00:00.1 api.py:850] Sending process 4243 closing signal SIGTERM",
    *[f"an ordinary line {i}" for i in range(300)],
    "E0101 10:00:09.1 api.py:826] failed (exitcode: 1) local_rank: 0 (pid: 4242) of binary: python",
    "Traceback (most recent call last):",
    '  File "/env/bin/torchrun", line 8, in <module>',
    "    sys.exit(main())",
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
    "train.py FAILED",
    "Root Cause (first observed failure):",
    "  exitcode  : 1 (pid: 4242)",
    "  error_file: <N/A>",
]
NAN = "\n".join(
    [
        "{'loss': 1.71, 'grad_norm': 7.9, 'learning_rate': 1.2e-07, 'epoch': 0.01}",
        "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 2.4e-07, 'epoch': 0.02}",
        "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 3.6e-07, 'epoch': 0.03}",
    ]
)


def answer(text: str | bytes, *configs: Config) -> Answer:
    return decide(look_at_text(text, configs=configs))


def top(text: str | bytes, *configs: Config) -> str | None:
    found = answer(text, *configs).matches
    return found[0].rule.name if found else None


def zero(stage: int, overlap: bool = True) -> Config:
    return Config(
        "ds.json",
        json.dumps({"bf16": {"enabled": True}, "zero_optimization": {"stage": stage, "overlap_comm": overlap}}),
    )


def test_nan_from_the_second_row_under_zero_2_is_overlap_comm_and_not_the_learning_rate() -> None:
    best = answer(NAN, zero(2)).matches[0]
    assert best.rule.name == "nan-deepspeed-overlap-comm" and best.confidence > 0.6
    assert "nan-lr-too-high" in {r.cls for r in best.ruled_out}


@pytest.mark.parametrize("config", [zero(3), zero(2, overlap=False)], ids=["stage 3", "overlap off"])
def test_the_same_rows_without_the_overlap_are_something_else(config: Config) -> None:
    assert top(NAN, config) != "nan-deepspeed-overlap-comm"


def test_a_norm_that_repeats_to_the_last_digit_beside_loss_zero_counts_as_broken() -> None:
    rows = "{'loss': 3.55, 'grad_norm': 1.41421353, 'learning_rate': 2e-06, 'epoch': 0.01}\n" + "".join(
        f"{{'loss': 0.0, 'grad_norm': 1.41421353, 'learning_rate': {i}e-06, 'epoch': 0.0{i}}}\n" for i in range(3, 6)
    )
    assert top(rows, zero(2)) == "nan-deepspeed-overlap-comm"


def test_evaluation_with_kept_logits_names_their_size() -> None:
    log = (
        '***** Running Evaluation *****\n  Num examples = 1000\nmax_length: 512\n"vocab_size": 30522,\nTraceback (most recent call last):\n'
        '  File "transformers/trainer_pt_utils.py", line 90, in nested_concat\n    return torch_pad_and_concatenate(tensors, new_tensors)\n'
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 58.22 GiB (GPU 0; 79.15 GiB total capacity; 61.2 GiB already allocated)\n"
    )
    best = answer(log).matches[0]
    assert best.rule.name == "oom-eval"
    assert f"{1000 * 512 * 30522 * 4 / 2**30:.1f} GiB" in best.cause  # 58.2
    assert all("micro_batch_size" not in dict(f.sets) for f in best.rule.fixes), "training settings stay"


def test_the_cause_stands_300_lines_above_the_launchers_summary() -> None:
    found = answer("\n".join(OOM + TORCHRUN)).matches
    assert found[0].rule.name.startswith("oom-") and found[0].evidence[0].line == 4
    assert "torchrun-wrapper-hides-oom" not in {m.rule.name for m in found}


@pytest.mark.parametrize("seed", range(5))
def test_four_interleaved_ranks_tell_the_same(seed: int) -> None:
    r = random.Random(seed)
    lanes = [[f"[rank{k}]: {x}" for x in OOM] for k in range(4)]
    out = []
    while any(lanes):
        out.append(r.choice([x for x in lanes if x]).pop(0))
    assert top("\n".join(out + TORCHRUN)) == top("\n".join(OOM + TORCHRUN))


def test_the_launchers_summary_alone_is_no_cause() -> None:
    assert top("\n".join(TORCHRUN)) == "torchrun-wrapper-hides-oom"


def test_exit_minus_nine_alone_is_host_memory_and_a_kernel_line_makes_it_sure() -> None:
    line = "torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: -9) local_rank: 0 (pid: 771) of binary: python"
    alone, told = answer(line), answer(line + "\nkernel: Out of memory: Killed process 771 (python) total-vm:91234kB")
    assert alone.matches[0].rule.name == told.matches[0].rule.name == "host-ram-oom-killer"
    assert told.matches[0].confidence > alone.matches[0].confidence


def test_three_skipped_steps_are_normal_and_the_minimum_is_not() -> None:
    skip = "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {}, reducing to {}\n"
    rows = "{'loss': 2.1, 'grad_norm': 1.0, 'learning_rate': 1e-6, 'epoch': 0.1}\n{'loss': 2.0, 'grad_norm': 1.0, 'learning_rate': 2e-6, 'epoch': 0.2}\n"
    start = "".join(skip.format(2 ** (16 - i), 2 ** (15 - i)) for i in range(3))
    good = answer(start + rows)
    assert not good.matches and not good.failed and good.benign[0].rule.name == "lr-zero-overflow-warmup"
    assert (
        top(start + "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.")
        == "fp16-loss-scale-minimum"
    )


def test_rank_instead_of_node_rank_is_the_variable_and_not_the_firewall() -> None:
    log = "RANK=1 MASTER_ADDR=10.0.0.1 FORCE_TORCHRUN=1 NNODES=2 llamafactory-cli train a.yaml\ntorch.distributed.DistStoreError: Timed out after 901 seconds waiting for clients. 1/2 clients joined.\n"
    best = answer(log).matches[0]
    assert best.rule.name == "launch-env-ignored" and best.confidence >= 0.85 and "NODE_RANK" in best.cause


def test_a_resumed_run_that_trained_nothing() -> None:
    log = (
        "  Total optimization steps = 30,255\n  Continuing training from checkpoint, will skip to saved global_step\n  Continuing training from global step 35200\n"
        "  0%|          | 0/30255 [00:00<?, ?it/s]\n{'train_runtime': 0.9, 'train_samples_per_second': 1075733.3, 'train_steps_per_second': 33616.7, 'train_loss': 0.0, 'epoch': 3.49}\n"
    )
    assert top(log) == "resume-trained-nothing"


def test_a_zero_3_folder_without_a_model_file_keeps_its_weights_in_global_step() -> None:
    log = "OSError: Error no file named pytorch_model.bin, model.safetensors found in directory out/checkpoint-500.\nconfig.json global_step500 latest zero_to_fp32.py\n"
    best = answer(log).matches[0]
    assert best.rule.name == "zero3-empty-weights-saved"
    assert (
        "keep the global_step folder" in best.rule.fixes[0].title
        and "zero_to_fp32.py" in best.rule.fixes[0].commands[0]
    )


def test_an_untrained_end_token_and_padding_with_the_end_token_are_told_apart() -> None:
    endless = "WARNING: 60 of 60 generations reached max_new_tokens=512 without an end token\n"
    frozen = answer("model: Qwen3-4B-Base, a base model\nfinetuning_type: lora\n" + endless).matches[0]
    padded = answer("tokenizer.pad_token = tokenizer.eos_token\n" + endless).matches[0]
    assert frozen.rule.name == padded.rule.name == "eos-not-learned"
    assert "frozen" in frozen.cause and "padding token is the end token" in padded.cause


def test_a_later_exception_that_hides_the_first_steps_back() -> None:
    log = (
        'Traceback (most recent call last):\n  File "builder.py", line 3, in load\ndeepspeed.ops.op_builder.builder.CUDAMismatchException: >- DeepSpeed Op Builder: '
        "Installed CUDA version 12.4 does not match the version torch was compiled with 11.8\nDuring handling of the above exception, another exception occurred:\n"
        "Traceback (most recent call last):\n  File \"cpu_adam.py\", line 99, in __del__\nKeyError: 'labels'\n"
    )
    assert top(log) == "deepspeed-cuda-toolkit-mismatch"


def test_both_directions_of_a_renamed_argument() -> None:
    new = answer(
        "TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'evaluation_strategy'\n"
    ).matches[0]
    old = answer("TypeError: __init__() got an unexpected keyword argument 'eval_strategy'\n").matches[0]
    assert "newer than the script" in new.cause and "older than the script" in old.cause


def test_numbers_decide_between_pieces_and_too_much() -> None:
    text = "RuntimeError: CUDA out of memory. Tried to allocate {} GiB (GPU 0; 23.69 GiB total capacity; {} GiB already allocated; 0.41 GiB free; 21.90 GiB reserved in total by PyTorch)"
    assert top(text.format("1.20", "15.01")) == "oom-fragmentation"
    assert top(text.format("1.20", "21.80")) != "oom-fragmentation"


def test_known_states_larger_than_the_card_rule_out_a_smaller_batch() -> None:
    log = "model_name_or_path: meta-llama/Llama-2-13b-hf\nfinetuning_type: full\nGPU number: 1\n" + OOM[-1]
    assert top(log) == "oom-model-states"  # 13 B x 16 bytes = 208 GB on one card of 79 GiB
    assert (
        top(
            "model_name_or_path: meta-llama/Llama-2-7b-hf\nfinetuning_type: lora\nlora_rank: 8\nGPU number: 1\n"
            + OOM[-1]
        )
        == "oom-activations"
    )


def test_an_unknown_failure_stays_unknown_and_shows_where_to_look() -> None:
    found = answer(
        'starting\nTraceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\nValueError: wibble 17 is not a frobnicator\n'
    )
    assert not found.matches and "ValueError" in found.failed
    assert 1 <= len(found.suspicious) <= 3 and found.suspicious[0].line == 5


def test_a_caught_exception_long_before_a_good_end_is_no_failure() -> None:
    rows = "".join(
        f"{{'loss': {2 - i / 100:.3f}, 'grad_norm': 1.0, 'learning_rate': 1e-05, 'epoch': {i / 100}}}\n"
        for i in range(80)
    )
    log = (
        'Traceback (most recent call last):\n  File "w.py", line 1, in f\nOSError: could not reach the tracker\n'
        + rows
        + "{'train_runtime': 93.1, 'train_loss': 1.6, 'epoch': 0.8}\n"
    )
    found = answer(log)
    assert not found.failed and "all finite" in found.healthy


@pytest.mark.parametrize(
    "text",
    [
        b"x" * 50_000_000,
        b"(" * 3_000_000,
        b"{'loss': 1.0, " * 1_000_000,
        b"Traceback (most recent call last):\n" * 50_000,
        b"RuntimeError: CUDA out of memory. Tried to allocate 1.00 GiB\n" * 50_000,
        b"\r".join(b"%d/900000 [00:01<00:02, 3.0it/s]" % i for i in range(300_000)),
        bytes(range(1, 256)) * 300 + b"\nplain text " * 20_000,
    ],
    ids=[
        "one line of 50 MB",
        "brackets",
        "an endless row",
        "traceback starts",
        "the same error",
        "a progress bar of one line",
        "odd bytes",
    ],
)
def test_hostile_input_neither_hangs_nor_breaks(text: bytes) -> None:
    start = time.monotonic()
    with contextlib.suppress(PapertrainError):
        answer(text)
    assert time.monotonic() - start < 30


SPY = 'Process {pid}: python train.py\nPython v3.10.12\n\nThread {pid} (active): "MainThread"\n    {top} (torch/distributed/distributed_c10d.py:2050)\n    step (train.py:88)\n    main (train.py:120)\n'


def test_of_eight_stacks_the_one_that_differs_is_the_suspect() -> None:
    logs = {f"rank{r}.dump": SPY.format(pid=100 + r, top="all_reduce" if r != 5 else "broadcast") for r in range(8)}
    best = decide(look_at_texts(logs)).matches[0]
    assert best.rule.name == "hang-out-of-sync-large-scale"
    assert "rank5.dump stands in broadcast, 7 of 8 in all_reduce" in best.cause


def test_workers_that_wait_in_the_loader_s_queue_are_a_deadlock() -> None:
    frames = '  File "/usr/lib/python3.10/queue.py", line 180 in get\n  File "torch/utils/data/dataloader.py", line 1120 in _try_get_data\n'
    assert top(f"Thread 0x00007f11 (most recent call first):\n{frames}") == "hang-dataloader-worker-deadlock"


def test_an_out_and_an_err_file_are_one_case() -> None:
    logs = {
        "job.out": "{'loss': 1.2, 'grad_norm': 1.0, 'learning_rate': 1e-5, 'epoch': 0.1}\n",
        "job.err": "\n".join(OOM),
    }
    best = decide(look_at_texts(logs)).matches[0]
    assert best.rule.name.startswith("oom-") and best.evidence[0].file == "job.err" and best.evidence[0].line == 4


def test_control_sequences_do_not_reach_a_quote() -> None:
    text = "\x1b]0;gotcha\x07\x1b[2J\x1b[31mtorch.OutOfMemoryError: CUDA out of memory.\u202e Tried to allocate 2.00 GiB.\x1b[0m\x1b[1A\n"
    best = answer(text).matches[0]
    assert best.rule.name.startswith("oom-")
    assert best.evidence[0].text.isprintable() and "\u202e" not in best.evidence[0].text


@pytest.mark.skipif(not LOGS.exists(), reason="the shared logs are not beside this checkout")
def test_no_real_healthy_log_is_called_a_failure() -> None:
    from papertrain.verbs.diagnosing.cases import look_at

    index = [json.loads(x) for x in (LOGS / "index.jsonl").read_text("utf-8").splitlines()]
    wrong = {}
    for entry in index:
        if entry["label"] == "healthy" and entry["bytes"] < 600_000:
            seen = look_at([LOGS / entry["file"].removeprefix("logs/")], [], None, None)
            if seen.answer.matches or seen.answer.failed:
                wrong[entry["id"]] = [m.rule.name for m in seen.answer.matches] or seen.answer.failed
    assert wrong == {}
