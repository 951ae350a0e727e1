"""Logs are other people's data: whatever is in them, watch answers."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest
from patience import quick

from papertrain.monitor.find import all_readers, recognise
from papertrain.monitor.history import History
from papertrain.monitor.names import direction, signal_of
from papertrain.monitor.reader import follow
from papertrain.monitor.run import examine_text, judge

LOGS = Path(__file__).resolve().parents[1] / "logs"
CASES = [c for c in sorted(LOGS.glob("*/*")) if (c / "expected.json").exists() and c.parent.name != "mlflow"]
WORDS = [
    b"nan",
    b"inf",
    b"-inf",
    b"1e400",
    b"-1",
    b"9" * 23,
    b"9" * 5000,
    b"0",
    b'""',
    b"{",
    b"[",
    b"\xff\xfe",
    b"\x00",
    b"\r",
    b"\n",
    b'"NaN"',
    b"1e-320",
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.parent.name}-{c.name}")
def test_a_mangled_log_never_breaks_a_reader_or_a_rule(case, tmp_path):
    r = random.Random(f"{case.parent.name}/{case.name}")
    source = next(p for p in sorted(case.iterdir()) if p.name != "expected.json")
    reader = all_readers()[json.loads((case / "expected.json").read_text())["reader"]]
    for _ in range(12):
        data = bytearray(source.read_bytes())
        for _ in range(r.choice([1, 5, 30])):
            i = r.randrange(len(data))
            data[i : i + r.randrange(8)] = r.choice(WORDS) if r.random() < 0.7 else bytes([r.randrange(256)])
        path = tmp_path / source.name
        path.write_bytes(bytes(data))
        feed = follow(path, reader)
        feed.poll()
        found = judge(History("x", [feed.table]))
        assert not [note for note in found.notes if "fault" in note]


def test_a_log_of_extreme_numbers_is_judged():
    text = "\n".join(f"step={i} loss={'1e308' if i % 2 else '-1e308'} grad_norm=1e-308 lr=1e-300" for i in range(60))
    assert examine_text(text).notes == ()


@pytest.mark.parametrize(
    ("name", "signal"),
    [
        ("loss", "train_loss"), ("train/loss", "train_loss"), ("Train Loss", "train_loss"), ("lm loss", "train_loss"), ("trl", "train_loss"), ("train/CE loss", "train_loss"),
        ("eval_loss", "eval_loss"), ("valLoss", "eval_loss"), ("eval_g0_loss", "eval_loss"), ("val_loss_epoch", "eval_loss"), ("Validation bpb", "eval_loss"),
        ("validation lm loss value", "eval_loss"), ("train/box_loss", "loss_part"), ("kl_loss", "loss_part"), ("val/cls_loss", "eval_loss_part"),
        ("lr-AdamW/pg1", "learning_rate"), ("lr/pg0", "learning_rate"), ("learning rate", "learning_rate"), ("grad norm", "grad_norm"),
        ("optim/total grad norm", "grad_norm"), ("loss scale", "loss_scale"), ("mean_token_accuracy", "token_accuracy"), ("rewards/margins", "reward_margin"),
        ("tokens_per_second", "throughput"), ("system/gpu.0.gpu", "gpu_utilization"), ("utilization.gpu/0", "gpu_utilization"), ("eval_runtime", "other"),
    ],
)  # fmt: skip
def test_names_of_all_programs_lead_to_the_signal(name, signal):
    assert signal_of(name) == signal


def test_the_direction_of_a_metric_is_known_or_not_claimed():
    assert [direction(x) for x in ("eval_accuracy", "metrics/mAP50(B)", "eval_wer", "eval_ppl", "eval_runtime")] == [
        1,
        1,
        -1,
        -1,
        0,
    ]


@pytest.mark.slow
@pytest.mark.parametrize("filler", [b"a", b"9", b" ", b"a:", b"1,", b"{'", b"| a", b"'a': ", b"loss=", b"step "])
def test_no_line_takes_long_however_it_is_made(filler, tmp_path):
    """One line of a megabyte after a sample's own lines: seconds would be a pattern that backtracks."""
    for case in CASES:
        if all_readers()[case.parent.name].kind != "lines":
            continue
        source = next(p for p in sorted(case.iterdir()) if p.name != "expected.json")
        lines = source.read_bytes().split(b"\n")
        path = tmp_path / source.name
        path.write_bytes(
            b"\n".join(
                [
                    *lines[:3],
                    lines[1][:12] + filler * (8_000 // len(filler)),
                    filler * (1_000_000 // len(filler)),
                    *lines[3:],
                ]
            )
        )
        begin = time.process_time()
        recognise(path)
        follow(path, all_readers()[case.parent.name]).poll()
        assert quick(time.process_time() - begin, 2)
