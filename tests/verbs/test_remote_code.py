"""Code out of a model's repository: never, unless somebody named the repository and the commit."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from papertrain import verbs
from papertrain.core import yaml
from papertrain.core.errors import PapertrainError

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPO = "Qwen/Qwen2.5-0.5B-Instruct"
TRUST = re.compile(r"trust_remote_code[\"']?\s*[:=]\s*[\"']?true", re.IGNORECASE)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    data = tmp_path / "train.jsonl"
    data.write_text("".join(json.dumps({"instruction": f"Add {i} and 1.", "input": "", "output": f"{i + 1}"}) + "\n" for i in range(50)))  # fmt: skip
    verbs.load("plan")(REPO, data=data, gpu="1x A100-80GB", method="lora", output=tmp_path / "work")
    return tmp_path / "work"


def written(work: Path) -> dict[str, str]:
    files = [p for p in (work / "configs").rglob("*") if p.is_file()] + [work / "commands.sh", work / "commands.md"]
    return {p.relative_to(work).as_posix(): p.read_text("utf-8") for p in files}


def test_no_file_trusts_a_repository_that_nobody_allowed(work: Path) -> None:
    verbs.load("generate")(work)
    texts = written(work)
    assert len(texts) > 8 and not [n for n, text in texts.items() if TRUST.search(text) or "model_revision" in text]


def test_with_it_the_commit_is_pinned_in_every_file_that_trusts(work: Path) -> None:
    report = verbs.load("generate")(work, allow_remote_code=[f"{REPO}@{COMMIT}"])
    trusting = {n: yaml.load(text, n).value for n, text in written(work).items() if TRUST.search(text)}
    assert {n.split("/")[2] for n in trusting} == {"llamafactory", "trl", "axolotl"}
    for name, value in trusting.items():
        assert value["model_revision"] == COMMIT and value["trust_remote_code"] is True, name
    assert any("read it first" in w for w in report.warnings) and report.data["remote_code"] == {
        "ours": f"{REPO}@{COMMIT}"
    }
    assert any("never run a repository's code" in w for w in report.warnings), "the files that do without say so"
    found = verbs.load("check")([work / n for n in trusting]).data["findings"]
    assert not [f for f in found if f["level"] == "error" and ("trust" in f["says"] or "revision" in f["says"])]


def test_the_next_generate_without_it_takes_it_back(work: Path) -> None:
    verbs.load("generate")(work, allow_remote_code=[f"{REPO}@{COMMIT}"])
    verbs.load("generate")(work)
    assert not [n for n, text in written(work).items() if TRUST.search(text)]


@pytest.mark.parametrize(
    ("word", "code"),
    [
        (REPO, "bad-revision"), (f"{REPO}@main", "bad-revision"), (f"{REPO}@v1.0", "bad-revision"), (f"{REPO}@0123456", "bad-revision"), (f"@{COMMIT}", "bad-revision"),
        (f"{REPO}@{COMMIT.upper()}", "bad-revision"), (f"{REPO}@{COMMIT}\n", "bad-revision"), (f"other/model@{COMMIT}", "unknown-model"), ("", "bad-revision"),
    ],
)  # fmt: skip
def test_what_may_move_or_is_not_trained_here_is_refused(work: Path, word: str, code: str) -> None:
    with pytest.raises(PapertrainError) as refused:
        verbs.load("generate")(work, allow_remote_code=[word])
    assert refused.value.code == code and not (work / "configs").exists()


def test_a_folder_cannot_be_pinned(tmp_path: Path) -> None:
    model = tmp_path / "m"
    model.mkdir()
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1000, "max_position_embeddings": 512}  # fmt: skip
    (model / "config.json").write_text(json.dumps(config))
    (tmp_path / "t.jsonl").write_text('{"instruction": "a", "input": "", "output": "b"}\n' * 40)
    verbs.load("plan")(
        str(model), data=tmp_path / "t.jsonl", gpu="1x A100-80GB", method="lora", output=tmp_path / "work"
    )
    name = json.loads((tmp_path / "work/plans/ours/plan.json").read_text())["model"]["name"]
    with pytest.raises(PapertrainError, match="folder here"):
        verbs.load("generate")(tmp_path / "work", allow_remote_code=[f"{name}@{COMMIT}"])
