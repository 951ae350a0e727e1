"""`check` as its users meet it: files in, findings, exit codes, changes written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from papertrain.cli import main
from papertrain.core.errors import PapertrainError
from papertrain.verbs.check import check

BAD = "stage: sft\ntemplate: qwen\nfinetuning_type: lora\nlora_rankk: 8  # rank\nevaluation_strategy: steps\nval_size: 0.1\n"


def write(folder: Path, name: str, text: str | bytes) -> Path:
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def test_an_error_exits_with_one_and_a_warning_with_zero(tmp_path: Path) -> None:
    bad = check([write(tmp_path, "bad.yaml", BAD)])
    assert bad.exit_code() == 1 and bad.exit_code("never") == 0 and bad.action and "--fix" in bad.action
    warned = check([write(tmp_path, "w.yaml", "stage: sft\ntemplate: qwen\nfinetuning_type: lora\nlearning_rate: 5\n")])
    assert warned.exit_code() == 0 and warned.exit_code("warning") == 1


def test_findings_carry_what_the_contract_says(tmp_path: Path) -> None:
    report = check([write(tmp_path, "bad.yaml", BAD)])
    for finding in report.data["findings"]:
        assert set(finding) >= {
            "id",
            "rule",
            "name",
            "level",
            "file",
            "line",
            "says",
            "instead",
            "patch",
            "effect",
            "applies_to",
        }
        assert finding["applies_to"][0]["sha256"] and finding["id"].startswith(f"F-{finding['rule']}-")
    assert report.data["known_up_to"]["llamafactory"] == "0.9.5"
    assert {
        "rows",
        "examples",
        "tokens",
        "trainable_tokens",
        "truncated_examples",
        "steps_per_epoch",
        "total_steps",
    } <= set(report.data["accounting"])


def test_fix_writes_only_what_touches_the_execution(tmp_path: Path) -> None:
    file = write(tmp_path, "t.yaml", BAD + "max_samples: 0\n")
    before = file.read_text()
    seen = check([file], fix=True, dry_run=True)
    assert file.read_text() == before and "would write" in seen.head
    report = check([file], fix=True)
    assert file.read_text() == before.replace("lora_rankk", "lora_rank").replace("evaluation_strategy", "eval_strategy")
    assert [f["rule"] for f in report.data["findings"] if f["level"] == "error"] == ["TR207"]
    assert "-lora_rank: 8" in report.data["applied"][0]["reverse"]


def test_the_patch_in_the_answer_is_the_one_that_fix_makes(tmp_path: Path) -> None:
    file = write(tmp_path, "t.yaml", BAD)
    patches = [f["patch"] for f in check([file]).data["findings"] if f["patch"]]
    assert any("-lora_rankk: 8  # rank\n+lora_rank: 8  # rank\n" in p for p in patches)


@pytest.mark.parametrize(("name", "text", "code"), [
    ("bomb.yaml", "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(f"{c}: &{c} [{','.join(['*' + p] * 9)}]\n" for p, c in zip("abcdefgh", "bcdefghi")), "alias-bomb"),
    ("tab.yaml", "a:\n\t- b\n", "not-yaml"), ("c.json", '{"zero_optimization": {"stage": 2},}', "not-json"), ("deep.json", '{"a":' * 5000 + "1" + "}" * 5000, "too-deep"),
    ("s.py", "def f(:\n", "not-python"), ("big.yaml", "a: 1\n" * 12_000_000, "too-large"), ("bin.yaml", bytes(range(256)) * 40, "binary"), ("s.toml", "a = [", "not-toml"),
    ("list.json", '[{"a": 1},', "unknown-format"),
])  # fmt: skip
def test_what_cannot_be_read_is_one_line_with_its_place(
    name: str, text: str | bytes, code: str, tmp_path: Path
) -> None:
    good = write(tmp_path, "good.yaml", BAD)
    bad = write(tmp_path, name, text)
    both = check([good, bad])
    assert both.exit_code() == 2 and both.data["error"]["code"] == code and both.data["findings"]
    with pytest.raises(PapertrainError) as caught:
        check([bad])
    assert caught.value.code == code and name in str(caught.value.file) and "\n" not in caught.value.one_line()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(PapertrainError, match="not found") as caught:
        check([tmp_path / "nowhere.yaml"])
    assert str(caught.value.file).endswith("nowhere.yaml")


def test_a_secret_in_a_log_is_a_warning_and_never_repeated(tmp_path: Path) -> None:
    token = "hf_" + "aB3dE5gH7jK9" * 3
    report = check([write(tmp_path, "run.log", f"step 1\nconfig: {token} num_tokens=4096 pad_token=<pad>\n")])
    assert [(f["rule"], f["level"], f["line"]) for f in report.data["findings"]] == [("TR450", "warning", 2)]
    assert token not in json.dumps(report.envelope()) and report.exit_code() == 0


def test_a_strange_file_is_said_to_be_one(tmp_path: Path) -> None:
    report = check([write(tmp_path, "notes.txt", "buy milk\n")])
    assert report.exit_code() == 0 and report.data["findings"] == [] and "known kinds" in " ".join(report.warnings)


def test_select_ignore_and_project_settings(tmp_path: Path) -> None:
    file = write(tmp_path, "t.yaml", BAD)
    assert {f["rule"] for f in check([file], select=["TR211"]).data["findings"]} == {"TR211"}
    assert "TR211" not in {f["rule"] for f in check([file], ignore=["TR211"]).data["findings"]}
    write(tmp_path, "papertrain.toml", 'ignore = ["renamed-argument"]\n[per-file-ignores]\n"t.yaml" = ["TR201"]\n')
    assert check([file]).data["findings"] == []
    with pytest.raises(PapertrainError, match="no rule"):
        check([file], select=["TR999"])


def test_a_baseline_leaves_only_what_is_new(tmp_path: Path) -> None:
    file, base = write(tmp_path, "t.yaml", BAD), tmp_path / "base.json"
    check([file], write_baseline=base)
    assert check([file], baseline=base).data["findings"] == []
    file.write_text(BAD + "cutoff_len: 0\n")
    assert [f["rule"] for f in check([file], baseline=base).data["findings"]] == ["TR207"]


def test_annotations_and_sarif(tmp_path: Path) -> None:
    file = write(tmp_path, "t.yaml", BAD)
    lines = check([file], output_format="github").data["printed"].splitlines()
    assert (
        all(line.startswith(("::error ", "::warning ", "::notice ")) and "title=TR" in line for line in lines)
        and len(lines) >= 2
    )
    sarif = json.loads(check([file], output_format="sarif").data["printed"])
    assert sarif["version"] == "2.1.0" and {r["ruleId"] for r in sarif["runs"][0]["results"]} >= {"TR201", "TR211"}


def test_a_folder_is_searched_and_what_is_no_config_in_it_does_not_stop(tmp_path: Path) -> None:
    write(tmp_path, "bad.yaml", BAD)
    write(tmp_path, "broken.json", "{")
    report = check([tmp_path])
    assert report.exit_code() == 1 and any("broken.json" in w for w in report.warnings)


def test_broken_bytes_are_never_rewritten(tmp_path: Path) -> None:
    file = write(tmp_path, "t.yaml", BAD.encode() + b"# \xff\xfe\n")
    with pytest.raises(PapertrainError, match="not text"):
        check([file], fix=True)
    assert file.read_bytes().endswith(b"# \xff\xfe\n")


def test_a_run_that_does_not_fit_is_said_before_it_starts(tmp_path: Path) -> None:
    text = "stage: sft\ndo_train: true\nmodel_name_or_path: Qwen/Qwen2.5-7B-Instruct\ndataset: identity\ntemplate: qwen\nfinetuning_type: full\nbf16: true\noutput_dir: o\nper_device_train_batch_size: 1\n"
    file = write(tmp_path, "full.yaml", text)
    # 7.6 B parameters with fp32 weights, gradients and two moments are 122 GB before any activation.
    report = check([file], gpu="1x RTX 4090")
    assert any(f["rule"] == "TR360" and f["level"] == "error" for f in report.data["findings"])
    assert report.data["estimates"][0]["fits"] == "no" and report.data["estimates"][0]["device_bytes"]["value"] > 100e9
    assert any("--gpu" in u for u in check([file]).unavailable)


def test_the_installed_versions_decide_what_is_old(tmp_path: Path) -> None:
    packages = tmp_path / "venv/lib/python3.11/site-packages"
    for name in ("transformers-4.40.2", "torch-2.3.0"):
        (packages / f"{name}.dist-info").mkdir(parents=True)
    file = write(
        tmp_path, "a.json", '{"per_device_train_batch_size": 1, "num_train_epochs": 1, "eval_strategy": "steps"}'
    )
    assert [f["rule"] for f in check([file], env=str(tmp_path / "venv")).data["findings"]] == ["TR212"]
    assert check([file]).data["findings"] == []


def test_the_accounting_of_a_config_with_its_data(tmp_path: Path) -> None:
    write(tmp_path, "dataset_info.json", '{"rows": {"file_name": "rows.jsonl"}}')
    write(tmp_path, "rows.jsonl", '{"instruction": "a", "input": "", "output": "b"}\n' * 1000)
    text = "stage: sft\ndo_train: true\ntemplate: qwen\nfinetuning_type: lora\ndataset: rows\ndataset_dir: .\nval_size: 0.1\nper_device_train_batch_size: 2\ngradient_accumulation_steps: 4\nnum_train_epochs: 2\n"
    report = check(
        [write(tmp_path, "s.yaml", text.replace("dataset_dir: .", f"dataset_dir: {tmp_path}"))], gpu="4x A100-80GB"
    )
    counted = report.data["accounting"]
    assert (
        f"≈ {counted['tokens']:,} tokens" in f"{report.explanation}{report.body}{report.details}"
    )  # no tokenizer is here, and a tenth is held out
    assert (counted["rows"], counted["examples"], counted["steps_per_epoch"], counted["total_steps"]) == (
        1000,
        900,
        29,
        58,
    )


def test_sixty_bad_keys_are_mended_in_one_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from papertrain.configs.checking import engine
    from papertrain.facts.frameworks.load import framework

    names = [k for k in framework("llamafactory").keys("training", "data", "finetuning") if len(k) > 11][:60]
    head = "model_name_or_path: Qwen/Qwen2.5-7B\nstage: sft\ndo_train: true\nfinetuning_type: lora\ntemplate: qwen\ndataset: identity\noutput_dir: out  # kept\n"  # fmt: skip
    file = tmp_path / "train.yaml"
    file.write_text(head + "".join(f"{k}x: 1\n" for k in names))
    read, hits = [], engine.hits
    monkeypatch.setattr(engine, "hits", lambda *a, **k: read.append(1) or hits(*a, **k))
    check([file], fix=True)
    text = file.read_text()
    mended = [k for k in names if f"\n{k}: 1\n" in text]
    assert len(mended) >= 55 and "output_dir: out  # kept" in text and len(read) <= 12


def test_show_follows_the_thinking_that_the_config_turns_off(tmp_path: Path) -> None:
    """LLaMA-Factory trains on an empty thought in front of an answer, and masks it where `enable_thinking` is false."""
    (tmp_path / "rows.jsonl").write_text('{"instruction": "Where?", "input": "", "output": "There."}\n' * 3)
    (tmp_path / "dataset_info.json").write_text('{"rows": {"file_name": "rows.jsonl"}}')
    head = f"model_name_or_path: Qwen/Qwen3-8B\nstage: sft\ndo_train: true\nfinetuning_type: lora\ntemplate: qwen3\ndataset: rows\ndataset_dir: {tmp_path}\noutput_dir: out\n"  # fmt: skip
    file = tmp_path / "train.yaml"
    shown = {}
    for said in ("true", "false"):
        file.write_text(head + f"enable_thinking: {said}\n")
        shown[said] = [line for line in (check([file], show=1).head or "").splitlines() if "<think>" in line]
    assert "trained" in shown["true"][0] and "masked" in shown["false"][0]


def test_the_text_names_the_id_of_every_finding_that_fix_can_mend(tmp_path: Path) -> None:
    from papertrain.verbs.fix import fix

    file = tmp_path / "s.yaml"
    file.write_text("stage: sft\nfinetuning_type: lora\ntemplate: qwen\nlora_rankk: 8\nbf16: true\nfp16: true\nevaluation_strategy: steps\n")  # fmt: skip
    report = check([file])
    ids = [f["id"] for f in report.data["findings"] if f["patch"]]
    assert len(ids) >= 3 and all(f"[{id}]" in report.head for id in ids)
    assert "lora_rank: 8" in fix(file, next(i for i in ids if "TR201" in i)).body


def test_mending_one_file_of_a_folder_does_not_read_the_others_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from papertrain.configs.checking import read

    text = "stage: sft\nfinetuning_type: lora\ntemplate: qwen\nlora_rank: 8\n"
    for i in range(40):
        (tmp_path / f"{i}.yaml").write_text(text)
    (tmp_path / "bad.yaml").write_text(text.replace("lora_rank", "lora_rankk"))
    real, calls = read.read_source, []
    monkeypatch.setattr(read, "read_source", lambda *a, **k: calls.append(a[1]) or real(*a, **k))
    check([tmp_path], fix=True)
    assert "lora_rank: 8" in (tmp_path / "bad.yaml").read_text()
    assert max(calls.count(str(tmp_path / f"{i}.yaml")) for i in range(40)) == 2, "once before, once after"


def test_records_of_runs_are_no_configs_and_are_never_mended(tmp_path: Path) -> None:
    """Pasted as told, `check work --fix` took `task` and `labels` out of a finished run's own args.json."""
    run = tmp_path / "work/runs/ours.train.1"
    run.mkdir(parents=True)
    (run / "args.json").write_text(
        '{"task": "classification", "base_model": "m", "sequence_len": 128, "labels": ["a"]}\n'
    )
    (run / "record.json").write_text('{"command": ["python", "train.py"]}\n')
    (tmp_path / "work/ds.json").write_text('{"train_batch_size": "auto", "zero_optimization": {"stage": 2}}\n')
    before = (run / "args.json").read_bytes()
    found = check([tmp_path / "work"], fix=True)
    assert {Path(f["file"]).name for f in found.data["files"]} == {"ds.json"}
    assert (run / "args.json").read_bytes() == before


