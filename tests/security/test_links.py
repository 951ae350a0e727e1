"""A workspace that somebody else made may hold links instead of folders: no verb writes, moves, removes or packs through one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import scene
from runner import command, tree, warm

LINKED = ("runs", "runs/base.toy.1", "runs/earlier", "results", "results/ours.toy.1", "tables", "figures", "configs", "configs/ours", "plans", "plans/ours", ".papertrain", "commands.sh", "evidence.jsonl", "study.toml")  # fmt: skip
WRITING: tuple[tuple[str, ...], ...] = (
    ("launch", "work", "--run", "base.toy.1", "--overwrite", "--yes"), ("evaluate", "work"), ("compare", "work", "--ours", "ours", "--baseline", "base", "--resamples", "100", "--metrics", "accuracy"),
    ("generate", "work"), ("plan", "work", "--set", "weight_decay=0.02"), ("status", "work", "--confirm", "derive"), ("diagnose", "work/runs/ours.toy.2"), ("package", "work", "-o", "bundle"),
)  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    warm()
    root = tmp_path_factory.mktemp("links")
    work = scene.build(root / "made")
    (work / "base.py").write_text("print('trained')\n")
    return root


def linked(made: Path, name: str) -> tuple[Path, Path]:
    """(the folder to work in, the folder outside that the link leads to)."""
    here, outside = made / "here", made / "outside"
    for old in (here, outside):
        shutil.rmtree(old, ignore_errors=True)
    shutil.copytree(made / "made", here, symlinks=True)
    outside.mkdir()
    place = here / "work" / name
    if place.exists():
        shutil.move(str(place), str(outside / "x"))
    else:
        (outside / "x").mkdir()
        place.parent.mkdir(parents=True, exist_ok=True)
    (outside / "canary.txt").write_text("outside canary 7f3a9c")
    if (outside / "x").is_dir():
        (outside / "x/canary.txt").write_text("outside canary 7f3a9c")
    place.symlink_to(outside / "x")
    return here, outside


@pytest.mark.slow
@pytest.mark.parametrize("name", LINKED)
def test_nothing_outside_is_changed_and_nothing_of_it_is_packed(made: Path, name: str) -> None:
    for argv in WRITING:
        here, outside = linked(made, name)
        before = tree(outside)
        done = command(*argv, cwd=here, wall=60)
        after = tree(outside)
        assert done.code in (0, 1, 2, 3) and "Traceback" not in done.err, (name, argv, done.err[-300:])
        assert after == before, (name, argv, done.code, sorted(set(after) ^ set(before))[:5])
        if argv[0] == "package" and done.code == 0:
            packed = tree(here / "bundle")
            assert not [n for n, data in packed.items() if b"outside canary" in data], name
