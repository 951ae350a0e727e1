"""Learning curves: one thin line per run, the mean over seeds on top where their steps agree, a running mean where they are many."""

from __future__ import annotations

from papertrain.report.escape import UNICODE_MACRO, tex
from papertrain.report.figures._figure import Drawing, Figure, colour, coordinate, tikz_head

SCRIPT = '''
def running_mean(values, reach):
    """Centred; the raw values stay behind the line, so that no spike is hidden."""
    return [sum(part) / len(part) for part in (values[max(0, i - reach):i + reach + 1] for i in range(len(values)))]


def draw(rows):
    """A panel per signal; a colour per method, a thin line per seed, the mean over seeds thick."""
    signals, methods = list(dict.fromkeys(r["signal"] for r in rows)), list(dict.fromkeys(r["method"] for r in rows))
    figure, panels = plt.subplots(1, len(signals), figsize=(WIDTH, HEIGHT), squeeze=False)
    for axes, signal in zip(panels[0], signals):
        reach = 0
        for k, method in enumerate(methods):
            runs = {}
            for r in rows:
                if r["signal"] == signal and r["method"] == method:
                    runs.setdefault(r["seed"], {})[float(r["step"])] = float(r["value"])
            shared = sorted(set.intersection(*map(set, runs.values()))) if runs else []
            mean = [sum(p[s] for p in runs.values()) / len(runs) for s in shared]
            near = len(mean) // 40 if len(mean) >= 80 else 0
            thin = len(runs) > 1 or near > 0
            for points in runs.values():
                axes.plot(*zip(*sorted(points.items())), color=COLOURS[k % 8], linestyle=DASHES[k % 8], linewidth=0.5 if thin else 1.2, alpha=0.35 if thin else 1,
                          label=plain(method) if not thin else None)
            if thin and shared:
                reach = max(reach, near)
                label = f"{plain(method)} (mean of {len(runs)})" if len(runs) > 1 else plain(method)
                axes.plot(shared, running_mean(mean, near), color=COLOURS[k % 8], linestyle=DASHES[k % 8], linewidth=1.6, label=label)
        unit = OPTIONS.get("unit", {}).get(signal, "step")
        axes.set_xlabel(f"{unit} (mean over {2 * reach + 1})" if reach else unit)
        axes.set_ylabel(signal.replace("_", " "))
        if OPTIONS["log"].get(signal):
            axes.set_yscale("log")
    handles, labels = panels[0][0].get_legend_handles_labels()
    if labels:
        figure.legend(handles, labels, loc="outside upper center", ncols=min(len(labels), 3))
    return figure
'''


def tikz(d: Drawing) -> str:
    signals = list(dict.fromkeys(r[2] for r in d.rows))
    methods = list(dict.fromkeys(r[0] for r in d.rows))
    lines = [r"\begin{tikzpicture}"]
    width = 0.95 * d.width / max(len(signals), 1)
    for n, signal in enumerate(signals):
        unit = d.options.get("unit", {}).get(signal, "step")
        mode = ", ymode=log" if d.options["log"].get(signal) else ""
        lines.append(rf"\begin{{axis}}[at={{({n * width:.4g}in,0)}}, width={width * 0.9:.3g}in, height={d.height:.3g}in, xlabel={{{unit}}}, ylabel={{{tex(signal.replace('_', ' '))}}}{mode}, axis lines*=left, font=\footnotesize,")  # fmt: skip
        lines.append(r"  legend style={at={(0.5,1.03)}, anchor=south, legend columns=-1, draw=none}]")
        for k, m in enumerate(methods):
            runs: dict[str, list[tuple[float, float]]] = {}
            for name, seed, s, step, value, *_ in d.rows:
                if name == m and s == signal:
                    runs.setdefault(str(seed), []).append((float(step), float(value)))
            for j, points in enumerate(runs.values()):
                forget = ", forget plot" if j or n else ""
                lines.append(
                    rf"\addplot[color={colour(k)}, mark=none{forget}] coordinates {{"
                    + " ".join(f"({coordinate(x)},{coordinate(y)})" for x, y in sorted(points))
                    + "};"
                )
            if runs and not n:
                lines.append(rf"\addlegendentry{{{tex(m)}}}")
        lines.append(r"\end{axis}")
    body = "\n".join([*lines, r"\end{tikzpicture}"]) + "\n"
    return tikz_head(d) + (UNICODE_MACRO if r"\ptuni" in body else "") + body


FIGURE = Figure(
    id="curves", why="the runs' own logs are here: the curve shows whether training was done", script=SCRIPT, tikz=tikz
)
HEADER = ("method", "seed", "signal", "step", "value", "file")
