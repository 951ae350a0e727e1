"""The sink of the command line: a Report or an error as text or JSON, redacted."""

from __future__ import annotations

import os
import sys
from typing import Any

import msgspec

from papertrain.core.errors import PapertrainError
from papertrain.core.progress import tell
from papertrain.core.redact import document, redact
from papertrain.core.report import SCHEMA, Report
from papertrain.core.sentences import translated
from papertrain.core.texts import say
from papertrain.core.wide import padded

LABELS = {
    "en": (("📊", "Result"), ("💡", "Explanation"), ("🎯", "Action")),
    "zh": (("📊", "结果"), ("💡", "解释"), ("🎯", "行动")),
}
BRIEF_ITEMS = 3


def show(report: Report, *, json: bool, brief: bool, fields: str | None, quiet: bool, verbose: bool) -> None:
    """Print it on standard output: one JSON document, or text."""
    if json:
        content = report.envelope() if brief or fields else _whole(report)
        if fields:
            content["data"] = select(content["data"], fields)
        if brief:
            content["data"] = shorten(content["data"])
        _print_json(content)
        return
    # A verb that was asked for a form of another program (SARIF, annotations) prints that and nothing else.
    if isinstance(printed := report.data.get("printed"), str):
        _print(printed)
        return
    _print(report.result if quiet else text_of(report, verbose=verbose, brief=brief))


def show_error(error: PapertrainError, verb: str, as_json: bool) -> None:
    """One line on standard error, and with `--json` the envelope with `data.error` on standard output."""
    line = f"papertrain {verb}: {error.one_line()}" if verb != "papertrain" else f"papertrain: {error.one_line()}"
    tail = "; ".join(map(translated, error.ask))
    line += f" ({tail})" if tail else ""
    line += say("; try: {command}", command=error.command) if error.command else ""
    tell(redact(" ".join(line.split()), terminal=sys.stderr.isatty()) + "\n")
    if as_json:
        content: dict[str, Any] = {
            "schema": SCHEMA,
            "verb": verb,
            "mode": "quick",
            "result": error.one_line(),
            "explanation": "; ".join(map(translated, error.ask)),
            "action": error.command,
            "warnings": [],
            "unavailable": [],
            "data": {"error": error.error()},
        }
        _print_json(content)


def show_failure(error: dict[str, Any], verb: str) -> None:
    """The `data.error` of an answer that has other parts too: one line on standard error."""
    where = error.get("where") or {}
    place = f"{where.get('file')}:{where['line']}: " if where.get("line") else f"{where['file']}: " if where else ""
    line = f"papertrain {verb}: {place}{error.get('says', '')}"
    tell(redact(" ".join(line.split()), terminal=sys.stderr.isatty()) + "\n")


def text_of(report: Report, *, verbose: bool = False, brief: bool = False) -> str:
    """The three parts as text, with what stands around them."""
    from papertrain.core.texts import language

    labels = LABELS[language.get()]
    width = 15
    bold = _colour()

    def part(which: int, content: str) -> str:
        sign, word = labels[which]
        head = f"{sign} {word}" if _can_show(sign) else word
        lead = bold(padded(head, width - (1 if head == word else 0))) + " "
        first, *rest = content.splitlines() or [""]
        return "\n".join([lead + first, *(" " * width + line for line in rest)])

    blocks = []
    if report.head and not brief:
        blocks.append(report.head.rstrip("\n"))
    blocks.append(part(0, report.result))
    if report.body and not brief:
        blocks.append(report.body.rstrip("\n"))
    if report.details and verbose:
        blocks.append(report.details.rstrip("\n"))
    blocks.extend(f"  ! {w}" for w in report.warnings)
    if verbose:
        blocks.extend(f"  - {u}" for u in report.unavailable)
    blocks.append(part(1, report.explanation))
    if report.action:
        blocks.append(part(2, report.action + (f"       # {report.aside}" if report.aside else "")))
    return "\n".join(blocks)


def select(data: Any, fields: str) -> Any:
    """Only the named parts of data: `fits,memory.gpu`. A list keeps the part of each item. Raises PapertrainError."""
    from papertrain.core.errors import nearest

    def pick(here: Any, parts: list[str]) -> Any:
        if not parts:
            return here
        if isinstance(here, list):
            return [pick(item, parts) for item in here]
        if not isinstance(here, dict) or parts[0] not in here:
            near = nearest(parts[0], here) if isinstance(here, dict) else None
            raise PapertrainError(f"no field {parts[0]!r} in data", code="unknown-field", nearest=near)
        return {parts[0]: pick(here[parts[0]], parts[1:])}

    found: dict[str, Any] = {}
    for field in filter(None, (f.strip() for f in fields.split(","))):
        _merge(found, pick(data, field.split(".")))
    return found


def shorten(data: Any, depth: int = 0) -> Any:
    """Long lists cut to a few items, with the number left out."""
    if isinstance(data, dict):
        return {k: shorten(v, depth + 1) for k, v in data.items()}
    if isinstance(data, list):
        short = [shorten(v, depth + 1) for v in data[:BRIEF_ITEMS]]
        left = len(data) - BRIEF_ITEMS
        return [*short, f"… {left} more"] if left > 0 and all(isinstance(v, str) for v in data) else short
    return data


def _merge(into: dict[str, Any], more: Any) -> None:
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


def _whole(report: Report) -> dict[str, Any]:
    # Large answers (20,000 estimates) are encoded as they are, without a detour through builtins.
    return {
        "schema": SCHEMA,
        "verb": report.verb,
        "mode": report.mode,
        "result": report.result,
        "explanation": report.explanation,
        "action": report.action,
        "warnings": list(report.warnings),
        "unavailable": list(report.unavailable),
        "data": report.data,
    }


def _print_json(content: dict[str, Any]) -> None:
    blob = document(content, terminal=sys.stdout.isatty())
    if len(blob) < 2**20:
        blob = msgspec.json.format(blob, indent=1)
    sys.stdout.flush()
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:  # a notebook's output, or a text that a caller collects
        sys.stdout.write(blob.decode() + "\n")
        return
    buffer.write(blob + b"\n")
    buffer.flush()


def _print(text: str) -> None:
    text = redact(text, terminal=sys.stdout.isatty()) if not sys.stdout.isatty() else _redact_keeping_colour(text)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _redact_keeping_colour(text: str) -> str:
    """Our own two codes (bold, plain) survive the removal of control sequences; nothing else does."""
    marked = text.replace("\x1b[1m", "\ue000").replace("\x1b[0m", "\ue001")
    return redact(marked, terminal=True).replace("\ue000", "\x1b[1m").replace("\ue001", "\x1b[0m")


def _colour() -> Any:
    if sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb":
        return lambda text: f"\x1b[1m{text}\x1b[0m"
    return lambda text: text


def _can_show(sign: str) -> bool:
    try:
        sign.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
