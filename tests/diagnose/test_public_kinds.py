"""Kinds of failure that a set of logs after public threads missed at first, each in another wording than there."""

from __future__ import annotations

from math import isnan

import pytest

from papertrain.diagnose.decide import Answer, decide
from papertrain.diagnose.look import look_at_text
from papertrain.diagnose.metrics import parse


def answer(text: str) -> Answer:
    return decide(look_at_text(text))


def top(text: str) -> str:
    found = answer(text).matches
    return found[0].rule.name if found else ""


def curve(losses: list[float], epochs: list[float] | None = None) -> str:
    return "\n".join(f"{{'loss': {v}, 'learning_rate': 0.0002, 'epoch': {epochs[i] if epochs else i / 10}}}" for i, v in enumerate(losses))  # fmt: skip


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("AttributeError: 'SGD' object has no attribute 'train'", "accelerate-version-mismatch"),
        ("AssertionError: only support equal chunk. Got size of DataProto 30 and chunk 8.", "batch-not-divisible-by-world"),
        ("ValueError: Labels' sequence length 512 cannot exceed the maximum allowed length of 448 tokens.", "collator-labels-not-truncated"),
        ("ValueError: Label values must be <= vocab_size: 41", "device-assert-label-range"),
        ("    assert not param.ds_active_sub_modules, param.ds_summary()\nAssertionError: {'id': 3, 'status': 'AVAILABLE'}", "zero3-params-inflight"),
        ("lightning.fabric.utilities.exceptions.MisconfigurationException: `ModelCheckpoint(monitor='acc')` could not find the monitored key in the returned metrics: ['loss', 'epoch']. HINT: log it", "metric-not-computed"),
        ("RuntimeError: Early stopping conditioned on metric `val_f1` which is not available. Pass in or modify your `EarlyStopping` callback to use any of the following: `val_loss`", "metric-not-computed"),
        ("ValueError: train_batch_size (16) must be >= critic.ppo_mini_batch_size (128)", "config-options-conflict"),
        ("KeyError: 'CellDataset is not in the dataset registry'", "dataset-not-registered"),
        ("KeyError: \"Dataset 'c' is not registered! Available datasets are: coco_train\"", "dataset-not-registered"),
        ("RuntimeError: Error(s) in loading state_dict for Net:\n\tsize mismatch for embed_tokens.weight: copying a param with shape torch.Size([300, 64]) from checkpoint, the shape in current model is torch.Size([310, 64]).", "embedding-size-mismatch"),
        ("RuntimeError: Error(s) in loading state_dict for Net:\n\tsize mismatch for embed_tokens.weight: copying a param with shape torch.Size([300, 64]) from checkpoint, the shape in current model is torch.Size([300, 128]).", "state-dict-mismatch"),
        ("Traceback (most recent call last):\n  File \"train.py\", line 9, in <module>\n    optimizer.step()\n  File \"/e/site-packages/torch/optim/adamw.py\", line 99, in step\n    exp_avg.lerp_(grad, 1 - beta1)\nRuntimeError: The size of tensor a (64) must match the size of tensor b (8) at non-singleton dimension 0", "resume-optimizer-group-mismatch"),
        ("UserWarning: `ModelCheckpoint(monitor='val_loss')` could not find the monitored key in the returned metrics: ['epoch', 'step'].\nEpoch 1: 100%|##########| 10/10 [00:05<00:00]", ""),
        ("ImportError: huggingface-hub>=0.30.0,<1.0 is required for a normal functioning of this module, but found huggingface-hub==1.1.4.", "package-missing"),
        ("ValueError: Must flatten tensors with uniform dtype but got torch.float16 and torch.float32", "dtype-mismatch-half-float"),
        ("RuntimeError: FlashAttention only supports fp16 and bf16 data type", "dtype-mismatch-half-float"),
        ("AssertionError: sequence length must be divisible by context parallel size", "parallel-sequence-padding"),
        ("OSError: [Errno 116] Stale file handle: 'out/checkpoint-20/optimizer.pt'", "disk-full-checkpoint"),
        ("Loading checkpoint shards:  40%|####      | 2/5 [00:20<00:30, 10.1s/it]Killed", "host-ram-oom-killer"),
        ("ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\nMemory on the node was 250.1GB / 256.0GB (0.97), which exceeds the memory usage threshold of 0.95.", "host-ram-oom-killer"),
        ("ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\nThere are some potential root causes. (1) The process is killed by SIGKILL by OOM killer due to high memory usage.", "host-ram-oom-killer"),
        ("Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 9.5e-07", "fp16-loss-scale-minimum"),
        ("ValueError: Unsloth: All labels in your dataset are -100. Training losses will be all 0.", "nan-all-labels-masked"),
        ("ValueError: Free memory on device (20.1/79.2 GiB) on startup is less than desired GPU memory utilization (0.9, 71.3 GiB).", "gpu-memory-held-by-others"),
        ("TypeError: KTOTrainer.__init__() got an unexpected keyword argument 'desirable_weight'", "transformers-arg-rename"),
        ("TypeError: GRPOConfig.__init__() got an unexpected keyword argument 'llm_device_mesh'", "transformers-arg-rename"),
        ("AttributeError: 'TrainingArguments' object has no attribute 'dataset_kwargs'", "transformers-arg-rename"),
        ("TypeError: SFTConfig.__init__() got an unexpected keyword argument 'max_lenght'", "unexpected-config-key"),
        ("TypeError: DPOTrainer.__init__() got an unexpected keyword argument 'rpo_alhpa'", "transformers-arg-rename"),
        ("TypeError: ChatGLMTokenizer._pad() got an unexpected keyword argument 'padding_side'", "transformers-arg-rename"),
        ("ValueError: you need to have tiktoken installed to convert it", "package-missing"),
        ("RuntimeError: One of the differentiated Tensors does not require grad", "no-grad-checkpointing-peft"),
        ("    hidden = inputs_embeds + self.embed_positions(ids)\nRuntimeError: The size of tensor a (600) must match the size of tensor b (512) at non-singleton dimension 1", "device-assert-token-range"),
        ("    out = left + right\nRuntimeError: The size of tensor a (600) must match the size of tensor b (512) at non-singleton dimension 1", "tensor-shapes-differ"),
        ("[rank0]: 12 of 12 answers used all of max_new_tokens=256, no eos token was generated", "eos-not-learned"),
    ],
)  # fmt: skip
def test_a_kind_of_public_failure_is_known_in_other_words(text: str, name: str) -> None:
    assert top(text) == name


