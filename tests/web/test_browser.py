"""Each page in real Chromium: its main path by keyboard, both themes, both languages, a narrow screen, axe-core."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_there_in_under_300_ms(tab: Browser, root: str, path: str) -> None:
    times = []
    for _ in range(8):  # the best of a few: the machine does other things too
        tab.open(f"{root}{path}?lang=en")
        times.append(tab.run("return performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"))
        if min(times) < 300:
            break
    print(path, [round(t) for t in times])
    assert min(times) < 900  # 300 ms where nobody else needs the cores


def test_a_moved_slider_is_answered_at_once(tab: Browser, root: str) -> None:
    tab.open(f"{root}/w/0/plan?lang=en")
    moved = """
        const said = by('said'), slider = by('k-micro_batch_size'), times = [];
        return (async () => {
          for (let i = 0; i < 15; i++) {
            said.textContent = '';
            slider.value = i % 6;
            const began = performance.now();
            slider.dispatchEvent(new Event('input', {bubbles: true}));
            while (!said.textContent) await new Promise(done => setTimeout(done, 0));
            times.push(performance.now() - began);
          }
          return times.sort((a, b) => a - b);
        })();"""
    for _ in range(8):  # the best of a few rounds: the machine does other things too
        times = tab.run(moved)
        print("slider to plan, ms: fastest", round(times[0]), "median", round(times[len(times) // 2]))
        if times[0] < 50:
            break
    # 50 ms on a free machine (docs/benchmarks.md); where others share the cores, the browser waits in their queue.
    assert times[0] < 500


def test_a_hundred_thousand_points_are_drawn_at_once_with_their_spike(tab: Browser, tmp_path: Path) -> None:
    work = tmp_path / "long"
    verbs.load("plan")("Qwen/Qwen2.5-0.5B-Instruct", gpu="1x 4090", method="lora", output=work)
    run = work / "runs" / "ours.data.42"
    run.mkdir(parents=True)
    with (run / "train_log.jsonl").open("w") as f:
        for i in range(1, 100_001):
            f.write(f'{{"step": {i}, "total_steps": 100000, "loss": {9.5 if i == 70_001 else 2 - i / 1e5}, "learning_rate": 1e-4}}\n')  # fmt: skip
    with serving(work) as address:
        tab.open(address)
        tab.open(address.split("/?")[0] + "/w/0/run?lang=en")
        tab.wait("document.querySelectorAll('.uplot').length > 1", 60)
        assert tab.run("return [now.curves.train_loss.n, Math.max(...now.curves.train_loss.y)]") == [100_000, 9.5]
        drawn = tab.run("const times = []; for (let i = 0; i < 5; i++) { by('smooth').value = 18 * i; const began = performance.now(); draw(); times.push(performance.now() - began); } return times")  # fmt: skip
        print("100,000 points drawn anew, ms:", [round(t) for t in drawn])
        assert min(drawn) < 100
        smooth = tab.run("const u = plots.get('loss'); return [u.series.length, Math.max(...u.data[1])]")
        assert smooth[0] > 2 and smooth[1] == 9.5, "the raw line with its spike stays behind the smoothed one"


@contextmanager
def serving(folder: Path, *more: str) -> Iterator[str]:
    """A server of its own; its address with the token."""
    exe = str(Path(sys.executable).with_name("papertrain"))
    process = subprocess.Popen([exe, "serve", str(folder), "--no-open", *more], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = re.search(r"http://\S+", process.stdout.readline())
    assert found
    try:
        yield found[0]
    finally:
        process.terminate()
        process.wait(10)


def test_a_fix_is_shown_and_applied_from_the_page(tab: Browser, tmp_path: Path) -> None:
    config = '{\n  "bf16": {"enabled": true},\n  "zero_optimization": {"stage": 2, "overlap_comm": true}\n}\n'
    (tmp_path / "ds.json").write_text(config)
    (tmp_path / "train.log").write_text(
        "{'loss': 1.71, 'grad_norm': 7.9, 'learning_rate': 1.2e-07, 'epoch': 0.01}\n"
        "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 2.4e-07, 'epoch': 0.02}\n"
        "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 3.6e-07, 'epoch': 0.03}\n"
    )
    with serving(tmp_path, "--write") as address:
        tab.open(address)
        tab.open(address.split("/?")[0] + "/diagnose?lang=en")
        tab.run("document.querySelector('details').open = true; by('logfile').value = 'train.log'; by('configfile').value = 'ds.json'; document.querySelector('#offiles button').click()")  # fmt: skip
        tab.wait("document.querySelector('.fix .propose')")
        tab.run("document.querySelector('.fix .propose').focus()")
        tab.keys("\ue007")  # Enter: the whole way by keyboard
        assert '+  "zero_optimization"' in tab.wait("document.querySelector('.proposed .diff') && document.querySelector('.proposed').innerText")  # fmt: skip
        assert (tmp_path / "ds.json").read_text() == config
        tab.picture(PICTURES / "diagnose-fix.png")
        if AXE.is_file():
            assert not tab.axe(AXE.read_text("utf-8"))
        tab.run("document.querySelector('.proposed .apply').focus()")
        tab.keys("\ue007")
        assert "applied" in tab.wait("document.querySelector('.proposed dl') && document.querySelector('.proposed').innerText")  # fmt: skip
        assert '"overlap_comm": false' in (tmp_path / "ds.json").read_text()


def test_a_bundle_is_shown_file_by_file_and_written_from_the_page(tab: Browser, lively: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    shutil.copytree(lively, work)
    with serving(work, "--write") as address:
        tab.open(address)
        tab.open(address.split("/?")[0] + "/w/0/package?lang=en")
        tab.run("document.querySelector('#bundle button').focus()")
        tab.keys("\ue007")  # Enter: the whole way by keyboard
        listed = tab.wait("document.querySelector('#held table') && document.getElementById('held').innerText")
        assert "study.toml" in listed or "plans/ours/plan.json" in listed
        assert not (work / "bundle").exists()
        tab.picture(PICTURES / "package-files.png")
        if AXE.is_file():
            assert not tab.axe(AXE.read_text("utf-8"))
        tab.run("document.querySelector('#held .apply').focus()")
        tab.keys("\ue007")
        assert "papertrain package --verify" in tab.wait("document.querySelector('#held dl') && document.getElementById('held').innerText")  # fmt: skip
        assert (work / "bundle" / "MANIFEST.json").is_file()


def test_a_run_is_laid_over_another(tab: Browser, root: str, lively: Path) -> None:
    other = lively / "runs" / "ours.data.7"
    other.mkdir(exist_ok=True)
    (other / "train_log.jsonl").write_text("".join(json.dumps({"step": i, "loss": 3 - i / 300}) + "\n" for i in range(1, 100)))  # fmt: skip
    tab.open(f"{root}/w/0/run?run=ours.data.42&lang=en")
    tab.wait("document.querySelectorAll('.uplot').length > 1")
    tab.run("document.querySelector('input[name=over]').click()")
    tab.wait("plots.get('loss').series.some(s => s.label.startsWith('ours.data.7'))")


def test_a_narrow_screen_keeps_the_verdict_in_sight(tab: Browser, root: str) -> None:
    tab.look(dark=False, width=360)
    tab.open(f"{root}/w/0/plan?lang=en")
    tab.run("const s = by('k-micro_batch_size'); s.value = 5; s.dispatchEvent(new Event('input', {bubbles: true}))")
    tab.wait("by('said').textContent.includes('ms')")
    box = tab.run("const r = by('verdict').getBoundingClientRect(); return [r.top >= 0 && r.bottom <= innerHeight, by('verdict').textContent]")  # fmt: skip
    assert box[0] and "on the card" in box[1]
    tab.look(dark=False, width=1280)


def test_a_report_prints_and_needs_no_script(tab: Browser, lively: Path, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    verbs.load("report")(lively, output=file)
    text = file.read_text("utf-8")
    assert "<script" not in text and not re.search(r"(src|href)=[\"']?(https?:)?//", text)
    tab.look(dark=False, width=760)  # about a page of A4
    tab.open(file.as_uri())
    tab._do("/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {"media": "print"}})
    assert tab.run("return getComputedStyle(document.querySelector('nav')).display") == "none"
    assert tab.run("return [...document.querySelectorAll('table')].every(t => t.getBoundingClientRect().width <= document.body.clientWidth + 1)")  # fmt: skip
    tab._do("/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {"media": ""}})
    assert not tab.errors()
