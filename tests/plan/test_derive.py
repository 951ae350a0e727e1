"""What the derivation must get right: published rules, named cases, and properties of every plan."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plan_questions import data, plan, question

from papertrain.core.errors import PapertrainError
from papertrain.core.training import TrainingPlan, read_plan, write_plan
from papertrain.plan.derive import derive

QWEN = "Qwen/Qwen2.5-7B-Instruct"
ALWAYS = [
    "method",
    "micro_batch_size",
    "gradient_accumulation_steps",
    "global_batch_size",
    "learning_rate",
    "lr_scheduler",
    "epochs",
    "total_steps",
    "warmup_steps",
    "weight_decay",
    "optimizer",
    "precision",
    "gradient_checkpointing",
    "zero_stage",
    "offload",
    "sequence_length",
    "max_grad_norm",
    "seed",
    "eval_steps",
    "early_stopping_patience",
]
FORMATS = {
    "dpo": "preference",
    "simpo": "preference",
    "orpo": "preference",
    "rm": "preference",
    "kto": "kto",
    "pt": "text",
    "classification": "classification",
}
LORA = ["lora_rank", "lora_alpha", "lora_dropout", "lora_targets"]


# ---------------------------------------------------------------- the published method


def test_lora_on_seven_billion_follows_the_published_method() -> None:
    p = plan(QWEN, "4x A100-80GB", dataset=data(), method="lora")
    v = p.values()
    assert v["learning_rate"] == 2e-4 and v["global_batch_size"] == 64
    assert 8 <= v["lora_rank"] <= 16 and v["lora_alpha"] == 2 * v["lora_rank"]
    assert v["warmup_steps"] == round(0.1 * v["total_steps"])
    assert v["weight_decay"] == 0.01 and v["precision"] == "bf16" and v["template"] == "qwen"


@pytest.mark.parametrize(
    ("model", "low", "high"), [(QWEN, 8, 16), ("meta-llama/Llama-2-13b-hf", 4, 8), ("meta-llama/Llama-2-70b-hf", 4, 8)]
)
def test_the_rank_falls_with_size_and_rises_for_fine_grained_tasks(model: str, low: int, high: int) -> None:
    p = plan(model, "8x H100", dataset=data(), method="lora")
    assert p.lora_rank is not None and low <= p.lora_rank.value <= high
    fine = plan(model, "8x H100", dataset=data(), method="lora", fine_grained=True)
    assert fine.lora_rank is not None and 64 <= fine.lora_rank.value <= 128


def test_more_trained_tokens_take_the_upper_end_of_the_rank_range() -> None:
    small = plan(QWEN, "8x H100", dataset=data(1_000), method="lora").lora_rank
    large = plan(QWEN, "8x H100", dataset=data(1_000_000), method="lora").lora_rank
    assert small is not None and large is not None and (small.value, large.value) == (8, 16)


def test_weight_decay_is_raised_for_large_models_by_the_method_only() -> None:
    large = plan("meta-llama/Llama-2-70b-hf", "8x H100", dataset=data(), method="lora")
    assert large.weight_decay.value == 0.1 and large.weight_decay.source.kind == "assumed"
    assert (
        plan("meta-llama/Llama-2-70b-hf", "8x H100", dataset=data(), method="lora", rules="evidence").weight_decay.value
        == 0
    )


def test_the_root_rule_is_held_within_a_factor_of_two_and_says_so() -> None:
    at = {
        b: plan(
            "meta-llama/Llama-2-7b-hf", "8x H100", dataset=data(), method="full", sets=(f"global_batch_size={b}",)
        ).learning_rate
        for b in (8, 32, 128, 2048)
    }
    assert [at[b].value for b in (8, 32, 128, 2048)] == [1e-5, 1e-5, 2e-5, 4e-5]
    assert "held at 0.5" in at[8].why and "held at 2" in at[2048].why and "held" not in at[128].why


def test_the_evidence_rules_warm_up_for_three_percent_within_ten_to_two_hundred_steps() -> None:
    for examples, least, most in ((400_000, 0.029, 0.031), (2_000_000, 0.0, 0.03)):
        p = plan(QWEN, "4x A100-80GB", dataset=data(examples), method="lora", rules="evidence")
        assert p.total_steps.value is not None and p.warmup_steps.value is not None
        assert least <= p.warmup_steps.value / p.total_steps.value <= most and 10 <= p.warmup_steps.value <= 200
    short = plan(QWEN, "4x A100-80GB", dataset=data(400), method="lora", rules="evidence")
    assert short.total_steps.value is not None and short.warmup_steps.value == round(0.1 * short.total_steps.value)


def test_fewer_than_a_hundred_steps_cut_the_batch_before_epochs_are_added() -> None:
    p = plan(QWEN, "1x A100-80GB", dataset=data(60), method="lora")
    assert p.global_batch_size.value < 8 and "cut below" in p.global_batch_size.why
    assert p.epochs.value == 5


@pytest.mark.parametrize(
    ("task", "model", "low", "high"),
    [("dpo", "meta-llama/Meta-Llama-3-8B-Instruct", 3e-7, 1e-6), ("kto", "meta-llama/Meta-Llama-3-8B-Instruct", 3e-7, 1e-6),
     ("simpo", "meta-llama/Meta-Llama-3-8B-Instruct", 3e-7, 1e-6), ("orpo", QWEN, 2.5e-6, 1e-5), ("rm", QWEN, 2e-6, 1e-5), ("grpo", QWEN, 5e-7, 1e-6),
     ("pt", QWEN, 1e-5, 5e-5), ("classification", "google-bert/bert-base-uncased", 2e-5, 5e-5)],
)  # fmt: skip
def test_every_task_gets_a_rate_within_what_its_published_recipes_use(
    task: str, model: str, low: float, high: float
) -> None:
    p = plan(model, "8x H100", dataset=data(20_000, format=FORMATS.get(task, "alpaca")), task=task, method="full")
    assert low <= p.learning_rate.value <= high, p.learning_rate.why


def test_a_small_encoder_is_trained_whole_in_fp32_on_a_processor() -> None:
    p = plan(
        "sentence-transformers/all-MiniLM-L6-v2",
        "cpu",
        dataset=data(2_000, 30, 64, format="classification", labels={"fresh": 1100, "rotten": 900}),
    )
    v = p.values()
    assert (p.task, v["method"], v["precision"], v["zero_stage"], v["offload"]) == (
        "classification",
        "full",
        "fp32",
        0,
        "none",
    )
    assert 16 <= v["global_batch_size"] <= 32 and 2 <= v["epochs"] <= 3 and 3e-5 <= v["learning_rate"] <= 3e-4
    assert p.template is None and p.lora_rank is None and v["sequence_length"] == 64


# ---------------------------------------------------------------- named cases of published runs


def test_thirteen_billion_full_with_zero2_on_four_80_gb_cards_needs_zero3() -> None:
    p = plan(
        "baichuan-inc/Baichuan2-13B-Chat",
        "4x A800-80GB",
        method="full",
        seq_len=1536,
        sets=("zero_stage=2", "micro_batch_size=1"),
    )
    assert p.fits == "no"
    assert any(a.changes.get("zero_stage") == 3 and a.effect == "execution" for a in p.alternatives[:3])


def test_fourteen_billion_full_on_four_v100_does_not_fit_and_never_uses_bf16() -> None:
    p = plan("Qwen/Qwen1.5-14B-Chat", "4x V100-32GB", method="full", seq_len=512)
    assert p.fits == "no" and p.precision.value == "fp16"
    assert not any("bf16" in str(a.changes.get("precision", "")) for a in p.alternatives)
    with pytest.raises(PapertrainError, match="no bf16"):
        plan("Qwen/Qwen1.5-14B-Chat", "4x V100-32GB", method="full", seq_len=512, sets=("precision=bf16",))


def test_eight_billion_full_on_eight_24_gb_cards_needs_offload_whose_host_memory_is_stated() -> None:
    fixed = ("zero_stage=3", "offload=none", "micro_batch_size=1")
    without = plan("meta-llama/Meta-Llama-3-8B-Instruct", "8x RTX3090", method="full", seq_len=1024, sets=fixed)
    assert without.fits in ("no", "tight")
    free = plan(
        "meta-llama/Meta-Llama-3-8B-Instruct",
        "8x RTX3090",
        method="full",
        seq_len=1024,
        host=512 * 10**9,
        sets=("micro_batch_size=1",),
    )
    assert free.fits == "yes" and free.offload.value != "none" and "host memory" in free.offload.why
    assert free.memory is not None and free.memory.host_bytes.value is not None


def test_offload_is_only_chosen_once_the_host_memory_is_known() -> None:
    blind = plan(
        "Qwen/Qwen2.5-32B-Instruct", "8x A800-80GB", method="full", seq_len=16384, sets=("micro_batch_size=1",)
    )
    assert blind.fits in ("no", "tight") and blind.offload.value == "none" and "--host-ram" in blind.offload.why
    assert any("--host-ram" in a.what for a in blind.alternatives)


def test_eight_billion_qlora_fits_a_24_gb_card() -> None:
    p = plan("meta-llama/Llama-3.1-8B", "1x RTX4090", method="qlora", seq_len=2048, sets=("micro_batch_size=1",))
    assert p.fits == "yes" and p.max_grad_norm.value == 0.3


def test_without_a_named_method_qlora_is_the_way_out_when_lora_does_not_fit() -> None:
    p = plan("meta-llama/Llama-2-13b-hf", "1x RTX4090")
    assert p.method.value == "qlora" and "do not fit" in p.method.why and p.fits in ("yes", "tight")


# ---------------------------------------------------------------- what the user says


def test_a_set_value_wins_and_keeps_the_rule_in_its_reason() -> None:
    p = plan(
        QWEN, "4x A100-80GB", dataset=data(), method="lora", sets=("learning_rate=1e-4", "lora_rank=64", "zero_stage=2")
    )
    assert p.learning_rate.value == 1e-4 and p.learning_rate.why.startswith("set by the user; the rule gives 2.0e-4")
    assert p.learning_rate.source.kind == "user" and p.zero_stage.value == 2
    assert p.lora_alpha is not None and p.lora_alpha.value == 128


@pytest.mark.parametrize(
    ("pair", "says"),
    [("lerning_rate=1", "no decision of that name"), ("learning_rate", "NAME=VALUE"), ("learning_rate=abc", "a number"), ("learning_rate=nan", "a number"),
     ("lora_rank=8.5", "a whole number"), ("zero_stage=4", "one of 0, 1, 2, 3"), ("precision=fp8", "one of fp32"), ("micro_batch_size=0", "from 1 on"),
     ("packing=maybe", "true or false"), ("lora_targets=", "are expected")],
)  # fmt: skip
def test_a_set_that_cannot_be_is_refused_in_one_line(pair: str, says: str) -> None:
    with pytest.raises(PapertrainError, match=says):
        question(QWEN, "1x A100-80GB", sets=(pair,))


def test_the_nearest_decision_is_offered() -> None:
    with pytest.raises(PapertrainError) as e:
        question(QWEN, "1x A100-80GB", sets=("lerning_rate=1",))
    assert e.value.nearest == "learning_rate"


def test_batches_that_disagree_are_refused_with_the_way_out() -> None:
    with pytest.raises(PapertrainError, match="use 60 or 64"):
        plan(QWEN, "4x A100-80GB", dataset=data(), sets=("global_batch_size=63",))
    with pytest.raises(PapertrainError, match="= 32, not 64"):
        plan(
            QWEN,
            "4x A100-80GB",
            dataset=data(),
            sets=("global_batch_size=64", "micro_batch_size=4", "gradient_accumulation_steps=2"),
        )


def test_a_length_beyond_the_positions_is_refused_unless_rope_scaling_is_set() -> None:
    with pytest.raises(PapertrainError, match="longer than the 4,096 positions"):
        plan("meta-llama/Llama-2-7b-hf", "1x A100-80GB", seq_len=8192)
    from msgspec import structs

    q = question("meta-llama/Llama-2-7b-hf", "8x A100-80GB", seq_len=8192)
    assert derive(structs.replace(q, model=structs.replace(q.model, rope_scaling=True))).sequence_length.value == 8192


def test_unknown_modules_and_encoders_for_chat_are_refused() -> None:
    with pytest.raises(PapertrainError, match="no module 'q_porj'"):
        plan(QWEN, "1x A100-80GB", method="lora", sets=("lora_targets=q_porj,v_proj",))
    with pytest.raises(PapertrainError, match="is an encoder"):
        plan("google-bert/bert-base-uncased", "1x A100-80GB", task="sft")


def test_data_that_cannot_teach_the_task_is_refused() -> None:
    with pytest.raises(PapertrainError, match="dpo needs preference data, this file is alpaca"):
        plan(QWEN, "1x A100-80GB", dataset=data(), task="dpo")


def test_preference_pairs_are_not_packed() -> None:
    with pytest.raises(PapertrainError, match="for sft and pt only"):
        plan(QWEN, "1x A100-80GB", dataset=data(format="preference"), task="dpo", sets=("packing=true",))


def test_packing_counts_blocks_instead_of_examples() -> None:
    packed = plan(
        QWEN, "1x A100-80GB", dataset=data(), method="lora", seq_len=3000, sets=("packing=true", "validation_share=0")
    )
    assert packed.total_steps.value is not None
    assert packed.total_steps.value == 3 * -(-(41_107 * 300 // 3000) // packed.global_batch_size.value)


def test_unknown_tokenizers_leave_room_in_the_length() -> None:
    exact = plan(QWEN, "1x A100-80GB", dataset=data()).sequence_length
    rough = plan(
        QWEN, "1x A100-80GB", dataset=data(exact=False, tokens_low=9_000_000, tokens_high=18_000_000)
    ).sequence_length
    assert rough.value > exact.value and "upper end" in rough.why


def test_offload_of_parameters_needs_stage_three() -> None:
    with pytest.raises(PapertrainError, match="needs ZeRO stage 3"):
        plan(QWEN, "4x A100-80GB", host=10**12, sets=("offload=params+optimizer", "zero_stage=2"))


# ---------------------------------------------------------------- what is unknown stays unknown


def test_without_data_the_steps_are_unknown_with_their_reason() -> None:
    p = plan(QWEN, "4x A100-80GB", method="lora")
    assert p.provisional and p.total_steps.value is None and p.warmup_steps.value is None and p.eval_steps.value is None
    assert all("without --data" in d.why for d in (p.total_steps, p.warmup_steps, p.eval_steps))


def test_reinforcement_runs_do_not_claim_a_memory_figure() -> None:
    p = plan(QWEN, "8x H100", dataset=data(), task="grpo", method="lora")
    assert (
        p.fits == "unknown"
        and p.memory is not None
        and p.memory.device_bytes.value is None
        and p.memory.device_bytes.unknown
    )


def test_a_base_model_has_no_template_and_says_so() -> None:
    p = plan("Qwen/Qwen2.5-7B", "4x A100-80GB", dataset=data(), method="lora")
    assert p.template is not None and p.template.value is None and "base model" in p.template.why


# ---------------------------------------------------------------- properties of every plan


def agrees(p: TrainingPlan) -> None:
    v = p.values()
    assert v["micro_batch_size"] * v["gradient_accumulation_steps"] * p.compute.gpus == v["global_batch_size"]
    assert [n for n in ALWAYS if n not in v] == []
    assert all(d.why.strip() and d.source.ref.strip() for d in p.decisions())
    if v["total_steps"] is not None:
        assert v["warmup_steps"] < v["total_steps"] or v["total_steps"] == 1
        assert v["eval_steps"] is None or v["save_steps"] % v["eval_steps"] == 0
    if p.lora_rank is not None:
        assert p.rules != "method" or v["lora_alpha"] == 2 * v["lora_rank"]
        assert all(n in v for n in LORA)
    names = set(v) | {"model", "data", "compute", "task"}
    assert all(set(d.rests_on) <= names | {"epochs"} for d in p.decisions()), [
        d for d in p.decisions() if set(d.rests_on) - names
    ]


MODELS = st.sampled_from(
    [
        QWEN,
        "meta-llama/Llama-3.2-1B-Instruct",
        "meta-llama/Llama-2-70b-hf",
        "HuggingFaceTB/SmolLM2-135M-Instruct",
        "mistralai/Mixtral-8x7B-v0.1",
    ]
)
CARDS = st.sampled_from(["A100-80GB", "RTX 4090", "V100-32GB", "H200", "910B3", "MI300X", "T4"])


@settings(max_examples=60, deadline=None)
@given(
    model=MODELS, card=CARDS, cards=st.integers(1, 16), examples=st.integers(1, 2_000_000), method=st.sampled_from([None, "full", "lora"]),
    rules=st.sampled_from(["method", "evidence"]), task=st.sampled_from(["sft", "dpo", "pt", "kto", "rm"]), host=st.sampled_from([None, 10**12]),
)  # fmt: skip
def test_every_plan_agrees_with_itself(
    model: str, card: str, cards: int, examples: int, method: str | None, rules: str, task: str, host: int | None
) -> None:
    agrees(
        plan(
            model,
            f"{cards}x {card}",
            dataset=data(examples, format=FORMATS.get(task, "alpaca")),
            method=method,
            rules=rules,
            task=task,
            host=host,
        )
    )


@settings(max_examples=25, deadline=None)
@given(
    examples=st.integers(1_000, 500_000), cards=st.sampled_from([1, 2, 4]), method=st.sampled_from(["lora", "qlora"])
)
def test_doubling_the_cards_keeps_the_experiment(examples: int, cards: int, method: str) -> None:
    one, two = (plan(QWEN, f"{n}x A100-80GB", dataset=data(examples), method=method) for n in (cards, 2 * cards))
    for name in (
        "global_batch_size",
        "learning_rate",
        "total_steps",
        "warmup_steps",
        "epochs",
        "weight_decay",
        "lora_rank",
        "sequence_length",
    ):
        assert one.decision(name).value == two.decision(name).value, name  # type: ignore[union-attr]


def test_a_plan_survives_its_file_byte_for_byte() -> None:
    p = plan(QWEN, "4x A100-80GB", dataset=data(), method="lora")
    assert write_plan(read_plan(write_plan(p))) == write_plan(p)
    assert write_plan(plan(QWEN, "4x A100-80GB", dataset=data(), method="lora")) == write_plan(p)
