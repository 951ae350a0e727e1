"""`serve`: the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from papertrain.core.params import Arg
from papertrain.core.report import Report


def serve(
    work: Annotated[Sequence[Path], Arg("workspaces to show (default: this folder)", "WORK")] = (),
    *,
    port: Annotated[int, Arg("the port; 0 takes a free one")] = 0,
    host: Annotated[str, Arg("the address to listen on")] = "127.0.0.1",
    i_understand: Annotated[bool, Arg("needed for any address but this machine's own")] = False,
    no_open: Annotated[bool, Arg("do not open a browser")] = False,
    write: Annotated[bool, Arg("let the page write a plan, a fix or a package that it has shown first")] = False,
) -> Report:
    """Show workspaces in a page on this machine: plan with sliders, live curves, diagnoses, results, package.

    Local and offline: 127.0.0.1, a random token in the address, nothing loaded from anywhere, nothing written without
    --write. English and Chinese, light and dark, by what the browser asks for. Where ports are forbidden,
    `papertrain report WORK -o FILE.html` gives the same as a file.

    papertrain serve work
    papertrain serve work --port 8765 --no-open
    """
    import importlib.util
    import os
    import sys

    from papertrain.core.errors import PapertrainError, Refused
    from papertrain.core.texts import language

    if importlib.util.find_spec("starlette") is None or importlib.util.find_spec("uvicorn") is None:
        raise PapertrainError(
            "the page needs starlette and uvicorn", code="not-installed", command="pip install 'papertrain[serve]'"
        )
    if not 0 <= port < 65536:
        raise PapertrainError(f"{port} is no port", code="bad-port")
    if host not in ("127.0.0.1", "localhost", "::1") and not i_understand:
        raise Refused(
            f"{host} lets other machines in, with nothing but a token between them and your runs",
            code="open-address",
            ask=["--i-understand if you mean it", "or ssh -L to reach the page from elsewhere"],
        )
    for folder in work:
        if not folder.is_dir():
            raise PapertrainError("not a folder", code="no-folder", file=folder)
    sys.stdout.flush()
    os.environ["PAPERTRAIN_LANG"] = language.get()  # the program that follows speaks it too
    arguments = [host, str(port), "0" if no_open else "1", "1" if write else "0", *map(str, work)]
    # A face is a program of its own: it replaces this process. -P: no module of the folder it is started in is imported.
    os.execv(sys.executable, [sys.executable, "-P", "-m", "papertrain.web", *arguments])
