"""Settings inside Python scripts and start commands: read, set, rename, with every other byte left alone."""

from __future__ import annotations

import ast
import re
from typing import Any, Final

ABSENT: Final = object()
ARGUMENTS = (
    "TrainingArguments",
    "Seq2SeqTrainingArguments",
    "SFTConfig",
    "DPOConfig",
    "GRPOConfig",
    "KTOConfig",
    "RewardConfig",
)


def value(text: str, key: str, kind: str) -> Any:
    """What a script gives to a key (keyword argument, argparse default, flag), or ABSENT."""
    found = _python(text, key) if kind == "python" else None
    if found is not None:
        return _literal(text[found[0] : found[1]])
    if m := _flag(text, key):
        return _literal(m[2].strip("\"'"))
    return ABSENT


def write(text: str, key: str, new: Any, kind: str) -> str:
    """The script with the key set; unchanged where there is no place for it."""
    if kind == "python":
        if found := _python(text, key):
            return text[: found[0]] + repr(new) + text[found[1] :]
        return _into_call(text, key, new)
    shown = str(new)
    if m := _flag(text, key):
        return text[: m.start(2)] + shown + text[m.end(2) :]
    if new is None:
        return text
    first = re.search(r"(?m)(?<=\s)--[a-z]\w+", _uncommented(text))
    return text if first is None else text[: first.start()] + f"--{key} {shown} " + text[first.start() :]


def rename(text: str, old: str, new: str) -> str:
    """A key under another name, wherever it is one: `old=`, `old:`, `"old"`, `--old`."""
    pattern = rf"(?m)(?<![\w.])(--)?(?P<quote>[\"']?){re.escape(old)}(?P=quote)(?=\s*[:=]|\s|$)"
    return re.sub(pattern, lambda m: f"{m[1] or ''}{m['quote']}{new}{m['quote']}" if _is_key(text, m) else m[0], text)


def export(text: str, name: str, value: str) -> str:
    """`export NAME=value` before the first command, after shebang, comments and #SBATCH lines."""
    lines = text.splitlines(keepends=True)
    at = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith("#")), len(lines))
    return "".join([*lines[:at], f"export {name}={value}\n", *lines[at:]])


def _is_key(text: str, m: re.Match[str]) -> bool:
    after = text[m.end() :].lstrip(" ")
    line_start = text.rfind("\n", 0, m.start()) + 1
    if "#" in text[line_start : m.start()]:
        return False
    return bool(m[1]) or (after[:1] in ("=", ":") and after[:2] != "==")


def _python(text: str, key: str) -> tuple[int, int] | None:
    """Where the value of `key=` in a call, or of an argparse default, stands."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    starts = [0]
    for line in text.encode().split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        wanted = "default" if _argparse(node, key) else key
        for keyword in node.keywords:
            if keyword.arg == wanted and (wanted == key or _argparse(node, key)):
                v = keyword.value
                return _offset(text, starts, v.lineno, v.col_offset), _offset(
                    text, starts, v.end_lineno or v.lineno, v.end_col_offset or v.col_offset
                )
    return None


def _argparse(node: ast.Call, key: str) -> bool:
    return isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument" and any(
        isinstance(a, ast.Constant) and str(a.value).lstrip("-").replace("-", "_") == key for a in node.args
    )  # fmt: skip


def _offset(text: str, starts: list[int], line: int, column: int) -> int:
    """Character position of the parser's (line, byte column)."""
    return len(text.encode()[: starts[line - 1] + column].decode("utf-8", "replace"))


def _into_call(text: str, key: str, new: Any) -> str:
    m = re.search(rf"\b(?:{'|'.join(ARGUMENTS)})\(\s*", text)
    if m is None or new is None:
        return text
    lead = text[m.end() - len(m[0]) + m[0].index("(") + 1 : m.end()]
    glue = "," + lead if "\n" in lead else ", "
    return text[: m.end()] + f"{key}={new!r}" + glue + text[m.end() :]


def _flag(text: str, key: str) -> re.Match[str] | None:
    """`--key value`, `--key=value`, or `key=value` as LLaMA-Factory's overrides are written; group 2 is the value."""
    name = key.replace("_", "[_-]")
    return re.search(rf"(?m)(?:(?<=\s)|^)(--{name}[ =]+|{name}=)([^\s\\]+)", _uncommented(text))


def _uncommented(text: str) -> str:
    """Comments blanked out, so that positions stay."""
    return re.sub(r"(?m)^\s*#[^\n]*", lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def _literal(text: str) -> Any:
    if text in ("true", "True"):
        return True
    if text in ("false", "False"):
        return False
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text
