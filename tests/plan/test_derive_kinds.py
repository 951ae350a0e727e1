"""Every task with every kind of model and every method: a figure, an honest gap, or a refusal, and never a wrong figure."""

from __future__ import annotations

import pytest
from plan_questions import plan

from papertrain.core.errors import PapertrainError
from papertrain.facts.hardware import parse_compute
from papertrain.facts.models import find_model
from papertrain.plan.derive import derive
from papertrain.plan.derive_question import Question
from papertrain.plan.rulesets import METHODS, REINFORCED, TASKS, family_of
from papertrain.verbs.planning.questions import with_head

MODELS = {
    "causal": "Qwen/Qwen2.5-0.5B", "encoder": "microsoft/deberta-v3-base", "encoder-decoder": "google/flan-t5-base", "vision": "google/vit-base-patch16-224",
    "speech": "openai/whisper-small", "multimodal": "Qwen/Qwen2-VL-2B-Instruct",
}  # fmt: skip
FIGURES = {
    "causal": {"sft", "pt", "dpo", "kto", "orpo", "simpo", "rm", "classification"}, "encoder": {"classification"},
    "encoder-decoder": {"sft", "classification"}, "vision": {"image"}, "speech": set(), "multimodal": set(),
}  # fmt: skip
REFUSED = {
    "causal": {"image"}, "encoder": set(TASKS) - {"classification"}, "encoder-decoder": {"image"}, "vision": set(TASKS) - {"image"},
    "speech": set(TASKS) - {"sft"}, "multimodal": {"image"},
}  # fmt: skip


def planned(kind: str, task: str, method: str | None = None, gpu: str = "1x A100-80GB"):
    model = find_model(MODELS[kind])
    assert model.kind == kind
    question = Question(
        model=with_head(model, task, None), compute=parse_compute(gpu), dataset=None, task=task, method=method
    )
    return derive(question, ways=False)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("kind", MODELS)
def test_memory_is_a_figure_a_reasoned_gap_or_refused(kind: str, task: str) -> None:
    for method in METHODS:
        if task in REFUSED[kind]:
            with pytest.raises(PapertrainError) as caught:
                planned(kind, task, method)
            assert caught.value.code == "wrong-task" and caught.value.ask
            continue
        plan = planned(kind, task, method)
        assert plan.memory is not None
        if task not in FIGURES[kind]:
            for meter in (plan.memory.allocated_bytes, plan.memory.reserved_bytes, plan.memory.device_bytes):
                assert meter.value is None and meter.unknown and meter.ask
            assert plan.fits == "unknown" and plan.duration is not None and plan.duration.step_seconds.value is None
        else:
            packed = 0.5 if method == "qlora" else 2.0
            assert (plan.memory.allocated_bytes.value or 0) > packed * plan.model.parameters


def test_reinforcement_learning_is_always_a_gap() -> None:
    assert all(not (REINFORCED & known) for known in FIGURES.values())


def test_freezing_all_but_two_layers_needs_the_states_of_two_layers() -> None:
    # 0.5B in full: 18 bytes a parameter of state alone; two of 24 layers: 2 for the weights and 16 of a fourteenth
    full, some = (planned("causal", "sft", m) for m in ("full", "freeze"))
    states = [(p.memory.components["optimizer"] + p.memory.components["gradients"]) for p in (full, some) if p.memory]
    assert states[1] < 0.15 * states[0]


@pytest.mark.parametrize(
    "model",
    ["google-t5/t5-base", "google/flan-t5-large", "google/mt5-base", "openai/gpt-oss-20b", "Qwen/Qwen3-30B-A3B"],
)
def test_a_model_that_overflows_in_fp16_is_not_planned_in_it(model: str) -> None:
    # huggingface/transformers#9295 and #23918: NaN in fp16, loss scaling or not; unsloth forces the others to fp32 where bf16 is missing
    old, new = plan(model, "1x T4", task="sft"), plan(model, "1x A100-80GB", task="sft")
    assert old.precision.value == "fp32"
    assert "overflows in fp16" in old.precision.why
    assert new.precision.value == "bf16"
    assert plan(model, "1x T4", task="sft", sets=("precision=fp16",)).precision.value == "fp16"  # the user's own choice


@pytest.mark.parametrize("model", ["Qwen/Qwen2.5-0.5B", "FacebookAI/roberta-base", "EleutherAI/pythia-410m"])
def test_other_models_keep_fp16_on_cards_without_bf16(model: str) -> None:
    assert plan(model, "1x T4").precision.value == "fp16"


@pytest.mark.parametrize("model", ["google-t5/t5-base", "google/flan-t5-large", "google/mt5-base"])
def test_t5_is_trained_at_the_rate_that_its_documentation_names(model: str) -> None:
    rate = plan(model, "1x A100-80GB", task="sft", method="full").learning_rate
    assert 1e-4 <= rate.value <= 3e-4
    assert "need more than Llama-2" in rate.why
    assert "documentation of T5" in rate.source.ref


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("google/flan-t5-xl", "t5"),
        ("google/mt5-small", "t5"),
        ("google/byt5-base", "t5"),
        ("gpt50", "other"),
        ("exit5x", "other"),
    ],
)
def test_only_t5_and_its_kin_are_t5(name: str, family: str) -> None:
    assert family_of(name) == family
