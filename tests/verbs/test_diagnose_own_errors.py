"""A plain Python error of a user's own script: the place in their file, what it says, and no class forced on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from papertrain.verbs.diagnose import diagnose

DEEP = '  File "/usr/local/lib/python3.11/site-packages/transformers/modeling_utils.py", line 4000, in from_pretrained\n    config = cls.config_class(path)\n'  # fmt: skip


def trace(last: str, code: str = "x = go(cfg)", below: str = "") -> str:
    return (
        'Traceback (most recent call last):\n  File "/usr/local/lib/python3.11/runpy.py", line 196, in _run_module_as_main\n    return _run_code(code)\n'
        f'  File "jobs/train.py", line 61, in main\n    {code}\n{below}{last}\n'
    )


@pytest.mark.parametrize(
    ("last", "code", "says"),
    [
        ("NameError: name 'cfgg' is not defined", "ds = build(cfgg)", "cfgg is used"),
        ("UnboundLocalError: cannot access local variable 'best' where it is not associated with a value", "print(best)", "best is used"),
        ("KeyError: 'lr'", 'rate = config["lr"]', "no entry lr"),
        ("AssertionError: steps must be positive", 'assert args.steps > 0, "steps must be positive"', "args.steps > 0"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'data/trian.jsonl'", 'open("data/trian.jsonl")', "data/trian.jsonl"),
        ("ZeroDivisionError: division by zero", "mean = total / n", "division by zero"),
        ("IndexError: list index out of range", "last = rows[9]", "list index out of range"),
    ],
)  # fmt: skip
def test_the_line_of_the_users_own_file_is_named_with_what_it_means(tmp_path: Path, last: str, code: str, says: str) -> None:  # fmt: skip
    log = tmp_path / "train.log"
    log.write_text(trace(last, code))
    report = diagnose([log])
    assert report.data["diagnoses"] == [] and report.exit_code() == 1
    assert "train.py:61" in report.result
    assert code in report.explanation and says in report.explanation
    assert any(code in s["text"] and s["line"] == 4 for s in report.data["suspicious"])


def test_json_that_the_script_reads_itself_is_no_broken_data_and_rows_are(tmp_path: Path) -> None:
    below = '  File "/usr/lib/python3.11/json/decoder.py", line 355, in raw_decode\n    raise JSONDecodeError("Expecting value", s, err.value) from None\n'
    last = "json.decoder.JSONDecodeError: Expecting value: line 3 column 9 (char 31)"
    log = tmp_path / "train.log"
    log.write_text(trace(last, 'cfg = json.load(open("config.json"))', below))
    report = diagnose([log])
    assert report.data["diagnoses"] == [] and "no JSON" in report.explanation
    log.write_text(trace(last, "rows = [json.loads(line) for line in f]", below))
    assert diagnose([log]).data["diagnoses"][0]["class"] == "dataset-file-broken"


def test_an_error_inside_of_a_library_points_at_the_line_that_called_it(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(trace("TypeError: 'int' object is not iterable", "model = Model.from_pretrained(7)", DEEP))
    report = diagnose([log])
    assert "train.py:61" in report.result and "inside of a library" in report.explanation


def test_the_lines_around_are_shown_where_the_file_lies_here(tmp_path: Path) -> None:
    script = tmp_path / "go.py"
    script.write_text("\n" * 70)
    log = tmp_path / "train.log"
    log.write_text(trace("NameError: name 'a' is not defined", "print(a)").replace("jobs/train.py", str(script)))
    assert diagnose([log]).action == f"sed -n '56,66p' {script}"


def test_a_module_of_ones_own_is_looked_for_on_the_path_before_anything_is_installed(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(trace("ModuleNotFoundError: No module named 'helpers'", "from helpers.data import load"))
    found = diagnose([log]).data["diagnoses"][0]
    assert found["class"] == "package-missing" and "PYTHONPATH" in found["fixes"][0]["commands"][0]
    log.write_text(trace("ModuleNotFoundError: No module named 'deepspeed'", "import deepspeed"))
    assert "PYTHONPATH" not in str(diagnose([log]).data["diagnoses"][0]["fixes"])


def test_a_healthy_run_on_a_processor_says_nothing_of_half_precision(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    rows = [f"{{'loss': {2.0 - i / 20:.3f}, 'grad_norm': 1.1, 'learning_rate': {min(i, 5) * 1e-5}, 'epoch': {i / 20}}}" for i in range(20)]  # fmt: skip
    log.write_text("\n".join([*rows, "{'train_runtime': 9.0, 'train_loss': 1.5, 'epoch': 1.0}"]))
    report = diagnose([log])
    assert report.exit_code() == 0 and "fp16" not in f"{report.result}{report.explanation}{report.body}{report.data}"
