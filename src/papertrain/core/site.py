"""site.toml: what every run on one cluster needs, said once: account, partition, limits, modules, container, folders, network."""

from __future__ import annotations

import os
import re
import socket
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Literal

import msgspec

from papertrain.core.errors import PapertrainError, nearest
from papertrain.core.files import read_text
from papertrain.core.program import Variable
from papertrain.core.redact import holds_secret
from papertrain.core.values import Value

FILE = "site.toml"
USER = "PAPERTRAIN_SITE"
LIMIT_BYTES = 200_000
UPWARDS = 6


class Slurm(Value, frozen=True, kw_only=True):
    """walltime: the longest a job may run, `1-00:00:00`. chain: a longer run is continued by the same job, started again."""

    account: str = ""
    partition: str = ""
    qos: str = ""
    walltime: str = ""
    gpus: Literal["gpus-per-node", "gres"] = "gpus-per-node"
    gpu_type: str = ""
    cpus_per_gpu: int = 8
    memory: str = ""
    options: tuple[str, ...] = ()
    signal_seconds: int = 120
    chain: bool = True
    array_limit: int = 0


class Setup(Value, frozen=True, kw_only=True):
    modules: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()


class Container(Value, frozen=True, kw_only=True):
    pyxis: str = ""
    apptainer: str = ""
    mounts: tuple[str, ...] = ()


class Folders(Value, frozen=True, kw_only=True):
    scratch: str = ""
    caches: str = ""


class Network(Value, frozen=True, kw_only=True):
    interface: str = ""


class Login(Value, frozen=True, kw_only=True):
    """nodes: names of the machines on which no training runs, `login*`. minutes: what they let run all the same."""

    nodes: tuple[str, ...] = ()
    minutes: float = 0.0


class Site(Value, frozen=True, kw_only=True):
    """The tables of the file, all of them optional. files: what it was read from, the user's first."""

    slurm: Slurm = Slurm()
    environment: Setup = Setup()
    container: Container = Container()
    folders: Folders = Folders()
    network: Network = Network()
    login: Login = Login()
    files: tuple[str, ...] = ()

    @property
    def walltime_seconds(self) -> int | None:
        return seconds(self.slurm.walltime) if self.slurm.walltime else None

    def sbatch_words(self) -> list[str]:
        """The `#SBATCH` words of this site."""
        named = {
            "account": self.slurm.account,
            "partition": self.slurm.partition,
            "qos": self.slurm.qos,
            "mem": self.slurm.memory,
        }
        return [*(f"--{k}={v}" for k, v in named.items() if v), *self.slurm.options]  # fmt: skip

    def variables(self, nodes: int = 1) -> list[Variable]:
        """Caches, scratch and, between nodes, the network interface."""
        found = []
        if self.folders.caches:
            why = "the site's place for caches: home folders are small and slow"
            found += [Variable("HF_HOME", f"{self.folders.caches}/huggingface", why),
                      Variable("TRITON_CACHE_DIR", f"{self.folders.caches}/triton"),
                      Variable("TORCH_EXTENSIONS_DIR", f"{self.folders.caches}/torch_extensions")]  # fmt: skip
        if self.folders.scratch:
            found.append(Variable("TMPDIR", self.folders.scratch, "the site's scratch"))
        if self.network.interface and nodes > 1:
            found += [Variable("NCCL_SOCKET_IFNAME", self.network.interface, "the site's network between the nodes"),
                      Variable("GLOO_SOCKET_IFNAME", self.network.interface)]  # fmt: skip
        return found

    def preparation(self) -> list[str]:
        """Shell lines before the training: modules, set-up."""
        return [*(f"module load {m}" for m in self.environment.modules), *self.environment.setup]

    def inside(self) -> tuple[list[str], list[str]]:
        """(options of srun, words in front of the command) of the site's container."""
        mounts = self.container.mounts
        if self.container.pyxis:
            options = [f"--container-image={self.container.pyxis}", "--container-workdir=$SLURM_SUBMIT_DIR"]
            return [*options, f"--container-mounts={','.join(['$SLURM_SUBMIT_DIR', *mounts])}"], []
        if self.container.apptainer:
            binds = [w for m in mounts for w in ("--bind", m)]
            return [], ["apptainer", "exec", "--nv", *binds, self.container.apptainer]
        return [], []

    def on_login_node(self) -> bool:
        host = socket.gethostname()
        return any(fnmatch(host, name) or fnmatch(host.split(".")[0], name) for name in self.login.nodes)


