"""The classes of a classification set: how often each stands there, and which of them may be slips of the pen."""

from __future__ import annotations

from collections import Counter

from papertrain.core.models import OddLabel

MOST = 1000
SHOWN = 20


class Classes:
    """Labels with their counts and the place where each was first seen."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.first: dict[str, tuple[str, int]] = {}

    @property
    def too_many(self) -> bool:
        return len(self.counts) >= MOST

    def add(self, label: str, file: str, line: int) -> None:
        if label not in self.counts:
            if self.too_many:
                return
            self.first[label] = (file, line)
        self.counts[label] += 1

    def odd(self) -> tuple[OddLabel, ...]:
        """Labels that differ from a more frequent one by case or blanks only; then those of a single row, where others
        have more than one."""
        usual: dict[str, str] = {}
        alike: dict[str, str] = {}
        for label, _ in self.counts.most_common():
            same = usual.setdefault(" ".join(label.split()).casefold(), label)
            if same != label:
                alike[label] = same
        once = [name for name, n in self.counts.items() if n == 1 and name not in alike]
        if len(once) == len(self.counts) or self.too_many:  # a handful of rows, or no label at all
            once = []
        return tuple(self._odd(label, alike.get(label, "")) for label in [*alike, *once][:SHOWN])

    def _odd(self, label: str, like: str) -> OddLabel:
        file, line = self.first[label]
        return OddLabel(label=label, rows=self.counts[label], file=file, line=line, like=like)
