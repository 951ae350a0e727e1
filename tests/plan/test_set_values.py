"""What a user may set, and what no run could have: refused in one line with what would do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from plan_questions import data, plan

from papertrain.core.errors import PapertrainError
from papertrain.data.profile import profile
from papertrain.facts.hardware import parse_compute
from papertrain.facts.models import find_model
from papertrain.plan.cases import prepare
from papertrain.plan.steps_batch import packed_blocks
from papertrain.verbs.planning.questions import profile_of

QWEN = "Qwen/Qwen2.5-7B"


@pytest.mark.parametrize("said", ["4x cpu", "2 nodes x cpu", "cpu x2"])
def test_this_machine_has_one_processor(said: str) -> None:
    with pytest.raises(PapertrainError, match="share its cores and memory") as e:
        parse_compute(said)
    assert e.value.ask == ["--gpu cpu"]
    with pytest.raises(PapertrainError, match="2 machines with --gpu cpu"):
        parse_compute("cpu", nodes=2)


def test_a_case_on_several_processors_of_this_machine_is_unknown() -> None:
    row = {"model": QWEN, "gpu": "cpu", "n_gpus": 2, "micro_batch_size": 1, "sequence_length": 512}
    assert "one processor" in str(prepare(row).unknown) and prepare({**row, "n_gpus": 1}).setup is not None


def test_a_batch_beyond_an_epoch_is_refused_with_the_largest_that_a_step_can_see() -> None:
    rows = data(800, 150, 190)
    with pytest.raises(PapertrainError, match="an epoch has 720 sequences") as e:
        plan(QWEN, "4x A100-80GB", dataset=rows, sets=("global_batch_size=4000",))
    assert e.value.ask == ["--set global_batch_size=720 at most"]
    with pytest.raises(PapertrainError, match="an epoch has 720 sequences"):
        plan(QWEN, "4x A100-80GB", dataset=rows, sets=("micro_batch_size=10", "gradient_accumulation_steps=100"))
    whole = plan(QWEN, "4x A100-80GB", dataset=rows, sets=("global_batch_size=720",))
    assert whole.total_steps.value == whole.epochs.value


def test_few_examples_on_many_cards_are_still_a_plan() -> None:
    assert plan(QWEN, "8x A100-80GB", dataset=data(6, 150, 190), sets=("global_batch_size=8",)).total_steps.value


def test_examples_that_do_not_share_a_block_are_packed_one_to_one(tmp_path: Path) -> None:
    """LLaMA-Factory and TRL pack whole examples: of lengths above half a block no two go together."""
    file = tmp_path / "chat.jsonl"
    answer = "word " * 200
    file.write_text("".join(json.dumps({"instruction": f"question {i}", "output": answer}) + "\n" for i in range(40)))
    found = profile_of(file, find_model(QWEN), "sft", None)
    assert found.lengths is not None and found.cutoff is not None and found.lengths.p50 > found.cutoff / 2
    assert found.packed_sequences == 40 and packed_blocks("sft", found, found.cutoff) == 40
    packed = plan(QWEN, "1x A100-80GB", dataset=found, sets=("packing=true", "validation_share=0"))
    assert packed.total_steps.why.startswith("40 sequences")


def test_the_blocks_are_those_of_the_length_that_follows_from_the_data(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text("".join(json.dumps({"instruction": "a", "output": "b " * n}) + "\n" for n in range(1, 101)))
    model = find_model(QWEN)
    found = profile_of(file, model, "sft", None)
    assert found.cutoff is not None and found.cutoff < (model.max_positions or 0)
    assert found.packed_sequences == profile(file, model=model, cutoff=found.cutoff).packed_sequences


def test_plain_text_is_cut_into_full_blocks() -> None:
    assert packed_blocks("pt", data(100, 300, 900, packed_sequences=70, cutoff=512), 512) == 100 * 300 // 512
    assert packed_blocks("sft", data(100, 300, 900), 512) == 100


@pytest.mark.parametrize(("card", "why"), [("1x V100", "this card has 7.0"), ("cpu", "made for NVIDIA and AMD")])
def test_flash_attention_is_refused_where_it_has_no_kernels(card: str, why: str) -> None:
    with pytest.raises(PapertrainError, match=why) as e:
        plan(QWEN, card, method="lora", sets=("attention=flash",))
    assert e.value.ask == ["--set attention=sdpa"]
    ways = plan("Qwen/Qwen2.5-1.5B", card, method="lora", dataset=data()).alternatives
    assert not any(a.changes.get("attention") == "flash" for a in ways)


def test_a_template_that_llama_factory_does_not_have_is_refused_with_the_nearest() -> None:
    for asked, near in (("qwen25", "qwen"), ("nonexist", "default")):
        with pytest.raises(PapertrainError, match="no template of that name") as e:
            plan(QWEN, "1x A100-80GB", sets=(f"template={asked}",))
        assert e.value.nearest == near
    assert plan(QWEN, "1x A100-80GB", sets=("template=qwen",)).values()["template"] == "qwen"


def test_a_schedule_that_decays_over_the_last_steps_asks_for_their_number() -> None:
    with pytest.raises(PapertrainError, match="their number is not known"):
        plan(QWEN, "1x A100-80GB", sets=("lr_scheduler=warmup_stable_decay",))
    sets = ("lr_scheduler=warmup_stable_decay",)
    assert plan(QWEN, "1x A100-80GB", dataset=data(), sets=sets).lr_scheduler.value == "warmup_stable_decay"


@pytest.mark.parametrize("name", ["Qwem/Qwen2.5-7B", "Qwem/Qwen2.5-7B-AWQ"])
def test_a_name_that_is_not_on_record_is_said_to_be_assumed(name: str) -> None:
    said = [w for w in plan(name, "1x A100-80GB", method="lora").warnings if "assumed to be that of" in w]
    assert len(said) == 1 and said[0].startswith(f"{name} is not on record") and "plan Qwen/Qwen2.5-7B" in said[0]


@pytest.mark.parametrize("name", [QWEN, "Qwen/Qwen2.5-7B-Instruct-AWQ", "Qwen2.5-7B"])
def test_a_name_on_record_is_no_assumption(name: str) -> None:
    assert not any("not on record" in w for w in plan(name, "1x A100-80GB", method="lora").warnings)


def test_a_disk_that_three_checkpoints_do_not_fit_on_is_told() -> None:
    from msgspec import structs
    from plan_questions import question

    from papertrain.plan.derive import derive
    from papertrain.report.plan import disk_line

    q = question(QWEN, "1x A100-80GB", dataset=data(), method="lora")
    small, large = (
        derive(structs.replace(q, compute=structs.replace(q.compute, disk_bytes=n))) for n in (1000, 10**13)
    )
    assert any("of disk are not enough" in w for w in small.warnings)
    assert not any("disk" in w for w in large.warnings) and "a checkpoint of" in disk_line(large)
    assert disk_line(derive(q)) == ""


@pytest.mark.parametrize(
    ("card", "method", "offload", "says"),
    [
        ("1x 4090", "qlora", "params+optimizer", "ZeRO stage 3"),
        ("4x 4090", "qlora", "params+optimizer", "ZeRO stage 3"),
        ("cpu", "lora", "optimizer", "DeepSpeed does not run there"),
        ("1x M2 Ultra", "lora", "params+optimizer", "DeepSpeed does not run there"),
    ],
)
def test_an_offload_that_no_layout_has_is_refused(card: str, method: str, offload: str, says: str) -> None:
    with pytest.raises(PapertrainError, match=says):
        plan(QWEN, card, method=method, sets=(f"offload={offload}",), host=10**12)


def test_other_ways_leave_out_what_does_not_go_with_the_offload_that_was_set() -> None:
    found = plan(QWEN, "1x 4090", method="lora", sets=("offload=params+optimizer",), host=10**12, dataset=data())
    assert found.offload.value == "params+optimizer"
    assert all(a.changes.get("method") != "qlora" for a in found.alternatives)


@pytest.mark.parametrize("name", ["muon", "adam_mini"])
def test_an_optimizer_that_no_generated_file_can_name_is_refused(name: str) -> None:
    with pytest.raises(PapertrainError, match="one of adamw, adamw_fused"):
        plan(QWEN, "1x A100-80GB", sets=(f"optimizer={name}",))


def test_a_packed_base_is_not_sharded_by_stage_three() -> None:
    with pytest.raises(PapertrainError, match="packed in few bits") as e:
        plan(QWEN, "2x 4090", method="qlora", sets=("zero_stage=3",))
    assert e.value.ask == ["--set zero_stage=2"]
    assert plan(QWEN, "2x 4090", method="qlora", sets=("zero_stage=2",)).zero_stage.value == 2