class TestFolders:
    GOOD = "model_name_or_path: Qwen/Qwen2.5-7B\nstage: sft\ndo_train: true\nfinetuning_type: lora\ntemplate: qwen\ndataset: identity\noutput_dir: out\n"

    def test_a_folder_of_data_alone_is_checked_as_data(self, tmp_path: Path) -> None:
        (tmp_path / "a.jsonl").write_text('{"instruction": "a", "output": "b"}\n{"instruction": "a", "output"\n')
        (tmp_path / "b.csv").write_text("text,label\nx,1\ny,0\n")
        r = check([tmp_path])
        assert {f["kind"] for f in r.data["files"]} == {"data"} and len(r.data["files"]) == 2
        assert any(f["rule"] == "TR356" and f["file"].endswith("a.jsonl") for f in r.data["findings"])

    def test_what_a_folder_holds_and_nobody_can_read_is_not_called_in_order(self, tmp_path: Path) -> None:
        (tmp_path / "good.yaml").write_text(self.GOOD)
        (tmp_path / "bomb.yaml").write_text("a: &a [x, x]\n" + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [*{chr(97 + i)}, *{chr(97 + i)}]\n" for i in range(20)))  # fmt: skip
        r = check([tmp_path])
        assert r.result.endswith("; 1 could not be read") and "every key" not in r.explanation
        assert any("bomb.yaml" in w for w in r.warnings)

    def test_the_next_command_is_not_about_a_file_that_cannot_be_read(self, tmp_path: Path) -> None:
        (tmp_path / "l.json").write_text('[{"instruction": "a", "output": "b"}]')
        (tmp_path / "deep.json").write_text("[" * 5000)
        r = check([tmp_path / "l.json", tmp_path / "deep.json"])
        assert "could not be read" in r.result and "deep.json" not in (r.action or "")


def test_rows_of_one_class_only_are_told_by_check_as_by_plan(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("text,label\n" + "".join(f"film {i},same\n" for i in range(9)))
    (found,) = check([tmp_path / "one.csv"]).data["findings"]
    assert found["rule"] == "TR320" and "has the label 'same': there is nothing to tell apart" in found["says"]
    (tmp_path / "one.csv").write_text("text,label\n" + "".join(f"film {i},{i % 2}\n" for i in range(9)))
    assert not check([tmp_path / "one.csv"]).data["findings"]


@pytest.mark.parametrize(("line", "wrong"), [
    ("learning_rate: .nan", True), ("learning_rate: .inf", True), ("weight_decay: [1]", True), ("max_grad_norm: .inf", False),
])  # fmt: skip
def test_a_number_that_is_none_is_no_number(line: str, wrong: bool, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(TestFolders.GOOD + line + "\n")
    found = [f for f in check([tmp_path / "a.yaml"]).data["findings"] if f["rule"] == "TR204"]
    assert bool(found) is wrong and all("…" not in f["says"] for f in found)


def test_a_file_whose_name_begins_with_a_dash_stands_behind_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("-lead.jsonl").write_text('{"instruction": "a", "output": "b"}\n')
    assert main(["check", "--brief", "--", "-lead.jsonl"]) == 0
    assert "nothing wrong in -lead.jsonl" in capsys.readouterr().out
