"""`plan` through its function: the contract's data, the workspace, and input that is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from papertrain.core.errors import PapertrainError, Refused
from papertrain.core.training import read_plan
from papertrain.core.workspace import Workspace
from papertrain.verbs.plan import plan

QWEN = {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
        "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064, "tie_word_embeddings": False, "max_position_embeddings": 32768,
        "torch_dtype": "bfloat16", "hidden_act": "silu", "rms_norm_eps": 1e-06}  # fmt: skip


@pytest.fixture
def model(tmp_path: Path) -> str:
    folder = tmp_path / "Qwen2.5-7B-Instruct"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(QWEN))
    return str(folder)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    file = tmp_path / "train.jsonl"
    file.write_text(
        "".join(
            json.dumps(
                {
                    "instruction": f"Add {i} and {i + 1}.",
                    "input": "",
                    "output": f"The sum is {2 * i + 1}. " * (1 + i % 7),
                }
            )
            + "\n"
            for i in range(400)
        )
    )
    return file


def values(data: dict[str, Any]) -> dict[str, Any]:
    return {d["name"]: d["value"] for d in data["decisions"]}


# ---------------------------------------------------------------- the contract


def test_the_data_is_what_the_contract_draws(model: str, rows: Path) -> None:
    r = plan(model, data=rows, gpu="4x A100-80GB", host_ram="512GB", method="lora")
    d = r.data
    assert d["model"]["parameters"] == 7_615_616_512 and 10**6 < d["model"]["trainable_parameters"] < 10**8
    v = values(d)
    assert v["micro_batch_size"] * v["gradient_accumulation_steps"] * 4 == v["global_batch_size"]
    assert all(x["why"] and x["source"]["kind"] for x in d["decisions"])
    gpu = d["memory"]["gpu"]
    assert set(gpu["components"]) >= {
        "weights",
        "gradients",
        "optimizer",
        "activations",
        "logits",
        "temporary",
        "context",
    }
    assert all(
        gpu[m]["low"] <= gpu[m]["value"] <= gpu[m]["high"]
        for m in ("allocated_bytes", "reserved_bytes", "device_bytes")
    )
    assert d["time"]["step_seconds"]["value"] > 0 and d["time"]["total_seconds"]["value"] > 0 and d["fits"] == "yes"
    assert {"what", "fits", "effect", "changes", "step_seconds"} <= set(d["alternatives"][0])
    assert json.loads(json.dumps(d))["dataset"]["examples"] == 400


def test_without_a_place_nothing_is_written_and_the_mode_is_exploratory(model: str, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    r = plan(model, gpu="1x A100-80GB")
    assert r.mode == "exploratory" and sorted(tmp_path.rglob("*")) == before
    assert r.data["provisional"] and any("without --data" in w for w in r.warnings)


def test_a_local_model_of_any_name_keeps_the_chat_format_it_brings_along(model: str, tmp_path: Path) -> None:
    own = Path(model).rename(tmp_path / "my-model")
    (own / "tokenizer_config.json").write_text(
        json.dumps(
            {"chat_template": "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>{% endfor %}"}
        )
    )
    d = next(x for x in plan(str(own), gpu="1x A100-80GB").data["decisions"] if x["name"] == "template")
    assert d["value"] == "chatml" and "<|im_start|>" in d["why"]


def test_what_does_not_fit_is_an_error_of_the_answer_not_of_the_input(model: str) -> None:
    r = plan(model, gpu="1x RTX 3090", method="full")
    assert (
        r.level == "error"
        and r.exit_code() == 1
        and r.result.startswith("It does not fit")
        and len(r.data["alternatives"]) >= 3
    )


def test_both_rule_sets_are_compared(model: str, rows: Path) -> None:
    r = plan(model, data=rows, gpu="4x A100-80GB", method="lora", rules="evidence")
    assert r.data["rules"]["used"] == "evidence"
    assert all("method" in x and "evidence" in x for x in r.data["rules"]["differ"])
    large = plan("meta-llama/Llama-2-70b-hf", gpu="8x H100", method="full", rules="method")
    assert "learning_rate" in {x["name"] for x in large.data["rules"]["differ"]}


def test_a_rough_size_marks_every_figure_as_assumed() -> None:
    r = plan("7B", gpu="1x A100-80GB")
    assert r.data["model"]["exact"] is False and any("assumed" in w for w in r.warnings)


# ---------------------------------------------------------------- the workspace


def test_a_plan_is_written_and_says_that_it_is_unconfirmed(model: str, rows: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    r = plan(model, data=rows, gpu="4x A100-80GB", method="lora", output=work, mode="standard")
    text = (work / "plans/ours/plan.md").read_text()
    assert "**unconfirmed**" in text and r.mode == "standard"
    saved = read_plan((work / "plans/ours/plan.json").read_bytes())
    assert saved.learning_rate.value == values(r.data)["learning_rate"]
    for d in saved.decisions():
        assert f"| {d.name} |" in text


def test_confirming_marks_the_page_and_a_change_unmarks_it(model: str, rows: Path, tmp_path: Path) -> None:
    from papertrain.core.gate import confirmation

    work = tmp_path / "work"
    plan(model, data=rows, gpu="4x A100-80GB", method="lora", output=work, confirm=True)
    assert "**confirmed" in (work / "plans/ours/plan.md").read_text()
    assert confirmation(Workspace(work), "ours") is not None
    plan(str(work), sets=("learning_rate=1e-4",))
    assert (
        confirmation(Workspace(work), "ours") is None and "**unconfirmed**" in (work / "plans/ours/plan.md").read_text()
    )


def test_the_same_plan_twice_gives_the_same_bytes_and_stays_confirmed(model: str, rows: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    plan(model, data=rows, gpu="4x A100-80GB", method="lora", output=work, confirm=True)
    first = (work / "plans/ours/plan.json").read_bytes()
    r = plan(str(work))
    assert (work / "plans/ours/plan.json").read_bytes() == first and r.data["changed"] == []
    assert "**confirmed" in (work / "plans/ours/plan.md").read_text()


def test_a_new_derivation_shows_what_changed(model: str, rows: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    plan(model, data=rows, gpu="4x A100-80GB", method="lora", output=work)
    r = plan(str(work), sets=("lora_rank=32",))
    assert "lora_rank 8 → 32" in r.data["changed"] and "lora_alpha 16 → 64" in r.data["changed"]
    again = plan(str(work), sets=("epochs=1",))
    assert values(again.data)["lora_rank"] == 32 and values(again.data)["epochs"] == 1


def test_changed_data_is_counted_again(model: str, rows: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    plan(model, data=rows, gpu="4x A100-80GB", method="lora", output=work)
    rows.write_text(rows.read_text() * 2)
    assert plan(str(work)).data["dataset"]["examples"] == 800


def test_a_page_that_a_person_edited_is_not_overwritten(model: str, rows: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    plan(model, data=rows, gpu="4x A100-80GB", method="lora", output=work)
    page = work / "plans/ours/plan.md"
    page.write_text(page.read_text() + "my note\n")
    with pytest.raises(Refused):
        plan(str(work), sets=("learning_rate=1e-4",))
    assert (
        "my note" in page.read_text()
        and read_plan((work / "plans/ours/plan.json").read_bytes()).learning_rate.value == 2e-4
    )
    plan(str(work), sets=("learning_rate=1e-4",), overwrite=True)
    assert "my note" not in page.read_text()


def test_dry_run_and_exploratory_write_nothing(model: str, tmp_path: Path) -> None:
    for more in ({"dry_run": True}, {"mode": "exploratory"}):
        plan(model, gpu="4x A100-80GB", output=tmp_path / "work", **more)  # type: ignore[arg-type]
        assert not (tmp_path / "work").exists()


def test_a_second_method_of_the_study_has_its_own_plan(model: str, rows: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    plan(model, data=rows, gpu="4x A100-80GB", method="lora", output=work)
    plan(model, data=rows, gpu="4x A100-80GB", method="full", output=work, name="full-ft")
    assert Workspace(work).methods() == ["full-ft", "ours"]


def test_a_run_moves_the_estimate_and_the_plan_remembers(model: str, rows: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    r = plan(model, data=rows, gpu="4x A100-80GB", method="lora", output=work)
    device = r.data["memory"]["gpu"]["device_bytes"]["value"]
    smi = tmp_path / "gpu.csv"
    smi.write_text(f"memory.used [MiB]\n{round(1.1 * device / 2**20)} MiB\n")
    moved = plan(str(work), calibrate=smi)
    assert moved.data["calibration"][0].startswith("gpu.csv: device moved by +10 %")
    fixed = {f"{k}={values(r.data)[k]}" for k in ("micro_batch_size", "zero_stage", "gradient_checkpointing")}
    again = plan(str(work), sets=tuple(fixed))
    assert again.data["memory"]["gpu"]["device_bytes"]["value"] == pytest.approx(1.1 * device, rel=0.01)


def test_a_sweep_is_three_plans_of_one_budget_and_a_record(model: str, rows: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    plan(model, data=rows, gpu="4x A100-80GB", method="lora", output=work, sweep="learning_rate", confirm=True)
    record = json.loads((work / "plans/ours/sweep.json").read_text())
    assert [t["value"] for t in record["trials"]] == [2e-4, 6.7e-5, 6e-4] and record["budget"] == 3
    plans = [Workspace(work).plan(t["method"]) for t in record["trials"]]
    assert len({p.total_steps.value for p in plans}) == 1 and len({p.global_batch_size.value for p in plans}) == 1
    assert plans[1].learning_rate.source.kind == "user"


STUDY = """[study]
ours = "ours"
[methods.ours]
[methods.base]
[datasets.d]
train = "train.jsonl"
[sweeps]
"""


def test_a_sweep_in_the_study_gives_every_method_three_runs(model: str, rows: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "study.toml").write_text(STUDY + 'parameter = "learning_rate"\n')
    first = plan(model, data=rows, gpu="4x A100-80GB", method="lora", output=work)
    assert json.loads((work / "plans/ours/sweep.json").read_text())["budget"] == 3
    assert not any("study.toml" in w for w in first.warnings)
    plan(model, data=rows, gpu="4x A100-80GB", method="lora", output=work, name="base", rules="evidence")
    assert json.loads((work / "plans/base/sweep.json").read_text())["budget"] == 3
    plan(str(work), name="base-learning_rate-low")  # a run of the sweep is not swept itself
    assert len(Workspace(work).methods()) == 6
    # the file lists two methods; launch and status find the other four by themselves, behind the one they belong to
    tried = [f"ours{end}" for end in ("", "-learning_rate-low", "-learning_rate-high")]
    tried += [f"base{end}" for end in ("", "-learning_rate-low", "-learning_rate-high")]
    assert [m.name for m in Workspace(work).study.methods] == tried
    assert [r.method for r in Workspace(work).grid()] == tried


def test_a_trial_has_the_seeds_of_its_method_and_a_listed_one_its_own(model: str, rows: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    listed = STUDY.replace("[methods.ours]", "[methods.ours]\nseeds = [1, 2, 3]").replace("[methods.base]", "")
    listed = listed.replace("[datasets.d]", '[methods."ours-learning_rate-high"]\nseeds = [7]\n[datasets.d]')
    (work / "study.toml").write_text(listed + 'parameter = "learning_rate"\n')
    plan(model, data=rows, gpu="4x A100-80GB", method="lora", output=work)
    seeds = {m: sorted(r.seed for r in Workspace(work).grid() if r.method == m) for m in Workspace(work).methods()}
    assert seeds == {"ours": [1, 2, 3], "ours-learning_rate-low": [1, 2, 3], "ours-learning_rate-high": [7]}


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"trials": 3}', '{"trials": [{"method": "../../x"}, {"method": 3}, {}]}']
)
def test_a_record_of_a_sweep_that_is_broken_names_no_runs(model: str, rows: Path, tmp_path: Path, text: str) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "study.toml").write_text(STUDY.partition("[sweeps]")[0])
    plan(model, data=rows, gpu="4x A100-80GB", method="lora", output=work)
    (work / "plans/ours/sweep.json").write_text(text)
    assert [m.name for m in Workspace(work).study.methods] == ["ours", "base"]


def test_a_baseline_with_fewer_runs_than_ours_is_named(model: str, rows: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    plan(model, data=rows, gpu="4x A100-80GB", method="lora", output=work, name="base")
    swept = plan(model, data=rows, gpu="4x A100-80GB", method="lora", output=work, sweep="learning_rate")
    assert any("--name base --sweep learning_rate gives it the same budget" in w for w in swept.warnings)


@pytest.mark.parametrize(
    ("said", "says"),
    [('parameter = "learning_rat"', "learning_rat"), ('parametr = "learning_rate"', "unknown key 'parametr'"), ("parameter = 3", "'3'"),
     ('parameter = "learning_rate"\nmethods = "ours"', "list of names")],
)  # fmt: skip
def test_a_sweep_that_cannot_be_read_is_one_line(model: str, rows: Path, tmp_path: Path, said: str, says: str) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "study.toml").write_text(STUDY + said + "\n")
    with pytest.raises(PapertrainError) as caught:
        plan(model, data=rows, gpu="4x A100-80GB", method="lora", output=work)
    assert says in caught.value.says and str(caught.value.file).endswith("study.toml")
    assert not (work / "plans").exists()


def test_what_the_training_environment_lacks_is_said(model: str, tmp_path: Path) -> None:
    packages = tmp_path / "env/lib/python3.11/site-packages"
    for name in ("torch-2.8.0", "transformers-4.57.6", "peft-0.18.1"):
        (packages / f"{name}.dist-info").mkdir(parents=True)
    r = plan(model, gpu="4x A100-80GB", method="lora", sets=("zero_stage=2",), env=str(tmp_path / "env"))
    assert any(w.startswith("deepspeed is not installed") for w in r.warnings) and not any(
        "peft" in w for w in r.warnings
    )
    unseen = plan(model, gpu="4x A100-80GB", method="lora", sets=("zero_stage=2",))
    assert any("deepspeed, peft" in u for u in unseen.unavailable)
    with pytest.raises(PapertrainError, match="no Python environment"):
        plan(model, gpu="4x A100-80GB", env=str(tmp_path / "nowhere"))


def test_what_cannot_be_swept_is_refused(model: str, tmp_path: Path) -> None:
    with pytest.raises(PapertrainError, match="no beta to sweep"):
        plan(model, gpu="4x A100-80GB", output=tmp_path / "work", sweep="beta")
    with pytest.raises(PapertrainError, match="name a workspace"):
        plan(model, gpu="4x A100-80GB", sweep="learning_rate")
    assert not (tmp_path / "work").exists()


# ---------------------------------------------------------------- wrong input


@pytest.mark.parametrize(
    ("options", "says"),
    [({"gpu": "3x ZX9000"}, ""), ({"gpu": "0x A100-80GB"}, ""), ({"gpu": "1x A100-80GB", "sets": ("lerning_rate=1",)}, "no decision"),
     ({"gpu": "1x A100-80GB", "seq_len": 100_000}, "longer than the 32,768 positions"), ({"gpu": "1x A100-80GB", "host_ram": "lots"}, "not a size"),
     ({"gpu": "1x A100-80GB", "data": Path("/no/such/file.jsonl")}, "no such file"), ({"gpu": "1x A100-80GB", "name": "../x"}, "cannot be a name"),
     ({"gpu": "1x A100-80GB", "confirm": True}, "needs a workspace"), ({"gpu": "1x V100-32GB", "sets": ("precision=bf16",)}, "no bf16"),
     ({"gpu": "cpu", "method": "qlora"}, "qlora needs"), ({"gpu": "1x A100-80GB", "calibrate": Path("/no/such/run")}, "no such run")],
)  # fmt: skip
def test_wrong_input_is_one_line(model: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(PapertrainError) as e:
        plan(model, **options)
    assert says in e.value.one_line() and "\n" not in e.value.one_line() and e.value.exit == 2


def test_where_there_is_no_card_the_answer_asks(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import papertrain.facts.hardware as hardware

    monkeypatch.setattr(hardware, "detect_compute", lambda: None)
    with pytest.raises(PapertrainError) as e:
        plan(model)
    assert e.value.code == "no-gpu" and any("--gpu" in a for a in e.value.ask)


def test_a_binary_data_file_is_refused(model: str, tmp_path: Path) -> None:
    (tmp_path / "bin.jsonl").write_bytes(bytes(range(256)) * 40)
    with pytest.raises(PapertrainError):
        plan(model, data=tmp_path / "bin.jsonl", gpu="1x A100-80GB")


@pytest.mark.parametrize(
    "edit", [lambda q: '{"model": 3', lambda q: q.replace('"layers": 28', '"layers": 0'), lambda q: q.replace('"gpus_per_node": 1', '"gpus_per_node": -3'),
             lambda q: q.replace('"sets": {}', '"sets": {"learning_rate": "much"}'), lambda q: q.replace('"sets": {}', '"sets": {"no_such": 1}'), lambda q: ""],
)  # fmt: skip
def test_inputs_that_were_edited_into_nonsense_are_named(model: str, tmp_path: Path, edit: Any) -> None:
    work = tmp_path / "work"
    plan(model, gpu="1x A100-80GB", output=work)
    file = work / "plans/ours/question.json"
    changed = edit(file.read_text())
    assert changed != file.read_text()
    file.write_text(changed)
    with pytest.raises(PapertrainError) as e:
        plan(str(work))
    assert e.value.exit == 2 and ("question.json" in (e.value.file or "") or "learning_rate" in e.value.says)


def test_planning_imports_nothing_heavy(model: str, rows: Path) -> None:
    code = (
        "import sys; from papertrain.verbs.plan import plan; from pathlib import Path; plan(sys.argv[1], data=Path(sys.argv[2]), gpu='1x A100-80GB');"
        "print([m for m in ('torch', 'transformers', 'pandas', 'numpy', 'scipy', 'matplotlib', 'sklearn') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, model, str(rows)], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


def test_a_prompt_is_eight_sequences_in_grpo_and_a_pair_two_in_kto(tmp_path: Path) -> None:
    """TRL 1.16: RepeatSampler gives 900 prompts × 8 completions / 16 a step = 450 optimizer steps; unpairing doubles rows."""
    (tmp_path / "g.jsonl").write_text("".join(f'{{"prompt": "What is {i} + 1?", "answer": "{i + 1}"}}\n' for i in range(1000)))  # fmt: skip
    (tmp_path / "p.jsonl").write_text("".join(f'{{"prompt": "What is {i}?", "chosen": "a number {i}", "rejected": "a word"}}\n' for i in range(1000)))  # fmt: skip
    for file, task, rows in (("g.jsonl", "grpo", 8), ("p.jsonl", "kto", 2), ("p.jsonl", "dpo", 1)):
        said = plan("Qwen/Qwen2.5-1.5B-Instruct", data=tmp_path / file, gpu="2x A100-80GB", task=task).data["decisions"]
        value = {d["name"]: d["value"] for d in said}
        assert value["total_steps"] == -(-900 * rows // value["global_batch_size"]), task
