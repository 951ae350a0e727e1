"""The demo's stations: each calls the verbs as a person would, and tells what came out."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from papertrain import verbs
from papertrain.core import progress
from papertrain.core.commands import line
from papertrain.core.environment import Environment
from papertrain.core.errors import PapertrainError
from papertrain.core.report import Report
from papertrain.core.texts import say
from papertrain.core.values import Value
from papertrain.core.writing import Writer

OURS, TFIDF, FROZEN, DATA = "minilm", "tfidf", "frozen", "reviews"
STUDY = """\
# The demo's study: our method, a baseline, and one cell that is left to run.
[study]
name = "reviews"
mode = "standard"
ours = "minilm"
baselines = ["tfidf", "frozen"]
seeds = [{seeds}]

[methods.minilm]
label = "MiniLM, fine-tuned"

[methods.tfidf]
label = "TF-IDF + logistic regression"
kind = "command"
command = "{{python}} tfidf.py --train {{data_train}} --test {{data_test}} --seed {{seed}} --out {{out}}"
seeds = [1]
deterministic = true

[methods.frozen]
label = "MiniLM, frozen"
kind = "command"
command = "{{python}} frozen.py --model {model} --train {{data_train}} --test {{data_test}} --seed {{seed}} --out {{out}}"
seeds = [1]
deterministic = true

[datasets.reviews]
label = "Reviews"
train = "data/train.csv"
test = "data/test.csv"
metrics = ["accuracy", "macro_f1"]
"""


def cut(text: str, most: int = 60) -> str:
    """A long answer with its middle left out: a diff of eighty rows says no more than one of ten."""
    lines = text.splitlines()
    if len(lines) <= most:
        return text
    return "\n".join([*lines[: most // 2], f"  … {len(lines) - most} lines left out", *lines[-(most // 2) :]])


class Size(Value, frozen=True, kw_only=True):
    """How much of the demo is run."""

    train: int
    test: int
    seeds: tuple[int, ...]
    sets: tuple[str, ...]
    fault_steps: int


FULL = Size(train=2000, test=1000, seeds=(1, 2, 3), sets=("epochs=2", "eval_steps=57"), fault_steps=24)
FAST = Size(train=320, test=200, seeds=(1,), sets=("epochs=1",), fault_steps=12)


class Tour:
    """Tells each step on standard error as it happens, and keeps the times."""

    def __init__(self, root: Path, environment: Environment) -> None:
        self.root = root
        self.environment = environment
        self.times: list[tuple[str, float]] = []
        self.answers: list[Report] = []

    def tell(self, text: str) -> None:
        if not progress.quiet.get():
            sys.stderr.write(text.rstrip("\n") + "\n")
            sys.stderr.flush()

    @contextmanager
    def station(self, title: str) -> Iterator[None]:
        self.tell(f"\n── {title} " + "─" * max(0, 76 - len(title)))
        start = time.monotonic()
        yield
        self.times.append((title, time.monotonic() - start))

    def ask(self, shown: str, verb: str, *args: Any, **options: Any) -> Report:
        """One verb, with the command line that would ask the same."""
        from papertrain.report.show import text_of

        self.tell(f"$ papertrain {shown}")
        report = verbs.load(verb)(*args, **options)
        self.tell(cut(text_of(report)))
        self.answers.append(report)
        return report


def prepare(tour: Tour, size: Size) -> Path:
    """data/, the two baseline scripts and study.toml; returns the folder of the pretrained model."""
    from papertrain.data.reviews import read_reviews

    material = read_reviews(Path(tour.environment.path), train=size.train, test=size.test, seed=7)
    scripts = Path(__file__).parents[1] / "run" / "script_files"
    with Writer(tour.root) as w:
        w.text("data/train.csv", material.train)
        w.text("data/test.csv", material.test)
        w.text("data/mislabelled.csv", mislabelled(material.train, material.labels))
        for name in ("tfidf.py", "frozen.py"):
            w.text(name, (scripts / name).read_text("utf-8"))
        w.text("study.toml", STUDY.format(seeds=", ".join(map(str, size.seeds)), model=material.model.resolve()))
    tour.tell(
        say(
            "{train} reviews to learn from, {test} to test on, from an installed package; model: {model}",
            train=size.train,
            test=size.test,
            model=material.model.name,
        )
    )
    return material.model


def mislabelled(text: str, labels: tuple[str, ...]) -> str:
    """The same training data with labels as numbers, every 25th a number that no class has."""
    import csv
    import io

    rows = list(csv.DictReader(io.StringIO(text)))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["id", "text", "label"])
    for i, row in enumerate(rows):
        writer.writerow([row["id"], row["text"], len(labels) if i % 25 == 20 else labels.index(row["label"])])
    return out.getvalue()


def derive(tour: Tour, model: Path, size: Size) -> None:
    """The plan, confirmed, and its files."""
    root = tour.root
    tour.ask(
        line("plan", "MiniLM", "--data", root / "data/train.csv", "--gpu", "cpu", "--task", "classification", "--name", OURS, "-o", root),
        "plan", str(model), data=root / "data/train.csv", gpu="cpu", task="classification", name=OURS, output=root, sets=list(size.sets),
    )  # fmt: skip
    confirm(tour)


def confirm(tour: Tour) -> None:
    """The demo stands by the plan in the user's place: recorded as confirmed without a person at a terminal."""
    tour.ask(line("status", tour.root, "--confirm", "derive"), "status", tour.root, confirm="derive")
    tour.ask(line("generate", tour.root), "generate", tour.root)


