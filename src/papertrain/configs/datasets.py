"""How a data file is described to LLaMA-Factory: its columns by name, in the words of dataset_info.json."""

from __future__ import annotations

from typing import Any

from papertrain.core.models import DatasetProfile

_ROLES = {
    "role_tag": "role",
    "content_tag": "content",
    "user_tag": "user",
    "assistant_tag": "assistant",
    "system_tag": "system",
}


def dataset_entry(file_name: str, profile: DatasetProfile | None, task: str) -> dict[str, Any]:
    """The entry of one file. The columns come from the profile; without one the alpaca names are taken, as the framework does."""
    columns = {} if profile is None else dict(profile.columns)
    kind = "alpaca" if profile is None else profile.format
    entry: dict[str, Any] = {"file_name": file_name}
    if task in ("dpo", "orpo", "simpo", "rm"):
        entry["ranking"] = True
    if task == "pt" or kind == "text":
        return entry | {"columns": {"prompt": _column(columns, "text", "text")}}
    if kind in ("messages", "openai", "chat", "conversations", "sharegpt"):
        return entry | _conversation(columns, kind, task)
    prompt = _column(columns, "prompt", "prompt" if _plain(kind, columns) else "instruction")
    names = {"prompt": prompt}
    if not _plain(kind, columns) and _has(columns, "input", kind):
        names["query"] = _column(columns, "input", "input")
    if task in ("dpo", "orpo", "simpo", "rm"):
        names |= {"chosen": _column(columns, "chosen", "chosen"), "rejected": _column(columns, "rejected", "rejected")}
    else:
        names["response"] = _column(columns, "output", _answer(kind, columns))
    if task == "kto":
        names["kto_tag"] = _column(columns, "label", "label")
    for role in ("system", "history"):
        if role in columns or role in columns.values():
            names[role] = _column(columns, role, role)
    return entry | {"columns": names}


def _conversation(columns: dict[str, str], kind: str, task: str) -> dict[str, Any]:
    sharegpt = kind in ("conversations", "sharegpt")
    names = {"messages": _column(columns, "messages", "conversations" if sharegpt else "messages")}
    if task in ("dpo", "orpo", "simpo", "rm"):
        names |= {"chosen": _column(columns, "chosen", "chosen"), "rejected": _column(columns, "rejected", "rejected")}
    entry: dict[str, Any] = {"formatting": "sharegpt", "columns": names}
    return entry if sharegpt else entry | {"tags": dict(_ROLES)}


def _plain(kind: str, columns: dict[str, str]) -> bool:
    return kind.startswith(("prompt", "qa", "question", "preference", "dpo")) or (
        "prompt" in columns and "instruction" not in columns
    )


def _has(columns: dict[str, str], role: str, kind: str) -> bool:
    return role in columns or role in columns.values() or (not columns and kind == "alpaca")


def _answer(kind: str, columns: dict[str, str]) -> str:
    for name in ("output", "completion", "response", "answer"):
        if name in columns or name in columns.values():
            return columns.get(name, name) if name in columns else name
    return "completion" if _plain(kind, columns) else "output"


def _column(columns: dict[str, str], role: str, default: str) -> str:
    """The column that plays a role. `columns` maps roles to the file's own names."""
    return columns.get(role, default)
