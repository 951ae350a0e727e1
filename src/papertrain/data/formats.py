"""What the columns of a data set mean: recognised from its rows, or read from LLaMA-Factory's `dataset_info.json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from papertrain.core.values import Value

ROLES = {
    "human": "user", "user": "user", "prompter": "user", "question": "user", "gpt": "assistant", "assistant": "assistant", "bot": "assistant",
    "chatgpt": "assistant", "model": "assistant", "system": "system", "developer": "system", "tool": "tool", "function": "tool", "ipython": "tool",
    "observation": "tool", "function_call": "assistant",
}  # fmt: skip
"""How data sets name the speakers → user, assistant, system, tool."""

_ANSWERS = ("completion", "response", "output", "answer", "target", "completions")
_TEXTS = ("text", "sentence", "content", "review", "review_text", "query", "question", "premise", "sentence1", "body", "comment", "tweet",
          "description", "headline", "message", "title")  # fmt: skip
_SECOND = ("sentence2", "hypothesis", "text_pair", "text2")
_LABELS = ("label", "labels", "class", "category", "sentiment", "target", "topic", "intent", "score", "stars", "fresh", "class_index", "polarity",
           "rating")  # fmt: skip


class Layout(Value, frozen=True, kw_only=True):
    """Which column plays which part. parts: prompt, query, response, system, history, messages, chosen, rejected, label, text, second."""

    format: str
    columns: dict[str, str]
    role_key: str = "role"
    content_key: str = "content"
    roles: dict[str, str] = {}

    def role(self, word: object) -> str | None:
        return self.roles.get(str(word)) or ROLES.get(str(word).lower())


def recognise(rows: Iterable[Mapping[str, Any]], task: str | None = None) -> Layout | None:
    """The layout that most of the rows have. None: no row fits any format."""
    votes: Counter[str] = Counter()
    first: dict[str, Layout] = {}
    for row in rows:
        layout = layout_of(row, task)
        if layout is not None:
            key = f"{layout.format} {sorted(layout.columns.items())}"
            votes[key] += 1
            first.setdefault(key, layout)
    if not votes:
        return None
    # Optional columns may be missing from some rows: among layouts of the winning format, the fullest wins.
    formats: Counter[str] = Counter()
    for key, n in votes.items():
        formats[first[key].format] += n
    winner = formats.most_common(1)[0][0]
    return max((layout for layout in first.values() if layout.format == winner), key=lambda layout: len(layout.columns))


def layout_of(row: Mapping[str, Any], task: str | None = None) -> Layout | None:
    """The layout of one row by the names and kinds of its columns, whatever their case (`Text`, `Class Index`)."""
    plain = {str(k).strip().lower().replace(" ", "_"): k for k in row}
    if len(plain) != len(row) or all(k == v for k, v in plain.items()):
        return _layout_of(row, task)
    found = _layout_of({k: row[v] for k, v in plain.items()}, task)
    if found is None:
        return None
    return msgspec.structs.replace(found, columns={part: str(plain[c]) for part, c in found.columns.items()})


def _layout_of(row: Mapping[str, Any], task: str | None) -> Layout | None:
    if task in ("classification", "text-classification", "cls"):
        return _classification(row) or _conversation(row) or _preference(row) or _pairs(row)
    if task in ("pt", "pretrain", "continued-pretraining", "cpt"):
        return _plain(row, alone=False) or _conversation(row) or _pairs(row)
    return (
        _preference(row)
        or _kto(row)
        or _conversation(row)
        or _pairs(row)
        or _classification(row)
        or _plain(row, alone=True)
    )


def _messages_in(value: Any) -> tuple[str, str] | None:
    """(role key, content key) of a list of messages."""
    if not isinstance(value, list) or not value or not isinstance(value[0], dict):
        return None
    for role, content in (
        ("role", "content"),
        ("from", "value"),
        ("role", "value"),
        ("from", "content"),
        ("role", "text"),
        ("speaker", "text"),
    ):
        if role in value[0] and (content in value[0] or "tool_calls" in value[0]):
            return role, content
    return None


def _conversation(row: Mapping[str, Any]) -> Layout | None:
    for name in ("messages", "conversations", "conversation", "dialog", "dialogue", "chat"):
        keys = _messages_in(row.get(name))
        if keys:
            extra = {p: p for p in ("system", "tools") if isinstance(row.get(p), str)}
            return Layout(
                format="sharegpt" if keys[0] == "from" else "messages",
                columns={"messages": name, **extra},
                role_key=keys[0],
                content_key=keys[1],
            )
    return None


def _preference(row: Mapping[str, Any]) -> Layout | None:
    if not {"chosen", "rejected"} <= row.keys() or type(row["chosen"]) is not type(row["rejected"]):
        return None
    columns = {"chosen": "chosen", "rejected": "rejected"}
    keys = _messages_in(row["chosen"]) or (_messages_in([row["chosen"]]) if isinstance(row["chosen"], dict) else None)
    if not keys and not isinstance(row["chosen"], str):
        return None
    said = _conversation({k: v for k, v in row.items() if k not in ("chosen", "rejected")})
    if said:
        columns["messages"] = said.columns["messages"]
        keys = keys or (said.role_key, said.content_key)
    else:
        prompt = next((p for p in ("prompt", "instruction", "question", "query", "input") if row.get(p)), None)
        if prompt:
            columns["prompt"] = prompt
            keys = keys or _messages_in(row[prompt])
        if prompt == "instruction" and isinstance(row.get("input"), str):
            columns["query"] = "input"
    if isinstance(row.get("system"), str):
        columns["system"] = "system"
    role, content = keys or ("role", "content")
    return Layout(format="preference", columns=columns, role_key=role, content_key=content)


def _kto(row: Mapping[str, Any]) -> Layout | None:
    tag = next((t for t in ("label", "kto_tag", "desirable") if isinstance(row.get(t), bool)), None)
    if tag is None:
        return None
    said = _conversation(row)
    if said:
        return Layout(
            format="kto", columns={**said.columns, "label": tag}, role_key=said.role_key, content_key=said.content_key
        )
    pairs = _pairs(row)
    if pairs is None:
        return None
    return Layout(
        format="kto", columns={**pairs.columns, "label": tag}, role_key=pairs.role_key, content_key=pairs.content_key
    )


def _pairs(row: Mapping[str, Any]) -> Layout | None:
    """alpaca (instruction, input, output) and prompt/completion under their many names."""
    answer = next((a for a in _ANSWERS if _text_or_messages(row.get(a))), None)
    if answer is None:
        return None
    if isinstance(row.get("instruction"), str):
        columns = {"prompt": "instruction", "response": answer}
        query = next((q for q in ("input", "context") if isinstance(row.get(q), str)), None)
        if query:
            columns["query"] = query
        columns |= {p: p for p in ("system", "history") if p in row}
        return Layout(format="alpaca", columns=columns)
    prompt = next(
        (
            p
            for p in ("prompt", "question", "query", "input", "source", "problem")
            if p != answer and _text_or_messages(row.get(p))
        ),
        None,
    )
    if prompt is None:
        return None
    keys = _messages_in(row[prompt]) or _messages_in(row[answer]) or ("role", "content")
    columns = {
        "prompt": prompt,
        "response": answer,
        **({"system": "system"} if isinstance(row.get("system"), str) else {}),
    }
    return Layout(format="prompt-completion", columns=columns, role_key=keys[0], content_key=keys[1])


def _text_or_messages(value: Any) -> bool:
    return isinstance(value, str) or _messages_in(value) is not None


def _classification(row: Mapping[str, Any]) -> Layout | None:
    text = next((t for t in _TEXTS if isinstance(row.get(t), str)), None)
    label = next(
        (n for n in _LABELS if n != text and isinstance(row.get(n), (int, str, bool)) and len(str(row[n])) <= 200), None
    )
    if text is None or label is None:
        return None
    second = next((s for s in _SECOND if isinstance(row.get(s), str)), None)
    return Layout(
        format="classification", columns={"text": text, "label": label, **({"second": second} if second else {})}
    )


def _plain(row: Mapping[str, Any], *, alone: bool) -> Layout | None:
    text = next(
        (t for t in ("text", "content", "raw_content", "document", "code", "prompt") if isinstance(row.get(t), str)),
        None,
    )
    return Layout(format="text", columns={"text": text}) if text else None


def from_dataset_info(entry: Mapping[str, Any]) -> Layout:
    """LLaMA-Factory's own words for the columns (its defaults where the entry is silent)."""
    sharegpt = entry.get("formatting", "alpaca") in ("sharegpt", "openai")
    given = entry.get("columns") if isinstance(entry.get("columns"), dict) else {}
    assert isinstance(given, dict)
    columns = {k: v for k, v in given.items() if isinstance(v, str)}
    tags = entry.get("tags") if isinstance(entry.get("tags"), dict) else {}
    assert isinstance(tags, dict)
    if sharegpt:
        columns.setdefault("messages", "conversations" if entry.get("formatting") == "sharegpt" else "messages")
        plain = (
            {"role_tag": "from", "content_tag": "value"}
            if entry.get("formatting") == "sharegpt"
            else {"role_tag": "role", "content_tag": "content"}
        )
        roles = {str(tags[f"{who}_tag"]): role for who, role in _TAGS.items() if f"{who}_tag" in tags}
        name = "sharegpt" if entry.get("formatting") == "sharegpt" else "messages"
        layout = Layout(format=name, columns=columns, role_key=str(tags.get("role_tag", plain["role_tag"])),
                        content_key=str(tags.get("content_tag", plain["content_tag"])), roles=roles)  # fmt: skip
    else:
        if not columns:
            columns = {"prompt": "instruction", "query": "input", "response": "output"}
        if set(columns) == {"prompt"}:
            return Layout(format="text", columns={"text": columns["prompt"]})
        layout = Layout(format="alpaca", columns=columns)
    if "kto_tag" in columns:
        rest = {k: v for k, v in columns.items() if k != "kto_tag"}
        return Layout(
            format="kto",
            columns={**rest, "label": columns["kto_tag"]},
            role_key=layout.role_key,
            content_key=layout.content_key,
            roles=layout.roles,
        )
    if entry.get("ranking") is True:
        return Layout(
            format="preference",
            columns=columns,
            role_key=layout.role_key,
            content_key=layout.content_key,
            roles=layout.roles,
        )
    return layout


_TAGS = {"user": "user", "assistant": "assistant", "observation": "tool", "function": "assistant", "system": "system"}
