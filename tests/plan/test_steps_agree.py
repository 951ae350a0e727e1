"""One count of the steps: the reason of the batch, the steps themselves and the trainer's own arithmetic say the same."""

from __future__ import annotations

import math
import re

import pytest

from papertrain.plan.steps_batch import global_batch_size, steps_of, total_steps


@pytest.mark.parametrize("sequences", [57, 107, 179, 900, 4_500, 41_107])
@pytest.mark.parametrize("epochs", [1.0, 2.5, 3.0, 10.0])
@pytest.mark.parametrize(("task", "method"), [("classification", "full"), ("sft", "lora")])
def test_the_reason_of_the_batch_names_the_steps_of_the_plan(
    sequences: int, epochs: float, task: str, method: str
) -> None:
    batch = global_batch_size(task, method, sequences, epochs, 1)
    said = re.search(r"(?:leave|keep) ([\d,]+) steps", batch.why)
    assert said is not None
    assert int(said[1].replace(",", "")) == total_steps(sequences, batch.value, epochs).value


def test_steps_are_counted_as_transformers_counts_them() -> None:
    for sequences, batch, epochs in ((100, 32, 2.5), (7, 2, 1.5), (1000, 16, 3.0), (5, 8, 0.3)):
        assert steps_of(sequences, batch, epochs) == max(1, math.ceil(epochs * math.ceil(sequences / batch)))
