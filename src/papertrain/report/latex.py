"""Tables in LaTeX: booktabs, no vertical rules, no resizebox; a provenance comment behind every cell; a macro per number."""

from __future__ import annotations

from collections.abc import Sequence

from papertrain.core.results import ResultTable, Test
from papertrain.report import siunitx
from papertrain.report.escape import UNICODE_MACRO, comment, macro, tex
from papertrain.report.table import Sheet, Shown, number
from papertrain.report.venue import Venue, venue

ARROWS = {True: r" $\uparrow$", False: r" $\downarrow$", None: ""}
NOTES = "abcdefghijklmnopqrstuvwxyz"
SIGNS = {"dagger": r"$^{\dagger}$", "circle": r"$^{\circ}$", "": ""}
HEADER = "% Written by papertrain; needs \\usepackage{booktabs}. Numbers come from evidence.jsonl, never from hand.\n"
ALIGNED = HEADER.replace("{booktabs}", "{booktabs,siunitx} (siunitx 3)") + siunitx.MACRO


def note_mark(index: int) -> str:
    return NOTES[index] if index < len(NOTES) else f"{NOTES[index // len(NOTES) - 1]}{NOTES[index % len(NOTES)]}"


def cell(c: Shown) -> str:
    body = c.text
    if c.mark == "best":
        body = rf"\textbf{{{body}}}"
    elif c.mark == "second":
        body = rf"\underline{{{body}}}"
    if c.plus_minus:
        body += rf" $\pm$ {c.plus_minus}"
    if c.interval:
        body += f" {c.interval}"
    return body + behind(c)


def behind(c: Shown) -> str:
    """The signs behind a cell: significance, and the letter of its note."""
    return SIGNS[c.sign] + (rf"$^{{{note_mark(c.note)}}}$" if c.note is not None else "")


def _width_pt(texts: Sequence[str], size: float) -> float:
    """Rough natural width: Times sets about 0.47 em per character."""
    return (
        max(
            (
                len(
                    t.replace("\\textbf", "")
                    .replace("\\underline", "")
                    .replace("$\\pm$", "±")
                    .replace("{", "")
                    .replace("}", "")
                )
                for t in texts
            ),
            default=0,
        )
        * 0.47
        * size
    )


Shapes = Sequence[siunitx.Shape | None]


def shapes(s: Sheet, aligned: bool, *, turned: bool) -> Shapes:
    """What each column of the printed table reserves; None for a column that is flush right."""
    columns = s.cells if turned else [[row[j] for row in s.cells] for j in range(len(s.metrics))]
    return [siunitx.shape([(c, behind(c)) for c in column]) if aligned else None for column in columns]


def natural_width(s: Sheet, size: float, *, transposed: bool = False, aligned: bool = False) -> float:
    columns = [[cell(row[j]) for row in s.cells] + [s.metrics[j]] for j in range(len(s.metrics))]
    if transposed:
        labels = [f"{d} {m}" for d, m in zip(s.datasets, s.metrics)]
        columns = [[cell(c) for c in row] + [name] for row, name in zip(s.cells, s.rows)]
    else:
        labels = list(s.rows)
    reserved = ["0" * x.printed if x else "" for x in shapes(s, aligned, turned=transposed)]
    return _width_pt(labels, size) + sum(_width_pt([*c, r], size) + 12 for c, r in zip(columns, reserved))


def layout(s: Sheet, v: Venue, *, aligned: bool = False) -> tuple[str, str, bool]:
    """Environment, font size command, and whether rows and columns change places: the first that fits, never resizebox."""
    small = v.body_pt - 1
    for turned in (False, True):
        for env, width in (("table", v.column_pt), ("table*", v.text_pt)):
            if env == "table*" and v.text_pt <= v.column_pt:
                continue
            for size, command in ((v.body_pt, ""), (small, r"\small")):
                if size >= v.floor_pt and natural_width(s, size, transposed=turned, aligned=aligned) <= width:
                    return env, command, turned
    two_columns = v.text_pt > v.column_pt
    return (
        ("table*" if two_columns else "table"),
        (r"\small" if small >= v.floor_pt else ""),
        len(s.metrics) > len(s.rows),
    )


def main_table(
    s: Sheet, *, title: str, label: str = "tab:main", style: str = "", intro: Sequence[str] = (), aligned: bool = False
) -> str:
    """The whole float. intro: sentences of the caption before the legend. aligned: by siunitx, at the decimal point."""
    v = venue(style)
    env, size, turned = layout(s, v, aligned=aligned)
    reserved = shapes(s, aligned, turned=turned)
    body = _turned(s, reserved) if turned else _upright(s, reserved)
    caption = " ".join(tex(x) for x in (title, *intro, *s.legend))
    head = [rf"\begin{{{env}}}[t]", r"\centering", *([size] if size else []), *([siunitx.SETUP] if aligned else [])]
    note = _notes(s)
    caption_lines = [rf"\caption{{{caption}}}", rf"\label{{{label}}}"]
    lines = [
        *head,
        *([*caption_lines, r"\vspace{2pt}"] if v.caption == "above" else []),
        *body,
        *note,
        *(caption_lines if v.caption == "below" else []),
        rf"\end{{{env}}}",
    ]
    text = "\n".join(lines) + "\n"
    return (ALIGNED if aligned else HEADER) + (UNICODE_MACRO if r"\ptuni" in text else "") + text


