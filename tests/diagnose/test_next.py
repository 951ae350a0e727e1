"""The one next command works as it is typed: real names, no remarks, nothing left to put in."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from papertrain.diagnose.catalogue import causes
from papertrain.verbs._next import filled, runnable
from papertrain.verbs.diagnose import diagnose
from papertrain.verbs.fix import fix

EVERY = sorted(causes().values(), key=lambda r: r.name)


@pytest.mark.parametrize("rule", EVERY, ids=lambda r: r.name)
def test_a_check_becomes_a_command_or_none(rule):
    command = runnable(filled(rule.next_check, [Path("a log.txt")], [Path("my sft.yaml")]))
    if command is not None:
        assert shlex.split(command)
        assert not re.search(r"\s# |\bLOG\b|\bCONFIG\b|\bDATA\b|<[a-z]|…", command)


@pytest.mark.parametrize("rule", [r for r in EVERY if r.fires], ids=lambda r: r.name)
def test_every_class_has_a_next_command(rule, tmp_path):
    path = tmp_path / "my train.log"
    path.write_text(rule.fires, "utf-8")
    report = diagnose([path])
    if not report.data["diagnoses"] or report.data["diagnoses"][0]["benign"]:
        return
    assert report.action
    assert not re.search(r"\s# |\bLOG\b|\bCONFIG\b|DS\.json|<[a-z]|…", report.action)
    assert report.action != f"papertrain diagnose {shlex.quote(str(path))}"


def test_an_unknown_failure_has_a_next_command(tmp_path):
    path = tmp_path / "train.log"
    path.write_text(
        "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nAttributeError: 'NoneType' object has no attribute 'shape'\n"
    )
    report = diagnose([path])
    assert report.exit_code() == 1 and report.action is not None and str(path) in report.action


def test_after_a_fix_the_files_are_checked(tmp_path):
    log, config = tmp_path / "train.log", tmp_path / "my sft.yaml"
    log.write_text(causes()["oom-activations"].fires)
    config.write_text("per_device_train_batch_size: 8\ngradient_accumulation_steps: 1\nlearning_rate: 1e-5\n")
    proposed = diagnose([log], config=[config])
    assert proposed.action == f"papertrain fix '{config}' D1.F1 --log {log}"
    done = fix(config, "D1.F1", log=[log], yes=True)
    assert done.action == f"papertrain check '{config}'"
    assert "use_liger_kernel: true" in config.read_text()
