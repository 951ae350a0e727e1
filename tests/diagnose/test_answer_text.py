"""The text of a diagnosis: a cut line closes its bracket, and the first cause's fix stands with the first cause."""

from __future__ import annotations

from pathlib import Path

from papertrain.diagnose.answer import _fit
from papertrain.verbs.diagnose import diagnose

LOG = """Traceback (most recent call last):
  File "train.py", line 60, in <module>
    loss.backward()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.60 GiB. GPU 0 has a total capacity of 23.64 GiB of which 1.10 GiB is free.
"""


def test_a_cut_line_closes_what_it_opened() -> None:
    assert _fit("oom (only 812.1 MiB are reserved but unused)", 30) == "oom (only 812.1 MiB are reser…)"[:28] + "…)"
    assert _fit("{'loss': nan, 'grad_norm': nan}", 20) == "{'loss': nan, 'gra…}"
    assert _fit("a (b) and much more of it", 12) == "a (b) and m…"
    assert _fit("short (one)", 20) == "short (one)"
    assert all(len(_fit("x (" + "y" * 99, n)) == n for n in range(6, 60))


def test_the_first_causes_fix_stands_before_the_second_cause(tmp_path: Path) -> None:
    log, config = tmp_path / "train.log", tmp_path / "sft.yaml"
    log.write_text(LOG)
    config.write_text("stage: sft\ndo_train: true\nper_device_train_batch_size: 8\ngradient_accumulation_steps: 1\n")
    told = diagnose([log], config=[config])
    assert "D1.F1" in told.body
    if "\nD2 " in told.body:
        assert told.body.index("D1.F1") < told.body.index("\nD2 ")
