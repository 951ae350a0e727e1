"""The safe reader of YAML and JSON that knows the line of every value, and edits that keep comments and order.

Values follow YAML 1.2's core schema, with `1e-5` a number: `no` and `off` are texts, `0123` is a number. No tag is
ever constructed. Limits on size, depth and aliases are errors with a line, never a hang.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Final

from papertrain.core.compared import alike, without
from papertrain.core.errors import PapertrainError
from papertrain.core.files import unified
from papertrain.core.values import Value

__all__ = ["DELETE", "Document", "Problem", "dump_scalar", "edit", "load", "load_any", "load_json", "unified"]

Path = tuple[str | int, ...]

MAX_BYTES, MAX_LINES, MAX_DEPTH, MAX_NODES = 2 * 2**20, 50_000, 60, 100_000
_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


class _Delete:
    def __repr__(self) -> str:
        return "DELETE"


DELETE: Final = _Delete()
"""The new value of an edit that removes the key."""


class Problem(Value, frozen=True, kw_only=True):
    """Something odd that did not stop the reading: a duplicate key, a comment in JSON, NaN in JSON."""

    code: str
    says: str
    line: int
    key: str = ""


class Document:
    """A parsed file. `value`: plain dicts, lists and scalars. `line(*path)`: where a value (its key) stands, 1-based."""

    def __init__(self, text: str, name: str, kind: str) -> None:
        self.text, self.name, self.kind = text, name, kind
        self.value: Any = None
        self.problems: list[Problem] = []
        self.lines: dict[Path, int] = {}
        self.spans: dict[Path, tuple[int, int]] = {}
        self.key_spans: dict[Path, tuple[int, int]] = {}
        self.plain: dict[Path, str] = {}
        self.flow: set[Path] = set()

    def line(self, *path: str | int) -> int:
        """The line of the value at that path, or of the nearest part of it that exists."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def raw(self, *path: str | int) -> str | None:
        """The text of a plain (unquoted) scalar as written: `1e-5`, `no`; None for quoted ones and collections."""
        return self.plain.get(path)

    def get(self, *path: str | int) -> Any:
        """The value at that path, or None."""
        here = self.value
        for part in path:
            try:
                here = here[part]
            except (KeyError, IndexError, TypeError):
                return None
        return here


