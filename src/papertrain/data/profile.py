"""rows → examples → tokens → trainable tokens, counted once.

    profile(Path("train.jsonl"), model=find_model("./Qwen2.5-7B-Instruct"), cutoff=2048)

Everything is streamed. Tokens are exact with the model's own tokenizer and chat template; otherwise an interval, and the
notes say why.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from msgspec import structs

from papertrain.core.errors import PapertrainError
from papertrain.core.models import BadRow, DatasetProfile, LengthProfile, ModelSpec
from papertrain.data.classes import MOST, Classes
from papertrain.data.columns import layout_for
from papertrain.data.examples import Example, RowError, example
from papertrain.data.formats import Layout, layout_of
from papertrain.data.images import image_folder
from papertrain.data.reading import BadLine, Row, RowFile, open_rows
from papertrain.data.render import Renderer, Segment, renderer
from papertrain.data.sources import find_sources, licence_of
from papertrain.data.stats import Duplicates, Lengths
from papertrain.data.tokens import TokenCounter

Progress = Callable[[int, int], None]

_BATCH = 256
_LOOKED_AT = 200
_BATCH_CHARS = 4_000_000
_SHOWN = 5


def profile(
    path: Path | str,
    *,
    model: ModelSpec | None,
    cutoff: int,
    template: str | None = None,
    thinking: bool | None = True,
    task: str | None = None,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    packed_at: Callable[[DatasetProfile], int] | None = None,
    progress: Progress | None = None,
) -> DatasetProfile:
    """What training on this data set with this model at this length means. Raises PapertrainError where it is no data set.

    columns: which column plays which part, where somebody said so. limit: look at so many rows only; the result then says that it is a sample. packed_at: the length to pack into, where it follows from what was counted. progress: called with bytes done and in all.
    """
    if cutoff < 1:
        raise PapertrainError(f"a sequence length of {cutoff} holds no token", code="bad-length")
    if limit is not None and limit < 1:
        raise PapertrainError(f"a sample of {limit} rows holds nothing", code="bad-limit")
    if (pictures := image_folder(path)) is not None:
        return pictures
    sources = find_sources(path)
    rows = _Rows(sources.files, limit, progress)
    stream = iter(rows)
    head = list(islice(stream, _LOOKED_AT))
    rows_seen = [r for _, _, r in head if not isinstance(r, BadLine)]
    layout = sources.layout if not columns else None
    layout = layout or layout_for(rows_seen, task, columns, sources.files[0])
    if layout is None:
        raise _nothing_fits(head, sources.files[0], task)
    tally = _Tally(layout, model, cutoff, template, thinking)
    for batch in _batches(_chain(head, stream)):
        tally.add(batch)
    if not tally.lengths.examples:
        raise tally.nothing(sources.files[0])
    found = tally.result(str(path), rows, sources.notes, template, licence_of(sources.files))
    if packed_at is None or found.packed_sequences is None:
        return found
    return structs.replace(found, packed_sequences=tally.lengths.packed(packed_at(found)))


class _Rows:
    """The rows of several files, counted; progress is told in bytes of the files as they lie on disk."""

    def __init__(self, files: tuple[Path, ...], limit: int | None, progress: Progress | None) -> None:
        self.files, self.limit, self.progress = files, limit, progress
        self.seen, self.cut = 0, False
        self.kinds: set[str] = set()
        self.bytes = sum(f.stat().st_size for f in files if f.is_file())

    def __iter__(self) -> Iterator[tuple[str, int, Row | BadLine]]:
        done = 0
        for file in self.files:
            opened = open_rows(file)
            self.kinds.add(f"{opened.kind}.{opened.wrapped}" if opened.wrapped else opened.kind)
            for number, row in opened.rows:
                if self.limit is not None and self.seen >= self.limit:
                    self.cut = True
                    return
                self.seen += 1
                if self.progress and self.seen % 1000 == 0:
                    self.progress(done + _place(opened, self.seen), self.bytes)
                yield str(file), number, row
            done += file.stat().st_size
        if self.progress:
            self.progress(self.bytes, self.bytes)


def _place(opened: RowFile, seen: int) -> int:
    try:
        return opened.position()
    except (ValueError, OSError):
        return 0


def _chain(
    head: list[tuple[str, int, Row | BadLine]], rest: Iterator[tuple[str, int, Row | BadLine]]
) -> Iterator[tuple[str, int, Row | BadLine]]:
    yield from head
    yield from rest


def _batches(rows: Iterator[tuple[str, int, Row | BadLine]]) -> Iterator[list[tuple[str, int, Row | BadLine]]]:
    """Batches small in rows and in text: a tokenizer holds much more than the text it works on."""
    batch: list[tuple[str, int, Row | BadLine]] = []
    size = 0
    for item in rows:
        batch.append(item)
        size += _rough_size(item[2])
        if len(batch) >= _BATCH or size >= _BATCH_CHARS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _rough_size(row: Row | BadLine) -> int:
    if isinstance(row, BadLine):
        return 0
    return sum(_size(v) for v in row.values())


def _size(value: object) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return sum(sum(len(t) for t in m.values() if isinstance(t, str)) if isinstance(m, dict) else 8 for m in value)
    return 8


class _Tally:
    """What has been counted so far."""

    def __init__(
        self, layout: Layout, model: ModelSpec | None, cutoff: int, template: str | None, thinking: bool | None
    ) -> None:
        self.layout, self.cutoff = layout, cutoff
        self.renderer: Renderer = renderer(model, template, thinking)
        self.counter = TokenCounter(model, apart=self.renderer.apart)
        self.lengths, self.shortest = Lengths(), Lengths()
        self.duplicates = Duplicates()
        self.low = self.high = self.trained_low = self.trained_high = 0
        self.empty = self.bad = self.order = 0
        self.shown: list[BadRow] = []
        self.classes = Classes()

    def add(self, batch: list[tuple[str, int, Row | BadLine]]) -> None:
        texts: list[tuple[list[Segment], bool]] = []
        kinds: list[str] = []
        for file, line, row in batch:
            try:
                one = self._example(row)
                if one is None:
                    continue
                segments = self.renderer.segments(one)
                second = self.renderer.rejected(one) if one.kind == "pair" else None
            except RowError as e:
                self._reject(file, line, str(e))
                continue
            self.duplicates.add("\0".join(s.text for s in segments) + ("\0" + (one.label or "") if one.label else ""))
            if one.label is not None:
                self.classes.add(one.label, file, line)
            special = one.kind in ("text", "label") or not self.renderer.templated
            texts.append((segments, special))
            kinds.append(one.kind)
            if second is not None:
                texts.append((second, special))
                kinds.append("rejected")
        self._count(texts, kinds)

    def _example(self, row: Row | BadLine) -> Example | None:
        if isinstance(row, BadLine):
            raise RowError(row.says)
        one = example(row, self.layout)
        if one.empty:
            self.empty += 1
            return None
        return one

    def _reject(self, file: str, line: int, says: str) -> None:
        self.bad += 1
        self.order += says.startswith("roles out of order")
        if len(self.shown) < _SHOWN:
            self.shown.append(BadRow(file=file, line=line, says=says[:200]))

    def _count(self, texts: list[tuple[list[Segment], bool]], kinds: list[str]) -> None:
        if not texts:
            return
        counts = self.counter.count(texts)
        for i, (kind, c) in enumerate(zip(kinds, counts)):
            self.low, self.high = self.low + c.low, self.high + c.high
            self.trained_low, self.trained_high = self.trained_low + c.trained_low, self.trained_high + c.trained_high
            if kind == "rejected":
                continue
            low, high = c.low, c.high
            if kind == "pair":  # the longer side decides what is cut
                low, high = max(low, counts[i + 1].low), max(high, counts[i + 1].high)
            self.lengths.add(low if low == high else round((low * high) ** 0.5))
            if low != high:
                self.shortest.add(low)

    def nothing(self, file: Path) -> PapertrainError:
        first = self.shown[0] if self.shown else None
        if first is None:
            what = "text" if self.layout.format in ("text", "classification") else "answer"
            return PapertrainError(f"every {what} is empty ({self.empty:,} rows)", code="no-examples", file=file)
        return PapertrainError(
            f"no row fits the format {self.layout.format}: {first.says}",
            code="no-examples",
            file=first.file,
            line=first.line,
        )

    def result(
        self, path: str, rows: _Rows, stated: tuple[str, ...], template: str | None, licence: str | None
    ) -> DatasetProfile:
        exact = self.counter.exact and (
            self.renderer.templated or self.layout.format in ("text", "classification", "prompt-completion")
        )
        middle = (self.low * self.high) ** 0.5
        trained = (self.trained_low * self.trained_high) ** 0.5
        labelled = self.layout.format == "classification"
        return DatasetProfile(
            path=path, sha256=_digest(rows.files), format=f"{self.layout.format} ({', '.join(sorted(rows.kinds))})", rows=rows.seen,
            examples=self.lengths.examples, bytes=rows.bytes, tokens=round(middle), tokens_low=self.low, tokens_high=self.high,
            trainable_tokens=self.lengths.examples if labelled else round(trained), lengths=self.lengths.profile(), cutoff=self.cutoff,
            truncated_examples=self.lengths.over(self.cutoff), duplicates=self.duplicates.count, empty_answers=self.empty, bad_rows=self.bad,
            examples_of_bad_rows=tuple(self.shown), labels=dict(self.classes.counts.most_common()), odd_labels=self.classes.odd() if labelled else (), columns=dict(self.layout.columns),
            packed_sequences=None if labelled or self.layout.format in ("preference", "kto") else self.lengths.packed(self.cutoff),
            exact=exact, sampled=rows.cut, tokenizer=self.counter.name, licence=licence, notes=(*stated, *self._notes(rows, template, exact)),
        )  # fmt: skip

    def _notes(self, rows: _Rows, template: str | None, exact: bool) -> Iterator[str]:
        if rows.cut:
            yield f"a sample: the first {rows.seen:,} rows; the file goes on"
        if not self.counter.exact:
            yield f"tokens are an interval from the characters, because {self.counter.why}; the characters per token are assumed"
        elif not exact:
            yield "the model has no chat template here: question, answer and end token are counted, not the words of a template"
        if self.renderer.says:
            yield self.renderer.says
        if self.renderer.slots is not None:
            yield f"counted as LLaMA-Factory 0.9.5 writes its template {template!r}"
        if self.order:
            yield f"{self.order:,} rows have their roles out of order"
        if self.duplicates.thinned:
            yield f"duplicates are estimated from one example in {1 << self.duplicates.thinned}"
        if self.shortest.examples and self.shortest.over(self.cutoff) != self.lengths.over(self.cutoff):
            yield f"at least {self.shortest.over(self.cutoff):,} examples are longer than {self.cutoff:,} tokens"
        if self.classes.too_many:
            yield f"more than {MOST} labels: this may not be a label"
        if self.layout.format == "preference":
            yield "tokens count both sides of each pair, the prompt twice; lengths are those of the longer side"


def _nothing_fits(head: list[tuple[str, int, Row | BadLine]], file: Path, task: str | None) -> PapertrainError:
    """Names the first row and what it has, so that a person sees what we saw."""
    for name, line, row in head:
        if isinstance(row, BadLine):
            return PapertrainError(f"no row can be read: {row.says}", code="no-examples", file=name, line=line)
        if layout_of(row, task) is None:
            keys = ", ".join(str(k)[:20] for k in list(row)[:8]) or "nothing"
            return PapertrainError(
                f"no row fits a known format; this one has {keys}",
                code="unknown-format",
                file=name,
                line=line,
                ask=[
                    "alpaca (instruction, output), sharegpt (conversations), messages, prompt and completion, chosen and rejected, text, or text and label"
                ],
            )
    return PapertrainError("has no rows", code="empty-file", file=file)


def _digest(files: tuple[Path, ...]) -> str:
    """The file's own sha256; of several files, that of their digests in order."""
    digests = []
    for file in files:
        with file.open("rb") as f:
            digests.append(hashlib.file_digest(f, "sha256").hexdigest())
    return digests[0] if len(digests) == 1 else hashlib.sha256("\n".join(digests).encode()).hexdigest()


def show_lengths(lengths: LengthProfile | None) -> str:
    """`p50 212, p90 801, p99 2,004, longest 9,120`."""
    if lengths is None:
        return "unknown"
    return f"p50 {lengths.p50:,}, p90 {lengths.p90:,}, p99 {lengths.p99:,}, longest {lengths.longest:,}"
