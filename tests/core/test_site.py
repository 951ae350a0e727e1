"""site.toml: the user's and the project's, what stands in scripts afterwards, and what is refused."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import pytest
from plans import make_job

from papertrain.configs.generating import generate as make
from papertrain.core.errors import PapertrainError
from papertrain.core.program import Program
from papertrain.core.site import read_site, seconds
from papertrain.core.slurm import Task, sbatch

FULL = """
[slurm]
account = "proj42"
partition = "gpu"
qos = "long"
walltime = "1-00:00:00"
gpus = "gres"
gpu_type = "h100"
cpus_per_gpu = 12
memory = "0"
options = ["--exclusive", "--constraint=nvlink"]
signal_seconds = 300
array_limit = 4
[environment]
modules = ["cuda/12.4", "gcc/12"]
setup = ["ulimit -l unlimited"]
[folders]
scratch = "/scratch/$USER"
caches = "/scratch/$USER/cache"
[network]
interface = "ib0"
"""


@pytest.fixture(autouse=True)
def no_file_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAPERTRAIN_SITE", "")


def test_the_projects_values_win_over_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = tmp_path / "home.toml"
    user.write_text('[slurm]\naccount = "mine"\npartition = "debug"\n')
    (tmp_path / "site.toml").write_text('[slurm]\npartition = "gpu"\n')
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("PAPERTRAIN_SITE", str(user))
    site = read_site(tmp_path / "work")
    assert (site.slurm.account, site.slurm.partition) == ("mine", "gpu") and len(site.files) == 2
    assert read_site(Path("/")).slurm.account == "mine"


def test_every_word_of_the_site_stands_in_the_script(tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text(FULL)
    site = read_site(tmp_path)
    from msgspec import structs

    job = structs.replace(make_job(cards=8, nodes=2), site=site)
    script = make([job]).files["configs/ours/slurm/script.sbatch"]
    for word in ("--account=proj42", "--partition=gpu", "--qos=long", "--gres=gpu:h100:8", "--cpus-per-task=96", "--mem=0", "--exclusive", "--constraint=nvlink",
                 "--signal=B:TERM@300"):  # fmt: skip
        assert f"#SBATCH {word}\n" in script, word
    for line in ("module load cuda/12.4", "ulimit -l unlimited", 'export HF_HOME="/scratch/$USER/cache/huggingface"', "export NCCL_SOCKET_IFNAME=ib0"):  # fmt: skip
        assert f"{line}\n" in script, line
    assert "configs/ours/slurm/preflight.py ../train.jsonl" in script
    assert script.index("preflight.py") < script.index("train.py")
    one = make([structs.replace(make_job(cards=1, nodes=1), site=site)]).files
    assert "NCCL_SOCKET_IFNAME" not in one["configs/ours/slurm/script.sbatch"] and "preflight" not in "".join(one)


@pytest.mark.parametrize("container, front", [
    ('pyxis = "img.sqsh"\nmounts = ["/data:/data"]', 'srun --container-image=img.sqsh "--container-workdir=$SLURM_SUBMIT_DIR" "--container-mounts=$SLURM_SUBMIT_DIR,/data:/data" torchrun'),
    ('apptainer = "img.sif"\nmounts = ["/data"]', "srun apptainer exec --nv --bind /data img.sif torchrun"),
])  # fmt: skip
def test_the_training_runs_inside_the_sites_container(container: str, front: str, tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text(f"[container]\n{container}\n")
    text = sbatch("x", [Task(program=Program(kind="python", words=("train.py",)))], hours=1, gpus=True, site=read_site(tmp_path))  # fmt: skip
    assert front in text


@pytest.mark.parametrize("kind, words", [("python", ("train.py",)), ("tool", ("llamafactory-cli", "train", "a.yaml")), ("accelerate", ("trl", "sft", "--config", "a.yaml")),
                                         ("command", ("python", "base.py"))])  # fmt: skip
@pytest.mark.parametrize("container", ['pyxis = "nvcr.io#nvidia/pytorch:25.01-py3"', 'apptainer = "/images/my image.sif"\nmounts = ["/data:/data:ro", "$SCRATCH"]'])  # fmt: skip
def test_every_kind_of_program_and_the_preflight_run_inside_the_container(kind: str, words: tuple[str, ...], container: str, tmp_path: Path) -> None:  # fmt: skip
    """srun's options come before the program (pyxis); apptainer comes once before it, and inside what srun starts."""
    (tmp_path / "site.toml").write_text(f"[container]\n{container}\n")
    program = Program(kind=kind, words=words, devices=4, nodes=2)  # type: ignore[arg-type]
    text = sbatch("x", [Task(program=program)], hours=1, gpus=True, site=read_site(tmp_path), preflight=("preflight.py", "train.jsonl"))  # fmt: skip
    started = [row for row in text.splitlines() if row.startswith("srun ")]
    assert len(started) == 2 and "preflight.py train.jsonl" in started[0]
    for row in started:
        name = words[0] if row is started[1] else "preflight.py"
        inside = "--container-image=nvcr.io#nvidia/pytorch:25.01-py3" if "pyxis" in container else "apptainer exec --nv"
        assert row.count(inside) == 1 and row.index(inside) < row.index(name), row
        if "apptainer" in container:
            assert "my image.sif" in row and "/data:/data:ro" in row and "$SCRATCH" in row
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_a_run_longer_than_the_limit_asks_for_the_limit_and_is_started_again_often_enough() -> None:
    from papertrain.core.site import Site, Slurm

    p = [Task(program=Program(kind="python", words=("train.py",), resume=("--resume",)))]
    text = sbatch("x", p, hours=30, gpus=True, site=Site(slurm=Slurm(walltime="12:00:00")))
    assert (
        "#SBATCH --time=12:00:00" in text and '"$again" -lt 7' in text
    )  # 60 hours are asked for: five turns, and two to spare
    assert "scontrol requeue" in text and 'more="--resume"' in text
    assert "scontrol requeue" not in sbatch("x", p, hours=30, gpus=True, site=Site(slurm=Slurm(chain=False)))