def load_any(text: str, name: str) -> Document:
    """JSON by its name or first character, else YAML."""
    if name.endswith((".json", ".jsonc")) or (
        text.lstrip()[:1] in "{[" and text.strip()[-1:] in "}]" and _is_json(text)
    ):
        return load_json(text, name)
    return load(text, name)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def load(text: str, name: str) -> Document:
    """A YAML text. Raises PapertrainError with file and line where it cannot be parsed or is hostile."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    _limit(text, name)
    doc = Document(text, name, "yaml")
    if not text.strip():
        return doc
    if (lines := text.count("\n")) > MAX_LINES:
        raise PapertrainError(
            f"{lines:,} lines, more than the {MAX_LINES:,} of any config", code="too-large", file=name
        )
    try:
        yaml = YAML(typ="rt", pure=True)
        yaml.allow_duplicate_keys = True
        with warnings.catch_warnings():
            # An anchor that is used again is allowed; the library would print the file's own lines about it.
            warnings.simplefilter("ignore")
            node = yaml.compose(text)
        if node is not None:
            doc.value = _Builder(doc).build(node, (), 0)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = 0 if mark is None else mark.line + 1
        hint = "; YAML forbids tabs for indentation" if "\\t" in str(error) or "'\t'" in str(error) else ""
        raise PapertrainError(
            f"not valid YAML: {error.problem or error.context}{hint}", code="not-yaml", file=name, line=line
        ) from None
    except YAMLError as error:
        raise PapertrainError(
            f"not valid YAML: {' '.join(str(error).split())[:160]}", code="not-yaml", file=name
        ) from None
    except RecursionError:
        raise PapertrainError("nested too deeply", code="too-deep", file=name) from None
    except (ValueError, TypeError, AttributeError, KeyError, IndexError) as error:
        raise PapertrainError(f"not valid YAML: {str(error)[:160]}", code="not-yaml", file=name) from None
    return doc


def load_json(text: str, name: str) -> Document:
    """A JSON text, also with comments, NaN or duplicate keys, which become problems. Raises PapertrainError otherwise."""
    _limit(text, name)
    doc = Document(text, name, "json")
    clean = text
    try:
        json.loads(text)
    except RecursionError:
        raise PapertrainError("nested too deeply", code="too-deep", file=name) from None
    except ValueError:
        clean = _without_comments(text)
        if clean != text:
            doc.problems.append(
                Problem(
                    code="json-comment",
                    says="comments are not JSON: most programs refuse this file",
                    line=_first_difference(text, clean),
                )
            )
    try:
        json.loads(clean)
        _JsonReader(doc, clean).run()
    except json.JSONDecodeError as error:
        before = clean[: error.pos].rstrip()
        hint = (
            "; a comma stands before a closing bracket"
            if before.endswith(",") and clean[error.pos :].lstrip()[:1] in "}]"
            else ""
        )
        raise PapertrainError(
            f"not valid JSON: {error.msg.lower()}{hint}", code="not-json", file=name, line=error.lineno
        ) from None
    except RecursionError:
        raise PapertrainError("nested too deeply", code="too-deep", file=name) from None
    except ValueError as error:  # a number of more digits than Python reads
        says = " ".join(str(error).split(";")[0].split())[:120]
        raise PapertrainError(f"not valid JSON: {says.lower()}", code="not-json", file=name) from None
    return doc


def _limit(text: str, name: str) -> None:
    if len(text) > MAX_BYTES:
        raise PapertrainError(
            f"{len(text):,} characters, more than the {MAX_BYTES:,} of any config", code="too-large", file=name
        )
    # The depth of flow collections is bounded before a recursive parser sees them.
    depth = deepest = 0
    for ch in re.findall(r"[\[\]{}]", text):
        depth += 1 if ch in "[{" else -1
        deepest = max(deepest, depth)
    if deepest > 10 * MAX_DEPTH:
        raise PapertrainError(f"brackets nested {deepest} deep", code="too-deep", file=name)


class _Builder:
    """Nodes of the YAML composer → plain values, with a line, a span and the raw text for each path."""

    def __init__(self, doc: Document) -> None:
        self.doc, self.count = doc, 0

    def build(self, node: Any, path: Path, depth: int) -> Any:
        self.count += 1
        if depth > MAX_DEPTH:
            raise PapertrainError(
                f"nested more than {MAX_DEPTH} deep", code="too-deep", file=self.doc.name, line=node.start_mark.line + 1
            )
        if self.count > MAX_NODES:
            raise PapertrainError(
                "aliases multiply into more values than a config has",
                code="alias-bomb",
                file=self.doc.name,
                line=node.start_mark.line + 1,
            )
        self.doc.lines.setdefault(path, node.start_mark.line + 1)
        self.doc.spans[path] = (node.start_mark.index, node.end_mark.index)
        kind = type(node).__name__
        if kind == "ScalarNode":
            return self._scalar(node, path)
        if node.flow_style:
            self.doc.flow.add(path)
        if kind == "SequenceNode":
            return [self.build(child, (*path, i), depth + 1) for i, child in enumerate(node.value)]
        return self._mapping(node, path, depth)

    def _mapping(self, node: Any, path: Path, depth: int) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        merged: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            if type(key_node).__name__ != "ScalarNode":
                raise PapertrainError(
                    "a key must be a plain word", code="odd-key", file=self.doc.name, line=key_node.start_mark.line + 1
                )
            key = key_node.value
            if key == "<<" and key_node.style is None:
                parts = value_node.value if type(value_node).__name__ == "SequenceNode" else [value_node]
                for i, part in enumerate(parts):
                    if isinstance(value := self.build(part, (*path, "<<", i), depth + 1), dict):
                        merged = value | merged
                continue
            line = key_node.start_mark.line + 1
            if key in found:
                self.doc.problems.append(Problem(code="duplicate-key", key=key, line=line,
                    says=f"`{key}` stands twice (first on line {self.doc.line(*path, key)}): the last one wins, silently"))  # fmt: skip
            self.doc.lines[(*path, key)] = line
            self.doc.key_spans[(*path, key)] = (key_node.start_mark.index, key_node.end_mark.index)
            found[key] = self.build(value_node, (*path, key), depth + 1)
        return merged | found

    def _scalar(self, node: Any, path: Path) -> Any:
        text = node.value
        if node.style is not None:
            return text
        self.doc.plain[path] = text
        return resolve(text)


def resolve(text: str) -> Any:
    """What an unquoted YAML scalar means: null, true/false, a number, or the text itself."""
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text in ("true", "True", "TRUE"):
        return True
    if text in ("false", "False", "FALSE"):
        return False
    if _INT.fullmatch(text):
        return int(text) if len(text) < 400 else text
    if _FLOAT.fullmatch(text):
        return float(text)
    low = text.lower()
    if low in (".inf", "+.inf"):
        return float("inf")
    if low == "-.inf":
        return float("-inf")
    return float("nan") if low == ".nan" else text


class _JsonReader:
    """A second pass over valid JSON that notes where each key and value stands."""

    TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+')

    def __init__(self, doc: Document, text: str) -> None:
        self.doc, self.text = doc, text
        self.tokens: Iterator[re.Match[str]] = self.TOKEN.finditer(text)
        self.starts = [0, *(m.end() for m in re.finditer("\n", text))]

    def run(self) -> None:
        self.doc.value = self._value(next(self.tokens), (), 0)

    def _line(self, index: int) -> int:
        import bisect

        return bisect.bisect_right(self.starts, index)

    def _value(self, token: re.Match[str], path: Path, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise PapertrainError(
                f"nested more than {MAX_DEPTH} deep",
                code="too-deep",
                file=self.doc.name,
                line=self._line(token.start()),
            )
        self.doc.lines.setdefault(path, self._line(token.start()))
        start, kind = token.start(), token[0]
        value: Any
        if kind == "{":
            value, end = self._object(path, depth)
        elif kind == "[":
            value, end = self._array(path, depth)
        else:
            value, end = json.loads(kind), token.end()
            if (isinstance(value, float) and value != value) or kind in ("Infinity", "-Infinity"):
                self.doc.problems.append(
                    Problem(code="json-nan", says=f"{kind} is not JSON: many readers refuse it", line=self._line(start))
                )
            if kind[0] != '"':
                self.doc.plain[path] = kind
        self.doc.spans[path] = (start, end)
        return value

    def _object(self, path: Path, depth: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        token = next(self.tokens)
        while token[0] != "}":
            if token[0] == ",":
                token = next(self.tokens)
                continue
            key, line = json.loads(token[0]), self._line(token.start())
            if key in found:
                self.doc.problems.append(Problem(code="duplicate-key", key=key, line=line,
                    says=f"`{key}` stands twice (first on line {self.doc.line(*path, key)}): the last one wins, silently"))  # fmt: skip
            self.doc.lines[(*path, key)] = line
            self.doc.key_spans[(*path, key)] = (token.start(), token.end())
            next(self.tokens)
            found[key] = self._value(next(self.tokens), (*path, key), depth + 1)
            token = next(self.tokens)
        return found, token.end()

    def _array(self, path: Path, depth: int) -> tuple[list[Any], int]:
        found: list[Any] = []
        token = next(self.tokens)
        while token[0] != "]":
            if token[0] != ",":
                found.append(self._value(token, (*path, len(found)), depth + 1))
            token = next(self.tokens)
        return found, token.end()


_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"?|//[^\n]*|/\*|(?m:^[^\S\n]*#[^\n]*)')


def _without_comments(text: str) -> str:
    """`//`, `#` and `/* */` comments blanked out, strings untouched, so that positions stay. Every character is seen once."""
    parts, at = [], 0
    while m := _COMMENT.search(text, at):
        end = m.end()
        if m[0] == "/*":
            close = text.find("*/", end)
            if close < 0:
                break
            end = close + 2
        found = text[m.start() : end]
        parts += [text[at : m.start()], found if found.startswith('"') else re.sub(r"[^\n]", " ", found)]
        at = end
    return "".join([*parts, text[at:]])


def _first_difference(a: str, b: str) -> int:
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), 0)
    return a.count("\n", 0, at) + 1


def dump_scalar(value: Any, kind: str = "yaml") -> str:
    """A scalar or a short list as it is written: floats with a dot (`1.0e-4`), so that every YAML reader sees a number."""
    if kind == "json" or isinstance(value, (list, dict)):
        return json.dumps(value, ensure_ascii=False)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        text = repr(value)
        if "e" in text:
            mantissa, exponent = text.split("e")
            return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{int(exponent):+d}".replace("e+", "e+")
        if 0 < abs(value) < 1e-2:
            mantissa, exponent = f"{value:.6e}".split("e")
            mantissa = mantissa.rstrip("0")
            return f"{mantissa + '0' if mantissa.endswith('.') else mantissa}e{int(exponent)}"
        return text
    text = str(value)
    plain = re.fullmatch(r"[A-Za-z0-9_./~+@%^-][A-Za-z0-9_./~+@%^ \-]*", text) and not text.endswith(" ")
    words = {"yes", "no", "on", "off", "y", "n", "true", "false", "null", "~"}
    if (
        plain
        and isinstance(resolve(text), str)
        and text.lower() not in words
        and not text.startswith(("- ", "@", "%"))
        and text != "-"
    ):
        return text
    return json.dumps(text, ensure_ascii=False)


def edit(text: str, edits: Sequence[tuple[Path, Any]], name: str = "file.yaml") -> str:
    """The text with some values set or removed (`DELETE`); every other byte stays. Raises PapertrainError for a bad path."""
    for path, new in edits:
        doc = load_any(text, name)
        after = _edit_one(doc, path, new)
        if after != text and not _only_there(doc, after, path, new):
            raise PapertrainError(
                f"`{'.'.join(map(str, path))}` cannot be changed here without touching the rest of the file: change it by hand",
                code="cannot-edit",
                file=name,
                line=doc.line(*path),
            )
        text = after
    return text


def _only_there(doc: Document, text: str, path: Path, new: Any) -> bool:
    """Whether the new text says the new value there, and everywhere else what it said: read again, not trusted."""
    try:
        after = load_any(text, doc.name)
    except PapertrainError:
        return False
    return (new is DELETE or alike(after.get(*path), new)) and alike(
        without(doc.value, path), without(after.value, path)
    )


def _edit_one(doc: Document, path: Path, new: Any) -> str:
    text = doc.text
    if path in doc.spans and path in doc.key_spans | dict.fromkeys(doc.spans, (0, 0)):
        start, end = doc.spans[path]
        if new is DELETE:
            return _remove(doc, path)
        if (
            isinstance(doc.get(*path), (dict, list))
            and path not in doc.flow
            and doc.kind == "yaml"
            and path in doc.key_spans
        ):
            # A block collection is replaced from its first item up to its last: written in flow style on the key's line.
            key_end = doc.key_spans[path][1]
            body = text[start:end].rstrip()
            said = re.match(r"\s*:[^\S\n]*(#[^\n]*)", text[key_end:start])
            note = f"  {said[1].rstrip()}" if said else ""
            return text[:key_end] + ": " + dump_scalar(new, doc.kind) + note + text[start + len(body) :]
        old = text[start:end]
        if doc.kind == "yaml" and not old:
            # An empty value stands, for the parser, where the next word begins: its own place is behind its key.
            at = text.index(":", doc.key_spans[path][1]) + 1 if path in doc.key_spans else len(text[:start].rstrip())
            return text[:at] + " " + dump_scalar(new) + text[at:]
        return text[:start] + dump_scalar(new, doc.kind) + old[len(old.rstrip()) :] + text[end:]
    if new is DELETE:
        return text
    parent = path[:-1]
    holder = doc.get(*parent) if parent else doc.value
    if holder is None and not parent:
        return text + ("" if not text or text.endswith("\n") else "\n") + f"{path[-1]}: {dump_scalar(new)}\n"
    if not isinstance(holder, dict):
        if (parent and doc.get(*parent[:-1]) is not None) or len(parent) == 1:
            return _edit_one(doc, parent, {path[-1]: new} if doc.kind == "json" or len(path) > 1 else new)
        raise PapertrainError(f"no place for {'.'.join(map(str, path))}", code="no-such-key", file=doc.name)
    return _insert(doc, parent, str(path[-1]), new, holder)


def _insert(doc: Document, parent: Path, key: str, new: Any, holder: dict[str, Any]) -> str:
    text, (start, end) = doc.text, doc.spans[parent]
    siblings = [doc.key_spans[(*parent, k)] for k in holder if (*parent, k) in doc.key_spans]
    if doc.kind == "json" or parent in doc.flow:
        close = text.rindex("}", start, end)
        quoted = json.dumps(key) if doc.kind == "json" else key
        if not siblings:
            return text[:close] + f"{quoted}: {dump_scalar(new, doc.kind)}" + text[close:]
        last = text[:close].rstrip()
        line_start = text.rfind("\n", 0, siblings[-1][0]) + 1
        lead = text[line_start : siblings[-1][0]]
        glue = ",\n" + lead if not lead.strip() and "\n" in text[siblings[-1][0] : close] else ", "
        return last + glue + f"{quoted}: {dump_scalar(new, doc.kind)}" + text[len(last) :]
    indent = siblings[-1][0] - (text.rfind("\n", 0, siblings[-1][0]) + 1) if siblings else 0
    body = text[:end].rstrip()
    at = text.find("\n", len(body))
    at = len(text) if at < 0 else at
    return text[:at] + f"\n{' ' * indent}{key}: {dump_scalar(new)}" + (text[at:] or "\n")


def _remove(doc: Document, path: Path) -> str:
    text, (start, end) = doc.text, doc.spans[path]
    if doc.kind == "json" or path[:-1] in doc.flow:
        begin = doc.key_spans.get(path, (start, end))[0]
        head, tail = text[:begin].rstrip(), text[end:]
        if tail.lstrip().startswith(","):
            return text[:begin] + tail.lstrip()[1:].lstrip()
        return (head[:-1].rstrip() if head.endswith(",") else head) + tail
    begin = text.rfind("\n", 0, doc.key_spans.get(path, (start, end))[0]) + 1
    finish = text.find("\n", max(end - 1, begin) if text[end - 1 : end] == "\n" else end)
    return text[:begin] + (text[finish + 1 :] if finish >= 0 else "")
