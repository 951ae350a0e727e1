"""Slips in the data are told by `plan` and `check` in the same words: labels, rows in both files, rows that teach nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from papertrain.verbs.check import check
from papertrain.verbs.checking.rows import shared_rows
from papertrain.verbs.plan import plan

CONFIG = {"architectures": ["BertModel"], "model_type": "bert", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
          "intermediate_size": 128, "vocab_size": 30522, "max_position_embeddings": 512}  # fmt: skip


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("model").mkdir()
    Path("model/config.json").write_text(json.dumps(CONFIG))
    rows = [f"{i},film {i} was seen,{('fresh', 'rotten')[i % 2]}" for i in range(60)]
    rows[10] = "10,film 10 was seen,Fresh"
    rows[30] = "30,,fresh"
    Path("train.csv").write_text("\n".join(["id,text,label", *rows]) + "\n")
    tests = [f"{i},film {i} was shown,{('fresh', 'rotten')[i % 2]}" for i in range(100, 110)]
    tests[4] = "104, film 7 was seen ,rotten"
    Path("test.csv").write_text("\n".join(["id,text,label", *tests]) + "\n")
    return tmp_path


BOTH = "1 of 10 rows of test.csv stand in train.csv too (10.0 %): the first is line 6, there line 9"
LABEL = "label 'Fresh' (1 row, first in line 12) is 'fresh' (28 rows) but for case or blanks: it is trained as a class of its own"


def test_plan_and_check_say_the_same_of_labels_and_of_rows_in_both_files(place: Path) -> None:
    planned = plan("model", data=Path("train.csv"), test=Path("test.csv"), gpu="cpu", output=Path("work"))
    assert {BOTH, LABEL} <= set(planned.warnings)
    assert "(1 row without text)" in planned.body
    found = {f["rule"]: (f["says"], f["line"]) for f in check([Path("train.csv"), Path("test.csv")]).data["findings"]}
    assert found["TR322"] == (BOTH, 6)
    assert found["TR362"] == (LABEL, 12)
    assert found["TR320"] == ("1 of 60 rows of train.csv have no text (1.7 %, the first in line 32): they are left out", 32)  # fmt: skip


def test_check_of_a_workspace_compares_the_files_that_its_plan_and_study_name(place: Path) -> None:
    plan("model", data=Path("train.csv"), test=Path("test.csv"), gpu="cpu", output=Path("work"))
    (found,) = [f for f in check([Path("work")]).data["findings"] if f["rule"] == "TR322"]
    assert (found["file"], found["says"]) == ("work/study.toml", BOTH)
    assert Path("work/study.toml").read_text().splitlines()[found["line"] - 1].startswith("test = ")


def test_rows_are_the_same_whatever_their_order_of_keys_format_and_ids(tmp_path: Path) -> None:
    train, test = tmp_path / "train.json", tmp_path / "test.jsonl"
    train.write_text(json.dumps([{"id": i, "instruction": f"q{i}", "input": "", "output": f"a{i}"} for i in range(5)], indent=1))  # fmt: skip
    test.write_text(
        '{"output": "a3", "input": "", "instruction": "q3", "id": 77}\n{"output": "a3", "instruction": "new", "input": ""}\n'
    )
    found = shared_rows(train, test)
    assert found is not None and (found.both, found.rows, found.line) == (1, 2, 1)
    assert shared_rows(train, tmp_path / "absent.jsonl") is None


def test_an_empty_prompt_is_left_out_by_plan_and_check_alike_and_stops_nothing(place: Path) -> None:
    talks = [{"instruction": "" if i == 4 else f"say {i}", "input": "", "output": f"said {i}"} for i in range(20)]
    Path("talks.jsonl").write_text("".join(json.dumps(t) + "\n" for t in talks))
    (found,) = check([Path("talks.jsonl")]).data["findings"]
    assert (found["level"], found["line"]) == ("warning", 5)
    assert found["says"] == "1 of 20 rows: the prompt is empty; plan and script leave such a row out"
    planned = plan("Qwen/Qwen2.5-0.5B", data=Path("talks.jsonl"), gpu="A100-80GB")
    assert "1 row does not fit the format alpaca (jsonl): plan and script leave such rows out" in planned.warnings


def test_a_file_of_empty_texts_is_not_said_to_lack_answers(tmp_path: Path) -> None:
    from papertrain.core.errors import PapertrainError
    from papertrain.data.profile import profile

    file = tmp_path / "a.csv"
    file.write_text("text,label\n,a\n,b\n")
    with pytest.raises(PapertrainError, match=r"every text is empty \(2 rows\)"):
        profile(file, model=None, cutoff=64)
