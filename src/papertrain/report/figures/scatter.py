"""Cost against score: a dot per method, so that a better score is seen together with its price."""

from __future__ import annotations

from papertrain.report.escape import UNICODE_MACRO, tex
from papertrain.report.figures._figure import Drawing, Figure, colour, coordinate, tikz_head

SCRIPT = '''
def draw(rows):
    """A dot per method; whiskers are the intervals in the CSV. The dashed line joins what nothing cheaper beats."""
    figure, axes = plt.subplots(figsize=(WIDTH, HEIGHT))
    if OPTIONS["log"]:
        axes.set_xscale("log")
    points = []
    for k, method in enumerate(dict.fromkeys(r["method"] for r in rows)):
        for r in rows:
            x, y, low, high = (number(r[name]) for name in ("cost", "value", "low", "high"))
            if r["method"] != method or x is None or y is None:
                continue
            points.append((x, y))
            whiskers = [[max(y - low, 0)], [max(high - y, 0)]] if low is not None and high is not None else None
            axes.errorbar([x], [y], yerr=whiskers, fmt=MARKERS[k % 8], color=COLOURS[k % 8], markersize=5, capsize=2, linewidth=0.8, label=plain(method))
    better = max if OPTIONS["higher"] else min
    front = [(x, y) for x, y in sorted(points) if y == better(v for c, v in points if c <= x)]
    if len(front) > 1:
        axes.plot(*zip(*front), linestyle=(0, (4, 3)), color="0.55", linewidth=0.8, zorder=0)
    axes.set_xlabel(plain(OPTIONS["xlabel"]))
    axes.set_ylabel(plain(OPTIONS["ylabel"]))
    figure.legend(loc="outside upper center", ncols=OPTIONS["legend_columns"])
    return figure
'''


def tikz(d: Drawing) -> str:
    mode = "xmode=log, " if d.options["log"] else ""
    lines = [
        r"\begin{tikzpicture}",
        rf"\begin{{axis}}[{mode}width={d.width * 0.95:.3g}in, height={d.height:.3g}in, xlabel={{{tex(d.options['xlabel'])}}}, ylabel={{{tex(d.options['ylabel'])}}},",
        rf"  legend style={{at={{(0.5,1.03)}}, anchor=south, legend columns={d.options['legend_columns']}, draw=none}}, axis lines*=left, font=\footnotesize]",
    ]
    points = [(float(r[1]), float(r[2])) for r in d.rows if r[1] is not None and r[2] is not None]
    better = max if d.options["higher"] else min
    front = [(x, y) for x, y in sorted(points) if y == better(v for c, v in points if c <= x)]
    if len(front) > 1:
        joined = " ".join(f"({coordinate(x)},{coordinate(y)})" for x, y in front)
        lines.append(rf"\addplot[dashed, gray, mark=none, forget plot] coordinates {{{joined}}};")
    for k, m in enumerate(dict.fromkeys(r[0] for r in d.rows)):
        lines.append(
            rf"\addplot+[only marks, color={colour(k)}, error bars/.cd, y dir=both, y explicit] coordinates {{"
        )
        for name, x, y, low, high, *_ in d.rows:
            if name == m and x is not None and y is not None:
                known = low is not None and high is not None
                error = f" += (0,{coordinate(max(high - y, 0))}) -= (0,{coordinate(max(y - low, 0))})" if known else ""
                lines.append(f"  ({coordinate(x)},{coordinate(y)}){error}")
        lines += ["};", rf"\addlegendentry{{{tex(m)}}}"]
    body = "\n".join([*lines, r"\end{axis}", r"\end{tikzpicture}"]) + "\n"
    return tikz_head(d) + (UNICODE_MACRO if r"\ptuni" in body else "") + body


FIGURE = Figure(id="scatter", why="cost was measured: a score means little without its price", script=SCRIPT, tikz=tikz)
HEADER = ("method", "cost", "value", "low", "high", "evidence", "source")
