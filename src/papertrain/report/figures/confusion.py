"""Confusion matrix as a heat map: counts printed, colour by the share of the gold class."""

from __future__ import annotations

from papertrain.report.escape import UNICODE_MACRO, tex
from papertrain.report.figures._figure import Drawing, Figure, tikz_head

SCRIPT = '''
def draw(rows):
    """Gold classes down, predicted ones across. Colour is the share of the gold class, the number is the count."""
    names = list(dict.fromkeys(r["gold"] for r in rows))
    count = {(r["gold"], r["predicted"]): float(r["count"]) for r in rows}
    total = {g: sum(count[g, p] for p in names) for g in names}
    share = [[count[g, p] / total[g] if total[g] else 0 for p in names] for g in names]
    figure, axes = plt.subplots(figsize=(WIDTH, HEIGHT))
    image = axes.imshow(share, cmap="viridis", vmin=0, vmax=1)
    if len(names) <= 12:
        for i, g in enumerate(names):
            for j, p in enumerate(names):
                axes.text(j, i, f"{count[g, p]:g}", ha="center", va="center", color="black" if share[i][j] > 0.6 else "white")
    axes.set_xticks(range(len(names)), [plain(n) for n in names], rotation=45 if max(map(len, names)) > 4 else 0, ha="right" if max(map(len, names)) > 4 else "center")
    axes.set_yticks(range(len(names)), [plain(n) for n in names])
    axes.set_xlabel("predicted")
    axes.set_ylabel("gold")
    axes.spines[:].set_visible(False)
    figure.colorbar(image, label="share of the gold class", shrink=0.8)
    return figure
'''


def tikz(d: Drawing) -> str:
    names = list(dict.fromkeys(r[0] for r in d.rows))
    count = {(r[0], r[1]): r[2] for r in d.rows}
    lines = [r"\begin{tikzpicture}",
             rf"\begin{{axis}}[width={d.width * 0.8:.3g}in, height={d.height * 0.8:.3g}in, colormap/viridis, colorbar, colorbar style={{ylabel={{share of the gold class}}}}, point meta min=0, point meta max=1, y dir=reverse, enlargelimits=false,",
             rf"  xtick={{{','.join(str(i) for i in range(len(names)))}}}, ytick={{{','.join(str(i) for i in range(len(names)))}}},",
             rf"  xticklabels={{{','.join('{' + tex(n) + '}' for n in names)}}}, yticklabels={{{','.join('{' + tex(n) + '}' for n in names)}}}, xlabel={{predicted}}, ylabel={{gold}}, font=\footnotesize]",
             rf"\addplot[matrix plot*, mesh/cols={len(names)}, mesh/rows={len(names)}, point meta=explicit] coordinates {{"]  # fmt: skip
    for i, g in enumerate(names):
        total = sum(count[g, p] for p in names)
        lines += [f"  ({j},{i}) [{count[g, p] / total if total else 0:.4f}]" for j, p in enumerate(names)]
    lines.append("};")
    if len(names) <= 12:
        for i, g in enumerate(names):
            total = sum(count[g, p] for p in names)
            for j, p in enumerate(names):
                ink = "black" if total and count[g, p] / total > 0.6 else "white"
                lines.append(rf"\node[text={ink}] at (axis cs:{j},{i}) {{{count[g, p]:g}}};")
    body = "\n".join([*lines, r"\end{axis}", r"\end{tikzpicture}"]) + "\n"
    return tikz_head(d) + (UNICODE_MACRO if r"\ptuni" in body else "") + body


FIGURE = Figure(id="confusion", why="classes: the matrix shows which are taken for which", script=SCRIPT, tikz=tikz)
HEADER = ("gold", "predicted", "count")