@pytest.mark.parametrize("text, code, word", [
    ('[slurm]\nacount = "x"', "unknown-key", "account"), ('[slrum]\n', "unknown-key", "slurm"), ('[slurm]\nwalltime = "soon"', "bad-value", "24:00:00"),
    ('[slurm]\ngpus = "many"', "bad-value", "gpus"), ('[slurm]\naccount = "a\\n#SBATCH --uid=0"', "bad-value", "line break"), ('[slurm', "bad-toml", ""),
    ('[slurm]\naccount = 3', "bad-value", "account"), ('slurm = 3', "bad-value", "[slurm]"),
    ('[environment]\nsetup = ["export HF_TOKEN=hf_abcdefghijABCDEFGHIJ0123456789klmn"]', "secret", "token"),
])  # fmt: skip
def test_what_nobody_knows_or_could_do_harm_is_refused_with_its_line(text: str, code: str, word: str, tmp_path: Path) -> None:  # fmt: skip
    (tmp_path / "site.toml").write_text(text)
    with pytest.raises(PapertrainError) as error:
        read_site(tmp_path)
    assert error.value.code == code and word in error.value.one_line() and "hf_abc" not in error.value.one_line()
    assert "site.toml" in error.value.one_line()


def test_slurms_ways_to_write_a_time() -> None:
    """As sbatch(1) lists them under --time."""
    assert [seconds(t) for t in ("30", "30:10", "2:00:00", "1-0", "1-12:30", "2-00:00:05", "x", "")] == [1800, 1810, 7200, 86400, 131400, 172805, None, None]  # fmt: skip


def test_a_training_on_a_login_node_is_refused_or_submitted(tmp_path: Path) -> None:
    from papertrain.core.errors import Refused
    from papertrain.core.site import Login, Site
    from papertrain.verbs.launching.ready import _launcher

    login = Site(login=Login(nodes=(socket.gethostname(),), minutes=10))
    p = Program(kind="python", words=("train.py",))
    assert _launcher(p, None, login, 5.0).id == "slurm" and _launcher(p, None, login, 0.1).id == "local"
    with pytest.raises(Refused, match="login node"):
        _launcher(p, "local", login, 5.0)
    assert _launcher(p, None, Site(login=Login(nodes=("login*",))), 5.0).id == "local"
