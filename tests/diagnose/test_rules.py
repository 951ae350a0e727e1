"""Every class has a sample on which it is the answer, and one on which it is not."""

from __future__ import annotations

import re

import pytest

from papertrain.diagnose.catalogue import EVERYDAY, literals
from papertrain.diagnose.catalogue import causes as rules
from papertrain.diagnose.decide import decide
from papertrain.diagnose.look import look_at_text
from papertrain.diagnose.rule import Cause, sig

VOCABULARY = set(
    """
grad-norm-spikes-benign grpo-loss-zero-benign loss-quantized-bf16-benign no-grad-warning-benign overfit-epoch-staircase
checkpoint-corrupt-zip checkpoint-size-bloat checkpoint-truncated-disk-full disk-full-checkpoint safetensors-lfs-pointer
safetensors-shared-tensors torch-load-weights-only chat-template-missing cli-args-broken-line-continuation collator-labels-not-integers
collator-labels-not-truncated dataset-columns dataset-columns-removed-by-trainer dataset-empty-assistant dataset-format-no-valid-samples
dataset-message-mapping dataset-not-registered dataset-too-long-all-dropped dataset-too-small-zero-steps pad-token-missing-model-config
batch-not-divisible-by-world deepspeed-batch-size-mismatch deepspeed-config-mismatch deepspeed-cuda-toolkit-mismatch deepspeed-no-sync
deepspeed-single-gpu-launch deepspeed-version-pydantic-float megatron-apex-missing-fused-kernel parallel-sequence-padding zero3-device-map
zero3-empty-weights-saved zero3-weight-must-be-2d divergence-bad-init divergence-lr-too-high dpo-lr-too-high loss-scaled-by-grad-accum
lr-zero-overflow-warmup accelerate-version-mismatch bitsandbytes-cuda-setup config-value-not-in-enum cuda-arch-not-supported
cuda-driver-too-old cuda-forked-subprocess eval-save-strategy-mismatch flash-attn-abi-mismatch flash-attn-unsupported-gpu
numpy-version-removed-alias peft-version-mismatch-config too-many-open-files torchrun-wrapper-hides-oom transformers-arg-rename
triton-missing-python-headers cuda-unknown-error-software-stack hardware-gpu-crash hardware-gpu-ecc hardware-gpu-xid hardware-node-failure
checkpoint-recompute-mismatch cublas-init-token-range ddp-inplace-buffer-broadcast ddp-ready-twice-checkpointing ddp-unused-parameters
device-assert-label-range device-assert-token-range dtype-mismatch-half-float dtype-mismatch-matmul cublas-init-oom hardware-gpu-bad-node
illegal-memory-access-oom meta-tensor-offload npu-oom-device-visibility oom-default-checkpointing-changed oom-eval oom-fragmentation
oom-long-sequence-outlier oom-model-states oom-resume-checkpoint oom-saving-fsdp dataloader-shm dataloader-worker-killed-ram
exit-7-sigbus-shm host-ram-oom-killer shm-no-space-left bf16-unsupported-gpu dpo-nan-fp16 fp16-gradscaler-trainable-half
fp16-loss-scale-minimum fp16-overflow-model-specific loss-zero-8bit-without-fp16 loss-zero-all-labels-masked loss-zero-fp16
loss-zero-peft-version nan-all-labels-masked nan-attention-kernel nan-attention-padding-mask nan-deepspeed-overlap-comm nan-eval-fp16
nan-grad-norm-reduced-in-bf16 nan-half-precision-weights nan-lr-too-high nan-multi-gpu-p2p-acs hang-dataloader-worker-deadlock
hang-filesystem-freeze hang-out-of-sync-large-scale nccl-duplicate-gpu nccl-hang-p2p-acs nccl-hang-p2p-driver nccl-p2p-rtx40-guard
nccl-system-error-docker-net nccl-system-error-interface nccl-system-error-shm nccl-timeout-preprocessing nccl-timeout-uneven-data
npu-hccl-stale-process port-in-use throughput-straggler-gpu dpo-loss-stuck-at-ln2 eos-not-learned grpo-zero-advantage
lora-no-trainable-params lora-target-not-found loss-flat-optimizer-not-linked no-grad-checkpointing-peft ppo-negative-kl-padding
quantized-multi-device-accelerate quantized-without-adapter quantized-wrong-device-ddp silent-tp-parameter-desync overfit-too-many-epochs
resume-data-repeated resume-loss-spike-data-order resume-loss-spike-optimizer-state resume-lr-scheduler-mismatch
resume-lr-scheduler-reset resume-optimizer-group-mismatch oom-activations oom-optimizer-step nan-bad-data loss-spike-bad-batch
loss-spike-recovering-benign underfitting slow-convergence-lr-too-low low-score-data-loading low-score-model-init low-score-undertrained
low-score-wrong-template resume-trained-nothing launch-env-ignored
""".split()  # noqa: SIM905
)
NOT_FAILURES = {"grad-norm-spikes-benign", "grpo-loss-zero-benign", "loss-quantized-bf16-benign", "no-grad-warning-benign",
                "overfit-epoch-staircase", "loss-spike-recovering-benign", "lr-zero-overflow-warmup"}  # fmt: skip
