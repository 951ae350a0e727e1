"""Dots with intervals on a cut axis: for many columns, or differences around zero."""

from __future__ import annotations

from papertrain.report.escape import UNICODE_MACRO, tex
from papertrain.report.figures._figure import Drawing, Figure, colour, coordinate, tikz_head

SCRIPT = '''
def draw(rows):
    """A line per group, a dot per method. Dots and not bars, because the axis need not start at zero."""
    groups, methods = list(dict.fromkeys(r["group"] for r in rows)), list(dict.fromkeys(r["method"] for r in rows))
    figure, axes = plt.subplots(figsize=(WIDTH, HEIGHT))
    if OPTIONS["zero"]:
        axes.axvline(0, color="0.5", linewidth=0.6)
    step = 0.7 / max(len(methods), 1)
    for k, method in enumerate(methods):
        mine = [r for r in rows if r["method"] == method and number(r["value"]) is not None]
        x = [number(r["value"]) for r in mine]
        y = [groups.index(r["group"]) + (k - (len(methods) - 1) / 2) * step for r in mine]
        low = [v - number(r["low"]) if number(r["low"]) is not None else 0 for v, r in zip(x, mine)]
        high = [number(r["high"]) - v if number(r["high"]) is not None else 0 for v, r in zip(x, mine)]
        axes.errorbar(x, y, xerr=[[max(v, 0) for v in low], [max(v, 0) for v in high]], fmt=MARKERS[k % 8], color=COLOURS[k % 8], markersize=4, capsize=2,
                      linewidth=0.8, label=plain(method))
    axes.set_yticks(range(len(groups)), [plain(g) for g in groups])
    axes.invert_yaxis()
    axes.set_xlabel(plain(OPTIONS["xlabel"]))
    if len(methods) > 1:
        figure.legend(loc="outside upper center", ncols=min(len(methods), OPTIONS["legend_columns"]))
    return figure
'''


def tikz(d: Drawing) -> str:
    groups = list(dict.fromkeys(r[1] for r in d.rows))
    methods = list(dict.fromkeys(r[0] for r in d.rows))
    at = {g: i for i, g in enumerate(groups)}
    step = 0.7 / max(len(methods), 1)
    zero = r"  extra x ticks={0}, extra x tick labels={}, extra x tick style={grid=major}," if d.options["zero"] else ""
    lines = [
        r"\begin{tikzpicture}",
        rf"\begin{{axis}}[width={d.width:.3g}in, height={d.height:.3g}in, xlabel={{{tex(d.options['xlabel'])}}}, y dir=reverse,",
        rf"  ytick={{{','.join(str(i) for i in range(len(groups)))}}}, yticklabels={{{','.join('{' + tex(g) + '}' for g in groups)}}},",
        *([zero] if zero else []),
        r"  legend style={at={(0.5,1.03)}, anchor=south, legend columns=-1, draw=none}, axis lines*=left, font=\footnotesize]",
    ]
    for k, m in enumerate(methods):
        lines.append(
            rf"\addplot+[only marks, color={colour(k)}, error bars/.cd, x dir=both, x explicit] coordinates {{"
        )
        for name, g, value, low, high, *_ in d.rows:
            if name == m and value is not None:
                error = (
                    f" += ({coordinate(max(high - value, 0))},0) -= ({coordinate(max(value - low, 0))},0)"
                    if low is not None and high is not None
                    else ""
                )
                lines.append(
                    f"  ({coordinate(value)},{coordinate(at[g] + (k - (len(methods) - 1) / 2) * step)}){error}"
                )
        lines += ["};", *([rf"\addlegendentry{{{tex(m)}}}"] if len(methods) > 1 else [])]
    body = "\n".join([*lines, r"\end{axis}", r"\end{tikzpicture}"]) + "\n"
    return tikz_head(d) + (UNICODE_MACRO if r"\ptuni" in body else "") + body


FIGURE = Figure(
    id="dots",
    why="many columns, or paired differences: dots with intervals around a zero line answer A against B",
    script=SCRIPT,
    tikz=tikz,
)
HEADER = ("method", "group", "value", "low", "high", "interval", "evidence")
