"""Stacks of all ranks: what py-spy, faulthandler and torch's flight recorder write, and who is behind."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
from pathlib import Path

import pytest

from papertrain.monitor.plain_pickle import loads
from papertrain.monitor.ranks import behind, in_folder, lines, of_run
from papertrain.monitor.stacks import read
from papertrain.verbs.watch import watch

TRAIN = Path(__file__).resolve().parents[2] / ".envs/train/bin/python"

WAITS = """Process {pid}: /venv/bin/python -u train.py
Python v3.11.7 (/usr/bin/python3.11)

Thread {pid} (idle): "MainThread"
    all_reduce (torch/distributed/distributed_c10d.py:3252)
    wrapper (torch/distributed/c10d_logger.py:83)
    step (train.py:40)
    <module> (train.py:61)
Thread 0x7F2 (idle): "Thread-1"
    wait (threading.py:331)
"""
READS = """Process {pid}: /venv/bin/python -u train.py
Python v3.11.7 (/usr/bin/python3.11)

Thread {pid} (active): "MainThread"
    __getitem__ (data.py:88)
    step (train.py:31)
"""
FAULT = """Timeout (0:05:00)!
Thread 0x00007f7dc5a46b80 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 331 in wait

Current thread 0x00007fd4cbde1b80 (most recent call first):
  File "{file}", line {line} in {name}
  File "/srv/train.py", line 61 in <module>
"""


def folder(tmp_path: Path, files: dict[str, str | bytes]) -> Path:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return tmp_path


def recorded(enqueued: int, completed: int, *, op: str = "nccl:all_reduce", sizes: tuple[int, ...] = (4,)) -> dict:
    """The shape of torch 2.13's dump (version 2.10 of the recorder)."""
    entries = [
        {"frames": [{"name": "all_reduce", "filename": "/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", "line": 3245},
                    {"name": "step", "filename": "/srv/train.py", "line": 40}],
         "record_id": i - 1, "pg_id": 0, "process_group": ("0", "default_pg"), "collective_seq_id": i, "p2p_seq_id": 0, "op_id": i, "profiling_name": op,
         "time_created_ns": 1796070907059386297 + i, "input_sizes": [list(sizes)], "input_dtypes": ["Float"], "output_sizes": [list(sizes)], "output_dtypes": ["Float"],
         "state": "completed" if i <= completed else "started", "time_discovered_started_ns": None, "time_discovered_completed_ns": None,
         "retired": i <= completed, "timeout_ms": 600000, "is_p2p": False}
        for i in range(1, enqueued + 1)
    ]  # fmt: skip
    return {"version": "2.10", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}}, "entries": entries,
            "pg_status": {"0": {"last_enqueued_collective": enqueued, "last_started_collective": enqueued, "last_completed_collective": completed}}}  # fmt: skip


def test_the_rank_that_reads_data_while_the_others_wait_is_named_with_its_host(tmp_path):
    run = folder(
        tmp_path,
        {f"stacks/node-{'ab'[r // 2]}.rank{r}.txt": (READS if r == 3 else WAITS).format(pid=400 + r) for r in range(4)},
    )
    found = behind(in_folder(run))
    assert found is not None and (found.rank, found.host) == (3, "node-b")
    assert (
        found.says
        == "rank 3 on node-b is in __getitem__ (data.py:88) while 3 of 4 ranks wait in all_reduce (distributed/distributed_c10d.py:3252)"
    )
    assert not found.sure and found.cls == "hang-dataloader-worker-deadlock"


def test_two_dumps_that_do_not_differ_make_it_sure(tmp_path):
    files = {
        f"stacks/{look}/rank{r}.txt": (READS if r == 1 else WAITS).format(pid=400 + r)
        for r in range(3)
        for look in ("first", "second")
    }
    run = folder(tmp_path, files)
    held = in_folder(run).stacks
    assert [s.host for s in held if s.rank == 1] != []
    files = {f"rank{r}.txt": ((READS if r == 1 else WAITS).format(pid=400 + r)) * 2 for r in range(3)}
    found = behind(in_folder(folder(tmp_path / "twice", files)))
    assert found is not None and found.sure and found.rank == 1


