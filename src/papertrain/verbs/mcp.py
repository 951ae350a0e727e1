"""`mcp`: the tool server for agents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from papertrain.core.params import Arg
from papertrain.core.report import Report


def mcp(
    folders: Annotated[Sequence[Path], Arg("folders that tools may read (default: this one)", "FOLDER")] = (),
) -> Report:
    """Answer agents over the Model Context Protocol, on standard input and output.

    One read-only tool per verb, with the verb's own parameters and the same answers as `--json`. Nothing is written;
    an agent that may write uses the command line. Register it as a stdio server with the command `papertrain mcp`.

    papertrain mcp                 tools may read this folder
    papertrain mcp ~/experiments   tools may read that one
    """
    import importlib.util
    import os
    import sys

    from papertrain.core.errors import PapertrainError
    from papertrain.core.texts import language

    if importlib.util.find_spec("mcp") is None:
        raise PapertrainError(
            "the tool server needs the mcp package", code="not-installed", command="pip install 'papertrain[mcp]'"
        )
    for folder in folders:
        if not folder.is_dir():
            raise PapertrainError("not a folder", code="no-folder", file=folder)
    sys.stdout.flush()
    os.environ["PAPERTRAIN_LANG"] = language.get()  # the program that follows speaks it too
    # A face is a program of its own: it replaces this process, so that standard input and output are its alone.
    # -P: no module of the folder it is started in is imported.
    os.execv(sys.executable, [sys.executable, "-P", "-m", "papertrain.mcp", *map(str, folders)])
