"""Forty-nine kinds of secret in every field and file kind, through every verb, in every form of output: none comes out."""

from __future__ import annotations

import io
import json
import re
import zipfile
import zlib
from pathlib import Path

import pytest
import scene
from canaries import FRAGMENTS, HARMLESS, PRIVATE, PRIVATE_NEEDLES, SHAPED, lines
from runner import Done, command, tree, warm

from papertrain import verbs
from papertrain.core.params import parameters

WORK_LINES = [*lines(), *PRIVATE.values(), *HARMLESS]
NAME = SHAPED["huggingface"][1]
FORMS: tuple[tuple[str, ...], ...] = ((), ("--json",), ("--debug", "-v"))
ASKED: list[tuple[object, ...]] = [
    ("plan", "m", "--data", "train.jsonl", "--gpu", "1x A100-80GB", "--method", "lora"),
    ("plan", "m", "--data", "rows.csv", "--gpu", "1x A100-80GB"),
    ("plan", SHAPED["huggingface"][1]), ("plan", "https://" + SHAPED["url-password"][0].split("//")[1] + SHAPED["url-password"][1]),
    ("plan", "m", "--data", "train.jsonl", "--set", "hub_token=" + NAME), ("plan", "m", "--data", SHAPED["github-fine"][1]),
    ("estimate", "--cases", "cases.jsonl"),
    ("check", "sft.yaml", "ds.json", "run.sh", "train.py", "job.sbatch", "dataset_info.json", "train.jsonl", "rows.json", "rows.csv", "--preview", "--diff"),
    ("check", "sft.yaml", "--output-format", "sarif"), ("check", "sft.yaml", "run.sh", "--output-format", "github"), ("check", "train.jsonl", "--show", "5", "--model", "m"),
    ("check", "crash.log"), ("check", "paper-notes.txt"), ("check", "."),
    ("watch", f"train{NAME}.log"), ("watch", "work"), ("watch", "work/runs/ours.toy.1/trainer_state.json"),
    ("diagnose", "crash.log"), ("diagnose", "odd.log", "--config", "sft.yaml", "--config", "ds.json", "--config", "run.sh"), ("diagnose", "work/runs/ours.toy.1"),
    ("fix", "sft.yaml", "D1.F1", "--log", "crash.log"), ("fix", "ds.json", NAME),
    ("evaluate", f"a{NAME}.csv"), ("evaluate", "pred.jsonl"), ("evaluate", "texts.jsonl"), ("evaluate", "lm.json"), ("evaluate", "work", "--dry-run"), ("evaluate", "work", "--tasks", NAME),
    ("compare", f"a{NAME}.csv", f"b{NAME}.csv"), ("compare", "work", "--dry-run"), ("compare", "--system", f"{NAME}=a{NAME}.csv", "--system", f"b=b{NAME}.csv"), ("compare", "lm.json"),
    ("status", "work"), ("next", "work"), ("explain", "learning_rate", "--plan", "work"), ("explain", NAME), ("explain", "E1", "--plan", "work"), ("explain", "E2", "--plan", "work"),
    ("launch", "work", "--missing", "--overwrite", "--dry-run"), ("launch", "work", "--run", "base.toy.1", "--overwrite", "--dry-run", "--", "--hub_token", NAME),
    ("launch", "work", "--run", "ours.toy.1", "--overwrite", "--dry-run"),
    ("generate", "work", "--dry-run"), ("package", "work"), ("package", "work", "-o", "x", "--dry-run"), ("report", "work"), ("status", NAME), (NAME,), ("plan", "--" + NAME),
]  # fmt: skip
WRITTEN: list[tuple[object, ...]] = [
    ("plan", "m", "--data", "train.jsonl", "--gpu", "1x A100-80GB", "--method", "lora", "-o", "out/plan"),
    ("generate", "out/plan"), ("generate", "work", "-o", "out/gen"),
    ("diagnose", "work/runs/ours.toy.2"), ("check", "sft.yaml", "run.sh", "--write-baseline", "out/baseline.json"), ("check", "ds.json", "--fix"),
    ("diagnose", "crash.log", "--config", "ds.json"), ("fix", "sft.yaml", "D1.F1", "--log", "crash.log", "--yes"), ("fix", "ds.json", "D1.F1", "--log", "crash.log", "--yes"),
    ("evaluate", "work"), ("compare", "work", "--ours", "ours", "--baseline", "base", "--all"), ("compare", f"a{NAME}.csv", f"b{NAME}.csv", "-o", "out/paper", "--all"),
    ("launch", "work", "--run", "base.toy.1", "--overwrite", "--yes"),
    ("status", "work", "--confirm", "derive"), ("status", "work", "--project"), ("report", "work", "-o", "out/report.html"),
    ("package", "work", "-o", "out/bundle"), ("package", "work", "-o", "out/bundle.zip"), ("package", "work", "-o", "out/blind", "--anonymous"), ("package", "--verify", "out/bundle"),
    ("plan", "work", "--set", "weight_decay=0.02"), ("skill", "install", "--tool", "claude-code", "-o", "out/skill"),
]  # fmt: skip
OWN = {"predictions.csv", "stdout.log", "trainer_state.json", "train_log.jsonl", "study.toml", "record.json"}
"""Files of a run that the scene, not papertrain, wrote into the workspace."""


def leaks(data: bytes, private: bool) -> list[str]:
    found = [kind for kind, parts in FRAGMENTS.items() if any(p in data for p in parts)]
    return found + [n for n in PRIVATE_NEEDLES if private and n.encode() in data]


