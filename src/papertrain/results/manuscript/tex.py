"""A LaTeX file as text in which only what a reader sees is left; every character stays on its line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from papertrain.core.errors import PapertrainError
from papertrain.core.files import read_text
from papertrain.core.values import Record

LIMIT = 2 * 2**20
MOST_FILES = 200
COMMENT = re.compile(r"(?<!\\)(?:\\\\)*%.*")
HIDDEN = ("verbatim", "verbatim*", "lstlisting", "minted", "comment", "tikzpicture", "thebibliography", "filecontents", "filecontents*", "algorithm", "algorithm2e",
          "algorithmic", "equation", "equation*", "align", "align*", "gather", "gather*", "multline", "multline*", "displaymath")  # fmt: skip
OPENING = re.compile(r"\\begin\{([a-z0-9]+\*?)\}|\\\[|\$\$")
# commands whose arguments are no text: name → how many of them
ARGUMENTS = {
    "ref": 1, "eqref": 1, "autoref": 1, "cref": 1, "Cref": 1, "pageref": 1, "nameref": 1, "label": 1, "url": 1, "href": 1, "input": 1, "include": 1,
    "subfile": 1, "includegraphics": 1, "bibliography": 1, "bibliographystyle": 1, "usepackage": 1, "documentclass": 1, "pagestyle": 1, "thispagestyle": 1,
    "vspace": 1, "hspace": 1, "setlength": 2, "addtolength": 2, "setcounter": 2, "resizebox": 2, "scalebox": 1, "rule": 2, "cmidrule": 1, "cline": 1, "hypersetup": 1,
    "definecolor": 3, "textcolor": 1, "color": 1, "rowcolor": 1, "cellcolor": 1, "multicolumn": 2, "multirow": 2, "fontsize": 2, "sisetup": 1, "usetikzlibrary": 1,
    "pgfplotsset": 1, "begin": 1, "end": 1, "newcolumntype": 2, "geometry": 1, "date": 1, "graphicspath": 1, "addbibresource": 1, "captionsetup": 1,
    "phantom": 1, "hphantom": 1, "vphantom": 1, "ptsecond": 1,
}  # fmt: skip
TABULAR = {
    "tabular": 1,
    "tabular*": 2,
    "tabularx": 2,
    "tabulary": 2,
    "longtable": 1,
    "array": 1,
    "minipage": 1,
    "tblr": 1,
}
COMMAND = re.compile(r"\\([A-Za-z]+)\*?")
INCLUDED = re.compile(r"\\(?:input|include|subfile)\s*\{([^{}]+)\}")
LENGTH = re.compile(
    r"(?<![\d.])-?\d{0,6}\.?\d{1,6}\s*(?:pt|em|ex|cm|mm|in|bp|sp|pc)\b|(?<![\d.])-?\d{0,6}\.?\d{1,6}\s*\\(?:text|line|column|paper)(?:width|height)"
)


class Page(Record, frozen=True, kw_only=True):
    """One file. text: as written; seen: as long, with blanks where nothing is printed; comments: what stood behind %."""

    file: str
    text: str
    seen: str
    comments: tuple[tuple[int, str], ...]

    def line(self, at: int) -> int:
        return self.text.count("\n", 0, at) + 1


def pages(path: Path) -> tuple[list[Page], list[str]]:
    """(the file and all that it inputs, in order; what could not be read). Raises PapertrainError for the file itself."""
    root = path.resolve().parent
    found: list[Page] = []
    missing: list[str] = []
    waiting = [(path, True)]
    seen: set[Path] = set()
    while waiting and len(found) < MOST_FILES:
        file, first = waiting.pop(0)
        try:
            key = file.resolve()
            if key in seen:
                continue
            seen.add(key)
            text = read_text(file, limit=LIMIT, what="manuscript")
        except PapertrainError as error:
            if first:
                raise
            missing.append(error.one_line())
            continue
        page = page_of(_shown(file, path), text)
        found.append(page)
        inputs = []
        for m in INCLUDED.finditer(COMMENT.sub(lambda m: " " * len(m[0]), text)):
            name = m[1].strip()
            for place in (root, file.parent):
                target = next((t for t in (place / name, place / f"{name}.tex") if t.is_file()), None)
                if target is not None:
                    inputs.append((target, False))
                    break
            else:
                if "\\" not in name and "#" not in name:
                    missing.append(f"{page.file}:{page.line(m.start())} \\input{{{name}}}: no such file")
        waiting = inputs + waiting
    return found, missing


def _shown(file: Path, main: Path) -> str:
    if file == main:
        return str(main)
    try:
        return str(main.parent / file.resolve().relative_to(main.resolve().parent))
    except ValueError:
        return str(file)


def page_of(file: str, text: str) -> Page:
    comments = tuple((m.start(), m[0].lstrip("\\").lstrip("%").strip()) for m in COMMENT.finditer(text))
    seen = _blank(text, [m.span() for m in COMMENT.finditer(text)])
    start = seen.find(r"\begin{document}")
    if start >= 0:
        seen = _preamble(seen, start)
    end = seen.find(r"\end{document}")
    if end >= 0:
        seen = _blank(seen, [(end, len(seen))])
    seen = _blank(seen, list(_hidden(seen)))
    seen = _blank(seen, list(_unseen(seen)))
    seen = _blank(seen, [m.span() for m in LENGTH.finditer(seen)])
    seen = re.sub(r"\\pm(?![A-Za-z])", " ± ", seen)
    seen = re.sub(r"(\\(?!times|cdot)[A-Za-z]+)[A-Za-z](?=\.?\d)", r"\1 ", seen)  # \sim5 is a command and a number
    return Page(file=file, text=text, seen=seen, comments=comments)


def _preamble(text: str, start: int) -> str:
    """Blank but for the macros that hold one number: `\\newcommand{\\acc}{81.7}` is a number of the text."""
    keep = [m.span(1) for m in re.finditer(r"\\(?:re)?newcommand\*?\{?\\[A-Za-z]+\}?\{([^{}\\]{1,40})\}", text[:start])]
    out, at = [], 0
    for a, b in keep:
        out += [(at, a)]
        at = b
    return _blank(text, [*out, (at, start)])


def _blank(text: str, spans: list[tuple[int, int]]) -> str:
    if not spans:
        return text
    parts, at = [], 0
    for a, b in sorted(spans):
        if b <= at:
            continue
        a = max(a, at)
        parts += [text[at:a], re.sub(r"[^\n]", " ", text[a:b])]
        at = b
    return "".join([*parts, text[at:]])


def _hidden(text: str) -> Iterator[tuple[int, int]]:
    """Listings, pictures, formulas and references: what holds no result in words."""
    at, open_for_good = 0, set()
    while m := OPENING.search(text, at):
        name, at = m[1], m.end()
        close = f"\\end{{{name}}}" if name else "\\]" if m[0] == "\\[" else "$$"
        if (
            (name and name not in HIDDEN)
            or close in open_for_good
            or (m[0] == "\\[" and text[m.start() - 1 : m.start()] == "\\")
        ):
            continue
        end = text.find(close, at)
        if end < 0:
            open_for_good.add(close)
            continue
        at = end + len(close)
        yield m.start(), at


def _pairs(text: str) -> dict[int, int]:
    """Where each bracket closes."""
    closing, out = {"}": "{", "]": "[", ")": "("}, dict[int, int]()
    stacks: dict[str, list[int]] = {"{": [], "[": [], "(": []}
    for m in re.finditer(r"\\.|[{}\[\]()]", text, re.S):
        c = m[0]
        if c in stacks:
            stacks[c].append(m.start())
        elif c in closing and stacks[closing[c]]:
            out[stacks[closing[c]].pop()] = m.end()
    return out


LONGEST = 2_000


def _unseen(text: str) -> Iterator[tuple[int, int]]:
    """Spans of arguments that are not printed."""
    pairs = _pairs(text)

    def argument(at: int, opening: str) -> int:
        """Where the argument that begins at `at` ends (blanks allowed before it); 0 where there is none."""
        while text[at : at + 1] in (" ", "\t"):
            at += 1
        end = pairs.get(at, 0) if text[at : at + 1] == opening else 0
        return end if end - at < LONGEST else 0

    for m in COMMAND.finditer(text):
        name = m[1]
        count = 1 if name.lower().startswith(("cite", "parencite", "textcite")) else ARGUMENTS.get(name, 0)
        if not count and text[m.end() : m.end() + 1] != "[":
            continue
        start = at = m.end()
        if name == "begin" and (end := argument(at, "{")):
            count += TABULAR.get(text[at + 1 : end - 1], 0)
        while (end := argument(at, "[")) or (count and (end := argument(at, "("))):
            at = end
        for _ in range(count):
            end = argument(at, "{")
            if not end:
                break
            at = end
            while name == "begin" and (more := argument(at, "[")):
                at = more
        if at > start:
            yield start, at
    for m in re.finditer(r"\\\\\s*\[[^\]\n]{0,20}\]", text):
        yield m.start() + 2, m.end()


def words(text: str) -> list[str]:
    """The words of a piece of LaTeX, lower case: commands, braces and mathematics are passed over."""
    plain = re.sub(r"\\[_&%#$ ]", " ", text)
    plain = re.sub(r"\\[A-Za-z]+", " ", plain)
    return re.findall(r"[^\W_]+", plain.lower())
