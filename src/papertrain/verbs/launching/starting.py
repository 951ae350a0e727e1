"""The steps of `launch`: which cells, what starts each, and what is kept of it."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from papertrain.configs.commands import preflight
from papertrain.configs.programs import STARTED, Cell, program
from papertrain.configs.target import Job, seen_from
from papertrain.core.commands import line
from papertrain.core.discover import discover
from papertrain.core.environment import Environment, interpreter_environment, of_a_child, read_environment
from papertrain.core.errors import PapertrainError, Refused, nearest
from papertrain.core.files import Writer, contained
from papertrain.core.program import COMES_FROM, Program, Variable, shell_line
from papertrain.core.redact import holds_secret
from papertrain.core.site import Site, read_site
from papertrain.core.texts import say
from papertrain.core.values import Value
from papertrain.core.workspace import JOB_END, Method, Run, Workspace, split_run_id
from papertrain.evidence.test_set import FILES, named_files
from papertrain.run import launchers as _launchers
from papertrain.run import record as records
from papertrain.run.command import fill
from papertrain.run.launcher import Launcher, Place, Start
from papertrain.run.process import Ended
from papertrain.run.process import run as run_process
from papertrain.run.progress import Follower
from papertrain.run.slurm_jobs import says as slurm_says
from papertrain.verbs.launching.jobs import data_files, job

SUBMITTED = "submit.log"
"""What the scheduler said to the submission; the job itself writes stdout.log."""


class Ready(Value, frozen=True, kw_only=True):
    """One cell, ready to start: its words, variables, and the files that it reads."""

    run: Run
    target: str
    launcher: str
    start: Start
    program: Program
    files: tuple[str, ...]
    data: tuple[str, ...]
    on_cpu: bool
    resume: bool
    asked_environment: str = ""


@lru_cache
def launchers() -> dict[str, Launcher]:
    """Every launcher, by id."""
    return discover(_launchers, "LAUNCHER")


def cells(work: Workspace, run: str | None, missing: bool, limit: int | None, again: bool) -> list[Run]:
    """The cells to start: the named one, the open ones, or the only one. Raises PapertrainError."""
    grid = work.grid()
    if run is not None:
        known = {r.id: r for r in grid}
        if run in known:
            return [known[run]]
        method, data, seed = split_run_id(run)
        work.study.method(method)
        work.study.data(data)
        return [Run(id=run, method=method, data=data, seed=seed)]
    if missing:
        found = [r for r in grid if r.state in ("missing", "interrupted", "failed")]
        if limit is not None and limit < 1:
            raise PapertrainError("--max is at least 1", code="bad-value")
        return found[:limit]
    waiting = grid if again else [r for r in grid if r.state != "done"]
    if len(grid) == 1:
        return grid
    if not waiting:
        return []
    ours = work.study.ours
    return [next((r for r in waiting if r.method == ours), waiting[0])]


def environment_of(work: Workspace, asked: str | None) -> Environment | None:
    """`--env`, else one near the workspace, else one near here."""
    if asked not in (None, "auto"):
        return read_environment(asked)
    return read_environment("auto", near=work.root.resolve()) or read_environment("auto")


def ready(
    work: Workspace, run: Run, environment: Environment | None, *, target: str | None, launcher: str | None, resume: bool, more: Sequence[str],
    root: str | None = None,
) -> Ready:  # fmt: skip
    """Everything of one start, nothing done yet. root: another folder for the run (a smoke run)."""
    method = work.study.method(run.method)
    folder = root or f"runs/{run.id}"
    if method.kind == "command":
        return _command(work, method, run, environment, launcher, more, folder)
    one = job(work, work.study, run.method, work.root)
    chosen = _target(work, one, target)
    p = without_token(program(one, chosen, _cell(work, run, folder, chosen), resume=resume, more=more), run.id)
    hours = one.plan.duration.total_seconds.value if one.plan.duration else None
    place = Place(
        root=work.root,
        python=python_of(environment),
        search=search(environment),
        run=run.id,
        hours=hours / 3600 if hours else None,
        gpus=not one.on_cpu,
        site=one.site,
        preflight=preflight(one),
    )
    chosen_launcher = _launcher(p, launcher, one.site, place.hours)
    files = tuple(
        sorted(str(f.relative_to(work.root)) for f in (work.root / one.folder(chosen)).glob("*") if f.is_file())
    )
    data = tuple(str(p) for p in data_files(work, work.study.data(run.data)).values()) or (str(work.root / one.train),)
    return Ready(
        run=run,
        target=chosen,
        launcher=chosen_launcher.id,
        start=chosen_launcher.start(p, place),
        program=p,
        files=files,
        data=data,
        on_cpu=one.on_cpu,
        resume=resume,
    )


INSTALL = "python3 -m venv .envs/train && .envs/train/bin/pip install torch transformers peft accelerate"


def cannot_start(work: Workspace, one: Ready, environment: Environment | None) -> PapertrainError | None:
    """Why the program of this cell would not even start here: known before anything is written."""
    torch = environment is not None and environment.python is not None and environment.version("torch") is not None
    if one.program.kind == "python" and not torch and not one.start.submits:
        return PapertrainError(
            "no training environment with torch was found", code="no-environment",
            ask=["--env PATH of a venv or conda folder that has torch and transformers", f"or make one: {INSTALL}"], command=INSTALL,
        )  # fmt: skip
    word = one.start.words[0]
    if runnable(word, work.root, variables(one, environment)["PATH"]):
        return None
    package = COMES_FROM.get(word)
    pip = None
    if package is not None:
        own = environment is not None and environment.python is not None
        pip = shlex.join([python_of(environment), "-m", "pip", "install", package]) if own else f"{INSTALL} {package}"
    return PapertrainError(
        f"cannot start {one.run.id}: {word} is not installed here; nothing was written", code="no-program",
        ask=["--env PATH of the environment that has it", *([f"or install it: {pip}"] if pip else [])], command=pip,
    )  # fmt: skip


def runnable(word: str, folder: Path, path: str) -> bool:
    """Whether a shell in that folder would find the program."""
    if "/" in word:
        return os.access(folder / word, os.X_OK)
    return shutil.which(word, path=path) is not None


def _command(
    work: Workspace,
    method: Method,
    run: Run,
    environment: Environment | None,
    launcher: str | None,
    more: Sequence[str],
    folder: str,
) -> Ready:
    """A method that is a command of the user's, with its placeholders filled in."""
    data = work.study.data(run.data)
    named = {f"data_{what}": seen_from(work.root, path) for what, path in data_files(work, data).items()}
    python = python_of(environment)
    values = {
        **named,
        "data": named.get("data_train", data.name),
        "seed": str(run.seed),
        "out": folder,
        "run": run.id,
        "python": python,
    }
    words = fill(method.command, values, method.name)
    p = Program(kind="command", words=(*words, *more), environment=(Variable("PYTHONHASHSEED", str(run.seed)),))
    p = without_token(p, run.id)
    site = read_site(work.root)
    place = Place(root=work.root, python=python, search=search(environment), run=run.id, gpus=False, site=site)
    chosen = _launcher(p, launcher, site)
    files = tuple(w for w in words if (work.root / w).is_file() and w not in named.values())
    return Ready(run=run, target="command", launcher=chosen.id, start=chosen.start(p, place), program=p, files=files,
                 data=tuple(map(str, data_files(work, data).values())), on_cpu=True, resume=False)  # fmt: skip


