"""The report: one file that needs nothing, shows what the verbs say, and lets no file's content become markup."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from papertrain import verbs
from papertrain.core.texts import language
from papertrain.report.html_curves import Mark, curve, thin, ticks
from papertrain.report.html_findings import diff

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("report") / "work"
    verbs.load("plan")("Qwen/Qwen2.5-7B-Instruct", gpu="4x A100-80GB", method="lora", output=root)
    (root / "study.toml").write_text(
        '[study]\nours = "ours"\nbaselines = ["base"]\nseeds = [1]\n[methods.ours]\nlabel = "Ours <b>"\n[methods.base]\n[datasets.data]\n'
    )
    for name, right in (("ours", 90), ("base", 60)):
        run = root / "runs" / f"{name}.data.1"
        run.mkdir(parents=True)
        rows = [{"step": i, "loss": 2 - i / 200 if i < 150 else 3 + i / 50, "learning_rate": 1e-4} for i in range(1, 301)]  # fmt: skip
        (run / "train_log.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
        (run / "record.json").write_text('{"exit_code": 0}')
        (run / "predictions.csv").write_text(
            "id,label,prediction\n" + "".join(f"{i},1,{int(i < right)}\n" for i in range(100))
        )
    debug = root / "runs" / "ours.data.1" / "debug"
    debug.mkdir()
    stored = {"id": "D1", "class": "oom-activations", "title": EVIL, "cause": "too long", "confidence": 0.8, "branch": "crash",
              "evidence": [{"file": "/somewhere/else/runs/ours.data.1/train.log", "line": 7, "text": EVIL}], "ruled_out": [{"class": "oom-eval", "because": "it trained"}],
              "next_check": "look", "fixes": [{"id": "D1.F1", "title": "smaller batch", "effect": "execution", "patch": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-batch: 8\n+batch: 4\n", "proof": "one step"}]}  # fmt: skip
    (debug / "1.json").write_text(json.dumps({"diagnoses": [stored]}))
    verbs.load("compare")([root])
    return root


@pytest.fixture(scope="module")
def html(work: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("out") / "r.html"
    verbs.load("report")(work, output=file)
    return file.read_text("utf-8")


def test_it_is_one_document_that_loads_nothing_and_runs_nothing(html: str) -> None:
    open_tags: list[str] = []
    void = {"meta", "link", "br", "img", "input", "path", "rect", "circle", "polyline"}

    class Look(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            assert tag not in ("script", "iframe", "object"), tag
            for k, v in attrs:
                assert not k.startswith("on") and k != "style"
                if k in ("src", "href", "xlink:href"):
                    assert str(v).startswith(("#", "data:")), v
            if tag not in void:
                open_tags.append(tag)

        def handle_endtag(self, tag: str) -> None:
            if tag not in void:
                assert open_tags.pop() == tag

    Look().feed(html)
    assert not open_tags and html.startswith("<!doctype html>") and "@import" not in html and "url(" not in html


def test_content_of_files_never_becomes_markup(html: str) -> None:
    assert EVIL not in html and "&lt;script&gt;alert(1)" in html and "Ours <b>" not in html and "Ours &lt;b&gt;" in html


def test_each_decision_stands_with_its_reason_and_what_contests_it(work: Path, html: str) -> None:
    from html import escape

    plan = json.loads((work / "plans" / "ours" / "plan.json").read_text())
    decisions = [d for d in plan.values() if isinstance(d, dict) and "why" in d]
    assert len(decisions) > 20 and any(d["contested_by"] for d in decisions)
    for d in decisions:
        assert escape(d["why"]) in html, d["name"]
        for c in d["contested_by"]:
            assert escape(c["says"]) in html


def test_the_memory_bar_adds_up_to_the_card(work: Path, html: str) -> None:
    memory = json.loads((work / "plans" / "ours" / "plan.json").read_text())["memory"]
    bar = re.search(r'<figure class="memory">(.*?)</figure>', html, re.S)
    assert bar
    widths = [float(w) for w in re.findall(r'<rect x="[\d.]+" y="16" width="([\d.]+)"', bar[1])]
    whole = 1.04 * max(memory["capacity_bytes"], memory["device_bytes"]["high"])
    assert sum(widths) == pytest.approx(1000 * memory["device_bytes"]["value"] / whole, abs=2)


def test_levels_are_marked_where_they_set_in(work: Path, html: str) -> None:
    watched = verbs.load("watch")([work / "runs" / "ours.data.1"])
    since = next(s["since_step"] for s in watched.data["signals"] if s["level"] == "critical")
    assert f"critical · {since}" in html


def test_cards_are_drawn_beside_the_loss(tmp_path: Path) -> None:
    from papertrain.verbs.page.parts import curve_parts

    head = "timestamp, index, utilization.gpu [%], memory.used [MiB], memory.total [MiB]\n"
    rows = [f"2026/01/02 10:{i // 4:02d}:{15 * (i % 4):02d}.000, {g}, {90 - g} %, 40000 MiB, 81920 MiB\n" for i in range(20) for g in (0, 1)]  # fmt: skip
    (tmp_path / "gpu.csv").write_text(head + "".join(rows))
    (tmp_path / "train_log.jsonl").write_text("".join(json.dumps({"step": i, "loss": 2 - i / 100}) + "\n" for i in range(1, 50)))  # fmt: skip
    drawn = "".join(curve_parts(tmp_path, []))
    assert "<figcaption>loss</figcaption>" in drawn and "<figcaption>gpu_utilization</figcaption>" in drawn and drawn.count("utilization.gpu/") == 2  # fmt: skip


def test_a_diagnosis_stands_with_its_diff_and_without_the_place_it_was_made_in(html: str) -> None:
    assert '<span class="del">-batch: 8</span>' in html and '<span class="add">+batch: 4</span>' in html
    assert "runs/ours.data.1/train.log:7" in html and "/somewhere/else" not in html


def test_every_cell_leads_to_evidence_on_the_page_and_the_best_is_bold(work: Path, html: str) -> None:
    table = re.search(r'<table class="results">(.*?)</table>', html, re.S)
    assert table
    links = re.findall(r'href="#(E\d+)"', table[1])
    assert links and all(f'<tr id="{e}">' in html for e in links)
    known = {json.loads(line)["id"]: json.loads(line) for line in (work / "evidence.jsonl").read_text().splitlines()}
    bold = re.search(r'href="#(E\d+)"[^>]*><b>([\d.]+)</b>', table[1])
    assert bold and known[bold[1]]["value"] == pytest.approx(float(bold[2]) / 100, abs=0.0006)


def test_it_is_there_in_chinese(work: Path) -> None:
    token = language.set("zh")
    try:
        text = verbs.load("report")(work).data["html"]
    finally:
        language.reset(token)
    assert '<html lang="zh-Hans">' in text and "完成条件" in text and "证据" in text


def test_the_same_workspace_gives_the_same_file(work: Path) -> None:
    first, second = (verbs.load("report")(work).data["html"] for _ in range(2))
    assert first == second


def test_a_broken_plan_or_log_is_a_line_on_the_page_not_the_end(tmp_path: Path) -> None:
    for name in ("good", "bad"):
        verbs.load("plan")("Qwen/Qwen2.5-0.5B", gpu="1x 4090", method="lora", name=name, output=tmp_path)
    run = tmp_path / "runs" / "good.data.42"
    (run / "debug").mkdir(parents=True)
    (run / "train.log").write_bytes(b"\x00\xff\x00 binary")
    (run / "debug" / "1.json").write_text("[1, {")
    (tmp_path / "evidence.jsonl").write_text('{"torn')
    html = verbs.load("report")(tmp_path).data["html"]
    assert html.count("<section") >= 4


def test_thinning_keeps_first_lowest_highest_and_last() -> None:
    ys = [float(i % 7) for i in range(50_000)]
    ys[31_234], ys[777] = 1e6, -1e6
    found = thin(range(50_000), ys)
    assert len(found) <= 2000 and (31_234, 1e6) in found and (777, -1e6) in found and found[0][0] == 0 and found[-1][0] == 49_999  # fmt: skip


@pytest.mark.parametrize("low, high", [(0, 1), (-3.2, 7.9), (1e-9, 3e-9), (5, 5), (0, 120_000)])
def test_ticks_are_round_numbers_inside(low: float, high: float) -> None:
    found = ticks(low, high, 4)
    assert 1 <= len(found) <= 7 and all(low - 1e-12 <= t <= high + 1e-12 for t in found)


def test_a_curve_says_itself_to_those_who_do_not_see_it() -> None:
    drawn = curve("loss", [("train", [1, 2, 3], [3.0, float("nan"), 1.0])], [Mark(step=2, level="critical", says="it broke")])  # fmt: skip
    label = re.search(r'aria-label="([^"]+)"', drawn)
    assert label and "critical" in label[1] and "it broke" in label[1] and 'class="odd"' in drawn


def test_a_diff_stays_a_diff_that_can_be_copied() -> None:
    patch = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same <&>\n-old\n+new\n"
    from html import unescape

    lines = [unescape(t) for t in re.findall(r"<span[^>]*>(.*?)</span>", diff(patch))]
    assert "\n".join(lines) + "\n" == patch
