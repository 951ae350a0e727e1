"""Command line, tools and page are derived from the verbs' signatures and give the same answers."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from papertrain import verbs
from papertrain.cli import FIRST, main, parser_of
from papertrain.core.errors import PapertrainError
from papertrain.core.params import parameters
from papertrain.core.schema import ACTING, READING, readable, schema_of

EXE = str(Path(sys.executable).with_name("papertrain"))
CONTRACT = [
    "plan",
    "estimate",
    "generate",
    "check",
    "launch",
    "watch",
    "diagnose",
    "fix",
    "evaluate",
    "compare",
    "package",
    "report",
    "status",
    "next",
    "explain",
    "demo",
    "serve",
    "mcp",
    "skill",
]
WRITING = {"output", "yes", "overwrite", "confirm", "fix", "authorize"}


def run(*args: object, stdin: str | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [EXE, *map(str, args)],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "NO_COLOR": "1", **env},
    )


def test_every_verb_of_the_contract_is_there() -> None:
    assert set(CONTRACT) <= set(verbs.names())


@pytest.mark.parametrize("name", CONTRACT)
def test_a_verb_has_a_teaching_help_and_a_schema(name: str) -> None:
    verb = verbs.load(name)
    doc = (verb.__doc__ or "").strip()
    assert doc.splitlines()[0].endswith(".") and f"papertrain {name}" in doc, (
        "first line is a sentence, an example follows"
    )
    text = parser_of(name).format_help()
    for p in parameters(verb):
        if p.name != "passthrough":
            assert (p.option or p.arg.metavar or p.name.upper()) in text
            assert p.arg.help, f"{name}: {p.name} has no help"
    assert schema_of(readable(verb))["type"] == "object"


def test_help_shows_eight_verbs_first() -> None:
    text = run("--help").stdout
    assert len(FIRST) == 8
    first, more = text.split("more:")
    assert all(f"  {n} " in first for n in FIRST) and all(f"  {n} " in more for n in CONTRACT if n not in FIRST)


def test_reading_tools_have_no_way_to_write() -> None:
    for name in READING:
        assert not {p.name for p in readable(verbs.load(name))} & WRITING & ACTING


@pytest.mark.parametrize("name", CONTRACT)
def test_without_arguments_a_verb_says_one_clear_line(name: str, tmp_path: Path) -> None:
    if name in ("mcp", "serve", "demo"):  # they start; tested on their own
        return
    done = subprocess.run([EXE, name], capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
    assert done.returncode in (0, 2) and "Traceback" not in done.stderr + done.stdout
    assert done.returncode == 0 or len(done.stderr.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir()), "nothing is written where no place was named"


def test_an_error_is_one_document_too() -> None:
    for args in (("status", "nowhere"), ("nosuchverb",), ("plan",), ("status", "--wrong")):
        done = run(*args, "--json")
        document = json.loads(done.stdout)
        assert done.returncode == 2 and document["data"]["error"]["says"] and document["schema"] == "papertrain/1"


def test_the_nearest_name_is_offered() -> None:
    assert "plan" in run("plam").stderr and "status" in run("statsu").stderr


def test_ctrl_c_gives_130_and_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(verbs, "load", lambda name: (_ for _ in ()).throw(KeyboardInterrupt))
    assert main(["next"]) == 130
    assert capsys.readouterr().err.strip() == "interrupted: nothing half-written is left behind"


def test_ctrl_c_that_came_out_as_another_error_is_still_ctrl_c(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python turns what a class's `__set_name__` raises into a RuntimeError: scipy's import, interrupted, did so."""

    def importing(error: Exception) -> Callable[[], None]:
        def verb() -> None:
            with contextlib.suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            raise error

        return verb

    for error in (RuntimeError("Error calling __set_name__"), PapertrainError("cannot be read", code="no-file")):
        monkeypatch.setattr(verbs, "load", lambda name, error=error: importing(error))
        assert main(["next"]) == 130
        assert capsys.readouterr().err.strip() == "interrupted: nothing half-written is left behind"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_our_own_fault_is_exit_4_with_a_trace_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import papertrain.verbs.next

    def broken(work: Path | None = None, *, mode: str | None = None) -> None:
        """Break."""
        raise ZeroDivisionError("hf_" + "abcdefghijABCDEFGHIJ0123")

    monkeypatch.setattr(papertrain.verbs.next, "next", broken)
    assert main(["next"]) == 4
    line = capsys.readouterr().err
    trace = Path(line.split("trace is in ")[1].split(" ")[0].rstrip(";("))
    assert "ZeroDivisionError" in trace.read_text() and "hf_abc" not in trace.read_text() + line
    trace.unlink()