def _target(work: Workspace, one: Job, asked: str | None) -> str:
    """The framework that is started: the asked one, else the script, else the first that was generated."""
    made = [t for t in STARTED if any((work.root / one.folder(t)).glob("*"))]
    if asked is not None:
        if asked not in STARTED:
            raise PapertrainError(
                f"{asked!r} does not start a training: {', '.join(STARTED)} do",
                code="unknown-target",
                nearest=nearest(asked, STARTED),
            )
        if asked not in made:
            raise Refused(
                f"no files of {asked} for {one.name} yet",
                code="not-generated",
                file=work.root / one.folder(asked),
                command=line("papertrain", "generate", work.root, "--target", asked),
            )
        return asked
    if not made:
        raise Refused(
            f"no config files for {one.name} yet: they are written first",
            code="not-generated",
            file=work.root / f"configs/{one.name}",
            command=line("papertrain", "generate", work.root),
        )
    return made[0]


def _cell(work: Workspace, run: Run, folder: str, target: str) -> Cell:
    study = work.study
    cell = Cell(run=folder, seed=run.seed)
    if len(study.datasets) > 1 and target == "script":
        for what, path in data_files(work, study.data(run.data)).items():
            setattr(cell, what, seen_from(work.root, path))
    elif len(study.datasets) > 1 and run.data != study.datasets[0].name:
        raise Refused(
            f"{target} files name one data set, {study.datasets[0].name}: use --target script for {run.data}",
            code="one-data-set",
        )
    elif target == "script" and work.state("generated.json").get(FILES, named_files(study)) != named_files(study):
        cell.test = seen_from(work.root, data_files(work, study.data(run.data)).get("test", ""))  # named since then
    return cell


