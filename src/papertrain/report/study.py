"""The tables of the appendix in LaTeX: parameters, data, compute; and the setup paragraph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from papertrain.report.escape import UNICODE_MACRO, comment, tex
from papertrain.report.venue import venue

HEADER = "% Written by papertrain; needs \\usepackage{booktabs,array}. Numbers come from plans, data files and records, never from hand.\n"


SMALL_PT = 9
EM_PER_LETTER = 0.5
NARROWEST = 34


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    caption: str,
    label: str,
    style: str = "",
    comments: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> str:
    """A float with a row per entry; an empty cell is a dash. comments: where each row was read."""
    v = venue(style)
    used = [j for j in range(len(head)) if j == 0 or any(row[j] for row in rows if j < len(row))]
    head, rows = [head[j] for j in used], [[row[j] if j < len(row) else "" for j in used] for row in rows]
    letters = [max(len(r[j]) for r in [head, *rows]) for j in range(len(head))]
    natural = sum(letters) * EM_PER_LETTER * SMALL_PT + 8 * len(letters)
    env = "table*" if v.column_pt < natural and v.text_pt > v.column_pt else "table"
    whole = v.text_pt if env == "table*" else v.column_pt
    room = whole - sum(letters[1:]) * EM_PER_LETTER * SMALL_PT - 8 * len(letters)
    size, gap = r"\small", 4
    if room < letters[0] * EM_PER_LETTER * SMALL_PT:
        small = v.floor_pt <= SMALL_PT - 1
        size, gap = (r"\footnotesize" if small else size), 3
        room = whole - sum(letters[1:]) * EM_PER_LETTER * (SMALL_PT - small) - 6 * len(letters)
    # a long name is broken over lines before anything is set smaller
    first = (
        "l"
        if letters[0] * EM_PER_LETTER * SMALL_PT <= room
        else rf">{{\raggedright\arraybackslash}}p{{{max(room - 12, NARROWEST):.0f}pt}}"
    )
    lines = [
        rf"\begin{{tabular}}{{@{{}}{first}{'r' * (len(head) - 1)}@{{}}}}",
        r"\toprule",
        " & ".join(map(tex, head)) + r" \\",
        r"\midrule",
    ]
    for i, row in enumerate(rows):
        lines.append(" & ".join(tex(c) or "--" for c in row) + r" \\")
        lines += [f"%   {comment(comments[i])}"] if i < len(comments) and comments[i] else []
    lines += [r"\bottomrule", r"\end{tabular}"]
    said = [rf"\caption{{{tex(caption)}}}", rf"\label{{{label}}}"]
    body = [
        rf"\begin{{{env}}}[t]", rf"\centering{size}\setlength{{\tabcolsep}}{{{gap}pt}}", *([*said, r"\vspace{2pt}"] if v.caption == "above" else []), *lines,
        *([r"\par\smallskip\begin{minipage}{0.98\linewidth}\footnotesize\raggedright " + r" \quad ".join(map(tex, notes)) + r"\end{minipage}"] if notes else []),
        *(said if v.caption == "below" else []), rf"\end{{{env}}}",
    ]  # fmt: skip
    text = "\n".join(body) + "\n"
    return HEADER + (UNICODE_MACRO if r"\ptuni" in text else "") + text


def hyperparameters(methods: Mapping[str, Mapping[str, str]], *, style: str = "") -> str:
    """Every decision of every plan: a row per parameter, a column per method; then budgets and what was tried."""
    names = list(dict.fromkeys(k for values in methods.values() for k in values))
    rows = [[n.replace("_", " "), *(values.get(n, "") for values in methods.values())] for n in names]
    caption = "Training parameters of each method, as derived, with the budget of its tuning; the reason behind each stands in its plan."
    return table(["Parameter", *methods], rows, caption=caption, label="tab:hyperparameters", style=style)


DATA_COLUMNS = (
    "rows",
    "examples",
    "tokens",
    "trained tokens",
    "truncated",
    "duplicates",
    "classes",
    "licence",
    "sha256",
)


def datasets(rows: Mapping[str, Mapping[str, str]], *, style: str = "") -> str:
    """Data as counted: a row per split; a count that was not made stays unfilled."""
    shown = [c for c in DATA_COLUMNS if any(r.get(c) for r in rows.values())]
    caption = "Data as counted; trained tokens carry loss, sha256 is the digest of the file. A dash: not counted."
    return table(
        ["Data", *shown],
        [[name, *(r.get(c, "") for c in shown)] for name, r in rows.items()],
        caption=caption,
        label="tab:datasets",
        style=style,
    )


def compute(rows: Sequence[Sequence[str]], comments: Sequence[str], notes: Sequence[str], *, style: str = "") -> str:
    """Measured time only: what a record says, per finished run and with every start that failed or was repeated."""
    head = ("Method", "Device", "Cards", "Runs", "h/run", "GPU-h/run", "Starts", "Total h", "Total GPU-h")
    caption = "Compute as measured: wall time in hours of each run from its record, times the cards it used. The totals count every start, failed and repeated ones too."
    return table(head, rows, caption=caption, label="tab:compute", style=style, comments=comments, notes=notes)


def paragraph(sentences: Sequence[str]) -> str:
    r"""`\input` it where the setup is described, and edit your copy."""
    text = "\n".join(tex(s) for s in sentences) + "\n"
    return (
        "% Written by papertrain from plans, records and the comparison; each number can be written again.\n"
        + (UNICODE_MACRO if r"\ptuni" in text else "")
        + text
    )
