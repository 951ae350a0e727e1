"""A one-node Slurm cluster and a local Ray cluster for tests: own daemons, own ports, everything in one folder, ended afterwards."""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from patience import LIMIT

SBIN = "/usr/sbin:/sbin:/usr/local/sbin"

CONF = """\
ClusterName=papertrain
SlurmctldHost={host}
SlurmctldPort={ctld}
SlurmdPort={d}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={root}/munge/socket
CryptoType=crypto/munge
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd.pid
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
EnforcePartLimits=ALL
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=2,batch_sched_delay=1
GresTypes=gpu
SuspendProgram=/bin/true
ResumeProgram=/bin/true
SuspendTime=300
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 RealMemory={memory} State=UNKNOWN
NodeName=gpu[1-4] CPUs=96 RealMemory=1000000 Gres=gpu:h100:8 State=CLOUD
PartitionName=main Nodes={host} Default=YES MaxTime=48:00:00 State=UP
PartitionName=cards Nodes=gpu[1-4] MaxTime=48:00:00 State=UP
"""


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    found = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return found


def needs(*programs: str) -> None:
    path = f"{os.environ.get('PATH', '')}:{SBIN}"
    missing = [p for p in programs if shutil.which(p, path=path) is None]
    if missing:
        pytest.skip(f"no {', '.join(missing)} on this machine (Debian packages slurm-wlm and munge)")


@contextmanager
def slurm(root: Path) -> Iterator[dict[str, str]]:
    """The cluster; yields the variables with which sbatch, squeue and the rest find it."""
    needs("munged", "slurmctld", "slurmd", "sbatch")
    for name in ("munge", "state", "spool"):
        (root / name).mkdir(parents=True)
    (root / "munge").chmod(0o700)
    key = root / "munge/key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    ctld, d = free_ports(2)
    conf = root / "slurm.conf"
    host = socket.gethostname().split(".")[0]
    conf.write_text(CONF.format(host=host, ctld=ctld, d=d, user=getpass.getuser(), root=root, memory=4000))
    (root / "gres.conf").write_text("NodeName=gpu[1-4] Name=gpu Type=h100 Count=8\n")
    env = os.environ | {"SLURM_CONF": str(conf), "PATH": f"{os.environ['PATH']}:{SBIN}"}
    env.pop("PYTHONPATH", None)
    daemons: list[subprocess.Popen[bytes]] = []

    def start(*words: str) -> None:
        log = (root / f"{words[0]}.out").open("wb")
        daemons.append(subprocess.Popen(words, env=env, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True))  # fmt: skip

    try:
        start("munged", "--foreground", "--force", f"--socket={root}/munge/socket", f"--key-file={key}", f"--pid-file={root}/munge/pid",
              f"--log-file={root}/munge/log", f"--seed-file={root}/munge/seed", "--num-threads=2")  # fmt: skip
        _until(lambda: (root / "munge/socket").exists(), 60, root)
        start("slurmctld", "-D", "-f", str(conf))
        start("slurmd", "-D", "-f", str(conf), "-N", host)
        _until(lambda: "idle" in _said(env, "sinfo", "-h", "-p", "main", "-o", "%t"), 240, root)
        yield {"SLURM_CONF": str(conf), "PATH": env["PATH"]}
    finally:
        subprocess.run(["scancel", "--quiet", "-u", getpass.getuser()], env=env, capture_output=True, timeout=120, check=False)  # fmt: skip
        for process in reversed(daemons):
            _end(process)


def _said(env: dict[str, str], *words: str) -> str:
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout


def _until(ready: object, seconds: float, root: Path) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if ready():  # type: ignore[operator]
            return
        time.sleep(0.2)
    logs = "\n".join(f"{p.name}: {p.read_text(errors='replace')[-600:]}" for p in root.rglob("*") if p.suffix in (".log", ".out") or p.name == "log")  # fmt: skip
    pytest.skip(f"Slurm does not start on this machine: {logs[-1500:]}")


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=30)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def finished(env: dict[str, str], job: str, seconds: float = LIMIT) -> str:
    """Wait for a job (an array too) and return what the controller says of it last."""
    end, said = time.monotonic() + seconds, ""
    while time.monotonic() < end:
        said = _said(os.environ | env, "scontrol", "--oneliner", "show", "job", job)
        states = [w.removeprefix("JobState=") for w in said.split() if w.startswith("JobState=")]
        if states and all(s not in ("PENDING", "RUNNING", "CONFIGURING", "COMPLETING") for s in states):
            return said
        time.sleep(0.3)
    return said


@contextmanager
def ray(root: Path, programs: Path) -> Iterator[dict[str, str]]:
    """A local Ray cluster with its job server; yields the variables with which `ray job` finds it."""
    port, dashboard, agent = free_ports(3)
    env = os.environ | {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_TMPDIR": str(root),
    }
    env.pop("PYTHONPATH", None)
    words = ["ray", "start", "--head", "--block", f"--port={port}", "--num-cpus=2", "--include-dashboard=true", f"--dashboard-port={dashboard}",
             f"--dashboard-agent-listen-port={agent}", f"--temp-dir={root}", "--object-store-memory=100000000", "--disable-usage-stats"]  # fmt: skip
    with (root / "ray.out").open("wb") as log:
        head = subprocess.Popen(
            words, env=env, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
        )
    try:
        end = time.monotonic() + 300
        while time.monotonic() < end and head.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", dashboard), timeout=1).close()
                break
            except OSError:
                time.sleep(0.5)
        else:
            pytest.skip(f"Ray does not start on this machine: {(root / 'ray.out').read_text(errors='replace')[-800:]}")
        yield {"RAY_ADDRESS": f"http://127.0.0.1:{dashboard}", "PATH": env["PATH"], "RAY_TMPDIR": str(root)}
    finally:
        _end(head)
