"""`compare`: tables, figures, significance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from papertrain.core.commands import line
from papertrain.core.params import Arg, DryRunArg, ModeArg, OverwriteArg
from papertrain.core.report import Report
from papertrain.core.texts import say


def compare(
    paths: Annotated[Sequence[Path], Arg("a workspace, result files, or a folder per method", "WORK|PATH")] = (),
    *,
    system: Annotated[Sequence[str], Arg("a system and its results: a file or a folder", "NAME=PATH")] = (),
    ours: Annotated[str | None, Arg("the method that the paper proposes", "NAME")] = None,
    baseline: Annotated[str | None, Arg("the method to beat", "NAME")] = None,
    deterministic: Annotated[
        Sequence[str], Arg("a system without chance in its training: one run of it stands for all", "NAME")
    ] = (),
    metrics: Annotated[Sequence[str], Arg("only these scores", "NAME")] = (),
    columns: Annotated[
        Sequence[str],
        Arg("which column is what: method=NAME,value=NAME,label=NAME,lower=METRIC,unit=percent", "ROLE=NAME"),
    ] = (),
    map: Annotated[Sequence[str], Arg("how paths are read, as in {method}/{dataset}/seed_{seed}/*", "PATTERN")] = (),
    missing: Annotated[bool, Arg("list the cells still to run, with the command of each")] = False,
    against: Annotated[Path | None, Arg("say what changed since the tables in this folder", "DIR")] = None,
    all: Annotated[bool, Arg("every pair, sub-task and figure, and the metrics that are left out otherwise")] = False,
    figures: Annotated[
        Sequence[str],
        Arg(
            "also draw: differences, cd, heatmap, cost, scaling (main, curves, confusion and seeds are drawn anyway)",
            "NAME",
        ),
    ] = (),
    style: Annotated[Sequence[str], Arg("a venue (neurips, acl, icml, …), intervals, siunitx", "NAME")] = (),
    test: Annotated[
        Literal["auto", "mcnemar", "permutation", "randomisation", "paired-t", "welch", "wilcoxon", "delong"],
        Arg("the test, instead of the one that the data ask for"),
    ] = "auto",
    adjust: Annotated[
        Literal["holm", "bh", "bonferroni", "none"], Arg("correction for several comparisons", advanced=True)
    ] = "holm",
    alpha: Annotated[float, Arg("level of significance", "SHARE", advanced=True)] = 0.05,
    seed: Annotated[int, Arg("seed of all resampling", "N", advanced=True)] = 7,
    resamples: Annotated[int, Arg("resamples of bootstraps and permutations", "N", advanced=True)] = 10_000,
    output: Annotated[
        Path | None, Arg("where to write (default: the workspace; loose files are only read)", "DIR", short="o")
    ] = None,
    mode: ModeArg = None,
    overwrite: OverwriteArg = False,
    dry_run: DryRunArg = False,
) -> Report:
    """Compare methods: table, intervals and the test that the data allow.

    A cell without a result stays unfilled, with its reason. A test is refused, with what would repair it, where the
    evidence does not carry one: other test items, no per-example outputs, fewer than three seeds. * marks the best of a
    column, _ the second. In a workspace, and with -o, tables and figures are written; stale runs are named, and test rows
    that stand in the training data (files up to 16 MiB; `check` compares larger ones).

    papertrain compare work --ours ours --baseline tfidf
    papertrain compare --system ours=a.csv --system base=b.csv --ours ours --baseline base
    papertrain compare results/ --map "{method}/{dataset}/seed_{seed}/*" -o paper
    papertrain compare work --missing
    """
    from papertrain.core.errors import PapertrainError
    from papertrain.core.gate import decide_mode
    from papertrain.verbs.comparing import build
    from papertrain.verbs.comparing.against import differences
    from papertrain.verbs.comparing.deserved import deserved
    from papertrain.verbs.comparing.table import Asked
    from papertrain.verbs.comparing.words import missing_report, report_of
    from papertrain.verbs.evaluating.scores import is_workspace

    if not paths and not system:
        raise PapertrainError(
            "nothing to compare: name a workspace, result files, or --system NAME=PATH",
            code="missing-path",
            command="papertrain compare WORK",
        )
    if ours is not None and ours == baseline:
        raise PapertrainError(f"--ours and --baseline are both {ours}: nothing to compare", code="contradiction")
    if seed < 0:
        raise PapertrainError(f"--seed {seed}: a whole number from 0 on is expected", code="bad-value")
    if not 0 < alpha < 1:
        raise PapertrainError(f"alpha {alpha} is no share between 0 and 1", code="bad-alpha")
    if not 100 <= resamples <= 1_000_000:
        raise PapertrainError("resamples from 100 to 1,000,000", code="bad-resamples")
    work = paths[0] if not system and is_workspace(list(paths)) else None
    how = decide_mode(mode, work if work is not None else output)
    styled = build.styles(style)
    asked = Asked(
        ours=ours, baseline=baseline, metrics=build.split(metrics), columns=tuple(columns), maps=tuple(map), everything=all, figures=build.split(figures), venue=styled.venue,
        intervals=styled.intervals, aligned=styled.aligned, test=test, adjust=adjust, alpha=alpha, seed=seed, resamples=resamples, deterministic=build.split(deterministic),
    )  # fmt: skip
    if work is not None:
        found = build.workspace(work, asked)
    else:
        found = build.files(paths, system, asked)
    if missing:
        return missing_report(found, how)
    found = msgspec.structs.replace(found, proposed=deserved(found, asked))
    # a test that was asked for instead of the one that the data ask for is a question: the paper's tables stay as they are
    place = output if output is not None else (work if how != "exploratory" and test == "auto" else None)
    held = _held(work)
    # before anything is written: the earlier tables may lie where the new ones go
    changes = differences(found, against) if against is not None else []
    written: list[str] = []
    if place is not None:
        from papertrain.verbs.comparing.write import write

        paged = msgspec.structs.replace(asked, venue=asked.venue or found.venue)
        found, written = write(found, paged, place, overwrite=overwrite, dry_run=dry_run or how == "exploratory")
    typed = _typed(paths, system, asked)
    report = report_of(found, asked, written, changes, how, place, typed, dry_run=dry_run, against=against is not None)
    return msgspec.structs.replace(report, warnings=(*held, *report.warnings))


def _held(work: Path | None) -> tuple[str, ...]:
    """What speaks against the numbers of a workspace: tables made before that hold no more, stale runs, rows trained on."""
    from papertrain.core.evidence import read_evidence, stale
    from papertrain.core.workspace import Workspace
    from papertrain.verbs.evaluating.standing import doubts

    if work is None:
        return ()
    space = Workspace.open(work)
    said = doubts(space, space.grid())
    held = stale(work, read_evidence(work))
    if not held:
        return said
    first = next(iter(held))
    again = say(
        "{n} numbers of earlier tables are stale ({id}: {why}); this table reads them anew",
        n=len(held),
        id=first,
        why=held[first],
    )
    return (again, *said)


def _typed(paths: Sequence[Path], system: Sequence[str], asked: Any) -> str:
    """The command as it was typed, without where to write; the next command is this one with one thing more."""
    words: list[object] = ["papertrain", "compare", *paths]
    single = {"ours": asked.ours, "baseline": asked.baseline}
    joined = {"metrics": asked.metrics, "columns": asked.columns, "figures": asked.figures}
    usual = {"test": "auto", "adjust": "holm", "alpha": 0.05, "seed": 7, "resamples": 10_000}
    words += [w for s in system for w in ("--system", s)]
    words += [w for k, v in single.items() if v for w in (f"--{k}", v)]
    words += [w for k, v in joined.items() if v for w in (f"--{k}", ",".join(v))]
    words += [w for m in asked.maps for w in ("--map", m)]
    marks = {"intervals": asked.intervals, "siunitx": asked.aligned}
    style = ",".join([*([asked.venue] if asked.venue else []), *(word for word, wanted in marks.items() if wanted)])
    words += ["--style", style] if style else []
    words += [w for k, v in usual.items() if getattr(asked, k) != v for w in (f"--{k}", getattr(asked, k))]
    return line(*words, *(["--all"] if asked.everything else []))