def test_a_method_of_a_trainer_that_refuses_an_argument_is_no_renamed_option() -> None:
    assert top("TypeError: DPOTrainer.push_to_hub() got an unexpected keyword argument 'colour'") == ""


@pytest.mark.parametrize(("file", "name"), [("kto", "KTOConfig"), ("reward", "RewardConfig"), ("online_dpo", "OnlineDPOConfig")])  # fmt: skip
def test_the_config_that_is_proposed_is_the_one_of_the_trainer_in_the_traceback(file: str, name: str) -> None:
    text = f"Traceback (most recent call last):\n  File \"/e/site-packages/trl/trainer/{file}_trainer.py\", line 90, in __init__\n    if args.dataset_kwargs:\nAttributeError: 'TrainingArguments' object has no attribute 'dataset_kwargs'"
    remedy = (answer(text).matches[0].remedies or ())[0]
    assert remedy.title.startswith(name) and f"args = {name}(" in remedy.commands[0]


def test_a_bare_exception_is_a_failure_though_nobody_knows_it() -> None:
    found = answer("step 1\nException: kernel 7 ran into an error!")
    assert found.failed and not found.matches and "kernel 7" in found.suspicious[0].text


@pytest.mark.parametrize("scale", ["65536.0", "32768.0", "256.0", "1024"])
def test_an_overflow_of_apex_at_an_ordinary_scale_is_no_failure(scale: str) -> None:
    rows = "\n".join(f"Epoch: [0][{10 * i}] Loss {7.9 - i / 10:.3f} ({7.9 - i / 12:.3f}) lr 0.01" for i in range(5))
    found = answer(f"Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to {scale}\n{rows}")
    assert not found.matches and not found.failed and found.benign[0].rule.name == "lr-zero-overflow-warmup"


def test_rows_of_ranks_among_each_other_are_no_resume() -> None:
    lines = [f"{{'loss': {2 - e}, 'learning_rate': {1e-5 * (1 - e) + 1e-7}, 'epoch': {e}}}" for e in (0.25, 0.5, 0.75, 1.0)]  # fmt: skip
    lines.append("{'train_runtime': 9.0, 'train_loss': 1.4, 'epoch': 1.0}")
    order = [(0, i) for i in range(5)] + [(1, i) for i in range(5)]
    order.insert(5, order.pop(8))
    assert top("\n".join(f"[rank{r}]: {lines[i]}" for r, i in order)) == ""


def test_a_scheduler_that_began_anew_is_seen_whatever_the_program_calls_the_resume() -> None:
    before = [f"step {i} loss 0.5{i % 3} lr 1.0e-05" for i in range(700, 710)]
    after = [f"step {i} loss 0.5{i % 3} lr 3.0e-04" for i in range(710, 720)]
    for words in ("=> resuming from ckpt/710.pt", "Loading checkpoint from 'ckpt/710.pt'", "resume from step 710"):
        assert top("\n".join([*before, words, *after])) == "resume-lr-scheduler-reset", words


