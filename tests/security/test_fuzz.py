"""Five thousand changed inputs over all readers in every run of the tests; `make fuzz` takes 50,000 for each reader."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import fuzz
import pytest

from papertrain.core.errors import PapertrainError

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


@pytest.mark.parametrize("run", ["9", "a", " ", "_", "9.", "a ", "/", "a/", "[", "=", "a=", "1,"])
def test_a_long_run_of_one_sign_in_a_line_is_read_in_time_that_grows_with_it(tmp_path: Path, run: str) -> None:
    from papertrain import verbs

    lines = ["{'loss': 1.7, 'grad_norm': 8.5, 'learning_rate': 1e-07, 'epoch': 0.01}", "torch.OutOfMemoryError: CUDA{} out of memory. Tried to allocate{} 2.00 GiB. GPU 0 has", "step 3 loss{} 1.5", "{'loss':{}, 'lr': 1.0", "{'loss':{}x", "loss: {}x lr={}x"]  # fmt: skip
    seconds = []
    for n in (5_000, 40_000):
        (tmp_path / "train.log").write_text("\n".join(lines).replace("{}", run * (n // len(run))))
        began = time.process_time()
        for verb in ("diagnose", "watch", "check"):
            with contextlib.suppress(PapertrainError):
                verbs.load(verb)([tmp_path / "train.log"])
        seconds.append(time.process_time() - began)
    assert seconds[1] < 3 * fuzz.LIMIT or seconds[1] < 20 * seconds[0], seconds
