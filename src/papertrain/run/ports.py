"""A port that is free now."""

from __future__ import annotations

import socket


def free_port() -> int:
    """Free at this moment, on this machine; the system does not give it out again soon."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])
