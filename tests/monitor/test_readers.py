"""Every reader, on a sample in its program's real format: the tests that a new reader gets unasked."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from papertrain.core.errors import PapertrainError
from papertrain.monitor.find import all_readers, logs_in, one_file, recognise, runs_in
from papertrain.monitor.reader import follow
from papertrain.monitor.readers._text import number
from papertrain.monitor.table import Table

LOGS = Path(__file__).resolve().parents[1] / "logs"
CASES = sorted(p.parent for p in LOGS.glob("*/*/expected.json") if json.loads(p.read_text())["reader"] in all_readers())
LINES = [c for c in CASES if all_readers()[json.loads((c / "expected.json").read_text())["reader"]].kind == "lines"]


def sample(case: Path) -> Path:
    """The file (or MLflow's run folder) of a case."""
    if (case / "0").is_dir():
        return case / "0" / "abc"
    return next(p for p in sorted(case.iterdir()) if p.name != "expected.json")


def expected(case: Path) -> dict:
    return json.loads((case / "expected.json").read_text())


def read(path: Path, reader_id: str) -> Table:
    feed = follow(path, all_readers()[reader_id])
    feed.poll()
    return feed.table


def plain(table: Table) -> dict:
    def show(v: float) -> float | str:
        return "nan" if math.isnan(v) else v

    return {
        k: {
            "n": len(c),
            "first": show(c.values[0]),
            "last": show(c.values[-1]),
            "last_step": c.steps[-1],
            "last_line": c.lines[-1],
        }
        for k, c in sorted(table.columns.items())
    }


def test_every_reader_has_a_sample():
    assert {expected(c)["reader"] for c in CASES} == set(all_readers())


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.parent.name}-{c.name}")
def test_a_reader_claims_its_sample_and_no_other_does(case):
    found = recognise(sample(case))
    assert found is not None and found.id == expected(case)["reader"] == case.parent.name


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.parent.name}-{c.name}")
def test_a_reader_reads_what_is_in_the_sample(case):
    table = read(sample(case), expected(case)["reader"])
    assert plain(table) == expected(case)["columns"]
    assert table.skipped_lines == expected(case)["skipped"]


