"""The server as it runs: many clients, slow clients, an address that is not this machine's."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

EXE = str(Path(sys.executable).with_name("papertrain"))


def get(address: str, path: str, timeout: float = 30) -> tuple[int, bytes]:
    parts = urlsplit(address)
    link = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=timeout)
    link.request("GET", path, headers={"cookie": f"papertrain={parse_qs(parts.query)['token'][0]}"})
    answer = link.getresponse()
    return answer.status, answer.read()


def test_a_hundred_clients_at_once_are_all_answered(served: str) -> None:
    with ThreadPoolExecutor(100) as pool:
        answers = list(pool.map(lambda _: get(served, "/plan"), range(100)))
    assert {status for status, _ in answers} == {200} and len({body for _, body in answers}) == 1


@pytest.mark.slow
def test_clients_that_dawdle_keep_nobody_waiting_and_are_let_go(served: str) -> None:
    parts = urlsplit(served)
    slow = [socket.create_connection((str(parts.hostname), parts.port)) for _ in range(100)]
    for s in slow:
        s.sendall(b"GET / HTTP/1.1\r\nHost: ")
    began = time.monotonic()
    assert get(served, "/plan")[0] == 200
    assert time.monotonic() - began < 5
    for s in slow:
        s.settimeout(30)
        assert s.recv(1) == b"", "the server should have closed it"
        s.close()


TOOLS = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'


@pytest.mark.parametrize("words", [["serve", "--no-open"], ["mcp"]], ids=lambda w: w[0])
def test_ctrl_c_stops_it_with_130_and_no_trace_and_no_module_of_the_folder_is_imported(
    tmp_path: Path, words: list[str]
) -> None:
    for name in ("secrets", "uvicorn", "anyio", "mcp", "socket"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported from the folder')")
    process = subprocess.Popen([EXE, *words], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(TOOLS + "\n")
    process.stdin.flush()
    assert process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=30)
    assert process.returncode == 130 and "Traceback" not in error and "imported" not in error


def test_another_address_needs_to_be_meant(tmp_path: Path) -> None:
    done = subprocess.run([EXE, "serve", "--host", "0.0.0.0", "--no-open"], capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)  # fmt: skip
    assert done.returncode == 3 and "--i-understand" in done.stderr


def test_the_token_is_new_each_time_and_not_in_any_page(served: str) -> None:
    token = parse_qs(urlsplit(served).query)["token"][0]
    assert len(token) >= 32
    for path in ("/", "/plan", "/w/0/run"):
        assert token.encode() not in get(served, path)[1]


@pytest.mark.parametrize("words", [["--lang", "zh"], []])
def test_the_language_of_the_command_is_the_language_of_its_address(tmp_path: Path, words: list[str]) -> None:
    env = {**os.environ, "PAPERTRAIN_LANG": "zh_CN.UTF-8" if not words else "en"}
    process = subprocess.Popen([EXE, "serve", str(tmp_path), "--no-open", *words], stdout=subprocess.PIPE, text=True, env=env)  # fmt: skip
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        address = said[said.index("http://") :].strip()
        assert "地址" in said and parse_qs(urlsplit(address).query)["lang"] == ["zh"]
        body = get(address, "/plan?lang=zh")[1].decode()
        assert '<html lang="zh' in body
    finally:
        process.terminate()
        process.wait(10)
