"""Killed, out of space, locked out, or two at once: the old state or the new one, and the next run works."""

from __future__ import annotations

import errno
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import scene
from runner import Done, child, command, tree, warm

TIME = re.compile(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(\+00:00|Z)?")
CLOCK = re.compile(rb'"(at|read_at|mtime|seconds|pid|started_at|ended_at)": [^,\n]*')


@dataclass(frozen=True)
class Case:
    """A verb that writes. again: exit codes that the run after a kill may have; same: whether it must end in the same state;
    hidden: with the tool's own notes, which number the attempts of `fix` and of `diagnose`; files: what lies there besides."""

    name: str
    argv: tuple[str, ...]
    again: tuple[int, ...] = (0, 1)
    before: tuple[tuple[str, ...], ...] = field(default=())
    same: bool = True
    hidden: bool = True
    files: tuple[tuple[str, str], ...] = field(default=())


CASES = [
    Case("plan", ("plan", "m", "--data", "train.jsonl", "--gpu", "1x A100-80GB", "--method", "lora", "-o", "fresh")),
    Case("plan again", ("plan", "work", "--set", "weight_decay=0.02")),
    Case("generate", ("generate", "work"), before=(("plan", "work", "--set", "weight_decay=0.03"),)),
    Case("evaluate", ("evaluate", "work")),
    Case(
        "compare",
        ("compare", "work", "--ours", "ours", "--baseline", "base", "--metrics", "accuracy", "--resamples", "100"),
    ),
    Case("package", ("package", "work", "-o", "bundle")),
    Case("package zip", ("package", "work", "-o", "bundle.zip")),
    Case("report", ("report", "work", "-o", "report.html")),
    Case("status confirm", ("status", "work", "--confirm", "derive")),
    Case("status project", ("status", "work", "--project")),
    Case(
        "status authorize",
        ("status", "work", "--authorize", "paper-project.yaml"),
        before=(("status", "work", "--project"),),
        again=(0, 3),
    ),
    Case("diagnose", ("diagnose", "work/runs/ours.toy.2"), hidden=False),
    Case("fix", ("fix", "ds.json", "D1.F1", "--log", "nan.log", "--yes"), again=(0, 3), hidden=False),
    Case("check fix", ("check", "sft.yaml", "--fix"), again=(0, 1)),
    Case("launch", ("launch", "work", "--run", "base.toy.1", "--overwrite", "--yes"), again=(0, 1), same=False),
    # Between the two there is a third whole state: the new plan, which nobody has confirmed yet, and which says so.
    Case("plan confirm", ("plan", "work", "--set", "weight_decay=0.02", "--confirm"), same=False),
    Case("generate elsewhere", ("generate", "work", "-o", "made")),
    Case("generate code", ("generate", "work", "--target", "script")),
    Case("check baseline", ("check", "sft.yaml", "ds.json", "--write-baseline", "baseline.json")),
    Case("compare files", ("compare", "a.csv", "b.csv", "-o", "paper", "--resamples", "100")),
    Case(
        "package again",
        ("package", "work", "-o", "bundle"),
        before=(("package", "work", "-o", "bundle"), ("evaluate", "work")),
    ),
    Case("package anonymous", ("package", "work", "-o", "blind", "--anonymous")),
    Case("skill", ("skill", "install", "--tool", "claude-code", "-o", "home")),
    Case("plan test set", ("plan", "m", "--data", "train.jsonl", "--test", "held.jsonl", "--gpu", "1x A100-80GB", "-o", "fresh"), files=(("held.jsonl", '{"instruction": "x", "input": "", "output": "y"}\n' * 9), )),
    Case("plan sweep", ("plan", "work", "--sweep", "learning_rate")),
    Case("plan second method", ("plan", "m", "--data", "train.jsonl", "--gpu", "1x A100-80GB", "--name", "second", "-o", "work")),
    # The plan, its files and the note are written one after the other; each says what it rests on.
    Case("fix plan", ("fix", "work", "D1.F1", "--yes"), again=(0, 3), before=(("diagnose", "work/runs/ours.toy.2"),), same=False, hidden=False),
    Case("launch supervised", ("launch", "work", "--run", "base.toy.1", "--overwrite", "--supervise", "--yes"), again=(0, 1), same=False),
    Case("governance", ("evaluate", "work"), files=tuple((f"references/governance/{n}.md", "x\n") for n in ("task-modes", "privacy-and-evidence", "artifact-contracts"))),
]  # fmt: skip
NAN = "".join(
    f"{{'loss': {v}, 'grad_norm': {g}, 'learning_rate': {i}e-07, 'epoch': 0.0{i}}}\n"
    for i, (v, g) in enumerate([("1.677", "8.53"), ("0.0", "nan"), ("0.0", "nan")], 1)
)


class Place:
    """One folder that is set back to the same state before every run, so that paths in files are the same too."""

    def __init__(self, root: Path) -> None:
        self.template, self.now, self.made = root / "template", root / "now", root / "made"
        scene.build(self.now)
        (self.now / "nan.log").write_text(NAN)
        failed = self.now / "work/runs/ours.toy.2"
        (failed / "stdout.log").write_text((self.now / "crash.log").read_text())
        (failed / "record.json").write_text(
            (failed / "record.json").read_text().replace('"exit_code": 0', '"exit_code": 1')
        )
        (self.now / "paper-project.yaml").write_text("# ours\ntitle: A study\n")
        self.now.rename(self.template)

    def reset(self, case: Case) -> None:
        made = self.made / case.name.replace(" ", "-")
        if not made.exists():
            self._copy(self.template)
            for argv in case.before:
                assert command(*argv, cwd=self.now).code in (0, 1)
            for name, text in case.files:
                (self.now / name).parent.mkdir(parents=True, exist_ok=True)
                (self.now / name).write_text(text)
            shutil.copytree(self.now, made, symlinks=True)
        self._copy(made)

    def _copy(self, source: Path) -> None:
        shutil.rmtree(self.now, ignore_errors=True)
        shutil.copytree(source, self.now, symlinks=True)

    def state(self, hidden: bool = False) -> dict[str, bytes]:
        found = tree(self.now, leave=() if hidden else (".papertrain",))
        return {
            n: CLOCK.sub(b"", TIME.sub(b"T", d))
            for n, d in found.items()
            if not n.endswith((".tmp", "/lock", "digests.json"))
        }


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    warm()
    yield Place(tmp_path_factory.mktemp("kill"))


def at_point(number: int, act: Callable[[int], None], *, writing: bool = False) -> Callable[[], None]:
    """Plant `act` at the number-th moment at which the disk has changed: before every sync, and after every rename, removal
    and new folder; with `writing`, only where room is needed."""

    def plant() -> None:
        seen = 0
        sync = os.fsync

        def point() -> None:
            nonlocal seen
            seen += 1
            if number == 0:
                os.write(9, b".")
            if seen == number:
                act(seen)

        def fsync(fd: int) -> None:
            point()
            sync(fd)

        def after(real: Callable[..., object]) -> Callable[..., object]:
            def one(*args: object, **options: object) -> object:
                done = real(*args, **options)
                point()
                return done

            return one

        os.fsync = fsync
        os.replace = after(os.replace)  # type: ignore[assignment]
        if not writing:
            os.rename, os.unlink, os.mkdir = after(os.rename), after(os.unlink), after(os.mkdir)  # type: ignore[assignment]

    return plant


def points(place: Place, case: Case, *, writing: bool = False) -> tuple[int, Done]:
    """How many of them the verb has."""
    read, write = os.pipe()
    os.set_blocking(read, False)

    def plant() -> None:
        os.dup2(write, 9)
        at_point(0, lambda n: None, writing=writing)()

    done = command(*case.argv, cwd=place.now, first=plant)
    os.close(write)
    count = len(os.read(read, 100_000) if done.code >= 0 else b"")
    os.close(read)
    return count, done


def die(number: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def full(number: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def between(old: dict[str, bytes], new: dict[str, bytes], now: dict[str, bytes]) -> list[str]:
    """Files that are in neither state. Of one that is only added to, a part of the new lines is a state of its own."""

    def whole(name: str) -> bool:
        data = now.get(name)
        if name.endswith("evidence.jsonl") and data is not None and data.endswith(b"\n"):
            return data.startswith(old.get(name, b"")) and new.get(name, b"").startswith(data)
        return data in (old.get(name), new.get(name))

    return [n for n in {*old, *new, *now} if not whole(n)]


@pytest.mark.parametrize("case", [CASES[1], CASES[3], CASES[8]], ids=lambda c: c.name.replace(" ", "-"))
def test_a_kill_in_the_middle_leaves_the_old_or_the_new_state(place: Place, case: Case) -> None:
    kill(place, case, some=3)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name.replace(" ", "-"))
def test_a_kill_at_any_write_point_leaves_the_old_or_the_new_state(place: Place, case: Case) -> None:
    kill(place, case)


def kill(place: Place, case: Case, some: int | None = None) -> None:
    """Kill at every write point, or at some of them; look at what is left; run again."""
    place.reset(case)
    old = place.state()
    count, done = points(place, case)
    assert done.code in (0, 1) and count >= 2, (case.name, count, done.err[-500:])
    new, whole = place.state(), place.state(hidden=case.hidden)
    corrupt, killed = [], 0
    chosen = range(1, count + 1) if some is None else sorted({1 + i * (count - 1) // (some - 1) for i in range(some)})
    for number in chosen:
        place.reset(case)
        done = command(*case.argv, cwd=place.now, first=at_point(number, die))
        if done.code != -signal.SIGKILL:
            continue
        killed += 1
        if case.same:
            corrupt += [f"point {number}: {n}" for n in between(old, new, place.state())]
        for file in place.now.rglob("*.json"):
            json.loads(file.read_bytes())
        again = command(*case.argv, cwd=place.now)
        for _ in range(
            10 if case.name.startswith("launch") and again.code == 3 else 0
        ):  # the orphan has its half second to end
            time.sleep(0.1)
            again = command(*case.argv, cwd=place.now)
            if again.code != 3:
                break
        if again.code not in case.again:
            corrupt.append(f"point {number}: the next run ends with {again.code}: {again.err.strip()[-300:]}")
        elif case.same and again.code in (0, 1):
            end = place.state(hidden=case.hidden)
            corrupt += [
                f"point {number}, after the next run: {n}" for n in {*whole, *end} if whole.get(n) != end.get(n)
            ]
        corrupt += (
            [f"point {number}: left behind {p.name}" for p in place.now.rglob(".*.tmp") if ".papertrain" not in p.parts]
            if case.same and again.code in (0, 1)
            else []
        )
    print(f"\nwrite points: {case.name}: {killed} killed, {len(corrupt)} corrupt")
    assert killed >= len(chosen) - 1 and not corrupt, "\n".join(corrupt[:12])


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [c for c in CASES if c.same and c.name != "diagnose"], ids=lambda c: c.name.replace(" ", "-")
)
def test_a_full_disk_is_one_clear_error_and_loses_nothing(place: Place, case: Case) -> None:
    place.reset(case)
    old = place.state()
    count, _ = points(place, case, writing=True)
    new = place.state()
    for number in sorted({1, count // 2 or 1, count}):
        place.reset(case)
        done = command(*case.argv, cwd=place.now, first=at_point(number, full, writing=True))
        lines = done.err.strip().splitlines()
        assert done.code == 2 and len(lines) == 1 and "no space left" in lines[0].lower(), (
            number,
            done.code,
            done.err[-500:],
        )
        assert not between(old, new, place.state()), (number, between(old, new, place.state()))
        assert command(*case.argv, cwd=place.now).code in case.again


def test_a_diagnosis_that_could_not_be_kept_is_given_all_the_same_and_said(place: Place) -> None:
    case = next(c for c in CASES if c.name == "diagnose")
    place.reset(case)
    count, whole = points(place, case, writing=True)
    assert count >= 2 and "not kept" not in whole.out
    for number in (1, 2):
        place.reset(case)
        done = command(*case.argv, cwd=place.now, first=at_point(number, full, writing=True))
        assert done.code == whole.code == 0 and "oom" in done.out.lower(), (done.code, done.err)
        said = [line for line in (done.out + done.err).splitlines() if "not kept" in line]
        assert len(said) == 1 and "no space left" in said[0], (number, done.out[-600:], done.err)


def test_status_goes_from_the_failure_to_its_diagnosis_to_the_fix(place: Place) -> None:
    place.reset(next(c for c in CASES if c.name == "diagnose"))
    before = command("status", "work", cwd=place.now)
    assert "was not diagnosed" in before.out and "papertrain diagnose work/runs/ours.toy.2" in before.out
    assert command("diagnose", "work/runs/ours.toy.2", cwd=place.now).code == 0
    after = command("status", "work", cwd=place.now)
    fix = next(line.split("papertrain ", 1)[1] for line in after.out.splitlines() if "papertrain fix" in line)
    assert "was not diagnosed" not in after.out and command(*fix.split(), cwd=place.now).code == 0, fix


def test_a_really_full_disk_and_a_file_size_limit_lose_nothing(place: Place, tmp_path: Path) -> None:
    case = CASES[1]
    place.reset(case)
    old = place.state()
    done = command(*case.argv, cwd=place.now, first=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)))
    assert done.code == 2 and place.state() == old and "Traceback" not in done.err
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "none", str(disk)], capture_output=True, check=False
    ).returncode:
        pytest.skip("no small disk can be mounted here; the limit on file sizes was tried instead")
    try:
        shutil.copytree(place.now / "work", disk / "work")
        free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
        (disk / "ballast").write_bytes(b"x" * max(0, free - 8192))
        before = tree(disk / "work", leave=(".papertrain",))
        done = command("compare", disk / "work", "--ours", "ours", "--baseline", "base", cwd=place.now)
        assert done.code == 2 and "no space left" in done.err, (done.code, done.err)
        after = tree(disk / "work", leave=(".papertrain",))
        assert {n: d for n, d in after.items() if n in before} == before
    finally:
        subprocess.run(["umount", str(disk)], check=False)


def test_a_folder_that_may_not_be_written_is_one_clear_error(place: Place) -> None:
    case = CASES[1]
    place.reset(case)
    if os.geteuid() != 0:
        for p in [place.now / "work", *(place.now / "work").rglob("*")]:
            p.chmod(p.stat().st_mode & ~0o222)
        drop = lambda: None  # noqa: E731
    else:
        for p in [*place.now.parents[:3], place.now, *place.now.rglob("*")]:
            p.chmod(p.stat().st_mode | (0o055 if p.is_dir() else 0o044))
        drop = lambda: os.setuid(65534)  # noqa: E731
    old = place.state()
    try:
        for argv in (
            case.argv,
            CASES[3].argv,
            CASES[4].argv,
            ("generate", "work", "--overwrite"),
            ("package", "work", "-o", "work/x"),
            ("report", "work", "-o", "work/r.html"),
            ("status", "work", "--confirm", "derive"),
        ):
            done = command(*argv, cwd=place.now, first=drop)
            assert done.code == 2 and len(done.err.strip().splitlines()) == 1 and "permission denied" in done.err, (
                argv,
                done.code,
                done.err,
            )
        assert command("status", "work", cwd=place.now, first=drop).code == 0, "reading goes on"
    finally:
        if os.geteuid() != 0:
            for p in [place.now / "work", *(place.now / "work").rglob("*")]:
                p.chmod(p.stat().st_mode | 0o200)
    assert place.state() == old


def test_two_at_once_wait_or_refuse_and_corrupt_nothing(place: Place) -> None:
    place.reset(CASES[3])

    def both() -> int:
        pids = []
        for argv in (
            ("evaluate", "work"),
            ("plan", "work", "--set", "weight_decay=0.02"),
            ("evaluate", "work"),
            ("generate", "work"),
            ("status", "work", "--confirm", "derive"),
        ):
            pid = os.fork()
            if pid == 0:
                from papertrain.cli import main

                os._exit(main(list(argv)))
            pids.append(pid)
        codes = [os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]) for p in pids]
        print(codes)
        return 0 if all(c in (0, 1, 3) for c in codes) else 9

    for _ in range(3):
        place.reset(CASES[3])
        done = child(both, cwd=place.now, wall=90)
        assert done.code == 0, (done.out[-500:], done.err[-500:])
        lines = (place.now / "work/evidence.jsonl").read_text().splitlines()
        ids = [json.loads(line)["id"] for line in lines]
        assert len(ids) == len(set(ids)), "no id is given twice"
        for file in place.now.rglob("*.json"):
            json.loads(file.read_bytes())
        assert command("status", "work", cwd=place.now).code == 0
        assert command("evaluate", "work", cwd=place.now).code in (0, 1)


