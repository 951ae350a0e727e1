"""`watch` as a user meets it."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from workspaces import make_workspace

from papertrain.core.errors import PapertrainError
from papertrain.verbs.watch import watch

LOGS = Path(__file__).resolve().parents[1] / "logs"


def rows(n: int = 120, bad: int | None = None, total: int | None = None) -> list[dict]:
    out = []
    for i in range(1, n + 1):
        nan = bad is not None and i >= bad
        out.append({"current_steps": i * 10, "total_steps": (total or n) * 10, "loss": 0.0 if nan else 0.8 + 1.5 * math.exp(-i / 30), "lr": 2e-5 * (1 - i / (n + 1)),
                    "grad_norm": math.nan if nan else 1.0, "epoch": 3 * i / n})  # fmt: skip
    return out


def write(path: Path, log: list[dict]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(r) + "\n" for r in log))
    return path


def test_a_hidden_nan_is_critical_with_its_step_its_line_and_the_next_command(tmp_path):
    log = write(tmp_path / "run" / "trainer_log.jsonl", rows(bad=80))
    for step in (500, 1000):
        (tmp_path / "run" / f"checkpoint-{step}").mkdir()
    report = watch([tmp_path / "run"])
    assert report.exit_code() == 1
    assert "0.0 printed since step 800 while grad_norm is nan" in report.result
    assert "trainer_log.jsonl:80" in report.body
    assert "checkpoint-500 is from before it" in report.explanation
    assert report.action == f"papertrain diagnose {log.parent}"
    loss = next(s for s in report.data["signals"] if s["name"] == "train_loss")
    assert (loss["level"], loss["since_step"], loss["evidence"][0]["line"]) == ("critical", 800, 80)


def test_the_json_has_no_nan_in_it(tmp_path):
    data = watch([write(tmp_path / "t.jsonl", [dict(r, loss=math.nan) for r in rows(30)])]).data
    text = json.dumps(data, allow_nan=False)
    assert '"printed": "nan"' in text


def test_a_healthy_run_exits_with_0_and_keys_of_the_contract(tmp_path):
    report = watch([write(tmp_path / "t.jsonl", rows())])
    assert report.exit_code() == 0 and report.data["level"] == "normal"
    assert {"level", "signals", "steps", "last_step", "format", "skipped_lines"} <= set(report.data)
    assert [s["name"] for s in report.data["signals"]] == [
        "train_loss", "eval_loss", "learning_rate", "gpu_utilization", "grad_norm", "loss_scale", "throughput", "gpu_memory",
        "token_accuracy", "reward_margin", "kl", "entropy", "checkpoint", "heartbeat",
    ]  # fmt: skip


def test_every_line_of_the_text_fits_into_a_hundred_columns(tmp_path):
    report = watch([write(tmp_path / "t.jsonl", rows(bad=80))])
    # A command to copy stays in one piece, however wide it is.
    assert max(len(line) for line in report.body.splitlines() if "nvidia-smi" not in line) <= 100


def test_of_several_runs_the_worst_comes_first(tmp_path):
    write(tmp_path / "fine" / "trainer_log.jsonl", rows())
    write(tmp_path / "broken" / "trainer_log.jsonl", rows(bad=60))
    report = watch([tmp_path])
    assert [r["run"] for r in report.data["runs"]] == ["broken", "fine"]
    assert report.data["level"] == "critical" and "broken" in report.result


def test_damaged_lines_are_counted_and_said(tmp_path):
    path = write(tmp_path / "t.jsonl", rows())
    path.write_text(path.read_text().replace('"total_steps": 1200, "loss"', '"total_st', 2))
    report = watch([path])
    assert report.data["skipped_lines"] == 2 and report.data["level"] == "normal"
    assert any("2 damaged lines" in w for w in report.warnings)


@pytest.mark.parametrize("name", ["nowhere", "empty.log", "binary", "fifo", "loop"])
def test_what_is_no_log_is_one_line_and_never_a_hang(tmp_path, name):
    path = tmp_path / name
    if name == "empty.log":
        path.write_bytes(b"")
    elif name == "binary":
        path.write_bytes(bytes(range(256)) * 40)
    elif name == "fifo":
        os.mkfifo(path)
    elif name == "loop":
        path.symlink_to(path)
    with pytest.raises(PapertrainError) as caught:
        watch([path])
    assert caught.value.exit == 2 and "\n" not in caught.value.one_line()


def test_a_crash_log_without_numbers_points_to_diagnose(tmp_path):
    path = tmp_path / "leak.log"
    path.write_text(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\nnum_tokens=4096 pad_token=<pad>\n" * 3
    )
    with pytest.raises(PapertrainError) as caught:
        watch([path])
    assert caught.value.command == f"papertrain diagnose {path}"


def test_standard_input_is_read(tmp_path):
    text = "".join(json.dumps(r) + "\n" for r in rows(bad=60))
    p = subprocess.run(
        [sys.executable, "-m", "papertrain", "watch", "-", "--json"], input=text, capture_output=True, text=True
    )
    assert p.returncode == 1 and json.loads(p.stdout)["data"]["level"] == "critical"


def test_the_live_view_follows_until_critical_and_tells_once(tmp_path):
    path = write(tmp_path / "run" / "trainer_log.jsonl", rows(40, total=200))
    told = tmp_path / "told.txt"
    teller = tmp_path / "teller.py"
    teller.write_text(f"import sys; open({str(told)!r}, 'a').write(sys.stdin.read() + '\\n')")

    def grow() -> None:
        for r in rows(120, bad=60, total=200)[40:]:
            with path.open("a") as f:
                f.write(json.dumps(r) + "\n")
            time.sleep(0.002)

    writer = threading.Thread(target=grow)
    writer.start()
    report = watch([tmp_path / "run"], until="critical", notify=f"{sys.executable} {teller}", interval=0.05)
    writer.join()
    assert report.data["level"] == "critical"
    lines = told.read_text().splitlines()
    assert sum("train_loss critical" in line for line in lines) == 1


def test_live_in_a_pipe_prints_lines_without_control_codes(tmp_path):
    path = write(tmp_path / "trainer_log.jsonl", rows(bad=60))
    p = subprocess.run(
        [sys.executable, "-m", "papertrain", "watch", str(path), "--live", "--interval", "0.1"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert p.returncode == 1 and "\x1b" not in p.stdout
    assert p.stdout.startswith("critical: trainer_log.jsonl")


def test_an_interval_of_zero_is_refused(tmp_path):
    with pytest.raises(PapertrainError, match="interval"):
        watch([write(tmp_path / "t.jsonl", rows())], interval=0)


def test_a_run_in_a_workspace_is_compared_with_its_plan(tmp_path):
    work = make_workspace(tmp_path, learning_rate=2e-4, total_steps=1200, warmup_steps=100)
    run = work / "runs" / "ours.toy.1"
    write(run / "trainer_log.jsonl", [dict(r, lr=4e-4 * (1 - i / 121)) for i, r in enumerate(rows())])
    report = watch([work])
    rate = next(s for s in report.data["signals"] if s["name"] == "learning_rate")
    assert (rate["level"], rate["rule"]) == ("warning", "TR129") and "plan says 2.00e-04" in rate["says"]
    write(run / "trainer_log.jsonl", [dict(r, lr=2e-4 * (1 - i / 121)) for i, r in enumerate(rows())])
    assert watch([work]).data["level"] == "normal"


def test_a_workspace_without_a_run_names_the_command_that_makes_one(tmp_path):
    work = make_workspace(tmp_path)
    with pytest.raises(PapertrainError) as caught:
        watch([work])
    assert caught.value.command == f"papertrain launch {work}"


def test_a_launched_run_that_crashed_is_critical_however_well_its_curve_looks(tmp_path):
    work = make_workspace(tmp_path)
    run = work / "runs" / "ours.toy.1"
    write(run / "trainer_log.jsonl", rows(60, total=120))
    (run / "record.json").write_text(json.dumps({"exit_code": 1, "pid": 7}))
    report = watch([run / "trainer_log.jsonl"])
    heartbeat = next(s for s in report.data["signals"] if s["name"] == "heartbeat")
    assert heartbeat["level"] == "critical" and "exit code 1" in heartbeat["says"] and report.exit_code() == 1


def test_a_launched_run_whose_process_is_gone_is_a_warning(tmp_path):
    write(tmp_path / "trainer_log.jsonl", rows(60, total=120))
    (tmp_path / "record.json").write_text(json.dumps({"exit_code": None, "pid": 2**30}))
    assert watch([tmp_path]).data["level"] == "warning"


def follower_of(folder):
    from papertrain.monitor.live import Follower

    return Follower([folder], lambda p: None)


def log_rows(values, total=400):
    return "".join(
        json.dumps({"current_steps": i, "total_steps": total, "loss": v, "lr": 1e-4, "epoch": i / 100}) + "\n"
        for i, v in enumerate(values, 1)
    )


@pytest.mark.parametrize("how", ["written anew", "moved away"])
def test_a_log_that_begins_anew_is_judged_at_once_not_by_what_stood_there_before(tmp_path, how):
    """Fewer rows than before were taken for no growth: for half a minute the view said that the old run is well."""
    log = tmp_path / "trainer_log.jsonl"
    log.write_text(log_rows([2 - i / 100 for i in range(120)]))
    follower = follower_of(tmp_path)
    assert follower.look()[0].level == "normal"
    if how == "moved away":
        log.rename(tmp_path / "trainer_log.jsonl.1")
    log.write_text(log_rows([2.0, 1.9, 1.8, *[float("nan")] * 6]).replace("NaN", "nan"))
    found = follower.look()[0]
    assert found.level == "critical" and found.last_step == 9


def test_a_jump_is_dated_where_it_is_also_in_a_run_that_has_just_begun():
    from papertrain.monitor.rules import _onset

    y = [2.97 - i * 0.025 for i in range(29)] + [39.0 + i for i in range(30)]
    assert abs(_onset.rise(y, 0, 2.32) - 29) <= 3  # medians of five see it a little before


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("false", "ended with 1"),
        ("no-such-command-here", "FileNotFoundError"),
        ('say "', "ValueError"),
        (" ", "IndexError"),
    ],
)
def test_a_command_that_fails_is_told(command, words):
    from papertrain.monitor.live import tell

    assert words in tell(command, ["critical: x"])


def test_the_address_of_a_hook_is_never_told():
    from papertrain.monitor.live import tell

    for address in ("http://127.0.0.1:9/T0KEN/SECRETKEY", "HTTPS://127.0.0.1:9/T0KEN/SECRETKEY", "http://[SECRETKEY"):
        said = tell(address, ["critical: x"])
        assert said and "SECRETKEY" not in said


def test_a_command_that_hangs_does_not_hold_the_watch(tmp_path):
    """The alarm is handed over beside the looks; one that does not come back is told at the end."""
    from papertrain.monitor import live

    gate = tmp_path / "gate"
    messenger = live.Messenger(f"sh -c 'while [ ! -e {gate} ]; do sleep 0.05; done; exit 3'")
    messenger.send(["critical: x"])
    assert messenger.said() == [] and messenger.waiting.unfinished_tasks == 1
    gate.touch()
    assert any("ended with 3" in x for x in messenger.close())


def test_the_pace_begins_anew_with_the_run():
    from types import SimpleNamespace

    from papertrain.verbs.watching.live import Pace

    pace = Pace()
    assert pace.of([SimpleNamespace(last_step=149)]) is None
    assert pace.of([SimpleNamespace(last_step=29)]) is None
    assert pace.of([SimpleNamespace(last_step=31)]) is not None
    assert pace.of([SimpleNamespace(last_step=31)] * 2) is None


def test_a_finished_baseline_without_a_curve_stands_below_the_runs_that_have_one(tmp_path):
    """`unknown: tfidf.reviews.1` stood above three normal runs, with `watch … --live` as the next thing to do."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    (tmp_path / "b" / "trainer_log.jsonl").write_text(log_rows([2 - i / 100 for i in range(120)]))
    (tmp_path / "a" / "stdout.log").write_text("step=1 accuracy=0.5\nstep=2 accuracy=0.6\n")
    (tmp_path / "a" / "record.json").write_text('{"exit_code": 0}')
    report = watch([tmp_path / "a", tmp_path / "b"])
    assert report.result.startswith("normal: b") and "finished; it writes no curve" in report.body
    alone = watch([tmp_path / "a"])
    assert "has finished" in alone.result and not (alone.action or "").endswith("--live")
    (tmp_path / "a" / "record.json").write_text('{"exit_code": null}')
    assert watch([tmp_path / "a", tmp_path / "b"]).result.startswith("unknown: a")


