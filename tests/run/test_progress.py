"""How far a run is, from the log that is growing."""

from __future__ import annotations

from pathlib import Path

from papertrain.run.progress import Follower


def test_a_growing_log_is_read_line_by_line_and_a_torn_line_waits(tmp_path: Path) -> None:
    log = tmp_path / "train_log.jsonl"
    follower = Follower(tmp_path)
    assert follower.read() == (0, 0)
    log.write_text('{"event": "start", "total_steps": 9}\n{"step": 1, "total_steps": 9, "loss": 2.0}\n{"step": 2, "tot')
    assert follower.read() == (1, 9)
    with log.open("a") as f:
        f.write('al_steps": 9, "loss": 1.5}\nnot json\n')
    assert follower.read() == (2, 9) and follower.last["loss"] == 1.5


def test_the_log_of_an_earlier_attempt_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "train_log.jsonl").write_text('{"step": 7, "total_steps": 9, "loss": 1.0}\n')
    assert Follower(tmp_path).read() == (0, 0)


def test_llamafactory_counts_current_steps(tmp_path: Path) -> None:
    follower = Follower(tmp_path)
    (tmp_path / "trainer_log.jsonl").write_text('{"current_steps": 10, "total_steps": 68, "loss": 1.22, "lr": 5e-4}\n')
    assert follower.read() == (10, 68) and follower.last["step"] == 10
