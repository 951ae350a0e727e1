"""`check` over several files and over bad data: what could be read is told, and what could not be is named with its line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from papertrain.cli import main
from papertrain.core.errors import PapertrainError
from papertrain.core.report import Report
from papertrain.verbs.check import check

BAD = "stage: sft\ntemplate: qwen\nfinetuning_type: lora\nlora_rankk: 8\n"


def write(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def of(report: Report, rule: str) -> list[dict[str, object]]:
    return [f for f in report.data["findings"] if f["rule"] == rule]


def test_one_unreadable_file_does_not_hide_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [write(tmp_path, "broken.json", '{"a": {,}'), write(tmp_path, "bad.yaml", BAD)]
    assert main(["check", *map(str, files)]) == 2
    out, err = capsys.readouterr()
    assert "TR201" in out and "lora_rankk" in out
    assert err.count("\n") == 1 and "broken.json:1" in err and "Traceback" not in err


def test_the_document_of_a_program_holds_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [write(tmp_path, "broken.json", '{"a": {,}'), write(tmp_path, "bad.yaml", BAD)]
    assert main(["check", *map(str, files), "--json"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert (
        document["data"]["error"]["where"]["file"].endswith("broken.json")
        and document["data"]["error"]["where"]["line"] == 1
    )
    assert "TR201" in [f["rule"] for f in document["data"]["findings"]]


def test_a_missing_file_among_others_is_told_after_the_findings(tmp_path: Path) -> None:
    report = check([write(tmp_path, "bad.yaml", BAD), tmp_path / "nowhere.yaml", tmp_path / "neither.yaml"])
    assert report.exit_code() == 2 and report.exit_code("never") == 2
    assert report.data["error"]["where"]["file"].endswith("nowhere.yaml")
    assert any("neither.yaml" in w for w in report.warnings)


def test_nothing_readable_stops_as_before(tmp_path: Path) -> None:
    with pytest.raises(PapertrainError):
        check([write(tmp_path, "a.json", '{"a": {,}'), tmp_path / "nowhere.yaml"])


def test_a_table_that_a_glob_brought_is_no_error(tmp_path: Path) -> None:
    report = check(
        [
            write(tmp_path, "good.yaml", BAD.replace("rankk", "rank")),
            write(tmp_path, "metrics.csv", "step,loss\n1,2.5\n2,2.25\n"),
        ]
    )
    assert report.exit_code() == 0 and any("metrics.csv" in w for w in report.warnings)


def test_a_data_file_without_a_readable_row_is_the_error_after_the_findings(tmp_path: Path) -> None:
    report = check([write(tmp_path, "bad.yaml", BAD), write(tmp_path, "d.jsonl", "{not json\n{neither\n")])
    assert report.exit_code() == 2 and of(report, "TR201") and report.data["error"]["where"]["file"].endswith("d.jsonl")


def chat(role: str = "user", answer: str = "b", question: str = "a") -> str:
    return json.dumps({"messages": [{"role": role, "content": question}, {"role": "assistant", "content": answer}]})


def test_every_kind_of_bad_row_is_named_with_its_line(tmp_path: Path) -> None:
    good = [chat(question=f"q{i}") for i in range(20)]
    rows = [
        *good,
        "{broken",
        chat("persona"),
        chat(answer=" ", question="z"),
        good[0],
        '{"other": 1}',
        chat("assistant"),
    ]
    report = check([write(tmp_path, "d.jsonl", "\n".join(rows) + "\n")])
    told = of(report, "TR356") + of(report, "TR320")
    text = "\n".join(str(f["says"]) for f in told)
    for line, word in ((21, "JSON"), (22, "persona"), (23, "empty"), (24, "duplicate"), (25, "no list"), (26, "roles")):
        assert any(f["line"] == line and word.lower() in str(f["says"]).lower() for f in told), (line, word, text)
    assert {f["level"] for f in told if f["line"] in (21, 22, 25)} == {"error"} and report.exit_code() == 1
    assert {f["level"] for f in told if f["line"] in (23, 24)} == {"warning"}


def test_pairs_that_do_not_differ_are_counted(tmp_path: Path) -> None:
    rows = [json.dumps({"prompt": f"p{i}", "chosen": "x", "rejected": "x" if i % 4 == 0 else "y"}) for i in range(20)]
    (told,) = of(check([write(tmp_path, "d.jsonl", "\n".join(rows) + "\n")]), "TR356")
    assert (
        told["level"] == "warning"
        and "5 of 20" in str(told["says"])
        and "25" in str(told["says"])
        and told["line"] == 1
    )


def test_a_config_tells_of_the_bad_rows_of_its_data(tmp_path: Path) -> None:
    write(
        tmp_path,
        "dataset_info.json",
        '{"d": {"file_name": "d.jsonl", "formatting": "sharegpt", "columns": {"messages": "messages"}, "tags": {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"}}}',
    )
    write(tmp_path, "d.jsonl", "\n".join([chat(question=f"q{i}") for i in range(9)] + ["{broken"]) + "\n")
    text = f"stage: sft\ndo_train: true\nmodel_name_or_path: Qwen/Qwen3-4B\ntemplate: qwen3\nfinetuning_type: lora\ndataset: d\ndataset_dir: {tmp_path}\noutput_dir: o\n"
    (told,) = of(check([write(tmp_path, "t.yaml", text)]), "TR356")
    assert told["level"] == "error" and "d.jsonl:10" in str(told["says"])


def test_clean_data_is_clean(tmp_path: Path) -> None:
    report = check([write(tmp_path, "d.jsonl", "\n".join(chat(question=f"q{i}") for i in range(9)) + "\n")])
    assert report.data["findings"] == []


def test_the_action_of_a_clean_check_can_be_typed(tmp_path: Path) -> None:
    data = check([write(tmp_path, "d.jsonl", "\n".join(chat(question=f"q{i}") for i in range(9)) + "\n")])
    config = check([write(tmp_path, "t.yaml", BAD.replace("rankk", "rank"))])
    assert data.action == f"papertrain check {tmp_path}/d.jsonl --show 3"
    assert config.action == f"llamafactory-cli train {tmp_path}/t.yaml"
    for report in (data, config):
        assert report.action
        assert not set("<>…") & set(report.action.partition("   ")[0]), report.action


def test_the_action_of_many_files_can_be_typed(tmp_path: Path) -> None:
    files = [write(tmp_path, f"f{i}.yaml", BAD.replace("lora_rankk: 8", "logging_step: 10")) for i in range(9)]
    action = check(files).action
    assert action and "…" not in action and "--fix" in action


def test_one_is_not_plural(tmp_path: Path) -> None:
    file = write(tmp_path, "f.yaml", BAD.replace("lora_rankk: 8", "logging_step: 10"))
    report = check([file], fix=True)
    assert "1 changes" not in report.result + str(report.action)
    assert "1 change" in report.result


def test_a_log_is_sent_to_diagnose(tmp_path: Path) -> None:
    lines = "\n".join(
        f"{{'loss': {2.0 - i / 100:.4f}, 'grad_norm': 0.5, 'learning_rate': 1e-05, 'epoch': {i / 100:.2f}}}"
        for i in range(30)
    )
    report = check([write(tmp_path, "train.log", lines + "\n")])
    assert "log" in report.result and "nothing wrong" not in report.result
    assert report.action and report.action.startswith("papertrain diagnose ") and "train.log" in report.action
