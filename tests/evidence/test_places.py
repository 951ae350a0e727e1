"""A path outside of the workspace tells whose disk it is: an anonymous package names none."""

from __future__ import annotations

from pathlib import Path

import pytest

from papertrain import verbs
from papertrain.core.redact import redact
from papertrain.evidence import places

CONFIG = '{"architectures": ["BertModel"], "model_type": "bert", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128, "vocab_size": 1000, "max_position_embeddings": 128}'


@pytest.mark.parametrize("where", ["nas/zhanglab/models", "scratch/张三", "opt/grp-zhang_lab/x y"])
def test_the_folders_of_model_and_data_are_not_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    away = tmp_path / where
    (away / "m").mkdir(parents=True)
    (away / "m/config.json").write_text(CONFIG)
    (away / "rows.csv").write_text("text,label\n" + "".join(f"row {i} is fine,{i % 2}\n" for i in range(40)))
    here = tmp_path / "mine"
    here.mkdir()
    monkeypatch.chdir(here)
    verbs.load("plan")(str(away / "m"), data=away / "rows.csv", gpu="cpu", output=Path("w"))
    verbs.load("generate")(Path("w"))
    verbs.load("package")(Path("w"), output=Path("b"), anonymous=True)
    texts = {p: p.read_text("utf-8", "replace") for p in Path("b").rglob("*") if p.is_file()}
    part = where.split("/")[1].split(" ")[0]
    assert not [p for p, t in texts.items() if part in t or str(tmp_path) in t]
    assert any("[redacted]" in t and "rows.csv" in t for t in texts.values())
    assert verbs.load("package")(verify=Path("b")).exit_code() == 0


def test_addresses_pointers_and_the_system_stay(tmp_path: Path) -> None:
    root = tmp_path / "w"
    (root / "runs/a").mkdir(parents=True)
    said = '{"command": ["/data/zhang/env/bin/python", "train.py"], "see": "https://arxiv.org/abs/2405.09673", "sh": "/usr/bin/env"}'
    (root / "runs/a/record.json").write_text(said)
    hide = places.patterns(root)
    text = 'x "/results/0/acc" /usr/bin/env https://arxiv.org/abs/2405.09673 /dev/null /data/zhang/env/lib ../configs/a.yaml'
    assert redact(text, extra=hide) == text.replace("/data/zhang/env", "[redacted]")