def test_faulthandlers_text_is_read_with_the_prefixes_of_a_launcher(tmp_path):
    where = {
        0: ("/venv/lib/torch/distributed/distributed_c10d.py", 3252, "barrier"),
        1: ("/srv/model.py", 12, "save_checkpoint"),
        2: ("/venv/lib/torch/distributed/distributed_c10d.py", 3252, "barrier"),
    }
    text = "".join(
        f"[rank{r}]:{line}\n"
        for r, (file, line_no, name) in where.items()
        for line in FAULT.format(file=file, line=line_no, name=name).splitlines()
    )
    stacks = read(text, tmp_path / "train.log", tmp_path)
    assert [(s.rank, s.frames[0].name) for s in stacks] == [(0, "barrier"), (1, "save_checkpoint"), (2, "barrier")]
    found = behind(in_folder(folder(tmp_path, {"train.log": text})))
    assert found is not None and found.rank == 1 and found.cls == "hang-filesystem-freeze"


def test_py_spys_json_is_read(tmp_path):
    document = [{"pid": 7, "thread_id": 1, "thread_name": "MainThread", "os_thread_id": 7, "active": False, "owns_gil": False,
                 "frames": [{"name": "load", "filename": "/srv/data.py", "module": None, "short_filename": "data.py", "line": 3, "locals": None}]}]  # fmt: skip
    held = in_folder(folder(tmp_path, {"rank_5.json": json.dumps(document)})).stacks
    assert [(s.rank, s.pid, str(s.frames[0])) for s in held] == [(5, 7, "load (data.py:3)")]


@pytest.mark.parametrize("how", ["pickle", "json"])
def test_the_flight_recorder_names_the_rank_that_never_arrived(tmp_path, how):
    files: dict[str, str | bytes] = {}
    for r in range(4):
        dump = recorded(30 if r == 2 else 31, 30)
        files[f"nccl_trace_rank_{r}" + (".json" if how == "json" else "")] = (
            pickle.dumps(dump, 2) if how == "pickle" else json.dumps(dump)
        )
    files["stacks/node-b.rank2.txt"] = READS.format(pid=402)
    found = behind(in_folder(folder(tmp_path, files)))
    assert found is not None and (found.rank, found.host, found.sure) == (2, "node-b", True)
    assert "has enqueued 30 collectives of default_pg, the others 31 (nccl:all_reduce)" in found.says
    assert "its stack is in __getitem__ (data.py:88)" in found.says


def test_a_rank_without_a_dump_is_named(tmp_path):
    found = behind(
        in_folder(folder(tmp_path, {f"nccl_trace_rank_{r}": pickle.dumps(recorded(31, 30), 2) for r in (0, 1, 3)}))
    )
    assert found is not None and found.rank == 2 and "left no dump while 3 ranks wait" in found.says


def test_a_rank_in_another_collective_is_named(tmp_path):
    dumps = {r: recorded(31, 30, op="nccl:broadcast" if r == 1 else "nccl:all_reduce") for r in range(4)}
    found = behind(in_folder(folder(tmp_path, {f"nccl_trace_rank_{r}": pickle.dumps(d, 2) for r, d in dumps.items()})))
    assert found is not None and found.rank == 1 and "the ranks run different code" in found.says


def test_ranks_that_all_compute_are_not_out_of_step(tmp_path):
    run = folder(
        tmp_path,
        {
            f"rank{r}.txt": READS.format(pid=r).replace("__getitem__ (data.py:88)", "forward (model.py:12)")
            for r in range(4)
        },
    )
    assert behind(in_folder(run)) is None and len(lines(in_folder(run))) == 4


class Evil:
    def __reduce__(self):
        return (os.system, ("touch /tmp/should-not-exist",))


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps(Evil(), 2),
        pickle.dumps({"pg_status": Evil()}, 4),
        b"\x80\x04.",
        b"\x80\x02}q\x00(X",
        b"\x80\x02]e.",
        pickle.dumps({"a": {1, 2}}, 4),
    ],
)
def test_a_pickle_that_is_more_than_plain_values_is_refused_and_never_run(data):
    with pytest.raises(ValueError):
        loads(data)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_plain_values_are_read_as_pickle_reads_them(protocol):
    value = {
        "a": [1, -5, 2**40, 2.5, None, True, False, "ä"],
        "b": {"c": (1, 2, 3, 4), "d": ((), [], {})},
        "long": "x" * 300,
    }
    assert loads(pickle.dumps(value, protocol)) == value


