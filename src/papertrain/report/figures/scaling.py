"""Scaling curves: the score over the size of the model or of the data, on a logarithmic axis."""

from __future__ import annotations

from papertrain.report.escape import UNICODE_MACRO, tex
from papertrain.report.figures._figure import Drawing, Figure, colour, coordinate, tikz_head

SCRIPT = '''
def draw(rows):
    """A line per family; points are measured, the lines between them only join them."""
    figure, axes = plt.subplots(figsize=(WIDTH, HEIGHT))
    axes.set_xscale("log")
    if OPTIONS["logy"]:
        axes.set_yscale("log")
    families = list(dict.fromkeys(r["family"] for r in rows))
    for k, family in enumerate(families):
        mine = sorted((float(r["size"]), float(r["value"]), number(r["low"]), number(r["high"])) for r in rows if r["family"] == family and number(r["value"]) is not None)
        x, y = [m[0] for m in mine], [m[1] for m in mine]
        low = [max(m[1] - m[2], 0) if m[2] is not None else 0 for m in mine]
        high = [max(m[3] - m[1], 0) if m[3] is not None else 0 for m in mine]
        axes.errorbar(x, y, yerr=[low, high], marker=MARKERS[k % 8], color=COLOURS[k % 8], linestyle=DASHES[k % 8], markersize=4, capsize=2, linewidth=1, label=plain(family))
    axes.set_xlabel(plain(OPTIONS["xlabel"]))
    axes.set_ylabel(plain(OPTIONS["ylabel"]))
    if len(families) > 1:
        figure.legend(loc="outside upper center", ncols=min(len(families), OPTIONS["legend_columns"]))
    return figure
'''


def tikz(d: Drawing) -> str:
    mode = "xmode=log" + (", ymode=log" if d.options["logy"] else "")
    families = list(dict.fromkeys(r[0] for r in d.rows))
    lines = [
        r"\begin{tikzpicture}",
        rf"\begin{{axis}}[{mode}, width={d.width * 0.95:.3g}in, height={d.height:.3g}in, xlabel={{{tex(d.options['xlabel'])}}}, ylabel={{{tex(d.options['ylabel'])}}},",
        rf"  legend style={{at={{(0.5,1.03)}}, anchor=south, legend columns={d.options['legend_columns']}, draw=none}}, axis lines*=left, font=\footnotesize]",
    ]
    for k, family in enumerate(families):
        lines.append(rf"\addplot+[color={colour(k)}, error bars/.cd, y dir=both, y explicit] coordinates {{")
        mine = sorted((r for r in d.rows if r[0] == family and r[3] is not None), key=lambda r: float(r[2]))
        for _, _, x, y, low, high, *_ in mine:
            known = low is not None and high is not None
            error = f" += (0,{coordinate(max(high - y, 0))}) -= (0,{coordinate(max(y - low, 0))})" if known else ""
            lines.append(f"  ({coordinate(x)},{coordinate(y)}){error}")
        lines += ["};", *([rf"\addlegendentry{{{tex(family)}}}"] if len(families) > 1 else [])]
    body = "\n".join([*lines, r"\end{axis}", r"\end{tikzpicture}"]) + "\n"
    return tikz_head(d) + (UNICODE_MACRO if r"\ptuni" in body else "") + body


FIGURE = Figure(
    id="scaling", why="the same method at several sizes: the trend, and where it bends", script=SCRIPT, tikz=tikz
)
HEADER = ("family", "method", "size", "value", "low", "high", "evidence")
