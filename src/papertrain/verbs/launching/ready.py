"""One cell, ready to start: its words and variables, the files that it reads, and who starts it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from msgspec import structs

from papertrain.configs.commands import preflight
from papertrain.configs.generating import unstartable
from papertrain.configs.programs import STARTED, Cell, program
from papertrain.configs.target import Job, seen_from
from papertrain.core.commands import line
from papertrain.core.discover import discover
from papertrain.core.environment import Environment
from papertrain.core.errors import PapertrainError, Refused, nearest
from papertrain.core.program import Program, Variable, shell_line
from papertrain.core.redact import holds_secret
from papertrain.core.site import Site, read_site
from papertrain.core.values import Value
from papertrain.core.workspace import Method, Run, Workspace
from papertrain.evidence.test_set import FILES, named_files
from papertrain.run import launchers as _launchers
from papertrain.run.command import fill
from papertrain.run.launcher import Launcher, Place, Start
from papertrain.verbs.launching.here import python_of, search
from papertrain.verbs.launching.jobs import data_files, hours_of, job


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


def ready(
    work: Workspace, run: Run, environment: Environment | None, *, target: str | None, launcher: str | None, resume: bool, more: Sequence[str],
    root: str | None = None, added: Mapping[str, str] | None = None,
) -> Ready:  # fmt: skip
    """Everything of one start, nothing done yet. root: another folder for the run (a smoke run).
    added: variables that it gets besides its own, wherever it starts."""
    method = work.study.method(run.method)
    folder = root or f"runs/{run.id}"
    if method.kind == "command":
        return _command(work, method, run, environment, launcher, more, folder, added or {})
    one = job(work, work.study, run.method, work.root)
    chosen = _target(work, one, target)
    p = program(one, chosen, _cell(work, run, folder, chosen), resume=resume, more=more)
    p = with_variables(without_token(p, run.id), added or {})
    place = Place(
        root=work.root,
        python=python_of(environment),
        search=search(environment),
        run=run.id,
        hours=hours_of(one.plan),
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


def _command(
    work: Workspace,
    method: Method,
    run: Run,
    environment: Environment | None,
    launcher: str | None,
    more: Sequence[str],
    folder: str,
    added: Mapping[str, str],
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
    p = with_variables(without_token(p, run.id), added)
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
    if not made and (work.root / f"configs/{one.name}").is_dir() and (why := unstartable(one)):
        raise Refused(f"no program here can train {one.plan.model.name}: {why}", code="no-target",
                      ask=[f"a program of your own with the values of plans/{one.name}/plan.md: kind = \"command\" in study.toml"])  # fmt: skip
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


def with_variables(p: Program, added: Mapping[str, str]) -> Program:
    """The program with further variables; one that it has already gets the new value."""
    kept = (v for v in p.environment if v.name not in added)
    return structs.replace(p, environment=(*kept, *(Variable(name, value) for name, value in added.items())))


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
