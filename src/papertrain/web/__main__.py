"""`python -m papertrain.web HOST PORT OPEN WRITE FOLDER…`: the server behind `papertrain serve`."""

from __future__ import annotations

import secrets
import socket
import sys
import threading
from pathlib import Path

from papertrain.core.texts import language, of_environment, say
from papertrain.web.app import build
from papertrain.web.guard import patient
from papertrain.web.pages import warm

INTERRUPTED = 130
WARM_AFTER = 1.0
"""Seconds after the start: the first page comes before."""


def main() -> int:
    import uvicorn

    host, port, opens, writes, *names = sys.argv[1:]
    folders = [Path(n) for n in names] or [Path.cwd()]
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, int(port)))
        listener.listen(2048)  # before the address is printed: whoever reads it may come at once
    except OSError as error:
        sys.stderr.write(f"papertrain serve: port {port} on {host}: {(error.strerror or str(error)).lower()}\n")
        return 2
    number = listener.getsockname()[1]
    token = secrets.token_urlsafe(24)
    shown = f"[{host}]" if ":" in host else host
    language.set(of_environment())
    chosen = "&lang=zh" if language.get() == "zh" else ""  # else by what the browser asks for
    address = f"http://{shown}:{number}/?token={token}{chosen}"
    print(say("papertrain is at {address}", address=address) + "\n" + say("Ctrl-C stops it"), flush=True)
    if opens == "1":
        import webbrowser

        webbrowser.open(address)
    own = "" if host in ("127.0.0.1", "localhost", "::1") else shown
    app = build(folders, token, number, own, writing=writes == "1")
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            http=patient(),
            log_level="error",
            access_log=False,
            server_header=False,
            timeout_keep_alive=5,
            timeout_graceful_shutdown=3,
            limit_concurrency=200,
        )
    )
    first = threading.Timer(WARM_AFTER, warm, [folders])
    first.daemon = True
    first.start()
    server.run(sockets=[listener])
    return 0


def stoppable() -> int:
    """uvicorn hands a Ctrl-C on once the last answer is out."""
    try:
        return main()
    except KeyboardInterrupt:
        sys.stderr.write("\nstopped\n")
        return INTERRUPTED


if __name__ == "__main__":
    raise SystemExit(stoppable())