@pytest.mark.parametrize("case", [c for c in CASES if sample(c).is_file()], ids=lambda c: f"{c.parent.name}-{c.name}")
def test_a_file_cut_at_any_byte_gives_the_rows_before_the_cut(case, tmp_path):
    whole = sample(case).read_bytes()
    full = read(sample(case), expected(case)["reader"])
    step = max(1, len(whole) // 61)
    for cut in [*range(1, len(whole), step), len(whole) - 1]:
        path = tmp_path / sample(case).name
        path.write_bytes(whole[:cut])
        table = read(path, expected(case)["reader"])
        for name, column in table.columns.items():
            if name not in full.columns:
                continue  # a name that was cut itself
            kept = list(full.columns[name].values)
            # the very last value may be a number that was cut: 1.32 → 1.3
            for old, new in zip(kept, list(column.values)[:-1]):
                assert old == new or (math.isnan(old) and math.isnan(new))
            assert len(column) <= len(kept)


@pytest.mark.parametrize("case", LINES, ids=lambda c: f"{c.parent.name}-{c.name}")
def test_a_damaged_line_costs_that_line_only(case, tmp_path):
    lines = sample(case).read_bytes().split(b"\n")
    full = read(sample(case), expected(case)["reader"])
    main = max(full.columns, key=lambda k: len(full.columns[k]))
    for i in range(1, len(lines), max(1, len(lines) // 17)):
        bad = [*lines[:i], lines[i][: len(lines[i]) // 2] + b'\xff\xfe\x00{"torn', *lines[i + 1 :]]
        path = tmp_path / sample(case).name
        path.write_bytes(b"\n".join(bad))
        table = read(path, expected(case)["reader"])
        assert len(table.columns[main]) >= len(full.columns[main]) - 12


@pytest.mark.parametrize("case", [c for c in CASES if sample(c).is_file()], ids=lambda c: f"{c.parent.name}-{c.name}")
def test_a_growing_file_ends_as_the_whole_one(case, tmp_path):
    whole = sample(case).read_bytes()
    if expected(case)["reader"] == "trackio":
        pytest.skip("a database does not grow byte by byte")
    path = tmp_path / sample(case).name
    path.write_bytes(b"")
    feed = follow(path, all_readers()[expected(case)["reader"]])
    step = max(1, len(whole) // 23)
    for at in range(0, len(whole), step):
        with path.open("ab") as f:
            f.write(whole[at : at + step])
        feed.poll(final=False)
    feed.poll()
    assert plain(feed.table) == expected(case)["columns"]


@pytest.mark.parametrize("case", [c for c in CASES if sample(c).is_file()], ids=lambda c: f"{c.parent.name}-{c.name}")
def test_a_rewritten_file_is_read_afresh(case, tmp_path):
    path = tmp_path / sample(case).name
    whole = sample(case).read_bytes()
    path.write_bytes(whole + (whole if case.parent.name not in ("hf_trainer_state", "trackio") else b""))
    feed = follow(path, all_readers()[expected(case)["reader"]])
    feed.poll(final=False)
    path.unlink()
    path.write_bytes(whole)
    feed.poll()
    assert plain(feed.table) == expected(case)["columns"]


@pytest.mark.parametrize("text", ["nan", "NaN", "NAN", "-nan", "-nan(ind)", "1.#QNAN"])
def test_nan_is_read_in_all_its_spellings(text):
    assert math.isnan(number(text))


@pytest.mark.parametrize("text", ["inf", "Infinity", "-inf", "-Infinity", "INF"])
def test_infinity_is_read_in_all_its_spellings(text):
    assert math.isinf(number(text))


def test_thousands_separators_are_no_decimals():
    assert number("7,123") == 7123


def test_a_utf16_log_as_powershell_writes_it_is_read(tmp_path):
    path = tmp_path / "train.log"
    path.write_bytes("".join(f"step={i} loss={2 - i / 100:.2f}\r\n" for i in range(20)).encode("utf-16"))
    table = read(path, one_file(path).id)
    assert list(table.columns["loss"].values)[:2] == [2.0, 1.99]


def test_one_line_of_many_megabytes_is_passed_over(tmp_path):
    path = tmp_path / "train.log"
    path.write_bytes(b"step=1 loss=2.0\n" + b"x" * 5_000_000 + b"\nstep=2 loss=1.9\nstep=3 loss=1.8\n")
    table = read(path, "text")
    assert list(table.columns["loss"].values) == [2.0, 1.9, 1.8]
    assert table.skipped_lines == 1


def test_memory_of_a_column_is_bounded():
    table = Table("x", "text")
    for i in range(600_000):
        table.row([("loss", 1.0)], line=i, step=i)
    table.finish()
    assert len(table.columns["loss"]) <= 1 << 18
    assert table.columns["loss"].steps[-1] == 599_999


def test_bad_inputs_are_named_in_one_line(tmp_path):
    import os

    empty, binary, prose = tmp_path / "empty.log", tmp_path / "b.bin", tmp_path / "prose.txt"
    empty.write_bytes(b"")
    binary.write_bytes(bytes(range(256)) * 40)
    prose.write_text("nothing to see here\n" * 40)
    fifo, loop = tmp_path / "fifo", tmp_path / "loop"
    os.mkfifo(fifo)
    loop.symlink_to(loop)
    for path, word in (
        (empty, "empty"),
        (binary, "binary"),
        (prose, "no row"),
        (fifo, "pipe"),
        (loop, "read"),
        (tmp_path / "none", "no such"),
    ):
        with pytest.raises(PapertrainError) as caught:
            one_file(path)
        assert word in caught.value.one_line()
    with pytest.raises(PapertrainError, match="no training log"):
        (tmp_path / "folder").mkdir()
        runs_in(tmp_path / "folder")


def test_an_events_file_with_a_wrong_checksum_gives_the_rest(tmp_path):
    source = sample(LOGS / "tensorboard" / "simple_value").read_bytes()
    broken = bytearray(source)
    broken[200] ^= 0xFF
    path = tmp_path / "events.out.tfevents.1.x"
    path.write_bytes(bytes(broken))
    table = read(path, "tensorboard")
    assert table.skipped_lines >= 1
    assert len(table.columns["train/loss"]) >= 5 or len(table.columns["train/learning_rate"]) >= 5


def test_a_run_folder_is_read_as_one_run(tmp_path):
    for case, name in (
        ("llamafactory/ordinary/trainer_log.jsonl", "trainer_log.jsonl"),
        ("nvidia_smi/two_cards/gpu.csv", "gpu.csv"),
        ("hf_trainer_state/ordinary/trainer_state.json", "trainer_state.json"),
    ):
        (tmp_path / name).write_bytes((LOGS / case).read_bytes())
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "checkpoint-100").mkdir()
    assert sorted(r.id for _, r in logs_in(tmp_path)) == ["hf_trainer_state", "llamafactory", "nvidia_smi"]
    assert len(runs_in(tmp_path)) == 1


def test_several_runs_below_a_folder_are_told_apart(tmp_path):
    for run in ("a", "b"):
        (tmp_path / run).mkdir()
        (tmp_path / run / "trainer_log.jsonl").write_bytes(
            (LOGS / "llamafactory/ordinary/trainer_log.jsonl").read_bytes()
        )
    assert [name for name, _ in runs_in(tmp_path)] == ["a", "b"]


def test_a_second_training_in_the_same_console_log_is_a_run_of_its_own(tmp_path):
    """`run_clm.py` and then `run_ner.py` into one file: nothing says the step, the closing row and the epoch do."""
    from papertrain.monitor.run import examine

    def training(start: float, n: int) -> list[str]:
        rows = [f"{{'loss': {start / i:.4f}, 'learning_rate': 1e-05, 'epoch': {i / 10:.2f}}}" for i in range(1, n + 1)]
        rows[n // 2 : n // 2] = [f"{{'eval_loss': {start / n:.4f}, 'eval_runtime': 1.0, 'epoch': {n / 20:.2f}}}"]
        closing = f"{{'train_runtime': 9.0, 'train_samples_per_second': 1.0, 'train_loss': 1.0, 'epoch': {n / 10:.1f}}}"
        return [*rows, closing, f"{{'eval_loss': {start / n:.4f}, 'eval_runtime': 1.0, 'epoch': {n / 10:.1f}}}"]

    path = tmp_path / "train.log"
    path.write_text("\n".join(training(0.01, 30) + training(2.0, 40)))
    found = examine([path])[0]
    assert found.level == "normal", [v.says for v in found.verdicts]
    assert found.steps == 40 and any("2 runs follow each other" in n for n in found.notes)


def test_rows_without_a_step_are_counted_as_they_were_before_neighbours_were_merged():
    from papertrain.monitor.curve import curve

    table = Table("x", "hf_stdout", most=1000)
    for i in range(10_000):
        table.row([("loss", 1.0)], line=i)
    table.finish()
    c = curve("train_loss", "loss", "x", table.columns["loss"])
    assert len(c) <= 1000 and abs(c.steps[-1] - 10_000) <= 16


@pytest.mark.parametrize(
    "names", [("loss", "val_loss"), ("train_losses", "val_losses"), ("training_loss", "validation_loss")]
)
def test_a_list_per_name_is_read_as_a_row_an_epoch(tmp_path, names):
    from papertrain.monitor.run import examine

    path = tmp_path / "history.json"
    bad = [2 - i / 20 for i in range(20)] + [math.nan] * 4
    path.write_text(
        json.dumps({names[0]: bad, names[1]: [2.1 - i / 20 for i in range(24)], "best_epoch": 20}, indent=1)
    )
    found = examine([path])[0]
    loss = next(s for s in found.signals if s.name == "train_loss")
    assert (loss.level, loss.since_step, found.steps) == ("critical", 21, 24)