def start(tour: Tour, run: str, *more: str, overwrite: bool = False, may_fail: bool = False) -> Report:
    """One run of the study, really started; its progress stands on standard error.

    Raises KeyboardInterrupt where somebody stopped it, PapertrainError where it failed and was not meant to.
    """
    words = f"launch {tour.root} --run {run} --yes" + (f" -- {' '.join(map(shlex.quote, more))}" if more else "")
    report = tour.ask(
        words,
        "launch",
        tour.root,
        run=run,
        yes=True,
        env=tour.environment.path,
        passthrough=list(more),
        overwrite=overwrite,
    )
    last = report.data["runs"][-1]
    if last.get("stopped_by"):
        raise KeyboardInterrupt
    if last.get("exit_code") != 0 and not may_fail:
        raise PapertrainError(
            f"{run} failed with exit code {last.get('exit_code')}",
            code="run-failed",
            file=tour.root / "runs" / run,
            command=report.action,
        )
    return report


def rate_fault(tour: Tour, run: str, size: Size) -> dict[str, Any]:
    """The learning rate × 1000: seen by watch, named by diagnose, mended by fix."""
    from papertrain.core.workspace import Workspace

    root = tour.root
    planned = Workspace.open(root).plan(OURS).learning_rate.value
    tour.ask(
        line("plan", root, "--set", f"learning_rate={1000 * planned:g}"),
        "plan",
        str(root),
        sets=[f"learning_rate={1000 * planned:g}"],
    )
    confirm(tour)
    start(tour, run, "--max_steps", str(size.fault_steps))
    watched = tour.ask(line("watch", root / "runs" / run), "watch", [root / "runs" / run])
    told = tour.ask(line("diagnose", root / "runs" / run), "diagnose", [root / "runs" / run])
    fixed = mend(tour, run, told)
    after = Workspace.open(root).plan(OURS).learning_rate.value
    return {
        "fault": "learning rate × 1000",
        "planted": 1000 * planned,
        "level": watched.data["level"],
        "class": _top(told),
        "fix": fixed,
        "after": after,
    }


def label_fault(tour: Tour, run: str) -> dict[str, Any]:
    """Labels that no class has: the run dies, diagnose names the rows, they are dropped, and the same start succeeds."""
    root = tour.root
    file = root / "data/mislabelled.csv"
    more = ("--train_file", "data/mislabelled.csv", "--num_labels", "2", "--max_steps", "10", "--test_file", "")
    start(tour, run, *more, overwrite=True, may_fail=True)
    told = tour.ask(line("diagnose", root / "runs" / run), "diagnose", [root / "runs" / run])
    fixed = mend(tour, run, told)
    again = start(tour, run, *more, overwrite=True)
    return {
        "fault": "labels that no class has",
        "class": _top(told),
        "fix": fixed,
        "rows left": file.read_text("utf-8").count("\n") - 1,
        "after": again.result,
    }


def mend(tour: Tour, run: str, told: Report) -> str | None:
    """The first fix of the first diagnosis, applied; None where there is none."""
    found = told.data["diagnoses"]
    fixes = found[0]["fixes"] if found else []
    if not fixes:
        return None
    name = fixes[0]["id"]
    tour.ask(line("fix", tour.root / "runs" / run, name, "--yes"), "fix", tour.root / "runs" / run, name, yes=True)
    return str(fixes[0]["title"])


def _top(told: Report) -> str | None:
    found = told.data["diagnoses"]
    return str(found[0]["class"]) if found else None


def results(tour: Tour) -> Report:
    """Scores, table, figures and tests."""
    root = tour.root
    tour.ask(line("evaluate", root), "evaluate", [root])
    return tour.ask(
        f"compare {root} --ours {OURS} --baseline {TFIDF} -o {root}",
        "compare",
        [root],
        ours=OURS,
        baseline=TFIDF,
        output=root,
    )


def pack(tour: Tour) -> tuple[Report, Report]:
    """The package, and its verification."""
    root = tour.root
    tour.ask(line("package", root, "-o", bundle_of(root)), "package", root, output=bundle_of(root), overwrite=True)
    checked = tour.ask(line("package", "--verify", bundle_of(root)), "package", verify=bundle_of(root))
    return checked, tour.ask(line("status", root), "status", root)


def bundle_of(root: Path) -> Path:
    return root.with_name(root.name + "-bundle")
