"""What a plan says of itself: the limit beside the need, one figure for one configuration, and no cards on a processor."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "configs"))
from plans import make_job

from papertrain.configs.monitoring import guide
from papertrain.core.training import TrainingPlan
from papertrain.facts.hardware import parse_compute
from papertrain.facts.models import find_model
from papertrain.plan.derive import LEARNED, derive
from papertrain.plan.derive_question import Question
from papertrain.report.plan import markdown

LLAMA = find_model("meta-llama/Llama-3.1-8B-Instruct")
GIB = r"([\d.]+) GiB"


def plan(gpu: str, **more: Any) -> TrainingPlan:
    return derive(Question(model=LLAMA, compute=parse_compute(gpu, host_ram=64_000_000_000), task="sft", **more))


CASES = [("1x RTX 4090", "full", 2048), ("1x RTX 4090", "lora", 2048), ("1x A100-40GB", "lora", 4096), ("2x RTX 4090", "qlora", 8192), ("8x A100-80GB", "full", 2048)]  # fmt: skip


@pytest.mark.parametrize(("gpu", "method", "length"), CASES)
def test_another_way_has_the_figures_that_its_own_plan_has(gpu: str, method: str, length: int) -> None:
    p = plan(gpu, method=method, seq_len=length)
    compared = 0
    for a in p.alternatives:
        if "gpus" in a.changes or not any(k in a.changes for k in LEARNED):
            continue
        sets = {k: v for k, v in a.changes.items() if k in ("precision", "optimizer")}
        own = plan(
            gpu, method=a.changes.get("method", method), seq_len=a.changes.get("sequence_length", length), sets=sets
        )
        if own.fits == a.fits:
            assert own.memory is not None and a.device_bytes == own.memory.device_bytes.value, a.what
            compared += 1
    assert compared


@pytest.mark.parametrize(("gpu", "method", "length"), CASES)
def test_a_need_stands_beside_the_limit_that_it_passes(gpu: str, method: str, length: int) -> None:
    p = plan(gpu, method=method, seq_len=length)
    why = p.gradient_checkpointing.why
    if p.gradient_checkpointing.value == "full" and " needs " in why:
        assert re.search(rf"needs {GIB} of {GIB}", why), why
    micro = p.micro_batch_size.why
    assert "whole share of one device" not in micro
    if p.fits == "no" and p.micro_batch_size.value == 1:
        assert "would need" not in micro and ("not even" in micro or "share" in micro)


def test_a_processor_is_told_nothing_of_cards() -> None:
    p = derive(Question(model=find_model("Qwen/Qwen2.5-0.5B-Instruct"), compute=parse_compute("cpu"), task="sft"))
    assert p.precision.value == "fp32" and "bf16" not in p.precision.source.ref and p.precision.source.kind == "assumed"
    page = markdown(p, state="unconfirmed")
    assert "nvidia" not in page.lower() and "GPU-hours" not in page
    assert "profile" not in page.partition("Nearest measured runs: ")[2].partition("\n")[0]
    told = guide([make_job(card="cpu", cards=1)])
    assert "nvidia" not in told and "GPU" not in told and "collective" not in told
    assert "GPU utilisation" in guide([make_job()]) and "GPU" in guide([make_job(card="cpu", cards=1), make_job()])


def test_the_rate_has_its_peak_after_the_warm_up() -> None:
    assert re.search(r"0 at the start, 2\.0e-4 after 193 steps", guide([make_job()]))


def test_one_epoch_is_one() -> None:
    assert " in 1 epoch," in guide([make_job(epochs=1.0)])


def test_the_cap_of_the_validation_share_is_the_one_that_is_cited() -> None:
    from papertrain.facts.laws import law

    table, source = law("schedule").get("validation"), law("schedule").source("validation")
    assert str(table["most"]) in source.ref and str(table["classification_most"]) in source.ref
