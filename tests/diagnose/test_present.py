"""A change starts from what the run was, and a config of another run is called that."""

from __future__ import annotations

from pathlib import Path

import pytest

from papertrain.diagnose.catalogue import causes
from papertrain.verbs.diagnose import diagnose

NAN = causes()["nan-lr-too-high"].fires
"""Its learning rate is 0.003."""
BANNER = """***** Running training *****
  Num examples = 1,200
  Num Epochs = 3
  Instantaneous batch size per device = 8
  Gradient Accumulation steps = 1
  Total optimization steps = 450
Traceback (most recent call last):
  File "train.py", line 40, in <module>
    hidden = self.mlp(hidden)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.27 GiB. GPU 0 has a total capacity of 23.69 GiB of which 1.45 GiB is free.
"""


def seen(folder: Path, text: str, config: str = ""):
    log = folder / "train.log"
    log.write_text(text)
    files = []
    if config:
        files = [folder / "sft.yaml"]
        files[0].write_text(config)
    return diagnose([log], config=files)


@pytest.mark.parametrize("written", ["1.0e-2", "1e-2", "3.0e-3", "0.03", "1e-4"])
def test_the_rate_that_diverged_is_never_proposed(tmp_path, written):
    report = seen(tmp_path, NAN, f"learning_rate: {written}\nnum_train_epochs: 3\noutput_dir: out\n")
    best = report.data["diagnoses"][0]
    rates = [e["new"] for f in best["fixes"] for e in f["edits"] if e["key"] == "learning_rate"]
    assert rates and max(rates) <= 0.0003001


def test_a_config_of_another_run_is_called_that(tmp_path):
    report = seen(tmp_path, NAN, "learning_rate: 1.0e-2\noutput_dir: out\n")
    assert any("not of the same run" in w and "0.003" in w and "0.01" in w for w in report.warnings)


def test_a_config_of_this_run_is_not(tmp_path):
    assert not seen(tmp_path, NAN, "learning_rate: 3.0e-3\noutput_dir: out\n").warnings


def test_a_config_with_another_batch_is_called_that(tmp_path):
    report = seen(tmp_path, BANNER, "per_device_train_batch_size: 2\ngradient_accumulation_steps: 8\noutput_dir: out\n")
    assert any("batch per device 8 in the log, 2 in the config" in w for w in report.warnings)


def test_without_a_config_the_values_of_the_log_are_changed(tmp_path):
    fixes = seen(tmp_path, BANNER).data["diagnoses"][0]["fixes"]
    told = " ".join(fixes[0]["commands"])
    assert "per_device_train_batch_size: 4" in told and "gradient_accumulation_steps: 2" in told


def test_without_a_config_the_rate_of_the_log_is_changed(tmp_path):
    told = " ".join(c for f in seen(tmp_path, NAN).data["diagnoses"][0]["fixes"] for c in f["commands"])
    assert "learning_rate: 0.0003" in told or "learning_rate: 3e-4" in told or "learning_rate: 3.0e-4" in told


def started_from(folder: Path, text: str, config: str) -> dict[str, float]:
    """The new value of each key that the fixes change, under the warning that says what they start from."""
    report = seen(folder, text, config)
    assert "learning rate starts from the log's, any other from the config's" in report.warnings[0]
    return {e["key"]: e["new"] for d in report.data["diagnoses"] for f in d["fixes"] for e in f["edits"]}


@pytest.mark.parametrize("written", ["1.0e-2", "1.0e-4"])
def test_a_tenth_is_one_of_the_rate_that_the_run_had_whichever_is_larger(tmp_path, written):
    assert started_from(tmp_path, NAN, f"learning_rate: {written}\noutput_dir: out\n")["learning_rate"] == 3e-4


def test_a_rate_that_the_config_leaves_to_the_default_starts_from_the_log(tmp_path):
    report = seen(tmp_path, NAN, "num_train_epochs: 3\noutput_dir: out\n")
    rates = [e["new"] for f in report.data["diagnoses"][0]["fixes"] for e in f["edits"] if e["key"] == "learning_rate"]
    assert rates == [3e-4]


def test_any_other_change_starts_from_the_config_as_the_warning_says(tmp_path):
    changed = started_from(tmp_path, BANNER, "per_device_train_batch_size: 2\ngradient_accumulation_steps: 8\noutput_dir: out\n")  # fmt: skip
    assert (changed["per_device_train_batch_size"], changed["gradient_accumulation_steps"]) == (1, 16)
