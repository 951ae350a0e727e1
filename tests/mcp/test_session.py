"""A real client session of the official SDK over standard input and output, beside the command line."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the tool server needs papertrain[mcp]")

import anyio

from mcp import ClientSession, StdioServerParameters, stdio_client
from papertrain import verbs
from papertrain.core.schema import READING

EXE = str(Path(sys.executable).with_name("papertrain"))


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("mcp") / "work"
    verbs.load("plan")("Qwen/Qwen2.5-0.5B-Instruct", gpu="1x 4090", method="lora", output=root)
    run = root / "runs" / "ours.data.42"
    run.mkdir(parents=True)
    rows = [{"step": i, "total_steps": 60, "loss": 2 - i / 60, "grad_norm": 1.0, "learning_rate": 1e-4} for i in range(1, 61)]  # fmt: skip
    (run / "train_log.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    (run / "long.log").write_text("".join(f"line {i} of a long log\n" for i in range(20_000)))
    (run / "oom.log").write_text("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n")
    (run / "predictions.csv").write_text("id,label,prediction\n" + "".join(f"{i},{i % 2},{i % 2}\n" for i in range(50)))
    (root / "sft.yaml").write_text("stage: sft\nmodel_name_or_path: Qwen/Qwen2.5-0.5B-Instruct\nlearning_rat: 1e-4\n")
    (root / "cases.jsonl").write_text('{"id": "a", "model": "Qwen/Qwen2.5-0.5B", "gpu": "RTX 4090", "method": "lora", "micro_batch_size": 1, "seq_len": 1024}\n')  # fmt: skip
    return root


def session(work: Path, what: Callable[[ClientSession], Awaitable[Any]]) -> Any:
    async def talk() -> Any:
        server = StdioServerParameters(command=EXE, args=["mcp", str(work)], cwd=str(work.parent))
        async with stdio_client(server) as (reader, writer), ClientSession(reader, writer) as client:
            await client.initialize()
            return await what(client)

    return anyio.run(talk)


def asked(work: Path) -> dict[str, tuple[dict[str, Any], list[str]]]:
    """Verb → (arguments of the tool, words of the command)."""
    w, run = str(work), str(work / "runs" / "ours.data.42")
    return {
        "plan": ({"target": "Qwen/Qwen2.5-7B-Instruct", "gpu": "4x A100-80GB", "method": "lora"}, ["Qwen/Qwen2.5-7B-Instruct", "--gpu", "4x A100-80GB", "--method", "lora"]),
        "estimate": ({"cases": f"{w}/cases.jsonl"}, ["--cases", f"{w}/cases.jsonl"]),
        "check": ({"files": [f"{w}/sft.yaml"]}, [f"{w}/sft.yaml"]),
        "watch": ({"paths": [f"{run}/train_log.jsonl"]}, [f"{run}/train_log.jsonl"]),
        "diagnose": ({"paths": [f"{run}/oom.log"]}, [f"{run}/oom.log"]),
        "evaluate": ({"targets": [f"{run}/predictions.csv"]}, [f"{run}/predictions.csv"]),
        "compare": ({"paths": [f"{run}/predictions.csv"]}, [f"{run}/predictions.csv"]),
        "explain": ({"id": "learning_rate", "plan": w}, ["learning_rate", "--plan", w]),
        "status": ({"work": w}, [w]),
        "next": ({"work": w}, [w]),
    }  # fmt: skip


def test_every_reading_verb_is_asked_below(work: Path) -> None:
    assert set(asked(work)) == set(READING)


@pytest.mark.slow
def test_answers_equal_the_command_lines_verb_by_verb(work: Path) -> None:
    async def ask(client: ClientSession) -> dict[str, Any]:
        found = {}
        for name, (given, _) in asked(work).items():
            found[name] = [await client.call_tool(name, given), await client.call_tool(name, {**given, "brief": False})]
        return found

    answers = session(work, ask)
    for name, (_, words) in asked(work).items():
        for answer, extra in zip(answers[name], (["--brief"], []), strict=True):
            done = subprocess.run([EXE, name, *words, "--json", *extra], capture_output=True, text=True, timeout=60, check=False, cwd=work.parent)  # fmt: skip
            said = json.loads(done.stdout)
            assert not answer.is_error, f"{name}: {answer.structured_content}"
            assert answer.structured_content == said, name
            assert said["result"] in answer.content[0].text


def test_every_tool_says_what_it_takes_gives_and_may(work: Path) -> None:
    from jsonschema import Draft202012Validator

    async def ask(client: ClientSession) -> Any:
        return (await client.list_tools()).tools

    tools = session(work, ask)
    assert [t.name for t in tools] == list(READING), "a stable order"
    for t in tools:
        Draft202012Validator.check_schema(t.input_schema)
        Draft202012Validator.check_schema(t.output_schema)
        assert t.input_schema["type"] == "object" and t.input_schema["additionalProperties"] is False
        a = t.annotations
        assert a.read_only_hint and not a.destructive_hint and a.idempotent_hint and not a.open_world_hint


def tree(root: Path) -> dict[str, str]:
    return {str(p.relative_to(root)): hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(root.rglob("*")) if p.is_file()}  # fmt: skip


def test_what_a_verb_answers_is_what_its_schema_says(work: Path) -> None:
    """Every key that the schema of a verb names is there in a real answer, and has its type."""
    from jsonschema import Draft202012Validator

    from papertrain.core.answers import SHAPES
    from papertrain.core.schema import envelope
    from papertrain.mcp import call

    assert set(SHAPES) == set(READING)
    for name, (given, _) in asked(work).items():
        for brief in (True, False):
            document, failed = call(name, {**given, "brief": brief}, [work])
            assert not failed, document
            Draft202012Validator(envelope(name)).validate(document)
        assert set(SHAPES[name]) <= set(document["data"]), name
        first = {k: v[0] for k, v in document["data"].items() if isinstance(v, list) and v and isinstance(v[0], dict)}
        for key, item in first.items():
            wanted = SHAPES[name].get(key)
            if isinstance(wanted, list) and isinstance(wanted[0], dict) and not item.get("refused"):
                assert set(wanted[0]) - {"refused", "unknown", "ask", "evidence"} <= set(item), f"{name} {key}"
        broken = {**document, "data": {**document["data"], next(iter(SHAPES[name])): 7.5 if name != "plan" else "x"}}
        assert list(Draft202012Validator(envelope(name)).iter_errors(broken)), f"{name}: the schema accepts anything"


@pytest.mark.slow
def test_nothing_is_written_whatever_is_asked(work: Path) -> None:
    before = tree(work.parent)
    sly = [
        ("plan", {"target": "Qwen/Qwen2.5-0.5B", "gpu": "1x 4090", "output": str(work)}),
        ("plan", {"target": str(work), "sets": ["learning_rate=1e-3"]}),
        ("plan", {"target": str(work), "confirm": True}),
        ("check", {"files": [str(work / "sft.yaml")], "fix": True}),
        ("compare", {"paths": [str(work)]}),
        ("evaluate", {"targets": [str(work)]}),
        ("diagnose", {"paths": [str(work / "runs" / "ours.data.42")]}),
        ("status", {"work": str(work), "confirm": "derive"}),
        ("fix", {"target": str(work), "id": "D1.F1", "yes": True}),
        ("launch", {"work": str(work), "yes": True}),
        ("package", {"work": str(work), "output": str(work)}),
    ]

    async def ask(client: ClientSession) -> list[Any]:
        return [await client.call_tool(name, given) for name, given in sly]

    for (name, given), answer in zip(sly, session(work, ask), strict=True):
        if {"output", "confirm", "fix", "yes"} & set(given):
            assert answer.is_error, f"{name} {given}"
            assert answer.structured_content["data"]["error"]["says"]
    assert tree(work.parent) == before


def test_an_error_is_a_result_that_says_what_to_do(work: Path) -> None:
    async def ask(client: ClientSession) -> Any:
        return [
            await client.call_tool("plan", {"target": "Qwen/Qwen2.5-7B", "gpu": "4x A100-80GB", "metod": "lora"}),
            await client.call_tool("diagnose", {"paths": ["/etc/passwd"]}),
            await client.call_tool("status", {"work": str(work / ".." / "..")}),
            await client.call_tool("plan", {}),
            await client.call_tool("watch", {"paths": 7}),
        ]

    typo, outside, above, empty, wrong = session(work, ask)
    assert typo.structured_content["data"]["error"]["nearest"] == "method"
    for answer in (typo, outside, above, empty, wrong):
        assert answer.is_error and answer.content[0].text and "root:" not in answer.content[0].text


def test_a_long_log_is_a_resource_read_by_offset(work: Path) -> None:
    async def ask(client: ClientSession) -> str:
        listed = (await client.list_resources()).resources
        uri = next(str(r.uri) for r in listed if r.name == "long.log")
        assert (await client.list_resource_templates()).resource_templates[0].uri_template.endswith("?offset={offset}")
        text, at = "", 0
        while True:
            about, piece = (await client.read_resource(f"{uri}?offset={at}")).contents
            said = json.loads(about.text)
            assert said["offset"] == at and len(piece.text) <= 2**16
            text += piece.text
            at = said["next"]
            if at == said["size"]:
                return text

    assert session(work, ask) == (work / "runs" / "ours.data.42" / "long.log").read_text()


@pytest.mark.parametrize(
    "path", ["../../../../etc/passwd", "..%2f..%2fetc%2fpasswd", "/etc/passwd", "runs", "runs/nothing.log"]
)
def test_a_resource_lies_in_a_granted_folder_or_is_refused(work: Path, path: str) -> None:
    from papertrain.core.errors import PapertrainError
    from papertrain.mcp import read_log

    with pytest.raises(PapertrainError):
        read_log(f"papertrain://log/0/{path}", [work])
    with pytest.raises(PapertrainError):
        read_log("papertrain://log/7/x.log", [work])


INSPECTOR = Path(__file__).resolve().parents[2] / ".envs" / "browser" / "node_modules" / ".bin" / "mcp-inspector"


@pytest.mark.slow
@pytest.mark.skipif(not INSPECTOR.exists(), reason="the official inspector is not installed (npm install --prefix .envs/browser @modelcontextprotocol/inspector)")  # fmt: skip
def test_the_official_inspector_lists_and_calls_the_tools(work: Path) -> None:
    def inspect(*words: str) -> Any:
        done = subprocess.run([str(INSPECTOR), "--cli", EXE, "mcp", str(work), *words], capture_output=True, text=True, timeout=120, check=True)  # fmt: skip
        return json.loads(done.stdout)

    assert [t["name"] for t in inspect("--method", "tools/list")["tools"]] == list(READING)
    answer = inspect("--method", "tools/call", "--tool-name", "status", "--tool-arg", f"work={work}")
    assert answer["structuredContent"]["verb"] == "status" and not answer.get("isError")
    assert inspect("--method", "resources/list")["resources"]


def test_an_error_is_told_in_the_language_of_the_server(tmp_path: Path) -> None:
    from papertrain.core.texts import language
    from papertrain.mcp import call

    token = language.set("zh")
    try:
        document, failed = call("status", {"work": str(tmp_path / "nowhere")}, [tmp_path])
    finally:
        language.reset(token)
    assert failed and re.search("[\u4e00-\u9fff]", document["result"]) and document["data"]["error"]["code"]


def test_a_line_that_is_no_message_is_passed_over_and_the_next_is_answered(work: Path) -> None:
    """The SDK drops what it cannot parse (`mcp/shared/jsonrpc_dispatcher.py`, version 2.3.0): no answer with code -32700."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        "not JSON", '{"jsonrpc": "2.0", "id": 7}', "[]", '"\\ud800"', "\x00",
        json.dumps({"jsonrpc": "2.0", "id": 8, "method": "nope"}),
        json.dumps({"jsonrpc": "2.0", "id": 9, "method": "ping"}),
    ]  # fmt: skip
    server = subprocess.Popen([EXE, "mcp", str(work)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdin is not None and server.stdout is not None
    try:
        server.stdin.write("".join(line + "\n" for line in lines))
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(3)]
    finally:
        server.kill()
        server.wait()
    assert {a["id"]: a.get("error", {}).get("code") for a in answers} == {1: None, 8: -32601, 9: None}
