"""The answer of `compare` in words: the main test first, what is missing, what the numbers do not carry."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from papertrain.core.commands import quoted
from papertrain.core.report import Report
from papertrain.core.sentences import translated
from papertrain.core.texts import say

if TYPE_CHECKING:
    from papertrain.verbs.comparing.build import Comparison

LEFT_OUT = (
    "left-out",
    "unknown-direction",
    "units-differ",
    "members-left-out",
    "derived-column",
    "validation-left-out",
    "unknown-venue",
    "read-as",
)
"""Notes on what the table does not show, printed below it: a column must not vanish silently."""


def report_of(
    found: Comparison,
    asked: Any,
    written: list[str],
    changes: list[dict[str, Any]],
    mode: Any,
    place: Path | None,
    typed: str,
    *,
    dry_run: bool,
    against: bool = False,
) -> Report:
    from papertrain.core.workspace import Workspace
    from papertrain.report.markdown import terminal
    from papertrain.results import statement
    from papertrain.verbs.comparing import build
    from papertrain.verbs.evaluating.scores import unconfirmed

    waiting = unconfirmed(Workspace(found.work), mode) if found.work else ()
    sheet = build.sheet_of(found, asked)
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
            "{text} between {a} and {b}: {why}",
            text=say("no test"),
            a=main[0].a,
            b=main[0].b,
            why=translated(main[0].refused),
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
    if found.work and place is None and asked.test != "auto":
        tail.append(say("nothing written, since the tables hold the test that the data ask for: -o {place} writes this one", place=quoted(found.work)))  # fmt: skip
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
        says = f"{says}; {translated(repair)}"
    body = [terminal(sheet)] if table.columns else []
    ways = [found.board.directions[h] for h in found.board.heads] if asked.intervals else None
    # without verdicts the first line of the answer does not stand for its test: all are listed
    lines = _test_lines(
        [t for t in found.tests if asked.intervals or t is not (tested[0] if tested else None)], table, ways
    )
    if lines:
        body.append(
            "\n".join(lines[:14])
            + (say("\n  … {n} more tests (--json, or -v)", n=len(lines) - 14) if len(lines) > 14 else "")
        )
    left = list(dict.fromkeys(translated(i.says) for i in found.issues if i.level == "note" and i.code in LEFT_OUT))
    doubts = dict.fromkeys(translated(i.says) for i in found.issues if i.level == "warning")
    if left and table.columns:
        body.append("\n".join(f"  {says}" for says in left[:6]))
    if found.overall:
        body.append("\n".join(_overall_line(o) for o in found.overall))
    if changes:
        rest = [say("  … {n} more (--json)", n=len(changes) - 20)] if len(changes) > 20 else []
        body.append(
            "\n".join([say("changed since then:"), *(f"  {translated(c['says'])}" for c in changes[:20]), *rest])
        )
    elif against:
        body.append(say("nothing changed since then"))
    if worth := [p for p in found.proposed if not p["drawn"]]:
        body.append(say("worth drawing: {names} (--figures NAME, or --all)", names=", ".join(p["name"] for p in worth)))
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
    return Report(verb="compare", result=head, explanation=says, action=action, data=build.data(found, written, changes), body="\n\n".join(body), details=details,
                  warnings=(*waiting, *doubts)[:8], mode=mode)  # fmt: skip


def _size(table: Any) -> str:
    rows, columns = len(table.rows), len(table.columns)
    return (
        (say("1 system") if rows == 1 else say("{n} systems", n=rows))
        + ", "
        + (say("1 column") if columns == 1 else say("{n} columns", n=columns))
    )


def _test_lines(tests: Sequence[Any], table: Any, ways: Sequence[bool | None] | None = None) -> list[str]:
    """A line per test; refusals that say the same are one line."""
    lines, seen = [], set()
    for t in tests:
        if not t.refused:
            lines.append(_test_line(t, table, ways))
            continue
        same = [o for o in tests if o.refused == t.refused and (o.a, o.b) == (t.a, t.b)]
        if (t.a, t.b, t.refused) in seen:
            continue
        seen.add((t.a, t.b, t.refused))
        lines.append(
            _test_line(t, table)
            if len(same) == 1
            else say("  {a} – {b}, {n} columns: refused: {why}", a=t.a, b=t.b, n=len(same), why=translated(t.refused))
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
    first = say(
        "{c} for {r} ({why})", c=" ".join(x for x in (c.dataset, c.metric) if x), r=r, why=translated(cell.reason)
    )
    return (
        say("one cell unfilled: {first}", first=first)
        if len(gaps) == 1
        else say("{n} cells unfilled: {first} …", n=len(gaps), first=first)
    )


def _test_line(t: Any, table: Any, ways: Sequence[bool | None] | None = None) -> str:
    """ways: the direction of each column, where intervals and probabilities stand instead of verdicts."""
    from papertrain.results import statement

    c = table.columns[t.column]
    where = " ".join(x for x in (c.dataset, c.metric) if x)
    seeds = (
        say(" (seeds {a}, {b})", a=t.details["seed_a"], b=t.details["seed_b"])
        if t.details.get("role") == "per-seed"
        else ""
    )
    said = say("refused: {why}", why=translated(t.refused)) if t.refused else statement.difference(t, c)
    if ways is not None and not t.refused:
        return f"  {t.a} – {t.b}, {where}{seeds}: {statement.as_interval(t, c, ways[t.column])}"
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
    return "\n".join(say("  figure {name}: {why}", name=p["name"], why=translated(p["why"])) for p in found.proposed)


def missing_report(found: Comparison, mode: Any) -> Report:
    from papertrain.report.markdown import aligned
    from papertrain.verbs.comparing import build

    gaps = [
        {"run": "", "because": f"{c.dataset} {c.metric} for {r}: {cell.reason}".strip(), "command": ""}
        for r, row in zip(found.table.rows, found.table.cells)
        for c, cell in zip(found.table.columns, row)
        if cell.value is None
    ]
    rows = found.missing if found.work else gaps
    body = aligned([[m["run"], translated(m["because"]), m["command"]] for m in rows], left=3) if rows else ""
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
        data={**build.data(found, [], []), "missing": rows},
        mode=mode,
    )
