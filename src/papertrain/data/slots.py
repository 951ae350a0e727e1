"""LLaMA-Factory's own templates: what it writes around each turn, and so what it trains on.

Its text differs from the model's chat template in places (no date in Llama 3's system turn, an empty thought before answers
of reasoning models), and it tokenises every piece on its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import structs

from papertrain.core.values import Value
from papertrain.data.examples import RowError
from papertrain.facts.frameworks.load import slot_templates

Slots: TypeAlias = list[Any]


class Piece(Value, frozen=True):
    """Text that is tokenised on its own. special: it is one token. ends: its first token is trained to be the end token."""

    text: str
    trained: bool
    special: bool = False
    ends: bool = False


class SlotTemplate:
    """One of the framework's templates, with the special tokens of one model."""

    def __init__(
        self, name: str, special: Mapping[str, str], *, thinking: bool | None = True, keep_thoughts: bool = False
    ) -> None:
        """thinking, keep_thoughts: the framework's `enable_thinking` and `preserve_thinking`."""
        self.name, self.table = name, slot_templates()[name]
        self.thinking, self.keep_thoughts = thinking, keep_thoughts
        stops = self.table.get("stop_words") or []
        self.special = {**special, **({"eos_token": stops[0]} if self.table.get("replace_eos") and stops else {})}

    @property
    def end(self) -> str:
        """What closes an answer: the end token, or the text that the template puts there instead."""
        slots = self.table["assistant"]
        if any(isinstance(s, dict) and s.get("special") == "eos_token" for s in slots) or self.table.get(
            "efficient_eos"
        ):
            return str(self.special.get("eos_token", ""))
        last = slots[-1]
        return last.partition("{{content}}")[2].strip() if isinstance(last, str) else str(last.get("token", ""))

    def pieces(self, messages: Sequence[Mapping[str, Any]], answers: set[int]) -> Iterator[Piece]:
        """Each piece that is tokenised on its own, in order. Raises RowError."""
        messages = self._remembered(list(messages), answers)
        system = self.table.get("default_system", "")
        first = 0
        if messages and messages[0]["role"] == "system":
            system, first = messages[0]["content"] or system, 1
        inside = self.table.get("class") == "Llama2Template"
        for i, message in enumerate(messages[first:], first):
            content, role = message["content"], message["role"]
            if i == first:
                yield from self._fill(self.table.get("prefix", []), "", False)
                if system and inside:
                    content = "".join(p.text for p in self._fill(self.table["system"], system, False)) + content
                elif system:
                    yield from self._fill(self.table["system"], system, False)
            if role == "assistant":
                if i in answers:
                    yield from self._thought(content)
                yield from self._fill(self.table["assistant"], content, i in answers)
            elif role in ("user", "tool"):
                slots = self.table.get("observation", self.table["user"]) if role == "tool" else self.table["user"]
                asked = list(self._fill(slots, content, False, turn=(i - first) // 2))
                if asked and i - 1 in answers and self.table.get("efficient_eos"):
                    # Between two turns no end token stands: the first token of the next question is trained to be one.
                    asked[0] = structs.replace(asked[0], ends=True)
                yield from asked
            else:
                raise RowError(f"the template {self.name} has no place for {role}")
        if self.table.get("efficient_eos") and self.special.get("eos_token"):
            yield Piece(self.special["eos_token"], True, special=True)

    def _remembered(self, messages: list[Mapping[str, Any]], answers: set[int]) -> list[Mapping[str, Any]]:
        """Reasoning templates drop thoughts: all of them where thinking is off, those of earlier turns where only the last answer is trained."""
        if not self._reasons:
            return messages
        said = [i for i, m in enumerate(messages) if m["role"] == "assistant"]
        off = self.thinking is False
        earlier = len(answers) < len(said) and not self.keep_thoughts
        forgotten = {i for i in said if off or (earlier and i not in answers)}
        start, stop = self._words
        thought = re.compile(f"{re.escape(start)}(.*?){re.escape(stop)}", re.DOTALL)
        return [
            {**m, "content": thought.sub("", m["content"]).lstrip("\n")} if i in forgotten else m
            for i, m in enumerate(messages)
        ]

    @property
    def _reasons(self) -> bool:
        return str(self.table.get("class", "")).endswith("ReasoningTemplate")

    @property
    def _words(self) -> list[str]:
        return self.table.get("thought_words") or ["<think>\n", "\n</think>\n\n"]

    def _thought(self, content: str) -> Iterator[Piece]:
        """Reasoning templates put an empty thought before a trained answer that has none (GLM-4.7's: only its end)."""
        if self._reasons and not any(w.strip() in content for w in self._words):
            empty = self._words[1] if self.table["class"] == "Glm47ReasoningTemplate" else "".join(self._words)
            yield Piece(empty, bool(self.thinking))

    def _fill(self, slots: Slots, content: str, trained: bool, turn: int = 0) -> Iterator[Piece]:
        for slot in slots:
            if isinstance(slot, dict):
                text = slot["token"] if "token" in slot else self.special.get(slot["special"], "")
            else:
                text = slot.replace("{{idx}}", str(turn)).replace("{{content}}", content)
            if text:
                yield Piece(text, trained, special=isinstance(slot, dict))
