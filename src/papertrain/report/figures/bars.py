"""Grouped bars with intervals: the main result."""

from __future__ import annotations

from papertrain.report.escape import UNICODE_MACRO, tex
from papertrain.report.figures._figure import Drawing, Figure, colour, coordinate, tikz_head

SCRIPT = '''
def draw(rows):
    """A group per column of the table, a bar per method; whiskers are the intervals in the CSV."""
    groups, methods = list(dict.fromkeys(r["group"] for r in rows)), list(dict.fromkeys(r["method"] for r in rows))
    shown = [m for m in methods if any(r["method"] == m and number(r["value"]) is not None for r in rows)]
    figure, axes = plt.subplots(figsize=(WIDTH, HEIGHT))
    width = 0.8 / max(len(shown), 1)
    for method in shown:
        k = methods.index(method)  # a method keeps its colour where another one is still to run
        for r in rows:
            if r["method"] != method:
                continue
            x = groups.index(r["group"]) + (shown.index(method) - (len(shown) - 1) / 2) * width
            if number(r["value"]) is None:
                axes.annotate("\u2013", (x, 0), textcoords="offset points", xytext=(0, 2), ha="center")
                continue
            value, low, high = number(r["value"]), number(r["low"]), number(r["high"])
            first = r["group"] == next(q["group"] for q in rows if q["method"] == method and number(q["value"]) is not None)
            axes.bar(x, value, width * 0.92, color=COLOURS[k % 8], hatch=HATCHES[k % 8], edgecolor="black", linewidth=0.4, label=plain(method) if first else None)
            if low is not None and high is not None:
                axes.errorbar(x, value, [[max(value - low, 0)], [max(high - value, 0)]], color="black", capsize=2, linewidth=0.8)
    axes.set_xticks(range(len(groups)), [plain(g) for g in groups], rotation=OPTIONS["rotate"], ha="right" if OPTIONS["rotate"] else "center")
    axes.set_ylabel(plain(OPTIONS["ylabel"]))
    axes.set_ylim(bottom=min(0, axes.get_ylim()[0]))
    figure.legend(loc="outside upper center", ncols=max(1, min(len(shown), OPTIONS["legend_columns"])))
    return figure
'''


def tikz(d: Drawing) -> str:
    groups = list(dict.fromkeys(r[1] for r in d.rows))
    methods = list(dict.fromkeys(r[0] for r in d.rows))
    at = {g: i for i, g in enumerate(groups)}
    shown = [m for m in methods if any(r[0] == m and r[2] is not None for r in d.rows)]
    width = 0.8 / max(len(shown), 1)
    lines = [
        r"\begin{tikzpicture}",
        rf"\begin{{axis}}[ybar, bar width={width * 0.92:.4g}, width={d.width * 0.92:.3g}in, height={d.height:.3g}in, ylabel={{{tex(d.options['ylabel'])}}}, ymin=0,",
        rf"  xtick={{{','.join(str(i) for i in range(len(groups)))}}}, xticklabels={{{','.join('{' + tex(g) + '}' for g in groups)}}},",
        rf"  xticklabel style={{rotate={d.options['rotate']}{', anchor=east' if d.options['rotate'] else ''}}}, xmin=-0.6, xmax={len(groups) - 0.4:.4g},",
        r"  legend style={at={(0.5,1.03)}, anchor=south, legend columns=-1, draw=none}, legend image code/.code={\draw[#1] (0cm,-0.08cm) rectangle (0.3cm,0.14cm);}, axis lines*=left, font=\footnotesize]",
    ]
    for slot, m in enumerate(shown):
        k = methods.index(m)
        lines.append(
            rf"\addplot+[draw=black, fill={colour(k)}, bar shift=0, error bars/.cd, error bar style={{black}}, y dir=both, y explicit] coordinates {{"
        )
        for name, g, value, low, high, *_ in d.rows:
            if name != m or value is None:
                continue
            x = at[g] + (slot - (len(shown) - 1) / 2) * width
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
