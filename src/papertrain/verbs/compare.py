"""`compare`: tables, figures, significance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from papertrain.core.commands import line, quoted
from papertrain.core.params import Arg, DryRunArg, ModeArg, OverwriteArg
from papertrain.core.report import Report
from papertrain.core.texts import say

if TYPE_CHECKING:
    from papertrain.verbs._compare import Comparison


def compare(
    paths: Annotated[Sequence[Path], Arg("a workspace, result files, or a folder per method", "WORK|PATH")] = (),
    *,
    system: Annotated[Sequence[str], Arg("a system and its results: a file or a folder", "NAME=PATH")] = (),
    ours: Annotated[str | None, Arg("the method that the paper proposes", "NAME")] = None,
    baseline: Annotated[str | None, Arg("the method to beat", "NAME")] = None,
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
        Arg("also draw: differences, cd, heatmap (main, curves, confusion and seeds are drawn anyway)", "NAME"),
    ] = (),
    style: Annotated[Sequence[str], Arg("a venue (neurips, acl, icml, …) or intervals", "NAME")] = (),
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
    column, _ the second. In a workspace, and with -o, tables and figures are written.

    papertrain compare work --ours ours --baseline tfidf
    papertrain compare --system ours=a.csv --system base=b.csv --ours ours --baseline base
    papertrain compare results/ --map "{method}/{dataset}/seed_{seed}/*" -o paper
    papertrain compare work --missing
    """
    from papertrain.core.errors import PapertrainError
    from papertrain.core.gate import decide_mode
    from papertrain.verbs import _compare
    from papertrain.verbs._results import is_workspace

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
    venue, intervals = _compare.styles(style)
    asked = _compare.Asked(
        ours=ours, baseline=baseline, metrics=_compare.split(metrics), columns=tuple(columns), maps=tuple(map), everything=all, figures=_compare.split(figures), venue=venue,
        intervals=intervals, test=test, adjust=adjust, alpha=alpha, seed=seed, resamples=resamples,
    )  # fmt: skip
    if work is not None:
        found = _compare.workspace(work, asked)
    else:
        found = _compare.files(paths, system, asked)
    if missing:
        return _missing(found, how)
    place = output if output is not None else (work if how != "exploratory" else None)
    held = _stale(work)
    written: list[str] = []
    if place is not None:
        from papertrain.verbs._compare_write import write

        found, written = write(found, asked, place, overwrite=overwrite, dry_run=dry_run or how == "exploratory")
    changes = _against(found, against) if against is not None else []
    typed = _typed(paths, system, asked)
    report = _report(found, asked, written, changes, how, place, typed, dry_run=dry_run)
    return msgspec.structs.replace(report, warnings=(*held, *report.warnings))


LEFT_OUT = (
    "left-out",
    "unknown-direction",
    "units-differ",
    "members-left-out",
    "derived-column",
    "validation-left-out",
)
"""Notes on what the table does not show, printed below it: a column must not vanish silently."""


def _stale(work: Path | None) -> tuple[str, ...]:
    """What stood in the evidence before this comparison and holds no more: tables made from it hold no more either."""
    from papertrain.core.evidence import read_evidence, stale

    held = stale(work, read_evidence(work)) if work is not None else {}
    if not held:
        return ()
    first = next(iter(held))
    return (
        say(
            "{n} numbers of earlier tables are stale ({id}: {why}); this table reads them anew",
            n=len(held),
            id=first,
            why=held[first],
        ),
    )


