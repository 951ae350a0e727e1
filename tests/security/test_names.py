"""A name of a file that is no UTF-8 comes through every face: nothing fails, and nothing that is sent or written is broken."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
import scene
from runner import Done, command, tree, warm

ODD = os.fsdecode(b"ca\xfff")
SHOWN = r"ca\xfff"
WORKS = ("work", f"w{ODD}")
EXE = Path(sys.executable).with_name("papertrain")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with such files in its runs, the same in a folder of such a name, and such files beside them."""
    warm()
    root = tmp_path_factory.mktemp("names")
    work = scene.build(root, file_salt=ODD)
    run = work / "runs/ours.toy.1"
    shutil.copy(run / "stdout.log", run / f"{ODD}.log")
    shutil.copy(run / "predictions.csv", run / f"{ODD}.csv")
    scores = work / f"results/ours.toy.1/{ODD}/results_1.json"
    scores.parent.mkdir(parents=True)
    shutil.copy(root / "lm.json", scores)
    for name in ("train.jsonl", "sft.yaml", "crash.log"):
        shutil.copy(root / name, root / (ODD + Path(name).suffix))
    shutil.copytree(run, work / "runs" / ODD)
    (work / "figures").mkdir()
    for name in (ODD, '图 "1"'):
        (work / f"figures/{name}.png").write_bytes(b"picture")
    shutil.copytree(work, root / WORKS[1])
    return root


def run(place: Path, *argv: object) -> Done:
    done = command(*argv, cwd=place, wall=60)
    assert done.code in (0, 1), (argv, done.code, done.err[-300:])
    (done.out + done.err).encode()
    return done


@pytest.mark.parametrize(
    "argv",
    [
        ("plan", "m", "--data", f"{ODD}.jsonl", "--gpu", "1x A100-80GB"),
        ("check", f"{ODD}.yaml", f"{ODD}.jsonl", "--preview"),
        ("watch", f"train{ODD}.log"),
        ("diagnose", f"{ODD}.log", "--config", f"{ODD}.yaml"),
        ("evaluate", f"a{ODD}.csv"),
        ("compare", f"a{ODD}.csv", f"b{ODD}.csv"),
        *((verb, work) for work in WORKS for verb in ("status", "next", "watch", "diagnose")),
    ],
    ids=lambda argv: "-".join(map(ascii, argv[:2])).replace("\\", ""),
)
def test_the_command_line_answers_and_names_it(place: Path, argv: tuple[str, ...]) -> None:
    if argv[0] == "diagnose" and argv[1] in WORKS:
        argv = (argv[0], f"{argv[1]}/runs/ours.toy.1")
    said, document = run(place, *argv).out, json.loads(run(place, *argv, "--json").out)
    assert document["verb"] == argv[0] and document["result"]
    if ODD in "".join(argv) and argv[0] not in ("plan", "watch"):
        assert SHOWN in said and SHOWN.encode("unicode_escape").decode() in json.dumps(document)


