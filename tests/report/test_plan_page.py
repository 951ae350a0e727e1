"""The page and the short answer of a plan: aligned, within 100 columns, every number from a value."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "plan"))

from plan_questions import data, plan

from papertrain.core.training import Alternative
from papertrain.report.plan import alternative_words, bar, markdown, memory_line, result_line, shown, table

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


def test_what_differs_from_the_framework_comes_first_and_the_users_own_before_it() -> None:
    p = plan(QWEN, "4x A100-80GB", dataset=data(), method="lora", sets=("seed=7",))
    names = [d.name for d in shown(p, {"seed": 42, "lora_rank": p.lora_rank.value if p.lora_rank else 0})]
    assert names[0] == "seed" and "lora_rank" not in names and "learning_rate" in names


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
    def words(seconds: float | None, effect: str = "execution") -> str:
        return alternative_words(
            Alternative(what="ZeRO-3", fits="yes", effect=effect, changes={"zero_stage": 3}, step_seconds=seconds), 1.0
        )  # type: ignore[arg-type]

    assert (
        "2x slower" in words(2.0)
        and "4x faster" in words(0.25)
        and "10 % faster" in words(0.9)
        and "as fast" in words(1.0)
    )
    assert "changes the experiment" in words(None, "experiment")
