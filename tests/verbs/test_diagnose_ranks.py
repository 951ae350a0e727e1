"""Dumps of many ranks: torch's flight recorder and py-spy's stacks, grouped, the one that the others wait for named."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from papertrain.verbs.diagnose import diagnose


def dump(rank: int, last: int, op: str = "nccl:all_reduce", world: int = 4) -> bytes:
    """As torch 2.5 and later writes it: version, pg_config, pg_status, entries."""
    entries = [
        {"frames": [{"name": "backward", "filename": "train.py", "line": 88}], "record_id": k, "pg_id": 0, "process_group": ("0", "default_pg"), "collective_seq_id": k,
         "p2p_seq_id": 0, "op_id": k, "profiling_name": op, "time_created_ns": 1, "input_sizes": [[4096]], "input_dtypes": ["BFloat16"], "output_sizes": [[4096]],
         "state": "completed" if k < last else "scheduled", "timeout_ms": 600000, "is_p2p": False, "retired": k < last}
        for k in range(max(1, last - 3), last + 1)
    ]  # fmt: skip
    status = {
        "0": {"last_enqueued_collective": last, "last_started_collective": last, "last_completed_collective": last - 1}
    }
    config = {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(world)))}}
    return pickle.dumps(
        {
            "version": "2.10",
            "pg_config": config,
            "pg_status": status,
            "entries": entries,
            "host_name": f"gpu0{rank // 2}",
        }
    )


@pytest.mark.parametrize("named", ["folder", "files"])
def test_the_rank_that_enqueued_fewer_collectives_is_named_with_its_host(tmp_path: Path, named: str) -> None:
    for rank in range(4):
        (tmp_path / f"nccl_trace_rank_{rank}").write_bytes(dump(rank, 118 if rank == 2 else 120))
    paths = [tmp_path] if named == "folder" else sorted(tmp_path.glob("nccl_trace_rank_*"))
    report = diagnose(paths)
    best = report.data["diagnoses"][0]
    assert best["class"] == "nccl-timeout-uneven-data" and best["confidence"] >= 0.9
    assert "rank 2" in best["title"] and "gpu01" in best["title"] and "118" in best["cause"]


def test_a_rank_without_a_dump_is_named(tmp_path: Path) -> None:
    for rank in (0, 1, 3):
        (tmp_path / f"nccl_trace_rank_{rank}").write_bytes(dump(rank, 120))
    best = diagnose([tmp_path]).data["diagnoses"][0]
    assert best["class"] == "hang-out-of-sync-large-scale" and "rank 2" in best["title"]


def test_the_recorder_decides_what_the_watchdogs_log_leaves_open(tmp_path: Path) -> None:
    lines = [f"[rank{r}]:[E ProcessGroupNCCL.cpp:607] [Rank {r}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=120, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600060 milliseconds before timing out." for r in (0, 1, 3)]  # fmt: skip
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
    before = diagnose([tmp_path]).data["diagnoses"][0]
    for rank in range(4):
        (tmp_path / f"nccl_trace_rank_{rank}").write_bytes(dump(rank, 119 if rank == 2 else 120))
    after = diagnose([tmp_path]).data["diagnoses"][0]
    assert before["confidence"] < 0.6 <= after["confidence"] and "rank 2" in after["title"]


def test_stacks_of_py_spy_are_grouped_and_the_minority_is_named(tmp_path: Path) -> None:
    waiting = 'Process 4711: python train.py\nPython v3.11.7\n\nThread 4711 (idle): "MainThread"\n    wait (torch/distributed/distributed_c10d.py:501)\n    all_reduce (torch/distributed/distributed_c10d.py:2501)\n    train (train.py:88)\n'
    loading = 'Process 4712: python train.py\nPython v3.11.7\n\nThread 4712 (idle): "MainThread"\n    wait (threading.py:331)\n    get (multiprocessing/queues.py:113)\n    _next_data (torch/utils/data/dataloader.py:1328)\n    train (train.py:80)\n'
    for rank in range(4):
        (tmp_path / f"stack_rank{rank}.txt").write_text(loading if rank == 3 else waiting)
    best = diagnose([tmp_path]).data["diagnoses"][0]
    assert best["class"] == "hang-dataloader-worker-deadlock" and "rank 3" in best["title"] + best["cause"]


def test_ranks_that_agree_are_no_finding_and_a_hostile_pickle_runs_nothing(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (print, ("pg_status",))

    (tmp_path / "train.log").write_text("step 1 loss 2.0\nstep 2 loss 1.9\n")
    (tmp_path / "nccl_trace_rank_0").write_bytes(pickle.dumps({"pg_status": Evil()}))
    assert diagnose([tmp_path]).data["diagnoses"] == []
