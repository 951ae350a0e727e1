"""Many names are one search, short ones are told from words, and two characters are a Chinese name."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "security"))
import scene
from runner import tree

from papertrain import verbs
from papertrain.core.redact import redact
from papertrain.evidence.cleaning import name_of
from papertrain.evidence.joined import exact, folded, joined
from papertrain.evidence.people import _nodes, patterns_of, who

FIRST = ("Bruce", "Selina", "Wilhelmina", "Alfred", "Lucius", "Barbara", "Harvey", "Oswald", "Pamela", "Zoë")
LAST = ("Wayne", "Kyle", "Cobblepot", "Pennyworth", "Fox-Dormer", "Gordon", "Dent", "Nygma", "Isley", "Ötztürk")
MANY = [f"{f} {z}" for f in FIRST for z in LAST]


def test_a_hundred_names_are_as_many_searches_as_five() -> None:
    few, many = (patterns_of(who([("name", n) for n in names])) for names in (MANY[:5], MANY))
    assert len(few) == len(many) < 10
    text = "".join(f"step {i} loss 1.5 by {n}; " for i, n in enumerate(MANY))
    assert redact(text, extra=many) == "".join(f"step {i} loss 1.5 by [redacted]; " for i in range(len(MANY)))


def test_a_longer_way_is_taken_before_the_shorter_one_in_it() -> None:
    words = ["ab", "abc", "abcd", "b", "bcd", "x y", "x"]
    one = re.compile(joined(exact(w) for w in words))
    assert all(one.fullmatch(w) for w in words) and one.match("abcde")[0] == "abcd"  # type: ignore[index]
    assert not one.fullmatch("abcde") and not one.fullmatch("y") and one.match("x z")[0] == "x"  # type: ignore[index]
    assert re.fullmatch(joined([folded("Straße-1")]), "STRAßE-1") and joined([]) == ""


@pytest.mark.parametrize(
    "text",
    ["王伟", "作者：王伟。", "李小龙 and 王伟", json.dumps("王伟"), "김민수", "山田太郎", "山田 太郎", "王伟_run"],
)
def test_a_name_of_two_characters_is_a_name(text: str) -> None:
    hide = patterns_of(who([("name", "王伟、李小龙"), ("name", "김민수"), ("name", "山田 太郎")]))
    left = redact(text, extra=hide)
    assert "[redacted]" in left and not re.search(r"王伟|李小龙|김민수|山田|太郎|u738b", left)


@pytest.mark.parametrize(("text", "left"), [("by MIT and ETH Zurich", "by [redacted] and [redacted]"), ("MIT License, the NLP group", "MIT License, the NLP group"), ("ADMIT MITRE", "ADMIT MITRE")])  # fmt: skip
def test_an_institution_of_three_capitals_is_replaced_where_it_is_no_licence(text: str, left: str) -> None:
    assert redact(text, extra=patterns_of(who([("word", "MIT"), ("word", "ETH Zurich"), ("word", "NLP")]))) == left


def test_further_initials_belong_to_the_name() -> None:
    hide = patterns_of(who([("name", "Bruce Long")]))
    assert redact("B. T. Long and B.T. Long, B Long; a long step", extra=hide) == "[redacted] and [redacted], [redacted]; a long step"  # fmt: skip


def test_a_list_of_nodes_names_each() -> None:
    assert list(_nodes("gpu[08-10,12],login1")) == ["gpu", "gpu08", "gpu09", "gpu10", "gpu12", "login1"]
    assert len(list(_nodes("n[0-999999999]"))) < 100


def test_a_name_of_a_file_and_its_path_in_a_text_become_the_same() -> None:
    hide = patterns_of(who([("user", "li"), ("name", "Bruce Wayne")]))
    assert name_of("results/li/bwayne.json", hide) == "results/[redacted]/[redacted].json"
    assert redact('"results/li/bwayne.json"', extra=hide) == '"results/[redacted]/[redacted].json"'


def test_an_anonymous_package_replaces_short_names_and_reports_what_it_cannot_tell(tmp_path: Path) -> None:
    work = scene.build(tmp_path)
    run = work / "runs/ours.toy.1"
    record = json.loads((run / "record.json").read_text())
    record["environment"] |= {"USER": "li", "HOSTNAME": "gp1"}
    (run / "record.json").write_text(json.dumps(record))
    (run / "slurm.out").write_text(
        "li@gp1:/data/groups/li/x$ python train.py\ngp1:12:13 [0] NCCL INFO x\nlanguages: en, li, wu\n"
    )
    report = verbs.load("package")(work, output=tmp_path / "b", anonymous=True)
    log = (tmp_path / "b/runs/ours.toy.1/slurm.out").read_text()
    assert "gp1" not in log and "/li/" not in log and "li@" not in log and "languages: en, li, wu" in log
    assert report.data["undecided"] == [{"word": "li", "file": "runs/ours.toy.1/slurm.out", "line": 3}]
    assert any("slurm.out:3" in w and w.startswith("li,") for w in report.warnings)
    assert not any(b"gp1" in data for data in tree(tmp_path / "b").values())
    assert verbs.load("package")(verify=tmp_path / "b").data["verified"]


@pytest.mark.parametrize("text", ["vasquezova in the lab", "/data/vasquezova/exp", "vasquezova2026.bib", "vasquezova_run3 run-vasquezova", "quintanilla_ferreyra", "quintanillaferreyra", "quintanilla-ferreyra"])  # fmt: skip
def test_a_last_name_in_small_letters_is_a_folder_a_login_and_a_file(text: str) -> None:
    hide = patterns_of(who([("name", "Elena Vasquezova"), ("name", "Marisol Quintanilla-Ferreyra")]))
    assert not re.search("vasquez|quintan|ferrey", redact(text, extra=hide))


def test_a_last_name_that_is_a_word_stays_one_in_small_letters() -> None:
    hide = patterns_of(who([("name", "Ronald Fisher"), ("name", "Jo Stone")]))
    assert redact("fisher's exact test, a stone", extra=hide) == "fisher's exact test, a stone"


@pytest.mark.parametrize(("text", "left"), [
    ("1,a,Grace\nUnderhill,b,2", "1,a,[redacted]\n[redacted],b,2"),
    ("Grace\nBert Large Underhill,1", "Grace\nBert Large [redacted],1"),
    ("by Grace Bert Underhill\nA11", "by [redacted]\nA11"),
])  # fmt: skip
def test_no_line_break_is_taken_with_a_name(text: str, left: str) -> None:
    assert redact(text, extra=patterns_of(who([("name", "Grace Underhill")]))) == left
