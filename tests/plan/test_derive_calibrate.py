"""What a run leaves behind moves the estimate, by a figure that is said."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from papertrain.plan.derive_calibrate import calibrate, observe

SMI = "timestamp, index, memory.used [MiB], utilization.gpu [%]\n2026/01/05 10:00:00.000, 0, 18211 MiB, 97 %\n2026/01/05 10:00:01.000, 0, 20345 MiB, 99 %\n"
OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.65 GiB of which 1.12 GiB is free. "
    "Process 1 has 22.52 GiB memory in use. Of the allocated memory 21.03 GiB is allocated by PyTorch, and 1.01 GiB is reserved by PyTorch but unallocated."
)


def test_nvidia_smi_gives_the_largest_reading() -> None:
    (o,) = observe("gpu.csv", SMI)
    assert (o.meter, o.value, o.at_least) == ("device", 20345 * 2**20, False)


def test_an_oom_message_gives_the_least_that_was_needed() -> None:
    (o,) = observe("train.log", OOM)
    assert o.meter == "allocated" and o.at_least and o.value == (2.00 + 21.03) * 2**30


def test_llama_factory_and_trainer_files_give_the_step_time() -> None:
    log = "\n".join(
        json.dumps({"current_steps": 10 * i, "total_steps": 100, "loss": 1.0, "elapsed_time": f"0:00:{5 + 20 * i:02d}"})
        for i in (1, 2)
    )
    (o,) = observe("trainer_log.jsonl", log)
    assert o.meter == "step_seconds" and o.value == 2.0
    state = {"global_step": 200, "log_history": [{"loss": 1.0, "step": 100}, {"train_runtime": 500.0, "step": 200}]}
    (o,) = observe("trainer_state.json", json.dumps(state))
    assert o.value == 2.5


def test_the_estimate_moves_by_measured_over_predicted() -> None:
    c = calibrate(observe("gpu.csv", SMI), {"device": 18e9, "allocated": 15e9, "step_seconds": 1.0})
    assert c.memory == 20345 * 2**20 / 18e9 and c.time == 1.0
    assert "gpu.csv: device moved by +19 %" in c.says[0]


def test_a_killed_run_only_raises_the_estimate() -> None:
    above = calibrate(observe("train.log", OOM), {"allocated": 40e9})
    below = calibrate(observe("train.log", OOM), {"allocated": 20e9})
    assert above.memory == 1.0 and below.memory > 1.2


def test_a_run_far_from_the_estimate_is_not_used() -> None:
    c = calibrate(observe("gpu.csv", SMI), {"device": 1e9})
    assert c.memory == 1.0 and "not used" in c.says[0]


@given(st.text(max_size=400), st.sampled_from(["a.csv", "a.json", "a.jsonl", "a.log"]))
def test_any_text_is_survived(text: str, name: str) -> None:
    observe(name, text)