def without_token(p: Program, run: str) -> Program:
    """The program, unless a token would stand on its command line, where every user of the machine reads it."""
    if holds_secret(shell_line(p.words)):
        raise Refused(
            f"a token would stand on the command line of {run}, and in every list of processes: take it out",
            code="token-on-command-line",
            ask=[
                "log in once (huggingface-cli login, wandb login), or",
                "export it before the launch: export HF_TOKEN=…",
            ],
        )
    return p


def _launcher(p: Program, asked: str | None, site: Site, hours: float | None = None) -> Launcher:
    """The asked one, else the natural one. On a login node that is the scheduler; a training that runs there is refused."""
    known = launchers()
    here = asked in ("local", "torchrun") or asked is None
    allowed = hours is not None and hours * 60 <= site.login.minutes
    if here and site.on_login_node() and not allowed:
        if asked is None:
            return known["slurm"]
        raise Refused(
            f"this is a login node ({', '.join(site.login.nodes)} in site.toml): a training here is ended after {site.login.minutes:g} minutes", code="login-node",
            ask=["--launcher slurm submits it", "or go to a compute node first: srun --pty bash"],
        )  # fmt: skip
    if asked is not None:
        if asked not in known:
            raise PapertrainError(
                f"no launcher {asked!r}: known are {', '.join(known)}",
                code="unknown-launcher",
                nearest=nearest(asked, known),
            )
        return known[asked]
    return next(one for one in known.values() if one.fits(p))


def python_of(environment: Environment | None) -> str:
    """The interpreter as a full path: the run starts in another folder than this."""
    return os.path.abspath(environment.python) if environment is not None and environment.python else sys.executable  # noqa: PTH100


def search(environment: Environment | None) -> tuple[str, ...]:
    """Where programs are looked for first: the training environment, then this tool's own."""
    found = [str(Path(python_of(environment)).parent), str(Path(sys.executable).parent)]
    return tuple(dict.fromkeys(found))


def variables(one: Ready, environment: Environment | None) -> dict[str, str]:
    """The whole environment of the process: this one's, the training environment's programs first, the run's variables."""
    given = {v.name: v.value for v in one.start.environment}
    return of_a_child(*search(environment)) | given | {"PYTHONUNBUFFERED": "1"}


def shown(one: Ready, environment: Environment | None, *, script: bool = True) -> list[str]:
    """What a person reads before it starts: command, variables, environment, files, and the job's script."""
    lines = [f"  {one.run.id}   ({one.target}, {launchers()[one.launcher].title})"]
    lines += [f"    {v.name}={v.value}" + (f"   # {v.why}" if v.why else "") for v in one.start.environment]
    lines += [f"    {shell_line(one.start.words)}"]
    if environment is not None and one.target != "command":
        have = ", ".join(f"{k} {v}" for k, v in records.versions(environment.versions).items())
        lines.append(f"    environment  {environment.path}: {have or 'no training package in it'}")
    lines.append(
        f"    reads        {', '.join([*one.files, *(Path(d).name for d in one.data)]) or 'nothing that is named'}"
    )
    lines.append(f"    writes       {_folder(one)}")
    if one.start.script and script:
        lines += ["", *(f"    {line}" for line in one.start.script.splitlines())]
    return lines


def tested(work: Workspace, todo: Sequence[Ready], array: str | None, environment: Environment | None) -> str:
    """What Slurm says of the first script, or of the array's, without starting it; empty where there is no Slurm."""
    first = next((one for one in todo if one.start.checked_by), None)
    if first is None:
        return ""
    script = first.start.script if array is None else array
    said = slurm_says(first.start.checked_by[:-1], script, work.root, variables(first, environment))
    return say("sbatch --test-only says: {text}", text=" ".join(said.split())[:300]) if said else ""


def _folder(one: Ready) -> str:
    return f"runs/{one.run.id}"


