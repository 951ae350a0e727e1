"""Fixtures of the data tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_models import make_model


@pytest.fixture(scope="session")
def chatml(tmp_path_factory):
    from papertrain.facts.models import find_model

    return find_model(str(make_model(tmp_path_factory.mktemp("models") / "chatml")))


@pytest.fixture
def write(tmp_path):
    def write_file(name: str, content: object) -> Path:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            file.write_bytes(content)
        elif isinstance(content, str):
            file.write_text(content, encoding="utf-8")
        elif name.endswith(".jsonl"):
            file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in content), encoding="utf-8")
        else:
            file.write_text(json.dumps(content, ensure_ascii=False, indent=1), encoding="utf-8")
        return file

    return write_file