def test_a_hostile_dump_is_one_line_among_the_problems(tmp_path):
    bad = b"\x80\x02pg_status" + os.urandom(100)
    found = in_folder(
        folder(
            tmp_path,
            {
                "nccl_trace_rank_0": bad,
                "nccl_trace_rank_1": b'{"pg_status": 3, "entries": 7}',
                "deep.json": '{"pg_status":' + "[" * 100_000,
            },
        )
    )
    assert not found and len(found.problems) == 3 and all("\n" not in p for p in found.problems)


def log(path: Path) -> None:
    path.write_text(
        "".join(json.dumps({"current_steps": i, "total_steps": 100, "loss": 2 - i / 100}) + "\n" for i in range(1, 31))
    )


def test_watch_shows_every_rank_and_its_json_has_them(tmp_path):
    run = folder(tmp_path, {f"stacks/rank{r}.txt": (READS if r == 3 else WAITS).format(pid=400 + r) for r in range(4)})
    log(run / "trainer_log.jsonl")
    report = watch([run], stacks=True)
    heartbeat = next(s for s in report.data["signals"] if s["name"] == "heartbeat")
    assert (
        heartbeat["level"] == "warning"
        and "rank 3 is in __getitem__" in heartbeat["says"]
        and heartbeat["rule"] == "TR139"
    )
    assert [r["rank"] for r in report.data["ranks"]] == [0, 1, 2, 3] and "rank 3" in report.body
    assert "ranks" not in watch([run]).data


def test_watch_without_a_stack_says_how_to_save_one(tmp_path):
    log(tmp_path / "trainer_log.jsonl")
    report = watch([tmp_path], stacks=True)
    assert "py-spy dump --pid PID > stacks/rank0.txt" in report.body and report.data["ranks"] == []


def test_a_process_that_is_gone_is_not_looked_for(tmp_path):
    (tmp_path / "record.json").write_text(json.dumps({"pid": 2**30, "exit_code": None}))
    assert not of_run(tmp_path)


HANG = """
import datetime, sys, threading, time, torch, torch.distributed as dist
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
rank, t = dist.get_rank(), torch.ones(4)
for _ in range(5):
    dist.all_reduce(t)
def dump():
    time.sleep(2)
    open(f"{sys.argv[1]}/nccl_trace_rank_{rank}", "wb").write(torch._C._distributed_c10d._dump_fr_trace())
    time.sleep(3)
    import os
    os._exit(0)
threading.Thread(target=dump, daemon=True).start()
if rank == 1:
    time.sleep(60)
dist.all_reduce(t)
"""


@pytest.mark.slow
@pytest.mark.train
@pytest.mark.skipif(not TRAIN.exists(), reason="no .envs/train: `make train` makes it")
def test_a_real_hang_of_three_ranks_is_named_from_torchs_own_dumps(tmp_path):
    (tmp_path / "hang.py").write_text(HANG)
    (tmp_path / "run").mkdir()
    log(tmp_path / "run/trainer_log.jsonl")
    more = {"TORCH_FR_BUFFER_SIZE": "200", "OMP_NUM_THREADS": "1"}
    subprocess.run([TRAIN, "-m", "torch.distributed.run", "--nproc-per-node", "3", "--standalone", "hang.py", "run"], cwd=tmp_path, env={**os.environ, **more}, capture_output=True, timeout=120, check=False)  # fmt: skip
    report = watch([tmp_path / "run"], stacks=True)
    heartbeat = next(s for s in report.data["signals"] if s["name"] == "heartbeat")
    assert heartbeat["level"] == "critical" and heartbeat["says"].startswith(
        "rank 1 has enqueued 5 collectives of default_pg, the others 6"
    )
