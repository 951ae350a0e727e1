"""`explain`: the chain behind a decision, and every other id that an answer can carry."""

from __future__ import annotations

from pathlib import Path

import pytest

from papertrain.core.errors import PapertrainError
from papertrain.verbs.explain import explain
from papertrain.verbs.explaining.lookups import every_id, every_rule
from papertrain.verbs.plan import plan


@pytest.fixture
def work(tmp_path: Path) -> Path:
    plan("Qwen/Qwen2.5-7B-Instruct", gpu="4x A100-80GB", method="lora", output=tmp_path / "work")
    return tmp_path / "work"


def test_a_decision_is_a_chain_from_inputs_to_value(work: Path) -> None:
    r = explain("learning_rate", plan=work)
    names = [x["name"] for x in r.data["chain"]]
    assert r.result == "learning_rate = 2.0e-4" and {
        "model",
        "task",
        "method",
        "global_batch_size",
        "epochs",
        "data",
    } <= set(names)
    assert (
        "└─ global_batch_size = 16" in r.body
        and "7.6 B parameters" in r.body
        and r.data["decision"]["source"]["ref"] in " ".join(r.body.split())
    )


def test_every_decision_of_a_plan_can_be_explained(work: Path) -> None:
    from papertrain.core.workspace import Workspace

    for d in Workspace(work).plan().decisions():
        assert d.why.split()[0] in explain(d.name, plan=work).explanation
        assert explain(d.name).data["kind"] == "decision"


def test_a_plan_file_is_as_good_as_its_workspace(work: Path) -> None:
    assert explain("lora_rank", plan=work / "plans/ours/plan.json").result == explain("lora_rank", plan=work).result


@pytest.mark.parametrize("id", ["memory", "time", "fits"])
def test_predictions_are_shown_by_their_parts(work: Path, id: str) -> None:
    r = explain(id, plan=work)
    assert r.result.startswith("It fits") and r.body.strip() and (id == "time") == ("live in backward" not in r.body)


def test_what_the_plan_does_not_have_is_said(work: Path) -> None:
    assert "no beta" in explain("beta", plan=work).result


def test_every_rule_can_be_explained_by_id_and_name() -> None:
    found = list(every_rule())
    assert found
    for _, rule in found:
        assert explain(rule.id).data["rule"]["name"] == rule.name
        assert explain(rule.name).data["rule"]["name"] == rule.name
        assert rule.why.split()[0] in explain(rule.id.lower()).explanation


@pytest.mark.parametrize(
    ("id", "text"), [("h100-sxm", "H100 SXM"), ("openai-community/gpt2", "124,439,808 parameters"), ("cpu", "CPU")]
)
def test_facts_are_explained_with_their_sources(id: str, text: str) -> None:
    r = explain(id)
    assert text in r.result and r.data["kind"] == "fact"


def test_evidence_is_walked_back_to_its_file(work: Path) -> None:
    from papertrain.core.evidence import append_evidence
    from papertrain.core.files import sha256_file
    from papertrain.core.results import Evidence
    from papertrain.core.writing import Writer

    (work / "scores.json").write_text('{"accuracy": 0.817}')
    entry = Evidence(
        id="",
        claim="accuracy of ours on reviews",
        value=0.817,
        file="scores.json",
        sha256=sha256_file(work / "scores.json"),
        pointer="/accuracy",
    )
    with Writer(work) as w:
        append_evidence(w, work, [entry])
    r = explain("E1", plan=work)
    assert "0.817" in r.result and "still has the content" in r.explanation
    (work / "scores.json").write_text("{}")
    assert "has changed" in explain("E1", plan=work).explanation
    with pytest.raises(PapertrainError, match="say which workspace"):
        explain("E1")
    with pytest.raises(PapertrainError, match="no evidence E7"):
        explain("E7", plan=work)


def test_a_stored_diagnosis_is_found_in_the_debug_log(work: Path) -> None:
    log = work / "runs/ours.reviews.1/debug/1.md"
    log.parent.mkdir(parents=True)
    log.write_text("# D1: the learning rate is too high\n\nD1.F1 halves it\n")
    assert "the learning rate is too high" in explain("D1", plan=work).result
    assert "halves it" in explain("D1.F1", plan=work).body


def test_the_recipes_are_computed_for_every_card() -> None:
    from papertrain.facts.load import gpu_ids

    r = explain("recipes")
    rows = r.data["recipes"]
    assert {x["gpu"] for x in rows} == set(gpu_ids()) and {x["size"] for x in rows} == {"7B", "13B", "70B"}
    assert all(x["precision"] != "bf16" for x in rows if x["gpu"].startswith(("v100", "t4", "rtx-2080", "ascend-910a")))
    assert all(x["instead"] for x in rows if x["fits"] == "no")
    by = {(x["gpu"], x["size"]): x for x in rows}
    assert by["rtx-3090", "7B"]["fits"] == "yes" and by["a100-sxm-80gb", "70B"]["lora_rank"] in (4, 8)


@pytest.mark.parametrize(
    ("id", "near"), [("lerning_rate", "learning_rate"), ("h100-sxn", "h100-sxm"), ("no-such-thing", None)]
)
def test_an_unknown_id_is_refused_with_the_nearest(id: str, near: str | None) -> None:
    with pytest.raises(PapertrainError) as e:
        explain(id)
    assert e.value.exit == 2 and (near is None or e.value.nearest == near)


def test_ids_are_unique() -> None:
    ids = every_id(None, None)
    assert len(ids) == len(set(ids))