def started(
    work: Workspace,
    one: Ready,
    environment: Environment | None,
    advance: Callable[[int, int], None],
    folder: str | None = None,
) -> dict[str, Any]:
    """Start one cell, wait, and keep its record. Returns the record."""
    folder = folder or _folder(one)
    place = work.root / folder
    content = _first(work, one, environment, place)
    diff = records.git_diff(work.root) if content.get("git_dirty") else ""
    content["git_diff"] = "git.diff" if diff else None
    with Writer(work.root, overwrite=True) as w:
        w.text(f"{folder}/record.json", record_text(content))
        if diff:
            w.text(f"{folder}/git.diff", diff)
        if one.start.script:
            w.text(f"{folder}/job.sbatch", one.start.script)
    (place / JOB_END).unlink(missing_ok=True)
    began, follower = time.monotonic(), Follower(place)

    def note(pid: int) -> None:
        content["pid"] = pid
        write_record(work, folder, content)

    ended = run_process(
        one.start.words, folder=work.root, environment=variables(one, environment), log=place / (SUBMITTED if one.start.submits else "stdout.log"), started=note,
        tick=lambda: advance(*follower.read()),
    )  # fmt: skip
    follower.read()
    if one.start.submits:
        content |= _submitted(place, ended)
    else:
        content |= {
            "exit_code": ended.exit_code,
            "stopped_by": ended.stopped_by or None,
            "ended_at": records.now(),
            "seconds": round(time.monotonic() - began, 3),
        }
        content["outputs"] = records.outputs(place, work.root)
    content["last"] = {
        k: follower.last[k] for k in ("step", "total_steps", "loss", "eval_loss", "eval_accuracy") if k in follower.last
    }
    write_record(work, folder, content)
    return content


def _first(work: Workspace, one: Ready, environment: Environment | None, place: Path) -> dict[str, Any]:
    before = _read(place / "record.json")
    attempts = (
        [*before.get("attempts", []), {k: before.get(k) for k in ("started_at", "ended_at", "exit_code", "stopped_by")}]
        if before
        else []
    )
    method = work.study.method(one.run.method)
    used = environment or interpreter_environment(next(iter(one.start.words), ""))
    return {
        "schema": "papertrain-record/1", "run": one.run.id, "method": one.run.method, "data": one.run.data, "seed": one.run.seed,
        "target": one.target, "env": one.asked_environment or None, "launcher": one.launcher, "command": shell_line(one.start.words), "words": list(one.start.words),
        "environment": records.environment_block(variables(one, environment)), "versions": records.versions(used.versions) if used else {},
        "packages": records.frozen(used.versions) if used else [],
        "plan_digest": work.plan_digest(one.run.method) if method.kind == "train" else None,
        "config": records.digests([work.root / f for f in one.files], work.root), "data_files": records.digests(map(Path, one.data), work.root),
        **records.git_commit(work.root), **records.machine(one.on_cpu), "resumed": one.resume, "attempts": attempts,
        "started_at": records.now(), "ended_at": None, "seconds": None, "exit_code": None, "stopped_by": None, "pid": None, "outputs": [],
    }  # fmt: skip


def first_record(work: Workspace, one: Ready, environment: Environment | None) -> dict[str, Any]:
    """The record of a cell before it starts."""
    return _first(work, one, environment, work.root / _folder(one))


def hours_of(work: Workspace, run: Run) -> float | None:
    """The predicted time of a cell that was planned here."""
    if work.study.method(run.method).kind != "train":
        return None
    duration = work.plan(run.method).duration
    seconds = duration.total_seconds.value if duration else None
    return seconds / 3600 if seconds else None


def preflight_of(work: Workspace, run: Run) -> tuple[str, ...]:
    if work.study.method(run.method).kind != "train":
        return ()
    return preflight(job(work, work.study, run.method, work.root))


def _submitted(place: Path, ended: Ended) -> dict[str, Any]:
    lines = (place / SUBMITTED).read_text("utf-8", errors="replace").split()
    job_id = next(
        (
            word.split(";")[0]
            for word in reversed(lines)
            if word.split(";")[0].isdigit() or word.startswith("raysubmit")
        ),
        None,
    )
    if ended.exit_code != 0:
        return {"exit_code": ended.exit_code, "ended_at": records.now()}
    return {"job": job_id, "pid": None}


def write_record(work: Workspace, folder: str, content: dict[str, Any]) -> None:
    with Writer(work.root, overwrite=True) as w:
        w.text(f"{folder}/record.json", record_text(content))


def record_text(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def set_aside(work: Workspace, run: str) -> str | None:
    """An earlier attempt moves out of the way, so that nothing of it is mixed with the new one."""
    place = work.run_path(run)
    if not place.exists():
        return None
    at = 1
    while (old := work.root / "runs" / "earlier" / f"{run}.{at}").exists():
        at += 1
    contained(work.root, place.parent, old.parent)
    old.parent.mkdir(parents=True, exist_ok=True)
    place.rename(old)
    return str(old.relative_to(work.root))