def _notes(s: Sheet) -> list[str]:
    if not s.notes:
        return []
    said = r" \quad ".join(rf"$^{{{note_mark(i)}}}$\,{tex(n)}" for i, n in enumerate(s.notes))
    return [r"\par\smallskip", r"\begin{minipage}{0.98\linewidth}\footnotesize\raggedright", said, r"\end{minipage}"]


def _row(label: str, cells: Sequence[Shown], reserved: Shapes) -> list[str]:
    """One line that reads like the table, then a comment per cell that says where its number comes from."""
    shown = [siunitx.cell(c, behind(c), r) if r else cell(c) for c, r in zip(cells, reserved)]
    return [" & ".join([label, *shown]) + r" \\", *(f"%   {comment(c.comment)}" for c in cells)]


def _begin(reserved: Shapes) -> str:
    columns = "".join(f" {r.column}" if r else "r" for r in reserved)
    return rf"\begin{{tabular}}{{@{{}}l{columns}@{{}}}}"


def _head(labels: Sequence[str], reserved: Shapes) -> list[str]:
    return [f"{{{label}}}" if r else label for label, r in zip(labels, reserved)]


def _upright(s: Sheet, reserved: Shapes) -> list[str]:
    lines = [_begin(reserved), r"\toprule"]
    if any(s.datasets):
        groups: list[tuple[str, int, int]] = []
        for j, d in enumerate(s.datasets):
            if groups and groups[-1][0] == d:
                groups[-1] = (d, groups[-1][1], j)
            else:
                groups.append((d, j, j))
        lines.append(
            " & ".join(
                [
                    "",
                    *(
                        rf"\multicolumn{{{b - a + 1}}}{{{'c' if b > a or reserved[a] else 'r'}}}{{{tex(d)}}}"
                        for d, a, b in groups
                    ),
                ]
            ).strip()
            + r" \\"
        )
        lines.append("".join(rf"\cmidrule(lr){{{a + 2}-{b + 2}}}" for d, a, b in groups if d))
    heads = [tex(m) + ARROWS[w] for m, w in zip(s.metrics, s.directions)]
    lines.append(" & ".join(["Method", *_head(heads, reserved)]) + r" \\")
    lines.append(r"\midrule")
    for name, row in zip(s.rows, s.cells):
        lines += _row(tex(name), row, reserved)
    return [*lines, r"\bottomrule", r"\end{tabular}"]


def _turned(s: Sheet, reserved: Shapes) -> list[str]:
    """Methods as columns: for many data sets."""
    lines = [
        _begin(reserved),
        r"\toprule",
        " & ".join(["", *_head([tex(r) for r in s.rows], reserved)]).strip() + r" \\",
        r"\midrule",
    ]
    one_metric = len(set(s.metrics)) == 1
    for j, (d, m, w) in enumerate(zip(s.datasets, s.metrics, s.directions)):
        if j and not one_metric and d != s.datasets[j - 1]:
            lines.append(r"\addlinespace")
        label = (tex(d) if one_metric and d else tex(f"{d}, {m}" if d else m)) + ARROWS[w]
        lines += _row(label, [row[j] for row in s.cells], reserved)
    return [*lines, r"\bottomrule", r"\end{tabular}"]


def numbers(table: ResultTable, tests: Sequence[Test]) -> str:
    r"""A macro per number, with its evidence id: `\ptOursReviewsAccuracy`. The text of a paper quotes these."""
    out = [
        "% Written by papertrain: \\input it, and quote the macros. A missing number has no macro, so that it cannot be printed.\n"
    ]
    used: set[str] = set()

    def define(name: str, value: str, said: str) -> None:
        base, k = f"pt{name}", 0
        while (full := base + ("" if not k else macro(k + 1))) in used:
            k += 1
        used.add(full)
        out.append(f"\\newcommand{{\\{full}}}{{{value}}}% {comment(said)}\n")

    for row, system in zip(table.cells, table.rows):
        for c, column in zip(row, table.columns):
            name = macro(system, column.dataset, column.metric)
            if c.value is None:
                out.append(
                    f"% {comment(system)}, {comment(column.dataset)}, {comment(column.metric)}: missing ({comment(c.reason or '')})\n"
                )
                continue
            said = f"{c.evidence} {c.status} {c.value!r}"
            define(name, number(c.value, column), said)
            if c.std is not None:
                define(name + "Std", number(c.std, column), f"{c.evidence} standard deviation {c.std!r}")
                define(name + "Seeds", str(c.n_seeds), f"{c.evidence} runs")
            if c.ci is not None:
                define(name + "Low", number(c.ci.low, column), f"{c.evidence} {c.ci.method}")
                define(name + "High", number(c.ci.high, column), f"{c.evidence} {c.ci.method}")
    for t in tests:
        if t.refused or t.p is None or t.difference is None or t.details.get("role") != "primary":
            continue
        column = table.columns[t.column]
        name = macro(t.a, "vs", t.b, column.dataset, column.metric)
        p = t.p_adjusted if t.p_adjusted is not None else t.p
        define(name + "Diff", number(t.difference, column, sign=True), t.signature)
        define(
            name + "P",
            "<0.001" if p < 1e-3 else f"{p:.4f}" if p < 0.01 else f"{p:.3f}",
            f"{t.signature} adjusted {t.adjustment}",
        )
        define(name + "N", str(t.n), t.unit)
        if t.ci is not None:
            define(name + "DiffLow", number(t.ci.low, column, sign=True), t.ci.method)
            define(name + "DiffHigh", number(t.ci.high, column, sign=True), t.ci.method)
    return "".join(out)
