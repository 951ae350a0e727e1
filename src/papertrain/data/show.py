"""Rows as a person can check them: what the model sees, which words carry loss, what the length cuts off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby, islice
from pathlib import Path

from papertrain.core.errors import PapertrainError
from papertrain.core.models import ModelSpec
from papertrain.core.texts import say
from papertrain.data.columns import layout_for
from papertrain.data.examples import Example, RowError, example
from papertrain.data.formats import Layout
from papertrain.data.reading import BadLine, Row, open_rows
from papertrain.data.render import Renderer, Segment, renderer
from papertrain.data.sources import find_sources
from papertrain.data.tokens import Count, TokenCounter

_WIDTH = 88
_LOOKED_AT = 200


def show_rows(
    path: Path | str,
    *,
    model: ModelSpec | None,
    cutoff: int,
    template: str | None = None,
    thinking: bool | None = True,
    count: int = 1,
    columns: Mapping[str, str] | None = None,
) -> str:
    """The first `count` rows as the model sees them: what is masked, what is trained, what is cut. Raises PapertrainError
    where the file holds no rows.

    row 1   masked   <|im_start|>user⏎Where?<|im_end|>⏎<|im_start|>assistant⏎
            trained  There.<|im_end|>⏎                                  5 tokens, 2 trained, end token trained
    """
    sources = find_sources(path)
    head = [(n, r) for file in sources.files[:1] for n, r in islice(open_rows(file).rows, max(count, _LOOKED_AT))]
    layout = sources.layout if not columns else None
    layout = layout or layout_for([r for _, r in head if not isinstance(r, BadLine)], None, columns, sources.files[0])
    if layout is None:
        raise PapertrainError(
            "no row fits a known format", code="unknown-format", file=sources.files[0], line=head[0][0] if head else 0
        )
    used = renderer(model, template, thinking)
    counter = TokenCounter(model, apart=used.apart)
    lines: list[str] = []
    for i, (line, row) in enumerate(head[:count], 1):
        lines += _row(i, line, row, layout, used, counter, cutoff)
    return "\n".join(lines)


def _row(
    i: int, line: int, row: Row | BadLine, layout: Layout, used: Renderer, counter: TokenCounter, cutoff: int
) -> Iterator[str]:
    name = say("row {n}", n=i).ljust(8)
    try:
        if isinstance(row, BadLine):
            raise RowError(row.says)
        one = example(row, layout)
        sides = [("", used.segments(one))]
        if one.kind == "pair":
            sides = [("chosen ", sides[0][1]), ("rejected ", used.rejected(one))]
    except RowError as e:
        yield name + say("does not fit (line {line}): {why}", line=line, why=e)
        return
    for side, segments in sides:
        for segment in _merged(segments):
            kind = side + (say("trained") if segment.trained else say("masked"))
            yield f"{name}{kind:<9}{_shown(segment.text)}"
            name = " " * 8
        yield name + _sums(one, segments, counter, used, cutoff)


def _merged(segments: list[Segment]) -> Iterator[Segment]:
    """Neighbours that are both trained, or both masked, as one."""
    for trained, group in groupby(segments, key=lambda s: s.trained):
        yield Segment("".join(s.text for s in group), trained)


def _sums(one: Example, segments: list[Segment], counter: TokenCounter, used: Renderer, cutoff: int) -> str:
    special = one.kind in ("text", "label") or not used.templated
    count = counter.count([(segments, special)])[0]
    said = [_tokens(count), _trained(count)]
    if one.kind == "label":
        said[1] = say("label {label}", label=one.label)
    elif used.end:
        closed = bool(segments) and used.end in "".join(s.text for s in segments if s.trained)[-len(used.end) - 8 :]
        said.append(say("end token trained") if closed else say("end token NOT trained"))
    if one.empty:
        said.append(say("the answer is empty: no example"))
    if count.low > cutoff:
        said.append(say("cut at {cutoff}", cutoff=cutoff))
    elif count.high > cutoff:
        said.append(say("perhaps cut at {cutoff}", cutoff=cutoff))
    return ", ".join(said)


def _tokens(count: Count) -> str:
    return say("{n} tokens", n=_span(count.low, count.high))


def _trained(count: Count) -> str:
    return say("{n} trained", n=_span(count.trained_low, count.trained_high))


def _span(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,}-{high:,}"


def _shown(text: str) -> str:
    """On one line, the ends kept: that is where templates go wrong."""
    flat = text.replace("\r", "␍").replace("\n", "⏎").replace("\t", "⇥")
    flat = "".join(c if c.isprintable() else "�" for c in flat)
    half = (_WIDTH - 3) // 2
    return flat if len(flat) <= _WIDTH else f"{flat[:half]} … {flat[-half:]}"
