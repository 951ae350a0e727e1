"""One row → one example: who says what, and which words are trained on. A row that does not fit says why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from papertrain.data.formats import Layout


class RowError(Exception):
    """Why a row is no example, and what becomes of it.

    kind: `unfit` (a loader refuses such a row, and the run with it), `order` (the loader drops it, or the template refuses
    it), `left out` (plan and script leave it out, and nothing stops).
    """

    def __init__(self, says: str, kind: str = "unfit") -> None:
        super().__init__(says)
        self.kind = kind


class Example(NamedTuple):
    """kind: chat (trained on its answers), text (on every token), pair (chosen and rejected), kto, label.

    messages hold `role` and `content` (and what else the template may use); other is the rejected conversation of a pair.
    """

    kind: str
    messages: tuple[dict[str, Any], ...] = ()
    other: tuple[dict[str, Any], ...] = ()
    text: str = ""
    label: str | None = None
    empty: bool = False


def example(row: Mapping[str, Any], layout: Layout) -> Example:
    """The example in a row. Raises RowError."""
    return _BY_FORMAT[layout.format](row, layout)


def _string(row: Mapping[str, Any], name: str | None, *, required: bool = True) -> str:
    value = row.get(name) if name else None
    if value is None and not required:
        return ""
    if not isinstance(value, str):
        raise RowError(f"{name} is missing" if value is None else f"{name} is no text")
    return value


def _joined(row: Mapping[str, Any], layout: Layout) -> str:
    """Instruction and input, joined as LLaMA-Factory joins them."""
    first = _string(row, layout.columns.get("prompt"), required="messages" not in layout.columns)
    second = _string(row, layout.columns.get("query"), required=False)
    return "\n".join(t for t in (first, second) if t)


def _with_system(row: Mapping[str, Any], layout: Layout, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    system = _string(row, layout.columns.get("system"), required=False)
    if system and not (messages and messages[0]["role"] == "system"):
        return [{"role": "system", "content": system}, *messages]
    return messages


def _alpaca(row: Mapping[str, Any], layout: Layout) -> Example:
    messages: list[dict[str, Any]] = []
    history = row.get(layout.columns.get("history", "history"))
    if isinstance(history, list):
        for turn in history:
            if not (isinstance(turn, (list, tuple)) and len(turn) == 2 and all(isinstance(t, str) for t in turn)):
                raise RowError("history is no list of [question, answer]")
            messages += [{"role": "user", "content": turn[0]}, {"role": "assistant", "content": turn[1]}]
    prompt = _joined(row, layout)
    if not prompt:
        raise RowError("the prompt is empty", "left out")  # LLaMA-Factory 0.9.5 trains on its answer alone
    answer = _string(row, layout.columns.get("response"))
    messages += [{"role": "user", "content": prompt}, {"role": "assistant", "content": answer}]
    return Example("chat", tuple(_with_system(row, layout, messages)), empty=not answer.strip())


def _prompt_completion(row: Mapping[str, Any], layout: Layout) -> Example:
    prompt, answer = row.get(layout.columns["prompt"]), row.get(layout.columns["response"])
    if isinstance(prompt, list) or isinstance(answer, list):
        turns = [*_turns(prompt, layout, "user"), *_turns(answer, layout, "assistant")]
        return _checked(row, layout, turns)
    return _alpaca(row, layout)


def _turns(value: Any, layout: Layout, role: str) -> list[dict[str, Any]]:
    if isinstance(value, str):
        return [{"role": role, "content": value}]
    if not isinstance(value, list):
        raise RowError("the messages are no list")
    return [_message(m, layout) for m in value]


def _message(message: Any, layout: Layout) -> dict[str, Any]:
    if not isinstance(message, dict):
        raise RowError("a message is no object")
    role = layout.role(message.get(layout.role_key))
    if role is None:
        said = message.get(layout.role_key)
        raise RowError(
            f"{layout.role_key} {str(said)[:30]!r} is no known role"
            if said is not None
            else f"a message has no {layout.role_key}"
        )
    content = message.get(layout.content_key)
    calls = message.get("tool_calls")
    if content is None and calls:
        content = ""
    if isinstance(content, list):  # parts: only the text is counted
        content = "".join(str(p.get("text", "")) for p in content if isinstance(p, dict))
    if not isinstance(content, str):
        raise RowError(f"a message has no {layout.content_key}")
    kept: dict[str, Any] = {"role": role, "content": content}
    if calls:
        kept["tool_calls"] = calls
    return kept


def _conversation(row: Mapping[str, Any], layout: Layout) -> Example:
    value = row.get(layout.columns["messages"])
    if not isinstance(value, list) or not value:
        raise RowError(f"{layout.columns['messages']} is empty or no list")
    return _checked(row, layout, [_message(m, layout) for m in value])


def _checked(row: Mapping[str, Any], layout: Layout, messages: list[dict[str, Any]]) -> Example:
    messages = _with_system(row, layout, messages)
    order(messages)
    if messages[-1]["role"] != "assistant":
        raise RowError("it ends without an answer", "order")
    answers = [m for m in messages if m["role"] == "assistant"]
    return Example("chat", tuple(messages), empty=not any(m["content"].strip() or m.get("tool_calls") for m in answers))


def order(messages: list[dict[str, Any]]) -> None:
    """System only first; then questions (or tool results) and answers in turn. Raises RowError naming the place."""
    last = ""
    for i, message in enumerate(messages):
        role = message["role"]
        if role == "system":
            if i:
                raise RowError(f"roles out of order: system at message {i + 1}", "order")
            continue
        if role == "assistant" and last in ("", "assistant") and not (last and messages[i - 1].get("tool_calls")):
            raise RowError(
                f"roles out of order: assistant {'first' if not last else 'twice'} at message {i + 1}", "order"
            )
        if role == "user" and last == "user":
            raise RowError(f"roles out of order: user twice at message {i + 1}", "order")
        last = role
    if not last:
        raise RowError("it has no message but the system's")


def _preference(row: Mapping[str, Any], layout: Layout) -> Example:
    chosen, rejected = row.get(layout.columns["chosen"]), row.get(layout.columns["rejected"])
    said: list[dict[str, Any]] = []
    if "messages" in layout.columns:
        said = _turns(row.get(layout.columns["messages"]), layout, "user")
    elif "prompt" in layout.columns:
        value = row.get(layout.columns["prompt"])
        said = (
            _turns(value, layout, "user")
            if isinstance(value, list)
            else [{"role": "user", "content": _joined(row, layout)}]
        )
    good, bad = _side(chosen, layout, "chosen"), _side(rejected, layout, "rejected")
    if said and len(good) > 1 and good[: len(said)] == said:
        said = []  # whole dialogues that repeat the prompt
    first, second = [_with_system(row, layout, [*said, *side]) for side in (good, bad)]
    for messages in (first, second):
        if len(messages) > 1:
            order(messages)
        if messages[-1]["role"] != "assistant":
            raise RowError("a side ends without an answer", "order")
    empty = not first[-1]["content"].strip() or not second[-1]["content"].strip()
    return Example("pair", tuple(first), tuple(second), empty=empty)


def _side(value: Any, layout: Layout, name: str) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        return [{**_message(value, layout), "role": "assistant"}]
    if not isinstance(value, (str, list)) or value == []:
        raise RowError(f"{name} is missing")
    return _turns(value, layout, "assistant")


def _kto(row: Mapping[str, Any], layout: Layout) -> Example:
    tag = row.get(layout.columns["label"])
    if not isinstance(tag, bool):
        raise RowError(f"{layout.columns['label']} is not true or false")
    inner = _conversation(row, layout) if "messages" in layout.columns else _prompt_completion(row, layout)
    return inner._replace(kind="kto", label="desirable" if tag else "undesirable")


def _classification(row: Mapping[str, Any], layout: Layout) -> Example:
    label = row.get(layout.columns["label"])
    if label is None or isinstance(label, (list, dict)) or str(label).strip() == "":
        raise RowError(f"{layout.columns['label']} is missing", "left out")
    try:
        text = _string(row, layout.columns["text"])
    except RowError as error:  # no framework but the script reads such data
        raise RowError(str(error), "left out") from None
    second = _string(row, layout.columns.get("second"), required=False)
    return Example("label", text="\n".join(t for t in (text, second) if t), label=str(label), empty=not text.strip())


def _plain(row: Mapping[str, Any], layout: Layout) -> Example:
    text = _string(row, layout.columns["text"])
    return Example("text", text=text, empty=not text.strip())


_BY_FORMAT = {
    "alpaca": _alpaca, "prompt-completion": _prompt_completion, "sharegpt": _conversation, "messages": _conversation, "preference": _preference,
    "kto": _kto, "classification": _classification, "text": _plain,
}  # fmt: skip
