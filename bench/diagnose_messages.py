"""How many of the messages that libraries raise `diagnose` has a name for.

    python bench/diagnose_messages.py SITE_PACKAGES… [-v]

Reads the source of the libraries below from these folders, without importing any: every `raise X("…")` and `assert …, "…"`, with the values
of an f-string as their names. Each is asked as the end of a traceback out of its own file. Most of what a library can raise no user meets, so
the share says how the wordings spread, not how often an answer is right: that is what `diagnose_blind.py` is for. -v prints what has no name.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from papertrain.diagnose.decide import decide
from papertrain.diagnose.look import look_at_text

LIBRARIES = {
    "transformers": ("*.py", "integrations/*.py", "quantizers/*.py", "data/*.py", "utils/*.py", "generation/*.py", "models/auto/*.py", "loss/*.py", "distributed/*.py"),
    "trl": ("**/*.py",), "peft": ("**/*.py",), "accelerate": ("**/*.py",), "datasets": ("**/*.py",), "llamafactory": ("**/*.py",), "axolotl": ("**/*.py",),
    "deepspeed": ("runtime/**/*.py", "launcher/*.py", "comm/*.py", "ops/**/*.py", "moe/*.py", "pipe/*.py", "sequence/*.py", "checkpoint/*.py", "utils/*.py"),
    "torch": ("distributed/**/*.py", "nn/**/*.py", "optim/*.py", "amp/*.py", "utils/data/**/*.py", "utils/checkpoint.py", "serialization.py", "cuda/*.py"),
}  # fmt: skip


class Message(NamedTuple):
    kind: str
    text: str
    file: str
    line: int


def said(node: ast.expr) -> str:
    """The literal text of an expression; a value in it by its name."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(said(p) if isinstance(p, ast.Constant) else name(p) for p in node.values)
    if isinstance(node, ast.BinOp):
        left = said(node.left)
        return left if isinstance(node.op, ast.Mod) else left + said(node.right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return said(node.func.value)
    return ""


def name(part: ast.expr) -> str:
    shown = ast.unparse(part.value) if isinstance(part, ast.FormattedValue) else ""
    return shown.rpartition(".")[2][:24] if shown.replace(".", "").replace("_", "").isalnum() else "8"


def messages(folder: Path, patterns: tuple[str, ...]) -> Iterator[Message]:
    for path in sorted({p for pattern in patterns for p in folder.glob(pattern)}):
        try:
            tree = ast.parse(path.read_text("utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        for node in ast.walk(tree):
            kind, text = "", ""
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
                kind, text = ast.unparse(node.exc.func).rpartition(".")[2], said(node.exc.args[0])
            elif isinstance(node, ast.Assert) and node.msg is not None:
                kind, text = "AssertionError", said(node.msg)
            text = " ".join(text.split())
            if len(text) > 12 and isinstance(node, ast.stmt):
                yield Message(kind, text, str(path.relative_to(folder.parent)), node.lineno)


def named(m: Message) -> bool:
    head = f'Traceback (most recent call last):\n  File "/e/site-packages/{m.file}", line {m.line}, in run\n    raise {m.kind}(\n'
    return bool(decide(look_at_text(f"{head}{m.kind}: {m.text}\n")).matches)


def main(words: list[str]) -> int:
    folders, verbose = [Path(w) for w in words if w != "-v"], "-v" in words
    for library, patterns in LIBRARIES.items():
        found = {m.text: m for f in folders if (f / library).is_dir() for m in messages(f / library, patterns)}
        without = [m for m in found.values() if not named(m)]
        if found:
            print(f"{library:14} {len(found) - len(without):5} of {len(found):5}")
        for m in without if verbose else ():
            print(f"  {m.file}:{m.line} {m.kind}: {m.text[:160]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
