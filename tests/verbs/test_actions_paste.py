"""The Action of an answer is pasted as it stands: a shell parses it, nothing is left to fill in, and papertrain takes it
(no exit 2 or 3). A plan that does not fit names the nearest way that does, and every later step says so."""

from __future__ import annotations

import io
import json
import re
import shlex
import subprocess
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import pytest

from papertrain.cli import main
from papertrain.core.workspace import Workspace

LETTERS = re.compile(r"(?<![\w./-])(MODEL|FILE|WORK|BUNDLE|SIZE|NAME|PATH|DIR|ID|SPEC)(?![\w./=-])|<[a-z]+>|…")
BIG = "meta-llama/Llama-3.1-8B-Instruct"


def ask(*words: str) -> tuple[int, dict[str, Any]]:
    """(exit code, envelope) of a call in this process."""
    out, code = io.TextIOWrapper(io.BytesIO(), "utf-8"), 0
    with redirect_stdout(out), redirect_stderr(io.TextIOWrapper(io.BytesIO(), "utf-8")):
        try:
            code = main([*words, "--json"]) or 0
        except SystemExit as end:
            code = int(end.code or 0)
    with suppress(ValueError):
        out.flush()
        return code, json.loads(out.buffer.getvalue())  # type: ignore[attr-defined]
    return code, {}