def test_the_same_answer_comes_by_command_and_by_tool(tmp_path: Path) -> None:
    from papertrain.mcp import call

    log = tmp_path / "train.log"
    log.write_text("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n")
    by_command = json.loads(run("diagnose", log, "--json").stdout)
    by_tool, failed = call("diagnose", {"paths": [str(log)], "brief": False}, [tmp_path])
    assert not failed and by_tool == by_command


def test_the_tool_server_refuses_paths_outside_and_verbs_that_write(tmp_path: Path) -> None:
    from papertrain.mcp import call, tools

    assert call("diagnose", {"paths": ["/etc/passwd"]}, [tmp_path])[1]
    assert call("fix", {"target": str(tmp_path)}, [tmp_path])[1]
    assert call("plan", {"target": "Qwen/Qwen2.5-7B", "output": str(tmp_path)}, [tmp_path])[1]
    assert {t["name"] for t in tools()} == set(READING)


@pytest.fixture
def page(tmp_path: Path):  # type: ignore[no-untyped-def]
    starlette = pytest.importorskip("starlette.testclient", reason="the page needs papertrain[serve]")
    from papertrain.web.app import build

    return starlette.TestClient(
        build([tmp_path], "secret-token", 80), base_url="http://localhost:80", follow_redirects=False
    )


def test_the_page_wants_its_token_and_its_own_host(page) -> None:  # type: ignore[no-untyped-def]
    assert page.get("/", headers={"host": "localhost:80"}).status_code == 401
    assert page.get("/?token=wrong", headers={"host": "localhost:80"}).status_code == 401
    assert page.get("/?token=secret-token", headers={"host": "evil.example"}).status_code == 421
    first = page.get("/?token=secret-token", headers={"host": "localhost:80"})
    assert (
        first.status_code == 303
        and "samesite=strict" in first.headers["set-cookie"].lower()
        and "httponly" in first.headers["set-cookie"].lower()
    )
    home = page.get("/", headers={"host": "127.0.0.1:80"}, cookies={"papertrain": "secret-token"})
    assert home.status_code == 200 and "default-src 'none'" in home.headers["content-security-policy"]


def test_a_form_answers_as_the_command_does_and_renders_nothing_unescaped(page, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    cookies, host = {"papertrain": "secret-token"}, {"host": "localhost:80", "origin": "http://localhost:80"}
    log = tmp_path / "x.log"
    log.write_text(
        "<script>alert(1)</script>\nRuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB <img src=x onerror=y>\n"
    )
    answer = page.post("/verb/diagnose", data={"paths": str(log)}, headers=host, cookies=cookies)
    assert (
        answer.status_code == 200
        and "<script>alert" not in answer.text
        and "<img src=x" not in answer.text
        and "oom" in answer.text
    )
    assert (
        page.post("/verb/diagnose", data={"paths": "/etc/passwd"}, headers=host, cookies=cookies).text.count("granted")
        >= 1
    )
    assert (
        page.post(
            "/verb/diagnose", data={}, headers={**host, "origin": "http://evil.example"}, cookies=cookies
        ).status_code
        == 403
    )
    assert page.get("/verb/fix", headers=host, cookies=cookies).status_code == 404
    assert page.get("/report/0", headers=host, cookies=cookies).status_code == 400


def test_json_is_printed_where_the_output_has_no_bytes_below_it() -> None:
    """A notebook's output, or a text that a caller collects, has no `buffer`."""
    import contextlib
    import io

    from papertrain.cli import main

    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main(["explain", "learning_rate", "--json"]) == 0
    assert json.loads(out.getvalue())["verb"] == "explain"
