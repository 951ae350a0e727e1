"""The memory model against published figures, named cases, and what must hold for any run."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from patience import quick

from papertrain.facts.hardware import match_gpu
from papertrain.facts.models import find_model
from papertrain.plan.memory import fits, predict
from papertrain.plan.memory_dtypes import QUANTISED
from papertrain.plan.memory_state import adapter_parameters, optimizer_name
from papertrain.plan.setup import Setup
from papertrain.plan.shapes import transformer

GIB = 2**30
LLAMA_3_8B = transformer("8b", layers=32, hidden=4096, kv_heads=8, ffn=14336, vocab=128256)
SMALL = transformer("small", layers=4, hidden=512, ffn=1408, vocab=8000)


def setup(**kw: object) -> Setup:
    base = {
        "model": LLAMA_3_8B,
        "framework": "trl",
        "weights_dtype": "bf16",
        "autocast": "bf16",
        "gradient_checkpointing": "full",
    }
    return Setup(**{**base, "attention": "flash", "loss": "full_logits", **kw})  # type: ignore[arg-type]


def allocated(s: Setup) -> float:
    value = predict(s).allocated_bytes.value
    assert value is not None
    return value


# ---- published


@dataclass
class Published:
    """A measured run that its source describes completely."""

    source: str
    gib: float
    within: float
    setup: Setup


ATTENTION_ONLY = ("q_proj", "k_proj", "v_proj", "o_proj")
PUBLISHED = [
    Published(
        "fms-acceleration, nf4 with FOAK and Liger, batch 4 of 4096 tokens on one A100: torch peak", 13.422, 0.03,
        setup(method="qlora", quantization="nf4-double", upcast=False, trainable_dtype="fp32", lora_rank=16, lora_targets=ATTENTION_ONLY,
              optimizer="adamw", micro_batch_size=4, sequence_length=4096, loss="fused_linear_ce"),
    ),
    Published(
        "fms-acceleration, full fine-tuning on one A100: ten bytes a parameter in the foreach AdamW step", 74.802, 0.01,
        setup(method="full", trainable_dtype="bf16", optimizer="adamw", micro_batch_size=4, sequence_length=4096, loss="fused_linear_ce"),
    ),
    Published(
        "fms-acceleration, LoRA under FSDP on four A100, batch 8 of 4096 tokens", 45.565, 0.03,
        setup(method="lora", trainable_dtype="fp32", lora_rank=16, lora_targets=ATTENTION_ONLY, optimizer="adamw", micro_batch_size=8,
              sequence_length=4096, loss="fused_ce", n_gpus=4, sharding="fsdp1"),
    ),
]  # fmt: skip


@pytest.mark.parametrize("run", PUBLISHED, ids=lambda p: p.source[:40])
def test_a_published_peak_is_met(run: Published) -> None:
    assert allocated(run.setup) / GIB == pytest.approx(run.gib, rel=run.within)


def test_gpt2_in_fp32_takes_twenty_bytes_a_parameter() -> None:
    # optimum-benchmark: 2.3345 GiB allocated for random weights, batch 2 of 16 tokens, foreach AdamW
    gpt2 = find_model("openai-community/gpt2")
    s = Setup(
        model=gpt2, framework="hf-trainer", weights_dtype="fp32", autocast="none", trainable_dtype="fp32", optimizer="adamw",
        micro_batch_size=2, sequence_length=16, gradient_checkpointing="none", loss="full_logits",
    )  # fmt: skip
    m = predict(s)
    assert m.peak_phase == "optimizer_step"
    assert m.allocated_bytes.value == pytest.approx(20 * gpt2.parameters, rel=0.01)
    assert m.allocated_bytes.value == pytest.approx(2.3345 * GIB, rel=0.02)


def test_nf4_costs_more_than_half_a_byte() -> None:
    # bitsandbytes: 4 bits, one fp32 absmax per block of 64; double quantisation keeps 8 bits of it and an fp32 per 256
    assert QUANTISED["nf4"] == pytest.approx(0.5 + 4 / 64)
    assert QUANTISED["nf4-double"] == pytest.approx(0.5 + 1 / 64 + 4 / (64 * 256), abs=1e-4)


def test_adapters_are_counted_as_peft_prints_them() -> None:
    # PEFT prints "trainable params: 13,631,488" for Llama-3-8B, r=16 on q, k, v and o
    assert adapter_parameters(LLAMA_3_8B, 16, ATTENTION_ONLY) == 13_631_488
    # and litgpt 4,194,304 for Llama-2-7B, r=8 on query and value
    assert adapter_parameters(find_model("meta-llama/Llama-2-7b-hf"), 8, ("q_proj", "v_proj")) == 4_194_304


@pytest.mark.parametrize(
    ("words", "word"),
    [("adamw_torch", "adamw"), ("adamw_torch_fused", "adamw_fused"), ("paged_adamw_8bit", "paged_adamw_8bit"),
     ("adamw_8bit (bitsandbytes)", "adamw_8bit"), ("adamw_bnb_8bit", "adamw_8bit"), ("adamw on CPU (DeepSpeedCPUAdam)", "cpu_adamw"),
     ("paged_adamw_32bit", "paged_adamw"), ("Adafactor", "adafactor"), (None, "adamw"), ("something new", "adamw")],
)  # fmt: skip
def test_optimizers_are_known_by_every_name(words: str | None, word: str) -> None:
    assert optimizer_name(words) == word


# ---- the named cases


def card(n: int, name: str, **kw: object) -> Setup:
    return Setup(
        **{"gpu": match_gpu(name), "n_gpus": n, "framework": "llamafactory", "gradient_checkpointing": "full", **kw}
    )  # type: ignore[arg-type]


def test_13b_full_needs_stage_3_on_four_80gb_cards() -> None:
    run = card(
        4,
        "A800-80GB",
        model=find_model("baichuan-inc/Baichuan2-13B-Chat"),
        method="full",
        sequence_length=1536,
        sharding="zero2",
    )
    assert fits(predict(run)) == "no"
    assert fits(predict(msgspec.structs.replace(run, sharding="zero3"))) in ("yes", "tight")


def test_14b_full_does_not_fit_on_four_v100() -> None:
    run = card(4, "V100-32GB", model=find_model("Qwen/Qwen1.5-14B-Chat"), method="full", weights_dtype="fp16", autocast="fp16",
               sequence_length=512, sharding="zero3")  # fmt: skip
    assert fits(predict(run)) == "no"


def test_8b_full_on_eight_24gb_cards_needs_offload() -> None:
    run = card(8, "RTX 3090", model=LLAMA_3_8B, method="full", sequence_length=1024, sharding="zero3")
    assert fits(predict(run)) in ("no", "tight")
    spared = predict(msgspec.structs.replace(run, offload="params+optimizer"))
    assert fits(spared) == "yes"
    assert spared.device_bytes.value == pytest.approx(13 * GIB, rel=0.15)
    assert spared.host_bytes.value is not None
    assert spared.host_bytes.value > 15 * LLAMA_3_8B.parameters


def test_32b_full_at_16k_needs_offload_and_a_large_host() -> None:
    model = find_model("Qwen/Qwen2.5-32B-Instruct")
    run = card(8, "A800-80GB", model=model, method="full", sequence_length=16384, sharding="zero3")
    assert fits(predict(run)) == "no"
    spared = predict(msgspec.structs.replace(run, offload="params+optimizer"))
    assert fits(spared) in ("yes", "tight")
    # about 900 GB of host memory was seen
    assert spared.host_bytes.low is not None
    assert spared.host_bytes.high is not None
    assert spared.host_bytes.low < 900e9 < spared.host_bytes.high


def test_8b_qlora_fits_on_a_24gb_card() -> None:
    run = card(
        1, "RTX 4090", model=LLAMA_3_8B, method="qlora", lora_rank=8, lora_targets="all-linear", sequence_length=2048
    )
    m = predict(run)
    assert fits(m) == "yes"
    assert m.allocated_bytes.value == pytest.approx(9.5 * GIB, rel=0.1)


def test_without_a_card_nothing_is_said_to_fit() -> None:
    assert fits(predict(setup())) == "unknown"


# ---- what holds for any run

METHODS = st.sampled_from(["full", "lora", "qlora"])
FRAMEWORKS = st.sampled_from(
    ["trl", "hf-trainer", "llamafactory", "litgpt", "torchtune", "deepspeed", None, "never heard of"]
)
RUNS = st.builds(
    setup,
    model=st.sampled_from([SMALL, LLAMA_3_8B]),
    method=METHODS,
    framework=FRAMEWORKS,
    lora_rank=st.sampled_from([4, 16]),
    lora_targets=st.sampled_from(["all-linear", ("q_proj", "v_proj")]),
    optimizer=st.sampled_from(["adamw", "adamw_fused", "adamw_8bit", "paged_adamw_8bit", "adafactor"]),
    micro_batch_size=st.integers(1, 8),
    sequence_length=st.sampled_from([128, 1024, 4096]),
    gradient_checkpointing=st.sampled_from(["none", "full"]),
    attention=st.sampled_from(["eager", "sdpa", "flash"]),
    loss=st.sampled_from(["full_logits", "fused_ce", "fused_linear_ce", "chunked_ce"]),
    autocast=st.sampled_from(["bf16", "none", None]),
    weights_dtype=st.sampled_from(["bf16", "fp32", None]),
)


@given(RUNS, st.sampled_from(["zero1", "zero2", "zero3", "fsdp1", "fsdp2"]), st.sampled_from([2, 4, 8]))
@settings(max_examples=150, deadline=None)
def test_more_shards_never_need_more_memory(run: Setup, sharding: str, n: int) -> None:
    fewer = msgspec.structs.replace(run, sharding=sharding, n_gpus=n)
    assert allocated(msgspec.structs.replace(fewer, n_gpus=2 * n)) <= allocated(fewer) * (1 + 1e-9)


@given(RUNS, st.sampled_from(["none", "zero3", "fsdp2"]))
@settings(max_examples=150, deadline=None)
def test_checkpointing_never_needs_more(run: Setup, sharding: str) -> None:
    run = msgspec.structs.replace(run, sharding=sharding, n_gpus=1 if sharding == "none" else 4)
    off = msgspec.structs.replace(run, gradient_checkpointing="none")
    on = msgspec.structs.replace(run, gradient_checkpointing="full")
    assert allocated(on) <= allocated(off) * (1 + 1e-9)


@given(RUNS, st.integers(1, 4))
@settings(max_examples=150, deadline=None)
def test_longer_sequences_and_larger_batches_never_need_less(run: Setup, times: int) -> None:
    longer = msgspec.structs.replace(run, sequence_length=run.sequence_length * times)
    larger = msgspec.structs.replace(run, micro_batch_size=run.micro_batch_size * times)
    assert allocated(longer) >= allocated(run)
    assert allocated(larger) >= allocated(run)


@given(RUNS)
@settings(max_examples=150, deadline=None)
def test_components_add_up_and_meters_are_in_order(run: Setup) -> None:
    m = predict(run)
    parts = sum(v for k, v in m.components.items() if k != "context")
    assert m.allocated_bytes.value is not None
    assert parts == pytest.approx(m.allocated_bytes.value, rel=1e-6)
    assert m.phases[m.peak_phase] == m.allocated_bytes.value == max(m.phases.values())
    assert m.allocated_bytes.value <= m.reserved_bytes.value <= m.device_bytes.value  # type: ignore[operator]
    for e in (m.allocated_bytes, m.reserved_bytes, m.device_bytes):
        assert 0 <= e.low <= e.value <= e.high  # type: ignore[operator]


@given(RUNS)
@settings(max_examples=60, deadline=None)
def test_a_quantised_base_holds_fewer_weights(run: Setup) -> None:
    plain = msgspec.structs.replace(run, method="lora", quantization="none", weights_dtype="bf16", upcast=False)
    packed = msgspec.structs.replace(plain, method="qlora", quantization="nf4")
    assert predict(packed).phases["load"] < predict(plain).phases["load"]


def test_a_stack_without_a_profile_says_so_and_leans_up() -> None:
    known, unknown = predict(setup(framework="trl")), predict(setup(framework="a new trainer"))
    assert "unknown" in unknown.basis[0]

    def up(m: object) -> float:
        e = m.allocated_bytes  # type: ignore[attr-defined]
        return e.high / e.value - 1

    assert up(unknown) > 2 * up(known)
    assert unknown.allocated_bytes.value / unknown.allocated_bytes.low - 1 < up(unknown)  # type: ignore[operator]


def test_one_prediction_takes_well_under_a_millisecond() -> None:
    import time

    runs = [setup(sequence_length=128 + i, lora_rank=1 + i % 50, method="lora") for i in range(1000)]
    predict(runs[0])
    start = time.process_time()
    for run in runs:
        predict(run)
    assert quick((time.process_time() - start) / len(runs), 0.5e-3)
