"""How a data file is described to LLaMA-Factory: its columns by name, in the words of dataset_info.json."""

from __future__ import annotations

from typing import Any

from papertrain.core.models import DatasetProfile

PAIRS = ("dpo", "orpo", "simpo", "rm")
ALPACA = {"prompt": "instruction", "query": "input", "response": "output"}
_ROLES = {
    "role_tag": "role",
    "content_tag": "content",
    "user_tag": "user",
    "assistant_tag": "assistant",
    "system_tag": "system",
}
_RENAMED = {"text": "prompt", "label": "kto_tag"}


def dataset_entry(file_name: str, profile: DatasetProfile | None, task: str) -> dict[str, Any]:
    """The entry of one file. The profile's columns are in the framework's own words already, but for plain text and KTO's
    tag; without a profile the alpaca names are taken, as the framework itself does."""
    columns = dict(profile.columns) if profile is not None and profile.columns else dict(ALPACA)
    kind = "alpaca" if profile is None else profile.format.split(" ")[0]
    entry: dict[str, Any] = {"file_name": file_name}
    if task in PAIRS:
        entry["ranking"] = True
    if task == "pt" and "text" in columns:
        return entry | {"columns": {"prompt": columns["text"]}}
    names = {_RENAMED.get(role, role): column for role, column in columns.items() if role != "second"}
    if "messages" not in names:
        return entry | {"columns": names}
    entry |= {"formatting": "sharegpt", "columns": names}
    return entry if kind == "sharegpt" or names["messages"] == "conversations" else entry | {"tags": dict(_ROLES)}
