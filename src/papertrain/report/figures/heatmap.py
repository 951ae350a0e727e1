"""Methods × columns as a heat map: for ablations. The number is printed; colour is its place within its own column."""

from __future__ import annotations

from papertrain.report.escape import UNICODE_MACRO, tex
from papertrain.report.figures._figure import Drawing, Figure, tikz_head

SCRIPT = '''
def draw(rows):
    """Light is good. Columns have units of their own, so colour compares within a column only; an empty cell is a missing result."""
    methods, groups = list(dict.fromkeys(r["method"] for r in rows)), list(dict.fromkeys(r["group"] for r in rows))
    cell = {(r["method"], r["group"]): r for r in rows}
    shade = [[number(cell[m, g]["shade"]) if number(cell[m, g]["shade"]) is not None else float("nan") for g in groups] for m in methods]
    figure, axes = plt.subplots(figsize=(WIDTH, HEIGHT))
    image = axes.imshow(shade, cmap="viridis", vmin=0, vmax=1, aspect="auto")
    for i, m in enumerate(methods):
        for j, g in enumerate(groups):
            value = shade[i][j]
            axes.text(j, i, cell[m, g]["shown"] or "-", ha="center", va="center", color="black" if value != value or value > 0.6 else "white")
    axes.set_xticks(range(len(groups)), [plain(g) for g in groups], rotation=30, ha="right")
    axes.set_yticks(range(len(methods)), [plain(m) for m in methods])
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(image, shrink=0.8, ticks=[0, 1])
    bar.ax.set_yticklabels(["worst of column", "best of column"])
    return figure
'''


def tikz(d: Drawing) -> str:
    methods, groups = list(dict.fromkeys(r[0] for r in d.rows)), list(dict.fromkeys(r[1] for r in d.rows))
    cells = {(r[0], r[1]): r for r in d.rows}
    lines = [r"\begin{tikzpicture}[font=\footnotesize]"]
    width, height = 0.62 * d.width / max(len(groups), 1), 0.62 * d.height / max(len(methods), 1)
    for i, m in enumerate(methods):
        lines.append(rf"\node[anchor=east] at (-0.05in,{-(i + 0.5) * height:.3f}in) {{{tex(m)}}};")
        for j, g in enumerate(groups):
            shown, shade = cells[m, g][3], cells[m, g][4]
            fill = "white" if shade is None else f"ptb!{100 * shade:.0f}!pta"
            ink = "black" if shade is None or shade > 0.4 else "white"
            x, y = j * width, -i * height
            lines.append(
                rf"\filldraw[draw=white, fill={fill}] ({x:.3f}in,{y:.3f}in) rectangle +({width:.3f}in,{-height:.3f}in) node[midway, text={ink}] {{{tex(shown or '--')}}};"
            )
    for j, g in enumerate(groups):
        lines.append(
            rf"\node[anchor=east, rotate=30] at ({(j + 0.6) * width:.3f}in,{-len(methods) * height - 0.08:.3f}in) {{{tex(g)}}};"
        )
    body = "\n".join([*lines, r"\end{tikzpicture}"]) + "\n"
    return tikz_head(d) + (UNICODE_MACRO if r"\ptuni" in body else "") + body


FIGURE = Figure(
    id="heatmap", why="an ablation, or many methods: where each one stands in every column", script=SCRIPT, tikz=tikz
)
HEADER = ("method", "group", "value", "shown", "shade", "evidence")