def _report(
    found: Comparison,
    asked: Any,
    written: list[str],
    changes: list[dict[str, Any]],
    mode: Any,
    place: Path | None,
    typed: str,
    *,
    dry_run: bool,
) -> Report:
    from papertrain.core.workspace import Workspace
    from papertrain.report.markdown import terminal
    from papertrain.results import statement
    from papertrain.verbs import _compare
    from papertrain.verbs._results import unconfirmed

    waiting = unconfirmed(Workspace(found.work), mode) if found.work else ()
    sheet = _compare.sheet_of(found, asked)
    main = [t for t in found.tests if t.details.get("role") == "primary"]
    tested = [t for t in main if not t.refused]
    table = found.table
    gaps = [
        (r, c, cell)
        for r, row in zip(table.rows, table.cells)
        for c, cell in zip(table.columns, row)
        if cell.value is None
    ]
    if tested:
        result = statement.pair(tested[0], table, with_metric=len(table.columns) > 1)
        more = len(tested) - 1
        result += say("; {n} more tests below", n=more) if more > 1 else say("; one more test below") if more else ""
    elif main and found.table.ours and found.table.baseline:
        result = say(
            "{text} between {a} and {b}: {why}", text=say("no test"), a=main[0].a, b=main[0].b, why=main[0].refused
        )
    else:
        result = (
            say("no results yet") if not table.columns else _size(table) + (f"; {_best(found)}" if _best(found) else "")
        )
    tail = []
    if written:
        shown = [f for f in written if f.endswith((".tex", ".pdf"))]
        tail.append(
            (say("would write") if dry_run else say("wrote"))
            + f" {', '.join(shown[:3])}{say(' and {n} more', n=len(written) - 3) if len(written) > 3 else ''}"
        )
    if gaps:
        tail.append(_gap_text(gaps))
    if written and not dry_run and not found.work:
        tail.append(say("\\input the files of {place}/tables in the manuscript", place=place))
    says = (
        statement.doubt(tested[0], table, [t for t in tested if (t.a, t.b) == (tested[0].a, tested[0].b)])
        if tested
        else (
            statement.doubt(main[0], table) if main else say("nothing to test: one system, or no --ours and --baseline")
        )
    )
    repair = next((t.details["repair"] for t in main if t.refused and t.details.get("repair")), "")
    if repair:
        says = f"{says}; {repair}"
    body = [terminal(sheet)] if table.columns else []
    lines = _test_lines([t for t in found.tests if t is not (tested[0] if tested else None)], table)
    if lines:
        body.append(
            "\n".join(lines[:14]) + (f"\n  … {len(lines) - 14} more tests (--json, or -v)" if len(lines) > 14 else "")
        )
    left = [i.says for i in found.issues if i.level == "note" and i.code in LEFT_OUT]
    if left and table.columns:
        body.append("\n".join(f"  {says}" for says in left[:6]))
    if found.overall:
        body.append("\n".join(_overall_line(o) for o in found.overall))
    if changes:
        body.append(say("changed since then:") + "\n" + "\n".join(f"  {c['says']}" for c in changes[:20]))
    if found.understood and not found.work:
        body.insert(0, found.understood)
    action = _action(found, main, place, typed)
    details = "\n".join(
        filter(
            None,
            [
                *lines[14:],
                *(
                    f"  {t.test} {t.a} – {t.b}: {t.signature}\n    {'; '.join(t.assumptions)}"
                    for t in found.tests
                    if not t.refused
                ),
                _proposals(found),
            ],
        )
    )
    head = "\n".join([result, *(f"  {x}" for x in tail)])
    return Report(verb="compare", result=head, explanation=says, action=action, data=_compare.data(found, written, changes), body="\n\n".join(body), details=details,
                  warnings=(*waiting, *(i.says for i in found.issues if i.level == "warning"))[:8], mode=mode)  # fmt: skip


def _size(table: Any) -> str:
    rows, columns = len(table.rows), len(table.columns)
    return (
        (say("1 system") if rows == 1 else say("{n} systems", n=rows))
        + ", "
        + (say("1 column") if columns == 1 else say("{n} columns", n=columns))
    )


def _test_lines(tests: Sequence[Any], table: Any) -> list[str]:
    """A line per test; refusals that say the same are one line."""
    lines, seen = [], set()
    for t in tests:
        if not t.refused:
            lines.append(_test_line(t, table))
            continue
        same = [o for o in tests if o.refused == t.refused and (o.a, o.b) == (t.a, t.b)]
        if (t.a, t.b, t.refused) in seen:
            continue
        seen.add((t.a, t.b, t.refused))
        lines.append(
            _test_line(t, table)
            if len(same) == 1
            else say("  {a} – {b}, {n} columns: refused: {why}", a=t.a, b=t.b, n=len(same), why=t.refused)
        )
    return lines


def _best(found: Comparison) -> str:
    from papertrain.results import statement

    for j, column in enumerate(found.table.columns):
        best = [(r, row[j]) for r, row in zip(found.table.rows, found.table.cells) if row[j].rank == 1]
        if best and best[0][1].value is not None:
            return say(
                "best {where}: {name} {value}",
                where=statement.where(column),
                name=best[0][0],
                value=statement.value(best[0][1].value, column),
            )
    return ""


def _gap_text(gaps: list[Any]) -> str:
    r, c, cell = gaps[0]
    first = say("{c} for {r} ({why})", c=" ".join(x for x in (c.dataset, c.metric) if x), r=r, why=cell.reason)
    return (
        say("one cell unfilled: {first}", first=first)
        if len(gaps) == 1
        else say("{n} cells unfilled: {first} …", n=len(gaps), first=first)
    )


def _test_line(t: Any, table: Any) -> str:
    from papertrain.results import statement

    c = table.columns[t.column]
    where = " ".join(x for x in (c.dataset, c.metric) if x)
    seeds = f" (seeds {t.details['seed_a']}, {t.details['seed_b']})" if t.details.get("role") == "per-seed" else ""
    said = f"refused: {t.refused}" if t.refused else statement.difference(t, c)
    star = "†" if t.significant else ""
    return f"  {t.a} – {t.b}, {where}{seeds}: {said}{star}"