def paste(action: str) -> int:
    """The exit code of the line, typed into a shell here. Trainings and their programs are not started."""
    done = subprocess.run(["bash", "-n", "-c", action], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, (action, done.stderr)
    assert not LETTERS.search(action), f"something is left to fill in: {action}"
    words = shlex.split(action, comments=True)
    if words[0] != "papertrain" or words[1] in ("demo", "serve"):
        return 0
    if words[1] == "launch" and "--yes" in words:
        words = [*(w for w in words if w != "--yes"), "--dry-run"]
    return ask(*words[1:])[0] if words[-1] != "--help" else 0


def follow(*words: str, most: int = 6) -> list[str]:
    """The Actions that follow from a call, pasted one after another until one repeats."""
    seen: list[str] = []
    code, answer = ask(*words)
    assert code in (0, 1), (words, answer.get("result"))
    for _ in range(most):
        action = answer["action"]
        if action is None or action in seen:
            break
        seen.append(action)
        code = paste(action)
        assert code in (0, 1), (seen, code)
        parts = shlex.split(action, comments=True)
        if parts[0] != "papertrain" or parts[1] == "launch" or parts[-1] == "--help":
            break
        code, answer = ask(*parts[1:])
    return seen


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        {"instruction": f"Say the number {i}.", "input": "", "output": f"It is {i}, of course. " * 9}
        for i in range(300)
    ]
    Path("rows.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))


TOO_LARGE = [
    ("--gpu", "1x RTX 4090", "--host-ram", "64GB", "--method", "full"),
    ("--gpu", "1x RTX 4090", "--host-ram", "64GB", "--method", "full", "--set", "micro_batch_size=8", "--set", "zero_stage=0"),
    ("--gpu", "1x RTX 4090", "--method", "full"),
    ("--gpu", "2x RTX 4090", "--method", "lora", "--set", "micro_batch_size=64", "--set", "gradient_checkpointing=none"),
    ("--gpu", "1x T4", "--method", "full"),
    ("--gpu", "1x A100-40GB", "--method", "full", "--set", "method=full"),
    ("--gpu", "1x RTX 3060", "--method", "lora", "--seq-len", "4096"),
    ("--gpu", "cpu", "--host-ram", "16GB", "--method", "full"),
]  # fmt: skip


@pytest.mark.parametrize("options", TOO_LARGE, ids=" ".join)
@pytest.mark.parametrize("written", [False, True], ids=["asked", "written"])
def test_the_way_that_fits_fits_when_it_is_pasted(options: tuple[str, ...], written: bool) -> None:
    words = ("plan", BIG, "--data", "rows.jsonl", *options, *(("-o", "work") if written else ()))
    code, answer = ask(*words)
    if answer["data"]["fits"] != "no":
        pytest.skip("it fits")
    assert code == 1
    assert paste(answer["action"]) in (0, 1)
    parts = shlex.split(answer["action"])
    if parts[1] == "plan":
        assert ask(*parts[1:])[1]["data"]["fits"] in ("yes", "tight"), answer["action"]
    if written:
        assert follow("next", "work")


def test_a_plan_that_does_not_fit_is_never_passed_over_in_silence() -> None:
    words = ("plan", BIG, "--data", "rows.jsonl", "--gpu", "1x RTX 4090", "--host-ram", "64GB", "--method", "full")
    ask(*words, "-o", "work")
    assert Workspace(Path("work")).plan().fits == "no"
    said = "does not fit"
    code, status = ask("status", "work")
    assert any(said in w for w in status["warnings"]) and said in status["data"]["steps"][0]["because"]
    assert status["action"].startswith("papertrain plan work")
    for call in (("status", "work", "--confirm", "derive"), ("generate", "work"), ("launch", "work", "--dry-run")):
        code, answer = ask(*call)
        assert code == 0 and any(said in w for w in answer["warnings"]), call
    assert said in ask("status", "work")[1]["data"]["steps"][0]["because"]


SITUATIONS = [
    ("plan", "Qwen/Qwen2.5-0.5B-Instruct", "--gpu", "1x A100-80GB"),
    ("plan", "Qwen/Qwen2.5-0.5B-Instruct", "--gpu", "1x A100-80GB", "--data", "rows.jsonl"),
    ("plan", "Qwen/Qwen2.5-0.5B-Instruct", "--gpu", "1x A100-80GB", "--data", "rows.jsonl", "-o", "work dir"),
    ("plan", "7B", "--gpu", "8x H100", "--nodes", "2", "--data", "rows.jsonl", "-o", "w", "--name", "big"),
    ("next",),
    ("explain", "learning_rate"), ("explain", "TR103"), ("explain", "TR305"), ("explain", "oom-eval"), ("explain", "h100-sxm"), ("explain", "recipes"),
    ("explain", "test-set"), ("explain", "Qwen/Qwen2.5-0.5B-Instruct"),
    ("check", "rows.jsonl"),
]  # fmt: skip


@pytest.mark.parametrize("words", SITUATIONS, ids=" ".join)
def test_the_actions_that_follow_run_as_typed(words: tuple[str, ...]) -> None:
    assert follow(*words)


def test_every_step_of_a_workspace_leads_on() -> None:
    ask("plan", "Qwen/Qwen2.5-0.5B-Instruct", "--gpu", "cpu", "--data", "rows.jsonl", "-o", "work")
    for verb in (("status", "work"), ("next", "work"), ("generate", "work"), ("generate", "work", "--dry-run"), ("launch", "work", "--dry-run"),
                 ("explain", "learning_rate", "--plan", "work"), ("explain", "test-set", "--plan", "work"), ("report", "work", "-o", "r.html"),
                 ("evaluate", "work"), ("package", "work", "-o", "bundle"), ("plan", "work", "--set", "learning_rate=1e-4"), ("plan", "work", "--sweep", "learning_rate")):  # fmt: skip
        code, answer = ask(*verb)
        assert code in (0, 1), (verb, answer.get("result"))
        if answer["action"] is not None:
            assert paste(answer["action"]) in (0, 1), (verb, answer["action"])


def test_a_folder_that_is_not_there_is_no_advice() -> None:
    assert ask("next", "nope")[0] == 2


def test_the_action_of_every_failure_is_a_line_that_a_shell_reads() -> None:
    """One call of bash parses them all; a bracket or a word to fill in would stop it."""
    from papertrain.verbs.diagnose import diagnose
    from papertrain.verbs.explaining.lookups import every_rule

    lines = []
    for room, rule in every_rule():
        if room != "diagnose" or not rule.fires:
            continue
        Path(f"{rule.id}.log").write_text(rule.fires + "\n")
        action = diagnose([Path(f"{rule.id}.log")]).action
        assert action and not LETTERS.search(action), (rule.name, action)
        lines.append(action)
    done = subprocess.run(["bash", "-n", "-c", "\n".join(lines)], capture_output=True, text=True, timeout=60)
    assert len(lines) > 100 and done.returncode == 0, done.stderr


def test_answers_at_the_end_of_a_road_name_a_next_command_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """README: every answer has three parts."""
    monkeypatch.chdir(tmp_path)
    Path("healthy.log").write_text("".join(f"{{'loss': {2 - i / 50}, 'epoch': {i / 50}}}\n" for i in range(50)))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path("healthy.log").read_bytes())))
    for words in (["diagnose", "-"], ["diagnose", "healthy.log"]):
        code, answer = ask(*words)
        assert code == 0, answer
        assert answer["result"] and answer["explanation"] and answer["action"], words
        assert paste(answer["action"]) in (0, 1)