def test_the_next_command_runs_in_a_shell_as_it_is_printed(place: Path) -> None:
    action = json.loads(run(place, "diagnose", f"{ODD}.log", "--config", f"{ODD}.yaml", "--json").out)["action"]
    assert f"$'{SHOWN}.yaml'" in action
    done = subprocess.run(
        ["bash", "-c", action.replace("papertrain", str(EXE), 1)], cwd=place, capture_output=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr


def test_a_plan_that_no_config_could_hold_is_refused(place: Path) -> None:
    done = command("plan", "m", "--data", f"{ODD}.jsonl", "--gpu", "1x A100-80GB", "-o", "new", cwd=place)
    assert done.code == 2 and f"{SHOWN}.jsonl" in done.err and "rename" in done.err
    assert not (place / "new/plans").exists()


def test_a_fix_of_such_a_file_is_applied_to_it(place: Path) -> None:
    copy = place / f"fix{ODD}.yaml"
    shutil.copy(place / f"{ODD}.yaml", copy)
    run(place, "fix", copy.name, "D1.F1", "--log", f"{ODD}.log", "--yes")
    assert copy.read_bytes() != (place / f"{ODD}.yaml").read_bytes()


@pytest.fixture(scope="module")
def packed(place: Path) -> Path:
    """The place, with everything written that the verbs write."""
    for work in WORKS:
        run(place, "evaluate", work)
        run(place, "compare", work, "--ours", "ours", "--baseline", "base", "--all")
        run(place, "report", work, "-o", f"{work}.html")
        for words in (("-o", f"{work}-bundle"), ("-o", f"{work}.zip"), ("-o", f"{work}-blind", "--anonymous")):
            run(place, "package", work, *words)
    run(place, "compare", f"a{ODD}.csv", f"b{ODD}.csv", "-o", "paper", "--all")
    return place


@pytest.mark.slow
@pytest.mark.parametrize("work", WORKS, ids=ascii)
def test_the_report_and_the_package_hold_it_and_the_package_verifies(packed: Path, work: str) -> None:
    report = (packed / f"{work}.html").read_bytes().decode()
    assert f"{SHOWN}/results_1.json" in report
    for bundle in (f"{work}-bundle", f"{work}.zip", f"{work}-blind"):
        said = json.loads(run(packed, "package", "--verify", bundle, "--json").out)
        assert said["data"]["faults"] == [], said
    with zipfile.ZipFile(packed / f"{work}.zip") as archive:
        assert f"runs/ours.toy.1/{SHOWN}.csv" in archive.namelist()
    for name, data in tree(packed / f"{work}-bundle").items():
        name.encode()
        if not name.startswith(".papertrain") and name.endswith((".json", ".jsonl", ".md", ".sh", ".toml")):
            data.decode()


@pytest.mark.slow
def test_evidence_of_such_a_file_keeps_its_id_and_goes_stale_with_it(packed: Path) -> None:
    work = packed / "work"
    before = (work / "evidence.jsonl").read_bytes()
    assert f"{SHOWN}/results_1.json".encode("unicode_escape") in before
    run(packed, "evaluate", "work")
    assert (work / "evidence.jsonl").read_bytes() == before
    assert "stale" not in run(packed, "status", "work").out
    file = work / f"results/ours.toy.1/{ODD}/results_1.json"
    kept = file.read_bytes()
    file.write_bytes(kept + b"\n")
    try:
        assert "has changed since it was read" in run(packed, "status", "work", "--json").out
    finally:
        file.write_bytes(kept)


@pytest.mark.slow
def test_the_tools_and_the_page_answer(packed: Path) -> None:
    from papertrain.mcp import call, logs

    for work in WORKS:
        space = packed / work
        for name, given in (
            ("status", {"work": str(space)}),
            ("next", {"work": str(space)}),
            ("compare", {"paths": [str(space)], "brief": False}),
            ("diagnose", {"paths": [str(space / "runs/ours.toy.1")]}),
        ):
            document, _ = call(name, given, [packed])
            assert "error" not in document["data"], (name, document)
        assert any("ca%FFf.log" in uri for uri, _ in logs([space]))


@pytest.mark.slow
def test_a_client_of_the_tool_server_gets_it(packed: Path) -> None:
    pytest.importorskip("mcp", reason="the tool server needs papertrain[mcp]")
    import anyio

    from mcp import ClientSession, StdioServerParameters, stdio_client

    async def talk() -> tuple[Any, Any, Any]:
        server = StdioServerParameters(command=str(EXE), args=["mcp", str(packed)], cwd=str(packed))
        async with stdio_client(server) as (reader, writer), ClientSession(reader, writer) as client:
            await client.initialize()
            answer = await client.call_tool("diagnose", {"paths": ["work/runs/ours.toy.1"], "brief": False})
            return answer, await client.list_resources(), await client.call_tool("status", {"work": "work"})

    answer, resources, status = anyio.run(talk)
    assert not answer.is_error and not status.is_error
    assert resources is not None


@pytest.mark.slow
def test_the_live_page_shows_it(packed: Path) -> None:
    pytest.importorskip("starlette.testclient", reason="the page needs papertrain[serve]")
    from starlette.testclient import TestClient

    from papertrain.web.app import build

    app = build([packed / w for w in WORKS], "t", 8765)
    page = TestClient(app, base_url="http://localhost:8765", cookies={"papertrain": "t", "papertrain-8765": "t"})
    for number in (0, 1):
        for path in ("/", f"/report/{number}", *(f"/w/{number}/{p}" for p in ("plan", "run", "results", "package"))):
            answer = page.get(path)
            assert answer.status_code == 200, (path, answer.text[:300])
            answer.content.decode()
        assert page.get(f"/api/run/{number}/ours.toy.1").json()["logs"]
        piece = page.get(f"/api/log/{number}/ours.toy.1/{quote(SHOWN + '.log')}")
        assert "macro_f1=0.8125" in piece.json()["text"]
        assert page.get(f"/api/run/{number}/{quote(SHOWN)}").json()["logs"].count(f"{SHOWN}.log") == 1
        links = re.findall(
            rf'href="(/w/{number}/file/figures/[^"]*(?:xff|%E5)[^"]*)"', page.get(f"/w/{number}/results").text
        )
        assert len(links) == 2
        for link in links:
            answer = page.get(link)
            assert answer.content == b"picture"
            assert unquote(answer.headers["content-disposition"].rpartition("''")[2]) in (f"{SHOWN}.png", '图 "1".png')
