"""Reads the pickles of plain values that torch's flight recorder writes, without unpickling: dicts, lists, tuples, texts and
numbers are built by hand, and anything else (a class, a call) is refused. Nothing in the file is ever executed."""

from __future__ import annotations

import pickletools
from typing import Any

MOST = 5_000_000
"""Opcodes."""
SIMPLE = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
NUMBERS = frozenset(
    ("BININT", "BININT1", "BININT2", "LONG1", "LONG4", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8")
)
MARK = object()


def loads(data: bytes) -> Any:
    """The value. Raises ValueError for a pickle of anything but plain values, and for a damaged one."""
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    try:
        for count, (op, arg, _) in enumerate(pickletools.genops(data)):
            if count > MOST:
                raise ValueError("a pickle of too many values")
            if op.name == "STOP":
                return stack.pop()
            step(op.name, arg, stack, memo)
    except (IndexError, KeyError, TypeError, AttributeError, MemoryError) as error:
        raise ValueError(f"a damaged pickle: {type(error).__name__}") from None
    raise ValueError("a pickle without an end")


def step(name: str, arg: Any, stack: list[Any], memo: dict[int, Any]) -> None:
    """One opcode."""
    if name in SIMPLE:
        stack.append(SIMPLE[name])
    elif name in NUMBERS:
        stack.append(arg)
    elif name in ("EMPTY_DICT", "EMPTY_LIST", "EMPTY_TUPLE"):
        stack.append({"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple}[name]())
    elif name == "MARK":
        stack.append(MARK)
    elif name in ("BINPUT", "LONG_BINPUT"):
        memo[arg] = stack[-1]
    elif name == "MEMOIZE":
        memo[len(memo)] = stack[-1]
    elif name in ("BINGET", "LONG_BINGET"):
        stack.append(memo[arg])
    elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
        n = int(name[-1])
        stack[-n:] = [tuple(stack[-n:])]
    elif name == "TUPLE":
        items = marked(stack)
        stack.append(tuple(items))
    elif name in ("APPEND", "APPENDS"):
        items = marked(stack) if name == "APPENDS" else [stack.pop()]
        stack[-1].extend(items)
    elif name in ("SETITEM", "SETITEMS"):
        items = marked(stack) if name == "SETITEMS" else [stack.pop(-2), stack.pop()]
        stack[-1].update(zip(items[::2], items[1::2]))
    elif name not in ("PROTO", "FRAME"):
        raise ValueError(f"a pickle that would run code ({name})")


def marked(stack: list[Any]) -> list[Any]:
    """What was put on the stack since the last mark."""
    at = len(stack) - 1
    while stack[at] is not MARK:
        at -= 1
        if at < 0:
            raise ValueError("a damaged pickle: no mark")
    items = stack[at + 1 :]
    del stack[at:]
    return items