def _overall_line(o: dict[str, Any]) -> str:
    from papertrain.results.stats.outcome import show_p

    if o["test"] == "friedman":
        ranks = ", ".join(f"{s} {r:.2f}" for s, r in sorted(zip(o["systems"], o["mean_ranks"]), key=lambda x: x[1])[:5])
        return (
            f"  over {o['n']} data sets, {o['metric']}: Friedman {show_p(o['p'])}; mean ranks {ranks}; CD {o['cd']:.2f}"
        )
    return f"  over {o['n']} data sets, {o['metric']}: Wilcoxon {show_p(o['p'])}; {o['a']} wins {o['wins']}, loses {o['losses']}, ties {o['ties']}"


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
    style = ",".join([*([asked.venue] if asked.venue else []), *(["intervals"] if asked.intervals else [])])
    words += ["--style", style] if style else []
    words += [w for k, v in usual.items() if getattr(asked, k) != v for w in (f"--{k}", getattr(asked, k))]
    return line(*words, *(["--all"] if asked.everything else []))


def _action(found: Comparison, main: list[Any], place: Path | None, typed: str) -> str:
    if found.missing:
        return f"papertrain launch {quoted(found.work)} --missing"
    if found.work:
        return f"papertrain status {quoted(found.work)}"
    if not main and len(found.table.rows) > 1 and "--ours" not in typed:
        baseline = "" if "--baseline" in typed else f" --baseline {quoted(found.table.rows[1])}"
        return f"{typed} --ours {quoted(found.table.rows[0])}{baseline}"
    return f"{typed} -o paper" if place is None else f"{typed} --against {quoted(place)}"


def _proposals(found: Comparison) -> str:
    return "\n".join(f"  figure {p['name']}: {p['why']}" for p in found.proposed)


def _missing(found: Comparison, mode: Any) -> Report:
    from papertrain.report.markdown import aligned
    from papertrain.verbs import _compare

    gaps = [
        {"run": "", "because": f"{c.dataset} {c.metric} for {r}: {cell.reason}".strip(), "command": ""}
        for r, row in zip(found.table.rows, found.table.cells)
        for c, cell in zip(found.table.columns, row)
        if cell.value is None
    ]
    rows = found.missing if found.work else gaps
    body = aligned([[m["run"], m["because"], m["command"]] for m in rows], left=3) if rows else ""
    result = (
        say("{n} cells still to run", n=len(rows))
        if len(rows) > 1
        else say("one cell still to run")
        if rows
        else say("no cell is missing")
    )
    action = f"papertrain launch {quoted(found.work)} --missing" if rows and found.work else None
    says = (
        say("a missing cell stays unfilled until its run has left predictions")
        if rows
        else say("every run of the study has left predictions")
    )
    return Report(
        verb="compare",
        result=result,
        explanation=says,
        action=action,
        body=body,
        data={**_compare.data(found, [], []), "missing": rows},
        mode=mode,
    )


def _against(found: Comparison, folder: Path) -> list[dict[str, Any]]:
    """What differs from an earlier main.csv."""
    import csv
    import io

    from papertrain.core.errors import PapertrainError
    from papertrain.core.files import read_text
    from papertrain.results.source import number

    file = next((f for f in (folder / "tables" / "main.csv", folder / "main.csv") if f.is_file()), None)
    if file is None:
        raise PapertrainError("no tables/main.csv of an earlier comparison in it", code="no-table", file=folder)
    old = {
        (r.get("method") or "", r.get("dataset") or "", r.get("metric") or ""): number(r.get("value"))
        for r in csv.DictReader(io.StringIO(read_text(file)))
    }
    new = {
        (r, c.dataset, c.metric): cell.value
        for r, row in zip(found.table.rows, found.table.cells)
        for c, cell in zip(found.table.columns, row)
    }
    out = []
    for k in dict.fromkeys([*old, *new]):
        a, b = old.get(k), new.get(k)
        if a != b and not (a is not None and b is not None and abs(a - b) <= 1e-12 * max(abs(a), 1)):
            where = " ".join(str(x) for x in k if x)
            was, now = ("–" if a is None else f"{a:g}"), ("–" if b is None else f"{b:g}")
            says = (
                f"{where}: {was} → {now}"
                if k in old and k in new
                else f"{where}: {'new, ' + now if k not in old else 'gone, was ' + was}"
            )
            out.append({"method": k[0], "dataset": k[1], "metric": k[2], "before": a, "now": b, "says": says})
    return out
