"""A bundle is written from the page only as it was shown: the same files, the same refusals as the command's."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("starlette.testclient", reason="the page needs papertrain[serve]")

from starlette.testclient import TestClient

from papertrain import verbs
from papertrain.web.app import build

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "verbs"))
from workspaces import make_workspace

TOKEN = "the-token"


def client(folder: Path, *, writing: bool = True) -> TestClient:
    app = build([folder], TOKEN, 8765, writing=writing)
    return TestClient(app, base_url="http://localhost:8765", cookies={"papertrain": TOKEN}, follow_redirects=False)


def names(folder: Path) -> set[str]:
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return make_workspace(tmp_path)


def test_a_bundle_is_written_as_it_was_shown_and_verifies(work: Path) -> None:
    before, page = names(work), client(work)
    shown = page.post("/api/package", json={"work": 0}).json()
    assert names(work) == before, "showing writes nothing"
    assert shown["files"] and all(f in shown["html"] for f in shown["files"]) and shown["writing"]
    done = page.post("/api/pack", json={"work": 0, "digest": shown["digest"]})
    assert done.status_code == 200, done.text
    bundle = Path(done.json()["bundle"])
    assert bundle == work / "bundle" and set(shown["files"]) <= names(bundle)
    manifest = json.loads((bundle / "MANIFEST.json").read_text("utf-8"))
    listed = set(manifest["files"])
    assert listed >= set(shown["files"]) and {n for n in names(bundle) if not n.startswith(".")} == listed | {
        "MANIFEST.json"
    }
    assert (
        verbs.load("package")(verify=bundle).data["verified"] and "papertrain package --verify" in done.json()["html"]
    )
    again = page.post("/api/package", json={"work": 0}).json()
    assert page.post("/api/pack", json={"work": 0, "digest": again["digest"]}).status_code == 200, (
        "an earlier bundle is replaced"
    )
    assert not {n for n in names(bundle) if n.startswith("bundle")}, "a bundle holds no bundle"


def test_one_file_for_double_blind_review(work: Path) -> None:
    page, asked = client(work), {"work": 0, "zip": True, "anonymous": True}
    shown = page.post("/api/package", json=asked).json()
    done = page.post("/api/pack", json={**asked, "digest": shown["digest"]})
    assert done.status_code == 200, done.text
    with zipfile.ZipFile(work / "bundle-anonymous.zip") as archive:
        assert set(shown["files"]) <= set(archive.namelist())
        assert not any(str(work).encode() in archive.read(n) for n in archive.namelist())


def test_nothing_is_written_without_write_nor_after_a_change_nor_by_another_question(work: Path) -> None:
    reading = client(work, writing=False)
    shown = reading.post("/api/package", json={"work": 0}).json()
    assert not shown["writing"]
    refused = reading.post("/api/pack", json={"work": 0, "digest": shown["digest"]})
    assert refused.status_code == 400 and "only reads" in refused.json()["error"]
    page = client(work)
    assert page.post("/api/pack", json={"work": 0, "zip": True, "digest": shown["digest"]}).status_code == 400
    study = work / "study.toml"
    study.write_text(study.read_text("utf-8") + "\n# mine\n" if study.is_file() else "# mine\n", "utf-8")
    changed = page.post("/api/pack", json={"work": 0, "digest": shown["digest"]})
    assert changed.status_code == 400 and "changed" in changed.json()["error"]
    assert not (work / "bundle").exists() and not (work / "bundle.zip").exists()


def test_what_is_no_bundle_is_left_alone(work: Path, tmp_path: Path) -> None:
    (work / "bundle").mkdir()
    (work / "bundle" / "mine.txt").write_text("mine")
    page = client(work)
    said = page.post("/api/package", json={"work": 0})
    assert said.status_code == 400 and "is no bundle" in said.json()["error"]
    (tmp_path / "elsewhere").mkdir()
    (work / "bundle.zip").symlink_to(tmp_path / "elsewhere" / "out.zip")
    assert page.post("/api/package", json={"work": 0, "zip": True}).status_code == 400
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("asked", [{"work": 7}, {"work": "0"}, {}, {"work": -1}, {"work": True}])
def test_only_a_served_workspace_is_packed(work: Path, asked: dict[str, object]) -> None:
    if asked.get("work") is True:  # JSON's true is a number to Python: there is no second workspace
        assert client(work).post("/api/pack", json={**asked, "digest": ""}).status_code in (400, 404)
        return
    assert client(work).post("/api/package", json=asked).status_code in (400, 404)


def test_a_bundle_is_made_by_post_with_the_token_and_from_this_page_only(work: Path) -> None:
    page = client(work)
    for path in ("/api/package", "/api/pack"):
        assert page.get(path).status_code == 405
        assert page.post(path, json={"work": 0}, headers={"origin": "http://evil.example"}).status_code == 403
        assert page.post(path, json={"work": 0}, headers={"host": "evil.example"}).status_code == 421
        stranger = TestClient(page.app, base_url="http://localhost:8765")
        assert stranger.post(path, json={"work": 0}).status_code == 401
        assert (
            page.post(path, content="work=0", headers={"content-type": "application/x-www-form-urlencoded"}).status_code
            == 400
        )
    assert not (work / "bundle").exists()


def test_a_file_name_that_is_markup_is_shown_as_text(work: Path) -> None:
    run = work / "runs" / "ours.data.1"
    run.mkdir(parents=True, exist_ok=True)
    (run / "<img src=x onerror=alert(1)>.log").write_text("x\n")
    html = client(work).post("/api/package", json={"work": 0}).json()["html"]
    assert "<img" not in html
