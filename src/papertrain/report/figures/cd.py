"""Critical-difference diagram: mean ranks over data sets, methods that are not told apart joined by a bar."""

from __future__ import annotations

from papertrain.report.escape import UNICODE_MACRO, tex
from papertrain.report.figures._figure import Drawing, Figure, coordinate, tikz_head

SCRIPT = '''
def draw(rows):
    """Mean ranks, best (1) to the left. A thick bar joins methods within the critical difference."""
    rows = sorted(rows, key=lambda r: float(r["mean_rank"]))
    k, half = len(rows), (len(rows) + 1) // 2
    figure, axes = plt.subplots(figsize=(WIDTH, HEIGHT))
    axes.set_xlim(0.5, k + 0.5)
    axes.set_ylim(-1.2 - half - 0.35 * len(OPTIONS["cliques"]), 1.6)
    axes.axis("off")
    axes.hlines(0, 1, k, color="black", linewidth=0.8)
    for r in range(1, k + 1):
        axes.vlines(r, 0, 0.18, color="black", linewidth=0.8)
        axes.text(r, 0.25, str(r), ha="center", va="bottom")
    axes.hlines(1.15, 1, 1 + OPTIONS["cd"], color="black", linewidth=1.4)
    axes.text(1 + OPTIONS["cd"] / 2, 1.2, f"CD = {OPTIONS['cd']:.2f}", ha="center", va="bottom")
    top = -0.35 * (len(OPTIONS["cliques"]) + 1)
    for i, r in enumerate(rows):
        x, left = float(r["mean_rank"]), i < half
        y = top - (i if left else k - 1 - i) * 0.9 - 0.5
        edge = 0.6 if left else k + 0.4
        axes.plot([x, x, edge], [0, y, y], color="black", linewidth=0.6)
        axes.text(edge, y + 0.06, f"{plain(r['method'])} ({x:.2f})", ha="left" if left else "right", va="bottom")
    for n, clique in enumerate(OPTIONS["cliques"]):
        ranks = [float(r["mean_rank"]) for r in rows if r["method"] in clique]
        axes.hlines(-0.35 * (n + 1), min(ranks) - 0.04, max(ranks) + 0.04, color="black", linewidth=2.2)
    return figure
'''


def tikz(d: Drawing) -> str:
    rows = sorted(d.rows, key=lambda r: r[1])
    k, half = len(rows), (len(rows) + 1) // 2
    unit = d.width / k
    lines = [rf"\begin{{tikzpicture}}[x={unit:.3g}in, y=0.8em, font=\footnotesize]", rf"\draw (1,0) -- ({k},0);"]
    lines += [rf"\draw ({r},0) -- ({r},0.3) node[above] {{{r}}};" for r in range(1, k + 1)]
    lines.append(
        rf"\draw[thick] (1,2.4) -- ({coordinate(1 + d.options['cd'])},2.4) node[midway, above] {{CD $= {d.options['cd']:.2f}$}};"
    )
    top = -0.6 * (len(d.options["cliques"]) + 1)
    for i, (name, rank, *_) in enumerate(rows):
        left = i < half
        y = top - (i if left else k - 1 - i) * 1.6
        edge, side = (0.6, "right") if left else (k + 0.4, "left")
        lines.append(
            rf"\draw ({coordinate(rank)},0) |- ({coordinate(edge)},{coordinate(y)}) node[{side}, fill=white, inner sep=1pt] {{{tex(name)} ({rank:.2f})}};"
        )
    for n, clique in enumerate(d.options["cliques"]):
        ranks = [r[1] for r in rows if r[0] in clique]
        lines.append(
            rf"\draw[line width=1.6pt] ({coordinate(min(ranks) - 0.04)},{-0.6 * (n + 1):.2f}) -- ({coordinate(max(ranks) + 0.04)},{-0.6 * (n + 1):.2f});"
        )
    body = "\n".join([*lines, r"\end{tikzpicture}"]) + "\n"
    return tikz_head(d) + (UNICODE_MACRO if r"\ptuni" in body else "") + body


FIGURE = Figure(
    id="cd",
    why="several methods on many data sets: mean ranks with the difference that can be told apart",
    script=SCRIPT,
    tikz=tikz,
)
HEADER = ("method", "mean_rank", "n_datasets")