EVERY = sorted(rules().values(), key=lambda r: r.name)
name_of = {"ids": lambda r: r.name if isinstance(r, Cause) else str(r)}


def test_the_whole_vocabulary_is_covered_and_no_name_is_changed() -> None:
    assert VOCABULARY - set(rules()) == set()


def test_exactly_the_benign_names_are_no_failures() -> None:
    assert {r.name for r in EVERY if r.benign} == NOT_FAILURES


def test_ids_are_in_the_range_of_this_room_and_unique() -> None:
    ids = [r.id for r in EVERY]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"TR[567]\d\d", i) and "TR501" <= i <= "TR799" for i in ids)


@pytest.mark.parametrize("rule", [r for r in EVERY if not r.benign], **name_of)
def test_its_own_sample_gives_the_class(rule: Cause) -> None:
    answer = decide(look_at_text(rule.fires))
    assert answer.matches and answer.matches[0].rule.name == rule.name
    assert answer.matches[0].evidence, "a cause without a quoted line"


@pytest.mark.parametrize("rule", [r for r in EVERY if r.benign], **name_of)
def test_a_benign_sample_is_no_failure(rule: Cause) -> None:
    answer = decide(look_at_text(rule.fires))
    assert not answer.matches and not answer.failed
    assert rule.name in {m.rule.name for m in answer.benign}


@pytest.mark.parametrize("rule", EVERY, **name_of)
def test_it_is_quiet_on_the_look_alike(rule: Cause) -> None:
    assert rule.quiet
    answer = decide(look_at_text(rule.quiet))
    assert rule.name not in {m.rule.name for m in (*answer.matches, *answer.benign)}


@pytest.mark.parametrize("rule", [r for r in EVERY if not r.benign], **name_of)
def test_a_failure_says_why_what_to_check_and_what_to_change(rule: Cause) -> None:
    answer = decide(look_at_text(rule.fires))
    best = answer.matches[0]
    assert len(rule.why) > 30 and rule.what
    assert best.next_check or rule.next_check
    remedies = best.remedies if best.remedies is not None else rule.fixes
    assert remedies
    assert all(r.commands or r.sets or r.env or r.data for r in remedies), "a fix that says nothing to do"


@pytest.mark.parametrize("rule", EVERY, **name_of)
def test_signatures_compile_and_are_searched_for(rule: Cause) -> None:
    known = set(literals()) | EVERYDAY
    for text in (*rule.sig, *rule.needs, *rule.never, *rule.more):
        s = sig(text)
        assert s.literal and s.literal in known


def test_a_class_names_only_classes_that_exist() -> None:
    for rule in EVERY:
        assert set(rule.yields) | {c for c, _ in rule.unlike} <= set(rules()), rule.name
