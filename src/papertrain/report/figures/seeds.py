"""Strip plot: every seed as a point, the mean as a line."""

from __future__ import annotations

from papertrain.report.escape import UNICODE_MACRO, tex
from papertrain.report.figures._figure import Drawing, Figure, colour, coordinate, tikz_head

SCRIPT = '''
def draw(rows):
    """A panel per column of the table; a point per seed, a bar at the mean. The axis is cut, so points and not bars."""
    groups, methods = list(dict.fromkeys(r["group"] for r in rows)), list(dict.fromkeys(r["method"] for r in rows))
    figure, panels = plt.subplots(1, len(groups), figsize=(WIDTH, HEIGHT), squeeze=False)
    for axes, group in zip(panels[0], groups):
        for k, method in enumerate(methods):
            values = [float(r["value"]) for r in rows if r["method"] == method and r["group"] == group]
            shift = [(i - (len(values) - 1) / 2) * 0.12 for i in range(len(values))]
            axes.plot([k + s for s in shift], values, MARKERS[k % 8], color=COLOURS[k % 8], markersize=4)
            if values:
                axes.hlines(sum(values) / len(values), k - 0.3, k + 0.3, color="black", linewidth=1)
        axes.set_xticks(range(len(methods)), [plain(m) for m in methods], rotation=30 if len(methods) > 2 else 0, ha="right" if len(methods) > 2 else "center")
        axes.set_xlim(-0.6, len(methods) - 0.4)
        axes.set_ylabel(plain(group))
    return figure
'''


def tikz(d: Drawing) -> str:
    groups = list(dict.fromkeys(r[1] for r in d.rows))
    methods = list(dict.fromkeys(r[0] for r in d.rows))
    width = 0.95 * d.width / max(len(groups), 1)
    lines = [r"\begin{tikzpicture}"]
    for n, g in enumerate(groups):
        lines.append(rf"\begin{{axis}}[at={{({n * width:.4g}in,0)}}, width={width * 0.9:.3g}in, height={d.height:.3g}in, ylabel={{{tex(g)}}}, xmin=-0.6, xmax={len(methods) - 0.4:.4g}, axis lines*=left, font=\footnotesize,")  # fmt: skip
        lines.append(
            rf"  xtick={{{','.join(str(i) for i in range(len(methods)))}}}, xticklabels={{{','.join('{' + tex(m) + '}' for m in methods)}}}, xticklabel style={{rotate=30, anchor=east}}]"
        )
        for k, m in enumerate(methods):
            values = [r[3] for r in d.rows if r[0] == m and r[1] == g]
            if not values:
                continue
            points = " ".join(
                f"({coordinate(k + (i - (len(values) - 1) / 2) * 0.12)},{coordinate(v)})" for i, v in enumerate(values)
            )
            mean = coordinate(sum(values) / len(values))
            lines += [
                rf"\addplot[only marks, color={colour(k)}] coordinates {{{points}}};",
                rf"\draw[thick] (axis cs:{k - 0.3:.2f},{mean}) -- (axis cs:{k + 0.3:.2f},{mean});",
            ]
        lines.append(r"\end{axis}")
    body = "\n".join([*lines, r"\end{tikzpicture}"]) + "\n"
    return tikz_head(d) + (UNICODE_MACRO if r"\ptuni" in body else "") + body


FIGURE = Figure(
    id="seeds",
    why="several seeds: every run is shown, so that nobody takes ± for more than it is",
    script=SCRIPT,
    tikz=tikz,
)
HEADER = ("method", "group", "seed", "value", "evidence")
