"""Step time against published speeds, and what must hold for any run."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papertrain.facts.hardware import match_gpu
from papertrain.facts.processor import processor
from papertrain.plan.setup import Setup
from papertrain.plan.shapes import described, transformer
from papertrain.plan.time import duration

LLAMA_3_8B = transformer("8b", layers=32, hidden=4096, kv_heads=8, ffn=14336, vocab=128256)
A100, H100, RTX_3090 = match_gpu("A100-80GB"), match_gpu("H100-80GB"), match_gpu("RTX 3090")


def setup(**kw: object) -> Setup:
    base = {"model": LLAMA_3_8B, "gpu": A100, "framework": "trl", "method": "full", "weights_dtype": "bf16", "autocast": "bf16",
            "gradient_checkpointing": "full", "attention": "flash", "micro_batch_size": 4, "sequence_length": 4096}  # fmt: skip
    return Setup(**{**base, **kw})  # type: ignore[arg-type]


def speed(s: Setup, accumulation: int = 1) -> float:
    value = duration(s, total_steps=None, gradient_accumulation_steps=accumulation).tokens_per_second_per_gpu.value
    assert value is not None
    return value


def test_published_speeds_are_met() -> None:
    # fms-acceleration, Llama-3-8B full on one A100, batch 8 of 4096 tokens, FOAK with Liger: 3,517 tokens/s
    assert speed(setup(micro_batch_size=8, loss="fused_linear_ce", optimizer="adamw")) == pytest.approx(3517, rel=0.25)
    # llm-foundry, MPT-7B on 8 H100, micro-batch 6 of 2048 tokens without checkpointing: about 10,500 tokens/s
    mpt = described("MPT-7b (llm-foundry config)")
    assert mpt is not None
    run = setup(model=mpt, gpu=H100, n_gpus=128, n_nodes=16, sharding="fsdp1", framework="llm-foundry", weights_dtype="fp32",
                gradient_checkpointing="none", micro_batch_size=6, sequence_length=2048)  # fmt: skip
    assert speed(run) == pytest.approx(10475, rel=0.25)


def test_recompute_costs_a_third_of_a_forward_and_backward() -> None:
    # llm-foundry: 64 % without and 55 % with, so 14 to 30 % less (throughput.md section 4)
    ratio = speed(setup(micro_batch_size=8)) / speed(setup(micro_batch_size=8, gradient_checkpointing="none"))
    assert 0.68 < ratio < 0.90


def test_no_card_means_no_speed_but_a_reason() -> None:
    d = duration(setup(gpu=None), total_steps=100, gradient_accumulation_steps=1)
    assert d.step_seconds.value is None
    assert "device" in d.step_seconds.unknown
    assert d.step_seconds.ask


def test_without_steps_there_is_no_total() -> None:
    d = duration(setup(), total_steps=None, gradient_accumulation_steps=1)
    assert d.total_seconds.value is None
    assert d.step_seconds.value is not None
    assert d.total_seconds.unknown


def test_a_run_is_its_steps_and_what_lies_between_them() -> None:
    bare = duration(setup(), total_steps=100, gradient_accumulation_steps=2)
    more = duration(setup(), total_steps=100, gradient_accumulation_steps=2, evaluations=50, saves=3)
    assert bare.total_seconds.value == pytest.approx(100 * bare.step_seconds.value)  # type: ignore[operator]
    assert more.total_seconds.value > bare.total_seconds.value  # type: ignore[operator]


def test_cards_without_peer_to_peer_pay_for_sharding() -> None:
    # fsdp_qlora: two 3090 on slow PCIe lose a quarter and more against DDP
    run = setup(gpu=RTX_3090, n_gpus=2, method="qlora", quantization="nf4", lora_rank=64, lora_targets="all-linear", framework="fsdp-qlora",
                micro_batch_size=1, sequence_length=2048, sharding="fsdp1", link_bytes_per_second=8e9)  # fmt: skip
    assert speed(run) < 0.95 * speed(msgspec.structs.replace(run, sharding="ddp"))


RUNS = st.builds(
    setup,
    gpu=st.sampled_from([A100, H100, RTX_3090]),
    method=st.sampled_from(["full", "lora", "qlora"]),
    micro_batch_size=st.integers(1, 16),
    sequence_length=st.sampled_from([64, 512, 2048, 8192]),
    gradient_checkpointing=st.sampled_from(["none", "full", "selective"]),
    attention=st.sampled_from(["eager", "flash"]),
    sharding=st.sampled_from(["none", "ddp", "zero2", "zero3", "fsdp1"]),
    n_gpus=st.sampled_from([1, 2, 8]),
    offload=st.sampled_from(["none", "optimizer", "params+optimizer"]),
)


@given(RUNS, st.integers(1, 32))
@settings(max_examples=200, deadline=None)
def test_speed_is_never_above_the_peak_of_the_card(run: Setup, accumulation: int) -> None:
    per_token = (4.0 if run.method != "full" else 6.0) * (run.model.parameters - run.model.embedding_parameters)
    peak = run.gpu.peak_bf16_dense_flops if run.gpu else None
    assert peak is not None
    assert 0 < speed(run, accumulation) < peak / per_token


@given(RUNS, st.integers(1, 32))
@settings(max_examples=200, deadline=None)
def test_ranges_hold_the_value_and_more_work_takes_longer(run: Setup, accumulation: int) -> None:
    one = duration(run, total_steps=10, gradient_accumulation_steps=accumulation)
    two = duration(run, total_steps=10, gradient_accumulation_steps=accumulation + 1)
    longer = duration(
        msgspec.structs.replace(run, sequence_length=2 * run.sequence_length),
        total_steps=10,
        gradient_accumulation_steps=accumulation,
    )
    for e in (one.step_seconds, one.total_seconds, one.tokens_per_second_per_gpu):
        assert 0 < e.low <= e.value <= e.high  # type: ignore[operator]
    assert one.step_seconds.value < two.step_seconds.value  # type: ignore[operator]
    assert one.step_seconds.value <= longer.step_seconds.value  # type: ignore[operator]


@given(RUNS)
@settings(max_examples=100, deadline=None)
def test_recompute_is_never_free(run: Setup) -> None:
    on, off = (msgspec.structs.replace(run, gradient_checkpointing=x) for x in ("full", "none"))
    assert speed(on) <= speed(off)


# torch 2.13 in fp32 on two cores of an AMD EPYC (Zen 5), AdamW's step included: processor seconds of a step over two.
# Model's linear parameters (the head among them), batch, length, seconds
PROCESSOR_STEPS = [
    ("MiniLM", {"layers": 6, "hidden": 384, "heads": 12, "kv_heads": 12, "ffn": 1536, "vocab": 2, "gated": False}, 16, 64, 3.56 / 2),
    ("MiniLM", {"layers": 6, "hidden": 384, "heads": 12, "kv_heads": 12, "ffn": 1536, "vocab": 2, "gated": False}, 16, 256, 6.34 / 2),
    ("SmolLM2-135M", {"layers": 30, "hidden": 576, "heads": 9, "kv_heads": 3, "ffn": 1536, "vocab": 49152}, 4, 192, 17.0 / 2),
    ("SmolLM2-135M", {"layers": 30, "hidden": 576, "heads": 9, "kv_heads": 3, "ffn": 1536, "vocab": 49152}, 1, 512, 16.8 / 2),
]  # fmt: skip


@pytest.mark.parametrize(("name", "shape", "batch", "length", "seconds"), PROCESSOR_STEPS)
def test_a_processor_s_range_holds_the_steps_that_were_measured(monkeypatch, name, shape, batch, length, seconds):
    monkeypatch.setattr("papertrain.plan.time_processor.cores", lambda: 2)
    run = Setup(
        model=transformer(name, **shape), gpu=processor(), framework="hf-trainer",
        weights_dtype="fp32", autocast="none", gradient_checkpointing="none", micro_batch_size=batch, sequence_length=length,
    )  # fmt: skip
    found = duration(run, total_steps=100, gradient_accumulation_steps=1)
    step = found.step_seconds
    assert step.low < seconds < step.high
    assert 1 / 2.5 < step.value / seconds < 2.5
    assert found.total_seconds.value == pytest.approx(100 * step.value)
    assert "rough: 2 cores" in found.basis


def test_more_cores_are_never_promised_to_help_beyond_what_a_small_model_can_use(monkeypatch):
    run = Setup(
        model=transformer("s", layers=6, hidden=384, heads=12, kv_heads=12, ffn=1536, vocab=30522), gpu=processor()
    )

    def step(cores: int):
        monkeypatch.setattr("papertrain.plan.time_processor.cores", lambda: cores)
        return duration(run, total_steps=None, gradient_accumulation_steps=1).step_seconds

    few, many = step(8), step(64)
    assert many.high == few.high
    assert many.low == pytest.approx(few.low / 8)
    assert many.low < many.value < few.value
