"""Five thousand changed inputs over all readers in every run of the tests; `make fuzz` takes 50,000 for each reader."""

from __future__ import annotations

import fuzz

INPUTS = 5000


def test_changed_inputs_end_in_an_answer_or_a_clear_error() -> None:
    with fuzz.place() as folder:
        readers = fuzz.readers(folder)
        each = -(-INPUTS // len(readers))
        wrong = [
            f"{name}: {says}: {data[:80]!r}"
            for name, (samples, read) in readers.items()
            for data, says in fuzz.fuzz(name, samples, read, each, 0)
        ]
    print(f"\nfuzz: {each * len(readers):,} inputs over {len(readers)} readers, {len(wrong)} wrong")
    assert not wrong, "\n".join(wrong[:20])
