"""The page and the short answer of a plan: aligned, within 100 columns, every number from a value."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from msgspec import structs

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "plan"))

from plan_questions import data, plan

from papertrain.core.training import Alternative
from papertrain.report.plan import alternative_words, bar, data_line, markdown, memory_line, result_line, shown, table

QWEN = "Qwen/Qwen2.5-7B-Instruct"


def test_the_result_is_one_line_with_ranges() -> None:
    text = result_line(plan(QWEN, "4x A100-80GB", dataset=data(), method="lora"))
    assert text.startswith("It fits: ") and "\n" not in text and text.count("(") == 2 and "GPU-hours" in text


def test_the_table_stays_within_a_hundred_columns_and_loses_no_word() -> None:
    p = plan(QWEN, "4x A100-80GB", dataset=data(), method="lora")
    lines = table(p, list(p.decisions()))
    assert max(map(len, lines)) <= 100
    words = " ".join(" ".join(lines).split())
    for d in p.decisions():
        assert " ".join(d.why.split()[:3]) in words


def test_what_a_run_is_made_of_is_always_shown_and_the_users_own_before_it() -> None:
    p = plan(QWEN, "4x A100-80GB", dataset=data(), method="lora", sets=("seed=7",))
    names = [d.name for d in shown(p, {**p.values(), "seed": 42})]
    assert names[0] == "seed" and "weight_decay" not in names, "a framework's own default of little weight is not told"
    assert {"method", "precision", "micro_batch_size", "gradient_accumulation_steps", "global_batch_size", "learning_rate", "epochs", "total_steps",
            "lora_rank", "lora_targets", "optimizer", "gradient_checkpointing", "zero_stage", "sequence_length", "template"} <= set(names)  # fmt: skip


def test_the_parts_that_are_shown_add_up_to_the_total_that_is_shown() -> None:
    for card in ("4x A100-80GB", "1x 4090", "8x H100"):
        m = plan(QWEN, card, dataset=data(), method="lora").memory
        assert m is not None and m.device_bytes.value is not None
        parts = [float(x) for x in re.findall(r"\d+\.\d", memory_line(m))]
        assert sum(parts) == pytest.approx(float(f"{m.device_bytes.value / 2**30:.1f}"), abs=0.01)


def test_what_would_make_it_fit_fits_and_what_does_not_fit_says_so() -> None:
    p = plan("meta-llama/Llama-3.1-8B-Instruct", "1x 4090", dataset=data(), method="lora", seq_len=8192)
    assert p.fits == "no" and p.alternatives and all(a.fits != "no" for a in p.alternatives)
    shorter = [a for a in p.alternatives if "sequence_length" in a.changes]
    assert shorter and all(a.effect == "experiment" for a in shorter)
    assert p.micro_batch_size.why.endswith("not even the smallest fits")


def test_tight_with_the_middle_over_the_card_says_so() -> None:
    p = plan(QWEN, "1x 4090", dataset=data(), method="lora")
    assert p.memory is not None and p.memory.device_bytes.value is not None
    small = structs.replace(p.memory, capacity_bytes=int(p.memory.device_bytes.value * 0.97))
    assert "over the card in the middle" in result_line(structs.replace(p, fits="tight", memory=small))
    assert "over the card" not in result_line(structs.replace(p, fits="tight"))


def test_token_counts_that_are_an_interval_are_printed_as_one() -> None:
    known = data()
    text = data_line(
        plan(
            QWEN,
            "1x 4090",
            dataset=structs.replace(known, exact=False, tokens=600_000, tokens_low=520_000, tokens_high=720_000),
        )
    )
    assert "≈ 520,000 to 720,000 tokens" in text and "600,000" not in text


def test_the_page_holds_every_decision_and_escapes_its_cells() -> None:
    p = plan(QWEN, "4x A100-80GB", dataset=data(path="a|b.jsonl"), method="lora")
    page = markdown(p, state="unconfirmed")
    rows = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    assert {d.name for d in p.decisions()} <= {r.split(" | ")[0].removeprefix("| ") for r in rows}
    assert "**unconfirmed**" in page and "confirm it" in page
    assert "confirm it" not in markdown(p, state="confirmed at 2026-01-05")


def test_blocks_grow_with_bytes() -> None:
    assert [bar(x) for x in (1e8, 2e9, 14e9)] == ["▏", "▇", "▇" * 7]
    m = plan(QWEN, "4x A100-80GB", method="lora").memory
    assert m is not None and "weights 14." in memory_line(m)


def test_an_alternative_says_its_price() -> None:
    def words(ratio: float | None, effect: str = "execution") -> str:
        return alternative_words(
            Alternative(what="ZeRO-3", fits="yes", effect=effect, changes={"zero_stage": 3}, relative_time=ratio)
        )  # type: ignore[arg-type]

    assert (
        "2x slower" in words(2.0)
        and "4x faster" in words(0.25)
        and "10 % faster" in words(0.9)
        and "as fast" in words(1.0)
    )
    assert "changes the experiment" in words(None, "experiment")
