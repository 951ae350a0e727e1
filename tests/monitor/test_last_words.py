"""A log that ends in an exception is an alarm, whatever its curve looks like."""

from __future__ import annotations

from pathlib import Path

import pytest

from papertrain.monitor.rules.last_words import last_words
from papertrain.verbs.watch import watch

ROWS = "".join(f"{{'loss': {2 - i / 50:.2f}, 'grad_norm': 1.0, 'learning_rate': 1e-05, 'epoch': {i / 100}}}\n" for i in range(1, 31))  # fmt: skip
TRACE = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    loss.backward()\n'


@pytest.mark.parametrize(
    ("end", "level", "word", "line"),
    [
        (TRACE + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n", "critical", "OutOfMemoryError", 34),
        (TRACE.replace("Trace", "[rank0]: Trace") + "[rank0]: RuntimeError: CUDA error: an illegal memory access\n", "critical", "RuntimeError", 34),
        ("run.sh: line 3: 12345 Killed                  python train.py\n", "critical", "Killed", 31),
        (" 15%|█▌        | 3/20 [00:09<00:21,  1.54s/it]" + TRACE + "torch.OutOfMemoryError: CUDA out of memory.\n", "critical", "OutOfMemoryError", 34),
        (" 15%|█▌        | 3/20 [00:09<00:21,  1.54s/it]\r" + TRACE + "ValueError: x\n", "critical", "ValueError", 34),
        ("Segmentation fault (core dumped)\n", "critical", "Segmentation fault", 31),
        (TRACE + "KeyboardInterrupt\n", "warning", "KeyboardInterrupt", 34),
        (TRACE + "ValueError: x\n\nDuring handling of the above exception, another exception occurred:\n\n" + TRACE + "RuntimeError: y\n", "critical", "ValueError", 34),
    ],
)  # fmt: skip
def test_the_end_is_seen_with_its_line(tmp_path: Path, end: str, level: str, word: str, line: int) -> None:
    log = tmp_path / "train.log"
    log.write_text(ROWS + end)
    answer = watch([log])
    (found,) = [s for s in answer.data["signals"] if s["rule"] == "TR140"]
    assert found["level"] == level and word in found["says"] and found["evidence"][0]["line"] == line
    assert answer.action is not None and (level == "warning" or answer.action.startswith("papertrain diagnose"))


@pytest.mark.parametrize(
    "text",
    [
        ROWS,
        ROWS + TRACE + "ValueError: a bad row, skipped\n" + ROWS,
        ROWS + "WARNING: ConnectionError: retrying in 5 s\n",
        ROWS + "Error: the name of a column\n",
        ROWS + "{'train_runtime': 12.0, 'train_loss': 1.2, 'epoch': 1.0}\n" + TRACE + "RuntimeError: while the process ended\n",
    ],
)  # fmt: skip
def test_what_was_lived_through_is_no_end(tmp_path: Path, text: str) -> None:
    log = tmp_path / "train.log"
    log.write_text(text)
    assert not [s for s in watch([log]).data["signals"] if s["rule"] == "TR140"]


def test_a_binary_or_missing_file_has_no_last_words(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"Traceback (most recent call last)\n\0ValueError: x\n")
    assert last_words(tmp_path / "b") is None and last_words(tmp_path / "none") is None


def test_the_tail_is_read_again_only_where_the_file_has_changed(tmp_path):
    """A hundred runs that are looked at once a second would be read a hundred times a second."""
    from papertrain.monitor.rules import last_words as module

    log = tmp_path / "train.log"
    log.write_text(ROWS)
    module._words.cache_clear()
    assert last_words(log) is None and last_words(log) is None
    assert module._words.cache_info().misses == 1
    log.write_text(ROWS + TRACE + "ValueError: bad\n")
    assert last_words(log) == (34, "ValueError", "ValueError: bad")
    log.unlink()
    assert last_words(log) is None


@pytest.mark.parametrize(
    ("end", "cls"),
    [
        (TRACE + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n", None),
        (TRACE.replace("loss.backward()", "self.evaluate()") + "torch.cuda.OutOfMemoryError: CUDA out of memory.\n", None),
        (TRACE + "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n", None),
        ("run.sh: line 3: 12345 Killed                  python train.py\n", "host-ram-oom-killer"),
        (TRACE + "KeyboardInterrupt\n", "interrupted-by-user"),
    ],
)  # fmt: skip
def test_a_class_is_named_only_where_the_word_alone_says_it(tmp_path: Path, end: str, cls: str | None) -> None:
    """Memory ran out in training, in evaluation or on the host: the exception alone does not say in which."""
    log = tmp_path / "train.log"
    log.write_text(ROWS + end)
    answer = watch([log])
    (found,) = [s for s in answer.data["signals"] if s["rule"] == "TR140"]
    assert found["class"] == cls and ("looks at" in answer.explanation) == (cls is not None)
    assert cls == "interrupted-by-user" or answer.action == f"papertrain diagnose {log}"