def test_a_loss_that_ends_far_above_its_beginning_diverged_and_one_that_lost_some_of_its_gain_met_a_batch() -> None:
    destroyed = [2.0, 1.6, 1.3, 1.1, 1.0, 0.98, 6.1, 7.2, 7.4, 7.3, 7.4, 7.3]
    half_lost = [2.4, 2.0, 1.6, 1.3, 1.1, 1.0, 1.02, 1.0, 1.01, 2.6, 2.61, 2.6, 2.62, 2.6, 2.61, 2.6]
    assert top(curve(destroyed)) == "divergence-lr-too-high"
    assert top(curve(half_lost)) == "loss-spike-bad-batch"


def test_epochs_with_the_same_losses_say_that_no_weight_moves_and_a_log_that_was_appended_twice_does_not() -> None:
    once = [1.31, 0.92, 1.57, 1.02, 1.21]
    text = "\n".join(f"Epoch {e}, Step {i}, Loss: {v}" for e in (1, 2, 3) for i, v in enumerate(once))
    assert top(text) == "loss-flat-optimizer-not-linked"
    again = "\n".join(f"Epoch 1, Step {i}, Loss: {v}" for _ in range(2) for i, v in enumerate(once))
    assert top(again) != "loss-flat-optimizer-not-linked"


@pytest.mark.parametrize("words", ["Loss is nan, stopping training", "RuntimeError: Training loss became NaN.", "ERROR: loss is inf"])  # fmt: skip
def test_a_program_that_stops_at_a_nan_has_failed_though_it_prints_no_row_of_it(words: str) -> None:
    found = answer("\n".join([*(f"step {i} loss 0.{30 - i} lr 1e-05" for i in range(8)), words]))
    assert found.failed and found.matches and found.matches[0].rule.name.startswith(("nan", "fp16", "loss-zero"))


def test_a_sentence_about_nan_is_no_row() -> None:
    assert parse("the run is stopped if the loss is nan for 10 steps") == {}
    assert parse("checking that no loss is nan") == {}


def test_a_table_of_a_notebook_is_read_with_its_names() -> None:
    text = "Step | Training Loss | Validation Loss\n10 | 1.9 | No log\n20 | 1.7 | 1.8\n30 | 1.6 | 1.75"
    rows = look_at_text(text).rows
    assert [r.values.get("loss") for r in rows] == [1.9, 1.7, 1.6] and rows[1].values["eval_loss"] == 1.8
    assert [r.step for r in rows] == [10, 20, 30]


def test_weights_of_a_few_bytes_are_zero_3_placeholders_and_a_small_adapter_alone_is_none() -> None:
    listed = "-rw-r--r-- 1 u g 512 Jan  3 10:01 out/checkpoint-9/adapter_model.safetensors"
    assert top(f"--deepspeed ds_z3_config.json\n{listed}") == "zero3-empty-weights-saved"
    assert top(listed) == "" and top(f"--deepspeed ds_z2_config.json\n{listed}") == ""


def test_memory_that_the_generation_engine_asks_for_is_given_back_by_its_own_share() -> None:
    text = 'Traceback (most recent call last):\n  File "/e/site-packages/vllm/v1/worker/gpu_worker.py", line 180, in load_model\n    self.model_runner.load_model()\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 96.00 MiB. GPU 0 has a total capacity of 23.69 GiB of which 40.06 MiB is free. Including non-PyTorch memory, this process has 23.64 GiB memory in use. Of the allocated memory 23.10 GiB is allocated by PyTorch, and 90.20 MiB is reserved by PyTorch but unallocated.'  # fmt: skip
    found = answer(text).matches[0]
    assert found.remedies and "vLLM" in found.remedies[0].title


def test_a_row_of_a_detector_and_of_a_policy_is_read() -> None:
    detector = parse(
        "[01/02 10:00:00 d2.utils.events]: eta: 1:00:00  iter: 19  total_loss: 3.5  loss_cls: 2.5  lr: 0.0004"
    )
    assert (detector["step"], detector["loss"], detector["learning_rate"]) == (19, 3.5, 0.0004)
    policy = parse("step:2 - actor/pg_loss:-0.003 - actor/grad_norm:0.11 - actor/lr:0.000001")
    assert (policy["step"], policy["act_loss"], policy["grad_norm"]) == (2, -0.003, 0.11)
    assert isnan(parse("FloatingPointError: Loss became infinite or NaN at iteration=71!")["loss"])