def test_standard_input_is_watched_alone(tmp_path):
    (tmp_path / "train.log").write_text("step=1 loss=2.0\nstep=2 loss=1.9\n")
    with pytest.raises(PapertrainError, match="alone"):
        watch([tmp_path / "train.log", Path("-")])


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (50, 12), (24, 6)])
def test_no_line_of_the_view_is_wider_or_lower_than_the_terminal(
    tmp_path, monkeypatch, capsys, language, columns, rows
):
    """Chinese letters take two columns: a line that is cut by its letters runs over and spoils the redrawing."""
    import re
    import shutil

    from papertrain.core.texts import language as speak
    from papertrain.core.wide import width
    from papertrain.verbs.watching.live import Screen

    (tmp_path / "trainer_log.jsonl").write_text(log_rows([2 - i / 100 for i in range(120)] + [9.0] * 40))
    follower = follower_of(tmp_path)
    screen = Screen(live=False)
    screen.terminal = True
    monkeypatch.setattr(shutil, "get_terminal_size", lambda fallback: os.terminal_size((columns, rows)))
    problem = "the alarm could not be delivered: " + "x" * 90
    token = speak.set(language)
    try:
        screen.draw(follower.look(), list(follower.histories()), [], 0.5, [problem])
    finally:
        speak.reset(token)
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().out).split("\r\n")
    assert len(lines) <= rows and max(map(width, lines)) <= columns
    assert any(line.startswith("the alarm could not") for line in lines)
