"""Python reads this at its start where the folder is on PYTHONPATH: the processes that a test starts have no network either."""

from __future__ import annotations

import os
import socket
from typing import Any

OUTSIDE = "the tests have no network: {}"
_real = {name: getattr(socket.socket, name) for name in ("connect", "connect_ex", "sendto")}
_lookup = socket.getaddrinfo


class NoNetwork(OSError):
    """A test tried to leave this machine."""


def local(address: Any) -> bool:
    """A path of a Unix socket, or an address of this machine."""
    if not isinstance(address, tuple):
        return True
    host = address[0] if address else ""
    host = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
    return host in ("localhost", "::1", "", "0.0.0.0", "::") or host.startswith("127.")


def _guarded(name: str) -> Any:
    def call(self: socket.socket, *args: Any) -> Any:
        address = args[-1] if args else ""
        if self.family in (socket.AF_INET, socket.AF_INET6) and not local(address):
            raise NoNetwork(OUTSIDE.format(address))
        return _real[name](self, *args)

    return call


def _resolve(host: Any, *args: Any, **options: Any) -> Any:
    if host is not None and not local((host,)):
        raise NoNetwork(OUTSIDE.format(host))
    return _lookup(host, *args, **options)


def close() -> None:
    for name in _real:
        setattr(socket.socket, name, _guarded(name))
    socket.getaddrinfo = _resolve


def open() -> None:
    for name, real in _real.items():
        setattr(socket.socket, name, real)
    socket.getaddrinfo = _lookup


if os.environ.get("PAPERTRAIN_FENCE", "1") == "1" and __name__ == "sitecustomize" and "PYTEST_VERSION" in os.environ:
    close()