def inside(name: str, data: bytes) -> bytes:
    """The bytes of a file, and what is packed in it: streams of a PDF, members of a zip."""
    if data[:4] == b"%PDF":
        for m in re.finditer(rb"stream\r?\n(.*?)endstream", data, re.DOTALL):
            try:
                data += zlib.decompress(m[1])
            except zlib.error:
                continue
    elif data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as z:
            data += b"".join(z.read(n) + n.encode() for n in z.namelist())
    return name.encode() + b"\n" + data


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("canary"))


@pytest.fixture(scope="module")
def other_place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For outputs that are called as a secret: files have the names that they were given, on the disk of who gave them."""
    return built(tmp_path_factory.mktemp("fields"))


def built(root: Path) -> Path:
    warm()
    scene.build(root, WORK_LINES, NAME)
    (root / "paper-project.yaml").write_text(
        "".join(f"note_{i}: {json.dumps(t)}\n" for i, t in enumerate(WORK_LINES)) + f"title: {json.dumps(NAME)}\n"
    )
    return root


def say(kind: str, argv: tuple[object, ...], found: list[str]) -> str:
    return f"{kind} of {' '.join(map(str, argv))[:120]}: {found}"


@pytest.mark.slow
def test_nothing_that_is_printed_holds_a_secret(place: Path) -> None:
    found, printed, survived = [], 0, b""
    for argv in ASKED:
        for form in FORMS:
            done: Done = command(*argv, *form, cwd=place)
            data = (done.out + done.err).encode()
            printed += len(data)
            survived += data
            assert done.code in (0, 1, 2, 3), say(f"exit {done.code}", argv, [done.err[-300:]])
            if got := leaks(data, private=True):
                found.append(say("output", (*argv, *form), got))
    print(
        f"\ncanaries: {len(SHAPED)} kinds planted, {len(ASKED) * len(FORMS)} answers, {printed:,} bytes searched, {len(found)} found"
    )
    assert not found, "\n".join(found)
    for word in ("num_tokens", "macro_f1", "learning_rate"):
        assert word.encode() in survived


FIELDS = [
    (verb, p.name)
    for verb in verbs.names()
    if verb not in scene.STAY
    for p in parameters(verbs.load(verb))
    if p.kind in (str, Path) and p.name != "passthrough"
]
"""Every field of every verb that takes a text or a path; those of a number take no secret."""


@pytest.mark.slow
@pytest.mark.parametrize(("verb", "name"), FIELDS)
def test_no_field_of_any_verb_gives_a_secret_back(other_place: Path, verb: str, name: str) -> None:
    """Every field takes five of the kinds in turn, so that each kind has been in many fields."""
    at, kinds, printed = FIELDS.index((verb, name)), [*SHAPED.values()], 0
    option = {p.name: p.option for p in parameters(verbs.load(verb))}[name]
    for i in range(5):
        secret = "".join(kinds[(at * 5 + i) % len(kinds)]).replace("\n", " ")
        # A value that begins as an option is one only behind the sign of equality.
        argv = [w for w in scene.words(verb, {name: "@"}) if option is None or w != option]
        argv = [(f"{option}={secret}" if option else secret) if w == "@" else w for w in argv]
        done = command(*argv, "--json" if i % 2 else "-v", cwd=other_place, wall=60)
        assert done.code in (0, 1, 2, 3), (argv, done.err[-300:])
        data = (done.out + done.err).encode()
        printed += len(data)
        assert not leaks(data, private=False), (argv, data.decode())
    print(f"\ncanaries: {len(SHAPED)} kinds planted, 5 in {verb} {name}, {printed:,} bytes searched, 0 found")


def test_every_verb_has_its_place_in_the_lists() -> None:
    said = {str(argv[0]) for argv in (*ASKED, *WRITTEN)}
    servers = scene.STAY | {
        "demo"
    }  # their faces are searched in test_leaks, tests/web and tests/mcp; demo is these verbs
    assert set(verbs.names()) - servers <= said


@pytest.mark.slow
def test_nothing_that_is_written_holds_a_secret(place: Path) -> None:
    before = tree(place)
    found, searched, answered = [], 0, []
    for argv in WRITTEN:
        done = command(*argv, cwd=place, wall=60)
        answered.append(done.code)
        assert done.code in (0, 1, 2, 3), say(f"exit {done.code}", argv, [done.err[-300:]])
        if got := leaks((done.out + done.err).encode(), private=True):
            found.append(say("output", argv, got))
    assert answered.count(0) + answered.count(1) >= len(WRITTEN) - 4, list(zip(WRITTEN, answered))
    after = tree(place)
    for name, data in after.items():
        if (
            before.get(name) == data
            or name.startswith("work/runs/earlier/")
            or (Path(name).name in OWN and name.startswith("work/runs/") and "base.toy.1" not in name)
            or name in ("sft.yaml", "ds.json")
        ):
            continue
        whole = inside(name, data)
        searched += len(whole)
        leaves = name.startswith(("out/bundle", "out/blind", "out/report"))
        if got := leaks(whole, private=leaves):
            found.append(f"{name}: {got}")
    print(
        f"\ncanaries: {len(SHAPED)} kinds planted, {len(after) - len(before)} new files, {searched:,} bytes searched, {len(found)} found"
    )
    assert not found, "\n".join(found)
    assert searched > 1_000_000 and any(n.startswith("out/bundle/") for n in after)


@pytest.mark.slow
def test_words_that_only_look_like_secrets_survive_in_the_package(place: Path) -> None:
    packed = b"".join(data for name, data in tree(place).items() if name.startswith("out/bundle/runs/"))
    for word in HARMLESS:
        assert word.encode() in packed, word
