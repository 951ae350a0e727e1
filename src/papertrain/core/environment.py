"""Which versions a training environment has, read from its metadata: nothing is imported or run there."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from papertrain.core.errors import PapertrainError
from papertrain.core.values import Value

ENVIRONMENT = "environment.json"
_METADATA = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)-(?P<version>[^-]+)\.(?:dist-info|egg-info)$")


class Environment(Value, frozen=True, kw_only=True):
    """A training environment: where, its interpreter, and package name → version (names lower-case with dashes)."""

    path: str
    python: str | None
    versions: dict[str, str]

    def version(self, package: str) -> str | None:
        return self.versions.get(package.lower().replace("_", "-"))


def read_environment(env: str | None, *, near: Path | None = None) -> Environment | None:
    """`PATH` (venv, conda, container root), `auto` ($VIRTUAL_ENV, $CONDA_PREFIX, .venv or .envs/train nearby), or None.

    Raises PapertrainError for a path that holds no Python packages.
    """
    if env is None:
        return None
    if env != "auto":
        found = _read(Path(env))
        if found is None:
            raise PapertrainError(
                "no Python environment here: no site-packages folder was found", code="no-environment", file=env
            )
        return found
    places = [os.environ.get("VIRTUAL_ENV"), os.environ.get("CONDA_PREFIX")]
    base = near or Path.cwd()
    places += [
        str(folder / name) for folder in (base, *base.parents[:3]) for name in (".envs/train", ".venv", "venv", "env")
    ]
    candidates = [e for p in places if p and (e := _read(Path(p))) is not None]
    if (
        "torch"
        in (own := _read(Path(sys.prefix)) or Environment(path=sys.prefix, python=sys.executable, versions={})).versions
    ):
        candidates.append(own)
    return next((e for e in candidates if "torch" in e.versions), candidates[0] if candidates else None)


def remembered(state: Mapping[str, Any]) -> str | None:
    """The environment that `plan --env` named for a workspace (`work.state(ENVIRONMENT)`), while it is there."""
    said = state.get("path")
    return said if isinstance(said, str) and _read(Path(said)) is not None else None


def interpreter_environment(program: str) -> Environment | None:
    """The environment that an interpreter belongs to; None for any other program."""
    if not Path(program).name.startswith("python"):
        return None
    return _read(Path(os.path.abspath(program)).parent.parent)  # noqa: PTH100 - a venv's python is a link to another one


def of_a_child(*search: str) -> dict[str, str]:
    """This process's variables for a program that it starts: these folders are looked through first, and nothing says
    that the program is a rank of another training, or imports what this one does."""
    found = {k: v for k, v in os.environ.items() if k not in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "PYTHONPATH")}
    if search:
        found["PATH"] = os.pathsep.join([*search, found.get("PATH", "")])
    return found | {"PYTHONUNBUFFERED": "1"}


def _read(root: Path) -> Environment | None:
    folders = [f for pattern in ("lib/python3*/site-packages", "Lib/site-packages", "usr/lib/python3/dist-packages",
               "usr/local/lib/python3*/dist-packages", "opt/conda/lib/python3*/site-packages") for f in root.glob(pattern)]  # fmt: skip
    if root.name in ("site-packages", "dist-packages") and root.is_dir():
        folders.append(root)
    if not folders:
        return None
    versions: dict[str, str] = {}
    for folder in folders:
        try:
            names = [p.name for p in folder.iterdir()]
        except OSError:
            continue
        for name in names:
            if m := _METADATA.match(name):
                versions[m["name"].lower().replace("_", "-")] = m["version"]
    python = next(
        (str(p) for p in (root / "bin/python", root / "Scripts/python.exe", root / "usr/bin/python3") if p.exists()),
        None,
    )
    return Environment(path=str(root), python=python, versions=versions)
