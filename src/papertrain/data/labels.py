"""Token ids and labels of an example, as the framework's collator gets them: -100 where no loss is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from papertrain.data.render import Segment

MASKED = -100


class Labelled(NamedTuple):
    ids: list[int]
    labels: list[int]

    @property
    def trained(self) -> int:
        return len(self.labels) - self.labels.count(MASKED)


def apart(tokenizer: Any, examples: Sequence[Sequence[Segment]]) -> list[Labelled]:
    """Every segment tokenised on its own, as LLaMA-Factory does. tokenizer: of the tokenizers library."""
    texts = list(dict.fromkeys(s.text for segments in examples for s in segments))
    coded = dict(zip(texts, (c.ids for c in tokenizer.encode_batch_fast(texts, add_special_tokens=False))))
    found = []
    for segments in examples:
        ids: list[int] = []
        labels: list[int] = []
        for s in segments:
            one = tokenizer.token_to_id(s.text) if s.special else None
            new = coded[s.text] if one is None else [one]
            ids += new
            labels += new if s.trained else [MASKED] * len(new)
            if s.ends and new and tokenizer.token_to_id(s.ends) is not None:
                labels[-len(new)] = tokenizer.token_to_id(s.ends)
        found.append(Labelled(ids, labels))
    return found


def together(tokenizer: Any, segments: Sequence[Segment]) -> Labelled:
    """The text tokenised as one."""
    coded = tokenizer.encode("".join(s.text for s in segments), add_special_tokens=False)
    labels = [MASKED] * len(coded)
    for start, stop in _spans(coded, segments):
        labels[start:stop] = coded.ids[start:stop]
    return Labelled(list(coded.ids), labels)


def trained_tokens(coded: Any, segments: Sequence[Segment]) -> int:
    return sum(stop - start for start, stop in _spans(coded, segments))


def _spans(coded: Any, segments: Sequence[Segment]) -> Iterator[tuple[int, int]]:
    """The trained tokens, from the places that the tokenizer reports: a token belongs to the segment in which it begins."""
    end, total, at = sum(len(s.text) for s in segments), len(coded), 0
    for s in segments:
        if s.trained and s.text:
            yield _token_at(coded, at, end, total), _token_at(coded, at + len(s.text), end, total)
        at += len(s.text)


def _token_at(coded: Any, char: int, end: int, total: int) -> int:
    """The first token that begins at or after a character. Spaces may belong to no token."""
    for c in range(char, end):
        token = coded.char_to_token(c)
        if token is not None:
            return int(token) if coded.token_to_chars(token)[0] >= char else int(token) + 1
    return total
