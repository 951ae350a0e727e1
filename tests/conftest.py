"""No test reaches the network: sockets lead to this machine or nowhere, in this process and in those that it starts."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ["PAPERTRAIN_SITE"] = ""  # the tests know no cluster but their own

FENCE = Path(__file__).parent / "fence"
_spec = importlib.util.spec_from_file_location("fence", FENCE / "sitecustomize.py")
assert _spec is not None and _spec.loader is not None
fence = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(fence)


@pytest.fixture(autouse=True, scope="session")
def no_network() -> Iterator[None]:
    """Only loopback and local sockets connect, and only this machine's names resolve."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(FENCE), *([before] if before else [])])
    fence.close()
    yield
    fence.open()
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before
