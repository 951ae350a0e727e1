"""Each page in real Chromium: its main path by keyboard, both themes, both languages, a narrow screen, axe-core."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from driver import Browser, browser

from papertrain import verbs

ROOT = Path(__file__).resolve().parents[2]
AXE = Path(os.environ.get("PAPERTRAIN_AXE", ROOT / ".envs" / "browser" / "node_modules" / "axe-core" / "axe.min.js"))
PICTURES = ROOT / ".cache" / "pictures"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(browser() is None, reason="no chromium and chromium-driver on this machine"),
]
PAGES = ("/", "/plan", "/w/0/plan", "/w/0/run", "/w/0/results", "/w/0/package", "/diagnose", "/verb/diagnose", "/report/0")  # fmt: skip


@pytest.fixture(scope="module")
def tab(served: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    b = Browser(tmp_path_factory.mktemp("profile"))
    b.open(served)
    yield b
    b.close()


@pytest.fixture(scope="module")
def root(served: str) -> str:
    return served.split("/?")[0]


@pytest.mark.parametrize("dark, width, lang", [(False, 1280, "en"), (True, 1280, "zh"), (True, 360, "en"), (False, 360, "zh"), (False, 3840, "en")])  # fmt: skip
def test_every_page_is_readable_by_everybody(tab: Browser, root: str, dark: bool, width: int, lang: str) -> None:
    tab.look(dark=dark, width=width)
    tab.errors()
    for path in PAGES:
        tab.open(f"{root}{path}?lang={lang}")
        if path == "/w/0/run":
            tab.wait("document.querySelectorAll('.uplot').length > 1")
        name = f"{path.strip('/').replace('/', '-') or 'home'}.{lang}.{'dark' if dark else 'light'}.{width}.png"
        tab.picture(PICTURES / name)
        wide = tab.run("return document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{path}: {wide} px wider than the screen"
        if AXE.is_file():
            assert not tab.axe(AXE.read_text("utf-8")), path
    assert not tab.errors()


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed (npm install --prefix .envs/browser axe-core)")
def test_axe_sees_what_is_wrong(tab: Browser, root: str) -> None:
    tab.open(f"{root}/plan")
    tab.run(
        "document.body.append(document.createElement('img')); document.querySelector('label').remove(); document.querySelector('input').removeAttribute('placeholder')"
    )
    assert any(f.startswith("image-alt") for f in tab.axe(AXE.read_text("utf-8")))


def test_a_knob_moved_by_keyboard_changes_the_plan(tab: Browser, root: str) -> None:
    tab.look(dark=False, width=1280)
    tab.open(f"{root}/w/0/plan?lang=en")
    before = tab.run("return document.querySelector('#plan').innerText")
    tab.run("document.getElementById('k-micro_batch_size').focus()")
    tab.keys("\ue014\ue014")  # arrow right, twice
    tab.wait("document.getElementById('said').textContent.includes('ms')")
    after = tab.run("return document.querySelector('#plan').innerText")
    chosen = tab.run("return document.getElementById('o-micro_batch_size').textContent")
    assert before != after and "set by the user" in after and chosen in after
    tab.run("document.getElementById('files').click()")
    assert "plan.json" in tab.wait("document.getElementById('bytes').innerText")


def test_a_run_is_followed_without_reloading(tab: Browser, root: str, lively: Path) -> None:
    tab.open(f"{root}/w/0/run?lang=en")
    tab.wait("document.querySelector('.uplot') && document.getElementById('log').textContent.includes('last line')")
    tab.run("window.stays = 'here'")
    with (lively / "runs" / "ours.data.42" / "train_log.jsonl").open("a") as f:
        for i in range(200, 240):
            f.write(json.dumps({"step": i, "total_steps": 400, "loss": 50.0 + i, "learning_rate": 1e-4}) + "\n")
    tab.wait("document.getElementById('state').textContent.includes('239')")
    assert "critical" in tab.run("return document.getElementById('state').innerHTML")
    assert tab.run("return window.stays") == "here", "the page was loaded again"
    tab.run("const s = document.getElementById('search'); s.value = 'needle'; s.dispatchEvent(new Event('input'))")
    assert tab.wait("document.getElementById('log').textContent.startsWith('3001: ') && document.getElementById('log').textContent").strip() == "3001: the needle"  # fmt: skip


def test_an_alarm_opens_its_line_and_the_diagnosis(tab: Browser, root: str) -> None:
    tab.open(f"{root}/w/0/run?lang=en")
    tab.wait("document.querySelector('#signals button.place')")
    wanted = tab.run("const b = document.querySelector('#signals button.place'); b.click(); return b.textContent")
    line = tab.wait("document.querySelector('#log mark') && document.querySelector('#log mark').textContent")
    assert line.startswith(wanted.split(":")[1] + ": ")
    tab.run("document.getElementById('why').click()")
    assert tab.wait("document.querySelector('#diagnosis dl') && document.getElementById('diagnosis').innerText")


def test_a_pasted_log_gives_a_cause_and_what_it_holds_is_text(tab: Browser, root: str) -> None:
    tab.open(f"{root}/diagnose?lang=en")
    log = (
        "<img src=x onerror=window.owned=1>\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    )
    tab.run(
        f"document.getElementById('logtext').value = {json.dumps(log)}; document.querySelector('#paste button').click()"
    )
    assert "oom" in tab.wait("document.querySelector('#answer .card') && document.getElementById('answer').innerText")
    assert not tab.run("return window.owned || null")


def test_a_cell_opens_its_evidence(tab: Browser, root: str, lively: Path) -> None:
    verbs.load("compare")([lively])
    tab.open(f"{root}/w/0/results?lang=en")
    tab.wait("document.querySelector('table.results td a')")
    tab.run("document.querySelector('table.results td a').click()")
    there = tab.wait("location.hash && document.querySelector(location.hash).innerText")
    assert "predictions.csv" in there and "sha256" in there


def test_a_page_is_there_in_under_300_ms(tab: Browser, root: str) -> None:
    times = []
    for _ in range(5):
        tab.open(f"{root}/w/0/plan?lang=en")
        times.append(tab.run("return performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"))
    assert min(times) < 300
