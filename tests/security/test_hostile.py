"""Files that were made to hurt end in an answer or in one clear line: no trace, no hang, no flood of memory, nothing run."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path

import pytest
import scene
from hostile import CONFIG, Hostile, kinds
from patience import quick
from runner import command, warm

SECONDS, BYTES = 2.0, 500 * 10**6
ALL = list(kinds())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    warm()
    root = tmp_path_factory.mktemp("hostile")
    scene.build(root / "scene")
    (root / "m").mkdir()
    (root / "m/config.json").write_text(json.dumps(CONFIG))
    shutil.copy(root / "scene/train.jsonl", root / "train.jsonl")
    return root


def stage(place: Path, one: Hostile) -> Path:
    """The folder that the verb runs in, with the hostile file in its place."""
    here = place / "here"
    shutil.rmtree(here, ignore_errors=True)
    here.mkdir()
    if one.file.startswith("work/"):
        shutil.copytree(place / "scene/work", here / "work")
        (here / "train.jsonl").write_bytes((place / "train.jsonl").read_bytes())
        (here / "test.jsonl").write_bytes((place / "train.jsonl").read_bytes())
    if one.file == "model.safetensors":
        (here / "config.json").write_text(json.dumps(CONFIG))
    target = here / one.file
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(tampered(target, one) if one.name.startswith("plan-") else one.data)
    return here


def tampered(plan: Path, one: Hostile) -> bytes:
    """A plan that papertrain wrote, with values that it never writes."""
    rng = random.Random(one.name)
    document = json.loads(plan.read_bytes())
    what = one.name.removeprefix("plan-")
    if what == "null":
        return b"null"
    if what == "list":
        return b"[[]]"
    if what == "cut":
        return plan.read_bytes()[: plan.stat().st_size // 2]
    if what == "deep":
        return b"[" * 50_000
    values = {
        "types": ["x", [], {}, None, True],
        "negative": [-1, -1e9],
        "huge": [1e308, 2**62, 10**300],
        "strange-strings": ["\x1b[2J\u202e", "../../x", "{{7*7}}", "\\input{x}", "<script>alert(1)</script>"],
    }[what]

    def change(node: object) -> object:
        if isinstance(node, dict):
            return {k: change(v) for k, v in node.items()}
        if isinstance(node, list):
            return [change(v) for v in node]
        wanted = str if what == "strange-strings" else (int, float)
        return (
            rng.choice(values)
            if isinstance(node, wanted) and not isinstance(node, bool) and rng.random() < 0.5
            else node
        )

    return json.dumps(change(document)).encode()


def answers(place: Path, chosen: list[Hostile]) -> tuple[list[str], int, float, int]:
    """What went wrong, how many answers were given, the slowest, the largest."""
    wrong, count, slowest, largest = [], 0, 0.0, 0
    for one in chosen:
        here = stage(place, one)
        for verb in one.verbs:
            path = here if one.file in ("config.json", "model.safetensors") else here / one.file
            argv = [word.replace("{}", str(path)).replace("{dir}", str(here)) for word in verb]
            done = command(*argv, cwd=here, wall=20)
            if done.seconds > SECONDS and not done.late:
                done = min(done, command(*argv, cwd=here, wall=20), key=lambda d: d.seconds)
            count, slowest, largest = count + 1, max(slowest, done.seconds), max(largest, done.bytes)
            text = done.out + done.err
            what = f"{one.name}: {' '.join(verb)}: "
            if done.late or not quick(done.seconds, SECONDS):
                wrong.append(what + f"{done.seconds:.1f} s")
            if done.bytes > BYTES:
                wrong.append(what + f"{done.bytes / 1e6:.0f} MB")
            if done.code not in (0, 1, 2, 3) or "Traceback (most recent call last)" in done.err:
                wrong.append(what + f"exit {done.code}: {done.err.strip()[-200:]}")
            if done.code in (2, 3) and len(done.err.strip().splitlines()) != 1:
                wrong.append(what + f"{len(done.err.strip().splitlines())} lines of error")
            if "\x1b" in text or "\u202e" in text:
                wrong.append(what + "a control sequence came through")
    return wrong, count, slowest, largest


def report(chosen: list[Hostile], got: tuple[list[str], int, float, int]) -> None:
    wrong, count, slowest, largest = got
    print(
        f"\nhostile files: {len(chosen)} kinds, {count} answers, slowest {slowest:.2f} s, largest {largest / 1e6:.0f} MB, {len(wrong)} wrong"
    )
    assert not wrong, "\n".join(wrong)
    assert not Path("/tmp/pwned").exists(), "something was run"


def test_a_part_of_them_in_every_run_of_the_tests(place: Path) -> None:
    chosen = ALL[:: max(1, len(ALL) // 24)]
    report(chosen, answers(place, chosen))


@pytest.mark.slow
def test_a_hundred_kinds_and_more_end_in_an_answer_or_one_clear_line(place: Path) -> None:
    assert len({one.name for one in ALL}) >= 100
    report(ALL, answers(place, ALL))


@pytest.mark.parametrize("kind", ["fifo", "folder", "loop", "device", "unreadable"])
def test_what_is_no_file_is_refused_without_reading_it(place: Path, kind: str) -> None:
    here = place / "special"
    shutil.rmtree(here, ignore_errors=True)
    here.mkdir()
    target = here / "x.json"
    if kind == "fifo":
        os.mkfifo(target)
    elif kind == "folder":
        target.mkdir()
    elif kind == "loop":
        target.symlink_to(target)
    elif kind == "device":
        target.symlink_to("/dev/zero")
    else:
        target.write_text("{}")
        target.chmod(0)
    for verb in (
        ("check",),
        ("watch",),
        ("diagnose",),
        ("evaluate",),
        ("compare",),
        ("estimate", "--cases"),
        ("plan", "m", "--gpu", "1x A100-80GB", "--data"),
        ("package", "--verify"),
        ("status",),
    ):
        done = command(
            *verb,
            target,
            cwd=place,
            wall=15,
            first=(lambda: os.setuid(65534)) if kind == "unreadable" and os.geteuid() == 0 else None,
        )
        assert done.code in (0, 1, 2, 3) and not done.late and quick(done.seconds, SECONDS), (kind, verb, done)
        assert "Traceback" not in done.err
