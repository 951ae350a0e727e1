"""Tokens of texts: exact with the model's own tokenizer.json, else an interval from the characters, and why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from papertrain.core.models import ModelSpec
from papertrain.data.labels import apart, trained_tokens
from papertrain.data.render import Segment
from papertrain.data.spans import rates, span

_TOKENIZER_LIMIT_BYTES = 200_000_000


class Count(NamedTuple):
    """Tokens of one example: all, and those that are trained; low and high differ where they are not counted exactly."""

    low: int
    high: int
    trained_low: int
    trained_high: int


class TokenCounter:
    """Counts what a renderer produced. `exact` says which of the two ways."""

    def __init__(self, model: ModelSpec | None, *, apart: bool = False) -> None:
        self.apart = apart  # every segment is tokenised on its own
        self.name, self.why = "", "no model is given"
        self._tokenizer: Any = None
        self._added = 0
        self._rates = rates(None if model is None else model.vocab)
        if model is not None:
            self._load(model)

    @property
    def exact(self) -> bool:
        return self._tokenizer is not None

    def _load(self, model: ModelSpec) -> None:
        if model.local_path is None:
            self.why = f"the tokenizer of {model.name} is not on this machine"
            return
        file = Path(model.local_path) / "tokenizer.json"
        if not file.is_file():
            self.why = f"{file.name} is not in the model's folder"
            return
        if file.stat().st_size > _TOKENIZER_LIMIT_BYTES:
            self.why = f"{file.name} is larger than a tokenizer can be"
            return
        from tokenizers import Tokenizer

        try:
            loaded = Tokenizer.from_file(str(file))
        except Exception as e:  # the library raises its own kinds, and for a hostile file a panic
            self.why = f"{file.name} cannot be read: {type(e).__name__}"
            return
        loaded.no_padding()
        loaded.no_truncation()
        self._tokenizer, self.name, self.why = loaded, f"{model.name}/{file.name}", ""
        self._added = loaded.num_special_tokens_to_add(False)

    def count(self, examples: Sequence[tuple[list[Segment], bool]]) -> list[Count]:
        """For each (segments, whether the tokenizer puts its own special tokens around it)."""
        return (
            self._exactly(examples)
            if self.exact
            else [self._roughly(segments, special) for segments, special in examples]
        )

    def _exactly(self, examples: Sequence[tuple[list[Segment], bool]]) -> list[Count]:
        if self.apart:
            each = apart(self._tokenizer, [segments for segments, _ in examples])
            around = [self._added if special else 0 for _, special in examples]
            return [Count(len(x.ids) + n, len(x.ids) + n, x.trained, x.trained) for x, n in zip(each, around)]
        texts = ["".join(s.text for s in segments) for segments, _ in examples]
        mixed = [any(s.trained for s in segments) and not all(s.trained for s in segments) for segments, _ in examples]
        batch = self._tokenizer.encode_batch if any(mixed) else self._tokenizer.encode_batch_fast
        found = []
        for coded, (segments, special), several in zip(batch(texts, add_special_tokens=False), examples, mixed):
            total = len(coded)
            if several:
                trained = trained_tokens(coded, segments)
            else:
                trained = total if segments and segments[0].trained else 0
            total += self._added if special else 0
            found.append(Count(total, total, trained, trained))
        return found

    def _roughly(self, segments: Sequence[Segment], bare: bool) -> Count:
        low = high = trained_low = trained_high = 0.0
        for text, trained, *_ in segments:
            few, many = span(text, self._rates)
            low, high = low + few, high + many
            if trained:
                trained_low, trained_high = trained_low + few + 1, trained_high + many + 2
        if len(segments) == 1:  # plain text: nothing is put around it but an end token
            few, many = max(1, round(low)) + 1, max(1, round(high)) + 2
            return Count(few, many, few, many) if segments[0].trained else Count(few, many, 0, 0)
        # A chat template that is not here adds a few tokens to each turn; how many, only the template knows.
        turns = len(segments) if bare else 0
        return Count(
            max(1, round(low)) + 2 * turns, max(1, round(high)) + 6 * turns, round(trained_low), round(trained_high)
        )