def test_of_several_starts_of_one_run_at_once_one_runs_and_the_others_are_refused(place: Place) -> None:
    place.reset(next(c for c in CASES if c.name == "launch"))
    (place.now / "work/base.py").write_text("import time\ntime.sleep(2)\nprint('trained')\n")

    def three() -> int:
        pids = []
        for _ in range(3):
            pid = os.fork()
            if pid == 0:
                from papertrain.cli import main

                code = main(["launch", "work", "--run", "base.toy.1", "--overwrite", "--yes"])
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
            pids.append(pid)
        codes = sorted(os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]) for p in pids)
        print(codes)
        return 0 if codes == [0, 3, 3] else 9

    done = child(three, cwd=place.now, wall=90)
    assert done.code == 0, (done.out[-500:], done.err[-500:])
    assert (place.now / "work/runs/base.toy.1/stdout.log").read_text().count("trained") == 1
    # refused by the lock, or, where the first one was quicker, by its record
    said = [x for x in done.err.splitlines() if "another papertrain" in x or "base.toy.1 is running" in x]
    assert len(said) == 2, done.err
    assert command("launch", "work", "--run", "base.toy.1", "--overwrite", "--yes", cwd=place.now).code == 0, (
        "the lock is free again"
    )


def test_a_lock_that_another_keeps_ends_in_a_refusal_not_in_a_hang(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    from papertrain.core.errors import Refused
    from papertrain.core.writing import locked

    place.reset(CASES[3])
    folder = place.now / "work/.papertrain"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("a") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        began = time.monotonic()
        with pytest.raises(Refused, match="another papertrain"), locked(place.now / "work", wait_seconds=0.2):
            pass
        assert time.monotonic() - began < 5
