"""`--columns prompt=question,answer=reply`: which column plays which part, where the names do not say it themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import structs

from papertrain.core.errors import PapertrainError, nearest
from papertrain.data.formats import Layout, recognise

# Part → the name under which the format is recognised.
USUAL = {
    "prompt": "prompt", "query": "input", "response": "completion", "system": "system", "history": "history", "messages": "messages",
    "chosen": "chosen", "rejected": "rejected", "text": "text", "second": "sentence2", "label": "label",
}  # fmt: skip
ALSO = {"question": "prompt", "instruction": "prompt", "input": "query", "context": "query", "answer": "response", "output": "response",
        "completion": "response", "conversations": "messages", "class": "label", "sentence": "text"}  # fmt: skip


def parse(said: Iterable[str]) -> dict[str, str]:
    """`prompt=question,answer=reply` → part → column. Raises PapertrainError for a part that does not exist."""
    found: dict[str, str] = {}
    for one in (p for text in said for p in text.split(",") if p.strip()):
        word, mark, column = (s.strip() for s in one.partition("="))
        if not mark or not column:
            raise PapertrainError(
                f"--columns {one.strip()!r}: write PART=COLUMN, as in prompt=question", code="bad-columns", ask=[f"parts: {', '.join(USUAL)}"],
            )  # fmt: skip
        part = ALSO.get(word, word)
        if part not in USUAL:
            raise PapertrainError(
                f"--columns: no part {word!r}", code="bad-columns", nearest=nearest(word, [*USUAL, *ALSO]), ask=[f"parts: {', '.join(USUAL)}"],
            )  # fmt: skip
        if found.get(part, column) != column:
            raise PapertrainError(f"--columns names two columns for {part}", code="bad-columns")
        found[part] = column
    return found


def layout_for(
    rows: Sequence[Mapping[str, Any]], task: str | None, columns: Mapping[str, str] | None, file: Path
) -> Layout | None:
    """The layout of these rows: by the columns that were named, the rest by their names. Raises PapertrainError for a
    column that no row has, and for named columns that make no format."""
    columns = {part: column for part, column in (columns or {}).items() if part in USUAL}
    if not columns:
        return recognise(rows, task)
    have = list(dict.fromkeys(str(k) for row in rows for k in row))
    for part, column in columns.items():
        if have and column not in have:
            raise PapertrainError(
                f"no column {column!r} for {part}: there are {', '.join(have[:12])}", code="unknown-column", file=file, nearest=nearest(column, have),
            )  # fmt: skip
    names = _names(columns)
    back = {usual: column for column, usual in names.items()}
    alone = [{usual: row[column] for column, usual in names.items() if column in row} for row in rows]
    whole = [{**{k: v for k, v in row.items() if k not in back}, **few} for row, few in zip(rows, alone)]
    for renamed in (alone, whole):  # other columns may be what completes the format, or may only mislead
        found = recognise(renamed, task)
        if found is not None and all(found.columns.get(part) == names[column] for part, column in columns.items()):
            return structs.replace(found, columns={part: back.get(name, name) for part, name in found.columns.items()})
    if not rows:
        return None
    said = ", ".join(f"{part}={column}" for part, column in columns.items())
    raise PapertrainError(
        f"the columns {said} make no training data that is known", code="bad-columns", file=file,
        ask=["prompt and response", "messages", "chosen and rejected", "text", "text and label"],
    )  # fmt: skip


def _names(columns: Mapping[str, str]) -> dict[str, str]:
    """Column → usual name. A question in two columns is alpaca's instruction and input."""
    two = "query" in columns or "history" in columns
    return {column: "instruction" if part == "prompt" and two else USUAL[part] for part, column in columns.items()}
