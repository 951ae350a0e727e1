"""The page shows what the command line says, lets nobody else look, and renders nothing that a file brings along."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import median
from typing import Any

import pytest

pytest.importorskip("starlette.testclient", reason="the page needs papertrain[serve]")

from starlette.testclient import TestClient

from papertrain import verbs
from papertrain.web.app import build

TOKEN = "the-token"
EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a plan, a run that diverges, and names and lines that would be scripts."""
    root = tmp_path_factory.mktemp("page") / "work"
    verbs.load("plan")("Qwen/Qwen2.5-7B-Instruct", gpu="4x A100-80GB", method="lora", output=root)
    run = root / "runs" / "ours.data.42"
    run.mkdir(parents=True)
    rows = [{"step": i, "total_steps": 400, "loss": 2.0 - i / 200 if i < 150 else 3.0 + i / 50, "learning_rate": 1e-4} for i in range(1, 301)]  # fmt: skip
    rows[99]["loss"] = 40.0
    (run / "train_log.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    (run / "stdout.log").write_text(f"hello {EVIL}\n\x1b]8;;http://evil\x07link\x1b]8;;\x07\x1b[2J\nlast line\n")
    (run / "record.json").write_text('{"run": "ours.data.42", "exit_code": 1}')
    (run / "debug").mkdir()
    stored = {"id": "D1", "class": EVIL, "title": EVIL, "cause": EVIL, "confidence": 0.9, "evidence": [{"file": EVIL, "line": 1, "text": EVIL}],
              "fixes": [{"id": "D1.F1", "title": EVIL, "effect": "experiment", "patch": f"--- a\n+++ b\n-{EVIL}\n+new\n"}]}  # fmt: skip
    (run / "debug" / "1.json").write_text(json.dumps({"diagnoses": [stored]}))
    (root / "runs" / "<img src=x onerror=alert(3)>").mkdir()
    (root / "figures").mkdir()
    (root / "figures" / "main.csv").write_text("a,b\n1,2\n")
    (root / "figures" / "link.csv").symlink_to("/etc/hostname")
    return root


@pytest.fixture
def page(work: Path) -> TestClient:
    app = build([work], TOKEN, 8765, writing=False)
    return TestClient(app, base_url="http://localhost:8765", cookies={"papertrain": TOKEN}, follow_redirects=False)


PAGES = ("/", "/plan", "/w/0/plan", "/w/0/run", "/w/0/results", "/w/0/package", "/diagnose", "/report/0", "/verb/diagnose")  # fmt: skip


def test_a_folder_that_is_no_workspace_yet_can_be_diagnosed_and_a_page_that_is_not_there_says_how_to_go_on(
    tmp_path: Path,
) -> None:
    app = build([tmp_path], TOKEN, 8765)
    page = TestClient(app, base_url="http://localhost:8765", cookies={"papertrain": TOKEN})
    assert 'href="/diagnose"' in page.get("/").text.partition("<main")[2]
    missing = page.get("/w/0/plan")
    assert missing.status_code == 400 and f"papertrain plan MODEL --data FILE -o {tmp_path}" in missing.text


def test_every_verb_of_the_home_page_is_told_in_both_languages(page: TestClient) -> None:
    text = page.get("/", headers={"accept-language": "zh"}).text
    asks = re.findall(r'<a href="/verb/(\w+)">\w+</a>: ([^<]+)', text)
    assert len(asks) == 10 and all(re.search("[\u4e00-\u9fff]", said) for _, said in asks)


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_there_in_both_languages_and_holds_no_foreign_markup(page: TestClient, path: str) -> None:
    english, chinese = page.get(path), page.get(path, headers={"accept-language": "zh-CN,zh;q=0.9"})
    assert english.status_code == chinese.status_code == 200
    assert '<html lang="en">' in english.text and '<html lang="zh-Hans">' in chinese.text
    for text in (english.text, chinese.text):
        assert "<script>alert" not in text and "<img src=x" not in text and "\x1b" not in text
    assert "script-src 'self';" in english.headers["content-security-policy"] and "unsafe" not in english.headers["content-security-policy"]  # fmt: skip


