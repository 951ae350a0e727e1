"""Names that came from files, made harmless in LaTeX, Markdown and spreadsheets."""

from __future__ import annotations

import re
import unicodedata

from papertrain.core.redact import redact

SPECIAL = {"\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_", "~": r"\textasciitilde{}",
           "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''", "±": r"$\pm$", "×": r"$\times$",
           "–": "--", "—": "---", "…": r"\ldots{}", "’": "'", "‘": "`", "“": "``", "”": "''", "→": r"$\to$", "≤": r"$\leq$", "≥": r"$\geq$",
           "·": r"$\cdot$", "µ": r"$\mu$", "−": "$-$", "°": r"$^{\circ}$", "†": r"$^{\dagger}$", "\u00a0": "~"}  # fmt: skip
GREEK = dict(zip("αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩ", ["alpha", "beta", "gamma", "delta", "varepsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi", "pi", "rho", "sigma", "tau", "upsilon", "varphi", "chi", "psi", "omega", "Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Phi", "Psi", "Omega"]))  # fmt: skip
PLAIN_ACCENTS = {chr(c) for c in range(0xC0, 0x100)} - set("ÐÞðþ×÷")
UNICODE_MACRO = (
    "% Characters that pdfTeX's fonts do not have appear as U+XXXX there, and as themselves in XeLaTeX and LuaLaTeX.\n"
    "\\ifdefined\\ptuni\\else\\DeclareRobustCommand{\\ptuni}[2]{\\ifdefined\\Umathchar #1\\else\\texttt{#2}\\fi}\\fi\n"
)


def tex(text: object) -> str:
    """Text for LaTeX: prints what it says and runs nothing. Control and direction characters are dropped.

    Secrets go here already: once escaped they no longer look like what they are.
    """
    out: list[str] = []
    for c in unicodedata.normalize("NFC", redact(str(text), terminal=True)):
        if c == "-" and out and out[-1] == "-":
            out.append("{}-")  # two hyphens in a name stay two hyphens
        elif c == "[" or (c == "*" and not out):
            out.append(f"{{{c}}}")  # after a line break they would be its argument
        elif c in SPECIAL:
            out.append(SPECIAL[c])
        elif c in GREEK:
            out.append(f"$\\{GREEK[c]}$")
        elif c in "\t\n\r":
            out.append(" ")
        elif " " <= c <= "~" or c in PLAIN_ACCENTS:
            out.append(c)
        elif unicodedata.category(c)[0] == "C" or unicodedata.category(c) == "Mn":
            continue
        else:
            out.append(f"\\ptuni{{{c}}}{{U+{ord(c):04X}}}")
    return "".join(out)


def comment(text: object) -> str:
    """Text for a LaTeX comment: one line."""
    return "".join(c if c.isprintable() else " " for c in str(text)).strip()


def markdown(text: object) -> str:
    """Text for a cell of a Markdown table."""
    flat = "".join(c if c.isprintable() else " " for c in redact(str(text), terminal=True))
    return re.sub(r"([\\`*_{}\[\]<>|#])", r"\\\1", flat)


def csv_cell(text: object) -> str:
    """Text for a spreadsheet: a name that would be run as a formula gets an apostrophe in front."""
    s = "" if text is None else str(text)
    if s[:1] in ("=", "+", "@", "\t", "\r") or (s[:1] == "-" and not re.fullmatch(r"-[0-9.eE+-]+", s)):
        return "'" + s
    return s


def macro(*parts: object) -> str:
    """A LaTeX macro name: letters only, digits spelled."""
    digits = dict(zip("0123456789", ["Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"]))
    words = re.findall(
        r"[A-Za-z]+|[0-9]", unicodedata.normalize("NFKD", redact(" ".join(map(str, parts)), terminal=True))
    )
    return "".join(digits.get(w, w[:1].upper() + w[1:]) for w in words) or "Number"
