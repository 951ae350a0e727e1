"""The fence of the suite holds: in this process, and in the processes that tests start."""

from __future__ import annotations

import socket
import subprocess
import sys
import urllib.request

import pytest

OUT = "import socket, sys\ntry:\n    socket.create_connection(('192.0.2.1', 80), timeout=1)\nexcept OSError as e:\n    sys.exit(7 if 'no network' in str(e) else 1)\n"


def test_no_test_reaches_the_network() -> None:
    with pytest.raises(OSError, match="no network"):
        socket.create_connection(("192.0.2.1", 80), timeout=1)
    with pytest.raises(OSError, match="no network"):
        urllib.request.urlopen("https://example.org", timeout=1)
    with pytest.raises(OSError, match="no network"):
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 53))


def test_a_process_that_a_test_starts_does_not_reach_it_either() -> None:
    assert subprocess.run([sys.executable, "-c", OUT], check=False).returncode == 7


def test_this_machine_itself_is_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), timeout=2).close()
