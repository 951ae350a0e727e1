"""What every figure has in common: the CSV, the script that stands on its own, and drawing by running that script."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from papertrain.core.errors import PapertrainError
from papertrain.core.redact import redact
from papertrain.core.values import Record
from papertrain.report.escape import csv_cell
from papertrain.report.figures._letters import FIND, NEEDS, east_asian

OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#000000", "#F0E442")
"""Readable for colour-blind readers; yellow, weak on white, comes last. Hatches, markers and dashes carry the same in grey."""

PRELUDE = '''#!/usr/bin/env python3
"""{title}

Redraws {name}.pdf and {name}.png from {name}.csv beside this file; needs matplotlib only:  python {name}.py
"""
import csv
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

NAME = {name!r}
WIDTH, HEIGHT = {width}, {height}  # inches
COLOURS = {colours!r}  # Okabe-Ito
HATCHES = ["", "///", "...", "xx", "\\\\\\\\\\\\", "++", "oo", "--"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*"]
DASHES = ["-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (5, 5))]
STYLE = {{
    "font.family": ["STIXGeneral", "DejaVu Sans"], "mathtext.fontset": "stix", "font.size": {size}, "axes.labelsize": {size}, "axes.titlesize": {size},
    "xtick.labelsize": {size}, "ytick.labelsize": {size}, "legend.fontsize": {size}, "legend.frameon": False, "axes.linewidth": 0.6, "lines.linewidth": 1.2,
    "axes.spines.top": False, "axes.spines.right": False, "pdf.fonttype": 42, "ps.fonttype": 42, "figure.constrained_layout.use": True, "hatch.linewidth": 0.5,
}}
OPTIONS = {options}


def number(text):
    return float(text) if text not in ("", None) else None


def plain(text):
    """A name without the apostrophe that keeps spreadsheets from running it, and without mathtext."""
    text = text[1:] if text[:1] == "'" and text[1:2] in "=+-@" else text
    return text.replace("$", r"\\$")


def read(path):
    with open(path, newline="", encoding="utf-8") as f:
        return list(csv.DictReader(f))


'''

CODA = """

def main():
    here = Path(__file__).resolve().parent
    with plt.rc_context(STYLE):
        figure = draw(read(here / f"{NAME}.csv"))
        figure.savefig(here / f"{NAME}.pdf", metadata={"CreationDate": None, "ModDate": None, "Producer": None, "Creator": None})
        figure.savefig(here / f"{NAME}.png", dpi=300, metadata={"Software": None})


if __name__ == "__main__":
    main()
"""


_LACKING = re.compile(r"Glyph (\d+) \(")
"""matplotlib's words for a character that is in none of its fonts."""


class Drawing(Record, frozen=True, kw_only=True):
    """One figure ready to be written: its data, its size in inches, the options of its script."""

    name: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    width: float
    height: float
    options: dict[str, Any] = {}
    size: float = 8.0


class Figure(Record, frozen=True, kw_only=True):
    """One kind of figure. script: the body that defines `draw(rows)`; tikz: the same from the same data."""

    id: str
    why: str
    script: str
    tikz: Callable[[Drawing], str]


class Files(Record, frozen=True, kw_only=True):
    """boxes: characters that no font of this machine has; the picture shows boxes in their place."""

    texts: dict[str, str]
    binaries: dict[str, bytes]
    boxes: str = ""


def to_csv(d: Drawing) -> str:
    out = io.StringIO()
    w = csv.writer(out, lineterminator="\n")
    w.writerow(d.header)
    for row in d.rows:
        w.writerow(
            [
                csv_cell(x) if isinstance(x, str) else "" if x is None else repr(x) if isinstance(x, float) else x
                for x in row
            ]
        )
    return out.getvalue()


def script(f: Figure, d: Drawing) -> str:
    options = ascii(d.options)
    head = PRELUDE.format(title=d.title.replace('"""', "'''").replace("\\", "/"), name=d.name, width=round(d.width, 3), height=round(d.height, 3), colours=list(OKABE_ITO),
                          size=d.size, options=options)  # fmt: skip
    more = FIND + "\n\n" if has_east_asian(d) else ""
    return head + more + f.script.strip("\n") + "\n" + CODA


def has_east_asian(d: Drawing) -> bool:
    """Whether a name in it needs a font beside those of the style."""
    return east_asian(repr(d.options), d.title, *d.header, *(x for row in d.rows for x in row))


def without_secrets(d: Drawing) -> Drawing:
    """A picture is no text that the writer could clean: what is drawn is cleaned before."""

    def clean(x: Any) -> Any:
        if isinstance(x, str):
            return redact(x, terminal=True)
        if isinstance(x, (list, tuple)):
            return type(x)(clean(v) for v in x)
        return {clean(k): clean(v) for k, v in x.items()} if isinstance(x, dict) else x

    return msgspec.structs.replace(d, title=clean(d.title), rows=clean(d.rows), options=clean(d.options))


def draw(f: Figure, d: Drawing, folder: str = "figures") -> Files:
    """All files of a figure. The pictures are drawn by the very script that is written."""
    d = without_secrets(d)
    text, data = script(f, d), to_csv(d)
    space: dict[str, Any] = {"__name__": "papertrain_figure", "__file__": f"{d.name}.py"}
    try:
        import matplotlib
    except ImportError:
        raise PapertrainError(
            "figures need matplotlib: pip install 'papertrain[results]'", code="needs-extra"
        ) from None
    del matplotlib
    pdf, png = io.BytesIO(), io.BytesIO()
    with warnings.catch_warnings(record=True) as told:
        # a name in a script that the fonts lack is drawn as boxes; the CSV and the table still hold it
        warnings.simplefilter("always")
        exec(compile(text, f"{d.name}.py", "exec"), space)
        plt = space["plt"]
        with plt.rc_context(space["STYLE"]):
            figure = space["draw"](list(csv.DictReader(io.StringIO(data))))
            figure.savefig(
                pdf, format="pdf", metadata={"CreationDate": None, "ModDate": None, "Producer": None, "Creator": None}
            )
            figure.savefig(png, format="png", dpi=300, metadata={"Software": None})
            plt.close(figure)
    base = f"{folder}/{d.name}"
    return Files(
        texts={f"{base}.csv": data, f"{base}.py": text, f"{base}.tikz.tex": f.tikz(d)},
        binaries={f"{base}.pdf": pdf.getvalue(), f"{base}.png": png.getvalue()},
        boxes="".join(sorted({chr(int(m[1])) for w in told if (m := _LACKING.match(str(w.message)))})),
    )


def tikz_head(d: Drawing, *, libraries: Sequence[str] = ()) -> str:
    need = "\\usepackage{pgfplots}\\pgfplotsset{compat=1.18}" + "".join(
        f"\\usepgfplotslibrary{{{x}}}" for x in libraries
    )
    letters = f". {NEEDS}" if has_east_asian(d) else ""
    colours = "".join(f"\\definecolor{{pt{chr(97 + i)}}}{{HTML}}{{{c[1:]}}}\n" for i, c in enumerate(OKABE_ITO))
    return f"% {d.title}. Written by papertrain from {d.name}.csv; needs {need}{letters}\n{colours}"


def colour(i: int) -> str:
    return f"pt{chr(97 + i % len(OKABE_ITO))}"


def coordinate(x: float) -> str:
    return f"{x:.10g}"
