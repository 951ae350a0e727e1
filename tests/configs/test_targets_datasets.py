"""dataset_info.json: the user's columns in LLaMA-Factory's words."""

from __future__ import annotations

import pytest

from papertrain.configs.datasets import dataset_entry
from papertrain.core.models import DatasetProfile


def profile(kind: str, columns: dict[str, str]) -> DatasetProfile:
    return DatasetProfile(path="x", sha256="", format=f"{kind} (jsonl)", rows=1, examples=1, columns=columns)


@pytest.mark.parametrize(
    ("kind", "task", "columns", "expected"),
    [
        ("alpaca", "sft", {"prompt": "instruction", "query": "input", "response": "output"}, {"columns": {"prompt": "instruction", "query": "input", "response": "output"}}),
        ("prompt-completion", "sft", {"prompt": "question", "response": "answer"}, {"columns": {"prompt": "question", "response": "answer"}}),
        ("sharegpt", "sft", {"messages": "conversations", "system": "system"}, {"formatting": "sharegpt", "columns": {"messages": "conversations", "system": "system"}}),
        ("messages", "sft", {"messages": "messages"}, {"formatting": "sharegpt", "columns": {"messages": "messages"},
         "tags": {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant", "system_tag": "system"}}),
        ("text", "pt", {"text": "body"}, {"columns": {"prompt": "body"}}),
        ("preference", "dpo", {"chosen": "chosen", "rejected": "rejected", "prompt": "prompt"}, {"ranking": True, "columns": {"chosen": "chosen", "rejected": "rejected", "prompt": "prompt"}}),
        ("kto", "kto", {"prompt": "prompt", "response": "completion", "label": "label"}, {"columns": {"prompt": "prompt", "response": "completion", "kto_tag": "label"}}),
    ],
)  # fmt: skip
def test_the_columns_of_the_profile_become_those_of_dataset_info(
    kind: str, task: str, columns: dict[str, str], expected: dict[str, object]
) -> None:
    assert dataset_entry("f.jsonl", profile(kind, columns), task) == {"file_name": "f.jsonl"} | expected


def test_without_a_profile_the_names_are_those_that_the_framework_assumes() -> None:
    assert dataset_entry("f.json", None, "sft")["columns"] == {
        "prompt": "instruction",
        "query": "input",
        "response": "output",
    }
