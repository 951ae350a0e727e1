"""Counting in constant memory: lengths, duplicates, and what packing would give."""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort

from papertrain.core.models import LengthProfile

_EXACT_UP_TO = 65_536


class Lengths:
    """A histogram of lengths: exact up to 65,536 tokens, in steps of 1,024 above."""

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self.examples = self.tokens = self.longest = 0

    def add(self, length: int) -> None:
        kept = length if length <= _EXACT_UP_TO else -(-length // 1024) * 1024
        self.counts[kept] = self.counts.get(kept, 0) + 1
        self.examples += 1
        self.tokens += length
        self.longest = max(self.longest, length)

    def over(self, cutoff: int) -> int:
        return sum(n for length, n in self.counts.items() if length > cutoff)

    def profile(self) -> LengthProfile | None:
        """Percentiles by the nearest-rank rule: the smallest length that so many examples do not exceed."""
        if not self.examples:
            return None
        wanted = {q: -(-self.examples * q // 100) for q in (50, 90, 95, 99)}
        found: dict[int, int] = {}
        seen = 0
        for length in sorted(self.counts):
            seen += self.counts[length]
            for q, rank in wanted.items():
                if q not in found and seen >= rank:
                    found[q] = min(length, self.longest)
        return LengthProfile(
            mean=self.tokens / self.examples,
            p50=found[50],
            p90=found[90],
            p95=found[95],
            p99=found[99],
            longest=self.longest,
        )

    def packed(self, cutoff: int) -> int:
        """Sequences of `cutoff` tokens that hold all examples, each cut at `cutoff` and put into the tightest gap."""
        gaps: dict[int, int] = {}
        order: list[int] = []  # gaps that some sequence has, sorted
        sequences = 0
        for length in sorted(self.counts, reverse=True):
            size, left = max(1, min(length, cutoff)), self.counts[length]
            while left:
                at = bisect_left(order, size)
                if at < len(order):
                    gap = order[at]
                    moved = min(left, gaps[gap])
                    gaps[gap] -= moved
                    if not gaps[gap]:
                        del gaps[gap], order[at]
                    rest = gap - size
                else:
                    # As many to a new sequence as fit: the same as one at a time.
                    fit = cutoff // size
                    moved = left if left < fit else left // fit * fit
                    new = -(-moved // fit)
                    sequences += new
                    rest, extra = cutoff - fit * size, moved % fit
                    if extra:
                        _put(gaps, order, cutoff - extra * size, 1)
                        new -= 1
                    _put(gaps, order, rest, new)
                    left -= moved
                    continue
                _put(gaps, order, rest, moved)
                left -= moved
        return sequences


def _put(gaps: dict[int, int], order: list[int], gap: int, n: int) -> None:
    if gap <= 0 or n <= 0:
        return
    if gap not in gaps:
        insort(order, gap)
    gaps[gap] = gaps.get(gap, 0) + n


class Duplicates:
    """Examples that were seen before, by 8-byte digests: 8 bytes each, and at most 12 million of them.

    Beyond that only digests whose last bits are zero are kept, half of them each time, and the count is scaled up.
    """

    LIMIT = 12_000_000
    _PARTS = 256

    def __init__(self) -> None:
        self._kept = [array("Q") for _ in range(self._PARTS)]
        self.total, self.thinned = 0, 0

    def add(self, content: object) -> None:
        digest = hash(content) & 0xFFFF_FFFF_FFFF_FFFF
        if digest & ((1 << self.thinned) - 1):
            return
        self._kept[digest >> 56].append(digest)
        self.total += 1
        if self.total > self.LIMIT:
            self._thin()

    def _thin(self) -> None:
        self.thinned += 1
        mask = (1 << self.thinned) - 1
        for i, part in enumerate(self._kept):
            self._kept[i] = array("Q", (d for d in part if not d & mask))
        self.total = sum(map(len, self._kept))

    @property
    def count(self) -> int:
        return sum(len(part) - len(set(part)) for part in self._kept) << self.thinned