def read_site(near: Path) -> Site:
    """The user's file, then the project's, whose values win. Raises PapertrainError for a key that nobody knows."""
    merged: dict[str, dict[str, Any]] = {}
    files = []
    for path in _files(near):
        files.append(str(path))
        for table, values in _tables(path).items():
            merged.setdefault(table, {}).update(values)
    return msgspec.convert({**merged, "files": files}, Site)


def _files(near: Path) -> Iterator[Path]:
    user = os.environ.get(USER)
    config = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser() / "papertrain" / FILE
    place = config if user is None else Path(user)
    if user != "" and place.is_file():
        yield place
    folder = Path(os.path.abspath(near))  # noqa: PTH100 - a link is named, not followed
    for one in [folder, *folder.parents][:UPWARDS]:
        if (one / FILE).is_file() and one / FILE != place:
            yield one / FILE
            return
        if (one / ".git").exists():
            return


def _tables(path: Path) -> dict[str, dict[str, Any]]:
    text = read_text(path, limit=LIMIT_BYTES)
    if holds_secret(text):
        raise PapertrainError("a token stands in it: it would be written into every job script", code="secret", file=path)  # fmt: skip
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = int(m[1]) if (m := re.search(r"line (\d+)", str(error))) else 1
        raise PapertrainError(f"no valid TOML: {str(error).lower()}", code="bad-toml", file=path, line=line) from None
    known = {f.name: f.type for f in msgspec.structs.fields(Site) if f.name != "files"}
    for table, values in content.items():
        _known(table, known, path, text, f"[{table}]")
        if not isinstance(values, dict):
            raise PapertrainError(
                f"{table} is a table: [{table}]", code="bad-value", file=path, line=_line(text, table)
            )
        for key, value in values.items():
            _known(key, {f.name: 0 for f in msgspec.structs.fields(known[table])}, path, text, f"{key} in [{table}]")
            for word in value if isinstance(value, list) else [value]:
                if isinstance(word, str) and re.search(r"[\x00-\x1f\x7f]", word):
                    raise PapertrainError(f"{key} holds a line break", code="bad-value", file=path, line=_line(text, key))  # fmt: skip
        try:
            one = msgspec.convert(values, known[table])
        except msgspec.ValidationError as error:
            key = (re.findall(r"\$\.(\w+)", str(error)) or [table])[0]
            raise PapertrainError(f"[{table}] {key}: {str(error).partition(' - ')[0].lower()}", code="bad-value", file=path, line=_line(text, key)) from None  # fmt: skip
        if isinstance(one, Slurm) and one.walltime and seconds(one.walltime) is None:
            raise PapertrainError(f"walltime {one.walltime!r} is no time: write 24:00:00 or 1-00:00:00", code="bad-value", file=path, line=_line(text, "walltime"))  # fmt: skip
    return content


def _known(name: str, known: Any, path: Path, text: str, shown: str) -> None:
    if name not in known:
        raise PapertrainError(f"nothing is called {shown}: known are {', '.join(known)}", code="unknown-key", file=path, line=_line(text, name), nearest=nearest(name, known))  # fmt: skip


def _line(text: str, name: str) -> int:
    m = re.search(rf"^\s*\[?\s*{re.escape(name)}\b", text, re.MULTILINE)
    return text.count("\n", 0, m.end()) + 1 if m else 1


def seconds(walltime: str) -> int | None:
    """Slurm's ways to write a time: minutes, M:S, H:M:S, D-H, D-H:M, D-H:M:S."""
    m = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", walltime.strip())
    if m is None:
        return None
    days, first, second, third = (int(x) if x else 0 for x in m.groups())
    if m[1]:
        return days * 86400 + first * 3600 + second * 60 + third
    if m[4]:
        return first * 3600 + second * 60 + third
    return first * 60 + second
