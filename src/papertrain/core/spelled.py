"""Names of files that are no UTF-8. Python holds their bytes as halves of characters, which no text or JSON may hold."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

HALF = re.compile(r"[\ud800-\udfff]")


def spelled(text: str) -> str:
    r"""The text as it can be written: `ca\xff.log` for such a name, as git and `ls` show it."""
    return HALF.sub(_shown, text) if HALF.search(text) else text


def _shown(m: re.Match[str]) -> str:
    code = ord(m[0])
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"


def meant(root: Path, name: str) -> Path:
    """The file of that name below a folder, also where the name was written as `spelled` writes it."""
    path = root / name
    if "\\x" not in name or path.exists():
        return path
    here = root
    for part in Path(name).parts:
        try:
            here = next(p for p in here.iterdir() if spelled(p.name) == part)
        except (OSError, StopIteration):
            return path
    return here


def encoded(content: Any) -> bytes:
    """The content as one JSON document, whatever names stand in it."""
    try:
        return msgspec.json.encode(content)
    except UnicodeEncodeError:
        return msgspec.json.encode(_whole(msgspec.to_builtins(content, builtin_types=(bytes,))))


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return spelled(value)
    if isinstance(value, dict):
        return {_whole(k): _whole(v) for k, v in value.items()}
    return [_whole(v) for v in value] if isinstance(value, (list, tuple)) else value
