"""Grouped bars with intervals: the main result."""

from __future__ import annotations

from papertrain.report.escape import UNICODE_MACRO, tex
from papertrain.report.figures._figure import Drawing, Figure, colour, coordinate, tikz_head

SCRIPT = '''
def draw(rows):
    """A group per column of the table, a bar per method; whiskers are the intervals in the CSV."""
    groups, methods = list(dict.fromkeys(r["group"] for r in rows)), list(dict.fromkeys(r["method"] for r in rows))
    figure, axes = plt.subplots(figsize=(WIDTH, HEIGHT))
    width = 0.8 / len(methods)
    for k, method in enumerate(methods):
        for r in rows:
            if r["method"] != method or number(r["value"]) is None:
                continue
            x = groups.index(r["group"]) + (k - (len(methods) - 1) / 2) * width
            value, low, high = number(r["value"]), number(r["low"]), number(r["high"])
            first = r["group"] == next(q["group"] for q in rows if q["method"] == method and number(q["value"]) is not None)
            axes.bar(x, value, width * 0.92, color=COLOURS[k % 8], hatch=HATCHES[k % 8], edgecolor="black", linewidth=0.4, label=plain(method) if first else None)
            if low is not None and high is not None:
                axes.errorbar(x, value, [[max(value - low, 0)], [max(high - value, 0)]], color="black", capsize=2, linewidth=0.8)
    axes.set_xticks(range(len(groups)), [plain(g) for g in groups], rotation=OPTIONS["rotate"], ha="right" if OPTIONS["rotate"] else "center")
    axes.set_ylabel(plain(OPTIONS["ylabel"]))
    axes.set_ylim(bottom=min(0, axes.get_ylim()[0]))
    figure.legend(loc="outside upper center", ncols=min(len(methods), OPTIONS["legend_columns"]))
    return figure
'''


def tikz(d: Drawing) -> str:
    groups = list(dict.fromkeys(r[1] for r in d.rows))
    methods = list(dict.fromkeys(r[0] for r in d.rows))
    at = {g: i for i, g in enumerate(groups)}
    width = 0.8 / max(len(methods), 1)
    lines = [
        r"\begin{tikzpicture}",
        rf"\begin{{axis}}[ybar, bar width={width * 0.92:.4g}, width={d.width * 0.92:.3g}in, height={d.height:.3g}in, ylabel={{{tex(d.options['ylabel'])}}}, ymin=0,",
        rf"  xtick={{{','.join(str(i) for i in range(len(groups)))}}}, xticklabels={{{','.join('{' + tex(g) + '}' for g in groups)}}},",
        rf"  xticklabel style={{rotate={d.options['rotate']}{', anchor=east' if d.options['rotate'] else ''}}}, xmin=-0.6, xmax={len(groups) - 0.4:.4g},",
        r"  legend style={at={(0.5,1.03)}, anchor=south, legend columns=-1, draw=none}, legend image code/.code={\draw[#1] (0cm,-0.08cm) rectangle (0.3cm,0.14cm);}, axis lines*=left, font=\footnotesize]",
    ]
    for k, m in enumerate(methods):
        lines.append(
            rf"\addplot+[draw=black, fill={colour(k)}, bar shift=0, error bars/.cd, error bar style={{black}}, y dir=both, y explicit] coordinates {{"
        )
        for name, g, value, low, high, *_ in d.rows:
            if name != m or value is None:
                continue
            x = at[g] + (k - (len(methods) - 1) / 2) * width
            error = (
                f" += (0,{coordinate(max(high - value, 0))}) -= (0,{coordinate(max(value - low, 0))})"
                if low is not None and high is not None
                else ""
            )
            lines.append(f"  ({coordinate(x)},{coordinate(value)}){error}")
        lines += ["};", rf"\addlegendentry{{{tex(m)}}}"]
    body = "\n".join([*lines, r"\end{axis}", r"\end{tikzpicture}"]) + "\n"
    return tikz_head(d) + (UNICODE_MACRO if r"\ptuni" in body else "") + body


FIGURE = Figure(
    id="bars",
    why="a few columns: bars from zero with their intervals show size and doubt at once",
    script=SCRIPT,
    tikz=tikz,
)
HEADER = ("method", "group", "value", "low", "high", "interval", "evidence")