def test_no_page_holds_an_inline_script_style_or_handler_or_an_address_elsewhere(page: TestClient) -> None:
    from html.parser import HTMLParser

    found: list[str] = []

    class Look(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            given = dict(attrs)
            found.extend(f"{tag} {k}" for k in given if k.startswith("on") or k == "style")
            found.extend(f"{tag} {k}={given[k]}" for k in ("src", "href", "action") if str(given.get(k, "/"))[:5] in ("http:", "https", "javas") or str(given.get(k, "/")).startswith("//"))  # fmt: skip
            if tag == "script" and not str(given.get("src", "")).startswith("/static/"):
                found.append("inline script")

    for path in PAGES:
        Look().feed(page.get(path).text)
        assert not found, path


def test_a_changed_knob_is_answered_as_the_command_answers_and_in_under_50_ms(page: TestClient, work: Path) -> None:
    question = {"work": 0, "method": "ours", "changes": {"micro_batch_size": "8", "sequence_length": "4096"}}
    answers = [
        page.post("/api/plan", json={**question, "changes": {**question["changes"], "epochs": str(i)}}).json()
        for i in range(1, 10)
    ]  # type: ignore[dict-item]
    assert median(a["milliseconds"] for a in answers) < 50
    by_command = verbs.load("plan")(
        str(work), sets=["micro_batch_size=8", "sequence_length=4096", "epochs=1"], dry_run=True
    )
    said = {d["name"]: d["value"] for d in by_command.data["decisions"]}
    assert answers[0]["fits"] == by_command.data["fits"]
    assert {k: said[k] for k in answers[0]["values"]} == answers[0]["values"]


@pytest.mark.parametrize(
    "changes",
    [
        {"micro_batch_size": "0"},
        {"micro_batch_size": "x"},
        {"nonsense": "1"},
        {"gpu": "9x NoSuchCard"},
        {"epochs": ["1"]},
        "text",
    ],
)
def test_a_wrong_knob_is_one_line_not_a_fault(page: TestClient, changes: Any) -> None:
    answer = page.post("/api/plan", json={"work": 0, "method": "ours", "changes": changes})
    assert answer.status_code == 400 and "\n" not in answer.json()["error"] and "fault" not in answer.json()["error"]


def test_a_plan_from_nothing_needs_a_model_and_cards(page: TestClient) -> None:
    answer = page.post(
        "/api/plan", json={"model": "Qwen/Qwen2.5-0.5B", "changes": {"gpu": "1x 4090", "method": "full"}}
    )
    assert answer.status_code == 200 and "learning_rate" in answer.json()["html"]
    assert page.post("/api/plan", json={"changes": {}}).status_code == 400
    assert page.post("/api/plan", json={"model": "/etc", "changes": {"gpu": "1x 4090"}}).status_code == 400
    outside = page.post("/api/plan", json={"model": "Qwen/Qwen2.5-0.5B", "data": "../../etc/passwd", "changes": {"gpu": "1x 4090"}})  # fmt: skip
    assert outside.status_code == 400 and "root:" not in outside.text


def test_a_run_comes_by_sequence_number_with_its_spike_and_its_onset(page: TestClient, work: Path) -> None:
    first = page.get("/api/run/0/ours.data.42").json()
    loss = first["curves"]["train_loss"]
    assert (
        40.0 in loss["y"] and first["level"] == "critical" and any(m["signal"] == "train_loss" for m in first["marks"])
    )
    assert page.get(f"/api/run/0/ours.data.42?since={first['sequence']}").json().get("same")
    with (work / "runs" / "ours.data.42" / "train_log.jsonl").open("a") as f:
        f.write('{"step": 301, "total_steps": 400, "loss": 9.5, "learning_rate": 1e-4}\n')
    for _ in range(200):
        later = page.get(f"/api/run/0/ours.data.42?since={first['sequence']}").json()
        if "curves" in later:
            break
    assert later["curves"]["train_loss"]["x"][-1] == 301


def test_two_who_look_at_a_run_are_each_told_in_their_language(page: TestClient) -> None:
    chinese = page.get("/api/run/0/ours.data.42", headers={"accept-language": "zh"}).json()
    english = page.get("/api/run/0/ours.data.42", headers={"accept-language": "en"}).json()
    assert chinese["says"] != english["says"] and english["says"].isascii()


def test_thinning_keeps_every_spike_of_a_hundred_thousand_points() -> None:
    from papertrain.verbs.page.answers import thinned

    ys = [1.0] * 100_000
    spikes = {17: 9.0, 50_000: -7.0, 50_001: 8.0, 99_998: 11.0}
    for at, y in spikes.items():
        ys[at] = y
    ys[70_000] = float("nan")
    found = thinned(range(100_000), ys)
    assert len(found["x"]) <= 4000 and found["n"] == 100_000 and found["odd"] == [70_000]
    assert spikes.items() <= dict(zip(found["x"], found["y"])).items()


def test_a_log_is_read_in_pieces_searched_and_without_control_sequences(page: TestClient) -> None:
    piece = page.get("/api/log/0/ours.data.42/stdout.log").json()
    assert "last line" in piece["text"] and "\x1b" not in piece["text"] and piece["next"] == piece["size"]
    found = page.get("/api/log/0/ours.data.42/train_log.jsonl?search=%22step%22: 100,").json()
    assert [h["line"] for h in found["hits"]] == [100]
    around = page.get("/api/log/0/ours.data.42/train_log.jsonl?line=100").json()["hits"]
    assert [h["line"] for h in around] == list(range(50, 151))
    assert page.get("/api/log/0/ours.data.42/train_log.jsonl?offset=999999999").json()["text"] == ""


def test_a_pasted_log_is_diagnosed_as_the_command_does(page: TestClient, tmp_path: Path) -> None:
    log = tmp_path / "pasted.log"
    log.write_text("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n" + EVIL)
    answer = page.post("/api/diagnose", json={"log": log.read_text()}).json()
    assert (
        answer["classes"] == [d["class"] for d in verbs.load("diagnose")([log]).data["diagnoses"]] and answer["classes"]
    )
    assert "<script>alert" not in answer["html"]
    assert page.post("/api/diagnose", json={"log": "  "}).status_code == 400


def test_rows_of_data_are_text_wherever_they_show(page: TestClient, work: Path) -> None:
    rows = work / "rows.jsonl"
    row = {"messages": [{"role": "user", "content": EVIL}, {"role": "assistant", "content": EVIL}]}
    rows.write_text((json.dumps(row) + "\n") * 20)
    shown = page.post(
        "/verb/check", data={"files": str(rows), "show": "1"}, headers={"origin": "http://localhost:8765"}
    )
    assert shown.status_code == 200 and "&lt;script&gt;" in shown.text and "<script>alert" not in shown.text
    asked = {"model": "Qwen/Qwen2.5-0.5B", "data": "rows.jsonl", "changes": {"gpu": "1x 4090"}}
    planned = page.post("/api/plan", json=asked)
    assert planned.status_code == 200 and "<script>alert" not in planned.json()["html"]
    rows.unlink()


PATHS = ("../../../etc/passwd", "..%2f..%2f..%2fetc%2fpasswd", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "....//etc/passwd", "/etc/passwd", "main.csv%00.png", "link.csv")  # fmt: skip


@pytest.mark.parametrize("name", PATHS)
def test_no_path_leads_out(page: TestClient, name: str) -> None:
    for place in (f"/w/0/file/figures/{name}", f"/static/{name}", f"/api/run/0/{name}", f"/api/log/0/ours.data.42/{name}", f"/w/0/file/{name}/x", f"/report/{name}"):  # fmt: skip
        answer = page.get(place)
        assert answer.status_code in (400, 404, 405), place
        assert "root:" not in answer.text


def test_two_servers_on_one_machine_do_not_log_each_other_out(work: Path) -> None:
    """A browser keeps cookies by host, whatever the port."""
    one = TestClient(build([work], "one", 8001), base_url="http://localhost:8001", follow_redirects=False)
    two = TestClient(build([work], "two", 8002), base_url="http://localhost:8002", follow_redirects=False)
    jar = dict(one.get("/?token=one").cookies) | dict(two.get("/?token=two").cookies)
    for page in (one, two):
        page.cookies.clear()
        page.cookies.update(jar)
        assert page.get("/plan").status_code == 200


@pytest.mark.parametrize(
    ("asked", "sent"),
    [("/?token=one&lang=zh", "/?lang=zh"), ("/w/0/run?run=a.b.1&token=one", "/w/0/run?run=a.b.1"), ("/plan?token=one", "/plan"), ("//evil.example/?token=one", "/evil.example/"), ("/\\evil.example?token=one", "/evil.example")],
)  # fmt: skip
def test_an_address_with_its_token_leads_to_the_page_that_was_asked_for_and_nowhere_else(work: Path, asked: str, sent: str) -> None:  # fmt: skip
    page = TestClient(build([work], "one", 8001), base_url="http://localhost:8001", follow_redirects=False)
    answer = page.get(f"http://localhost:8001{asked}")
    assert answer.status_code == 303 and answer.headers["location"].replace("%5C", "") == sent and "one" not in sent


def test_figures_are_pictures_and_nothing_else_is(page: TestClient, work: Path) -> None:
    (work / "figures" / "main.png").write_bytes(b"\x89PNG\r\n")
    answer = page.get("/w/0/picture/main.png")
    assert answer.status_code == 200 and answer.headers["content-type"] == "image/png"
    for name in ("main.csv", "link.csv", "nothing.png", "..%2fplans%2fours%2fplan.json"):
        assert page.get(f"/w/0/picture/{name}").status_code == 404


@pytest.mark.parametrize("part, status", [("run?run=ours.data.42", 200), ("results", 200), ("earlier", 200), ("run?run=../../etc", 404), ("nonsense", 404)])  # fmt: skip
def test_what_comes_later_is_asked_for_by_name(page: TestClient, part: str, status: int) -> None:
    answer = page.get(f"/api/part/0/{part}")
    assert answer.status_code == status and "<script>alert" not in answer.text


def test_the_report_is_taken_along_as_one_file(page: TestClient) -> None:
    answer = page.get("/report/0/file")
    assert answer.headers["content-disposition"].startswith("attachment") and "<script" not in answer.text.lower()
    assert "learning_rate" in answer.text


def test_files_are_downloaded_never_shown(page: TestClient) -> None:
    answer = page.get("/w/0/file/figures/main.csv")
    assert answer.text == "a,b\n1,2\n" and answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["content-type"] == "application/octet-stream" and answer.headers["x-content-type-options"] == "nosniff"  # fmt: skip


POSTS = ("/api/plan", "/api/files", "/api/write", "/api/diagnose", "/verb/diagnose")


@pytest.mark.parametrize("path", POSTS)
def test_a_form_from_elsewhere_does_nothing(page: TestClient, path: str) -> None:
    for headers in ({"origin": "http://evil.example"}, {"origin": "null"}, {"origin": "http://localhost:8766"}, {"origin": "https://localhost:8765.evil.example"}, {"sec-fetch-site": "cross-site"}):  # fmt: skip
        assert page.post(path, json={}, headers=headers).status_code == 403
    page.cookies.set("papertrain", "wrong")
    assert page.post(path, json={}).status_code == 401


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8765", "localhost", "localhost:8080", "127.0.0.1.evil.example:8765", "[::2]:8765", ""])  # fmt: skip
def test_another_host_is_not_served(page: TestClient, host: str) -> None:
    assert page.get("/", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost:8765", "127.0.0.1:8765", "[::1]:8765", "LOCALHOST:8765"])
def test_this_machines_own_names_are_served(page: TestClient, host: str) -> None:
    assert page.get("/plan", headers={"host": host}).status_code == 200


def test_nothing_changes_by_get_and_there_is_no_cors(page: TestClient) -> None:
    for path in POSTS[:4]:
        assert page.get(path).status_code == 405
    answer = page.get("/plan", headers={"origin": "http://evil.example"})
    assert not any(h.startswith("access-control") for h in answer.headers)


def test_the_body_is_json_of_a_limited_size(page: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    from papertrain.web import app

    assert page.post("/api/plan", content="{}", headers={"content-type": "text/plain"}).status_code == 400
    assert page.post("/api/plan", content="[1]", headers={"content-type": "application/json"}).status_code == 400
    assert (
        page.post("/api/plan", content="[" * 100_000, headers={"content-type": "application/json"}).status_code == 400
    )
    assert page.post("/verb/diagnose", data={"paths": "x" * 2**21}).status_code == 413
    assert page.post("/verb/diagnose", content=iter([b"paths=", b"x"])).status_code == 413, "no length said"
    monkeypatch.setattr(app, "BODY_LIMIT", 100)
    assert page.post("/api/diagnose", json={"log": "x" * 200}).status_code == 400


def test_the_page_writes_only_where_it_may_and_only_what_it_has_shown(work: Path, tmp_path: Path) -> None:
    import shutil

    mine = tmp_path / "work"
    shutil.copytree(work, mine, symlinks=True)
    asked = {"work": 0, "method": "ours", "changes": {"learning_rate": "1e-4"}}
    before = (mine / "plans/ours/plan.json").read_bytes()
    reading = TestClient(build([mine], TOKEN, 8765), base_url="http://localhost:8765", cookies={"papertrain": TOKEN})
    shown = reading.post("/api/files", json=asked).json()
    assert reading.post("/api/write", json={**asked, "digest": shown["digest"]}).status_code == 400
    assert (mine / "plans/ours/plan.json").read_bytes() == before
    writing = TestClient(build([mine], TOKEN, 8765, writing=True), base_url="http://localhost:8765", cookies={"papertrain": TOKEN})  # fmt: skip
    assert writing.post("/api/write", json={**asked, "digest": "0" * 64}).status_code == 400
    assert (mine / "plans/ours/plan.json").read_bytes() == before
    assert writing.post("/api/write", json={**asked, "digest": shown["digest"]}).status_code == 200
    for name, text in shown["texts"].items():
        assert (mine / name).read_text() == text, f"{name}: other bytes than were shown"
    (mine / "plans/ours/plan.md").write_text("a person's own words")
    again = {**asked, "changes": {"learning_rate": "2e-4"}}
    digest = writing.post("/api/files", json=again).json()["digest"]
    assert writing.post("/api/write", json={**again, "digest": digest}).status_code == 400
    assert (mine / "plans/ours/plan.md").read_text() == "a person's own words"
