"""An example as the text that the model sees, cut into what is masked and what is trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from papertrain.core.models import ModelSpec
from papertrain.data.examples import Example
from papertrain.data.slots import SlotTemplate
from papertrain.data.template import ChatTemplate, load_template
from papertrain.facts.frameworks.load import slot_templates


class Segment(NamedTuple):
    """special: the text is one token. ends: the end token, where the first token of this text is trained to be it."""

    text: str
    trained: bool
    special: bool = False
    ends: str = ""


class Renderer:
    """How one model's data becomes text: a framework's template, the model's own, or question, answer and end token."""

    def __init__(
        self,
        template: ChatTemplate | None = None,
        special: Mapping[str, str] | None = None,
        says: str = "",
        slots: SlotTemplate | None = None,
    ) -> None:
        self.template, self.special, self.says, self.slots = template, dict(special or {}), says, slots

    @property
    def templated(self) -> bool:
        return self.template is not None or self.slots is not None

    @property
    def apart(self) -> bool:
        """Whether every piece is tokenised on its own, as LLaMA-Factory does."""
        return self.slots is not None

    @property
    def end(self) -> str:
        return self.slots.end if self.slots else self.special.get("eos_token", "")

    def segments(self, one: Example) -> list[Segment]:
        """The text of an example (of a pair's chosen side), in order. Raises RowError where the template refuses it."""
        if one.kind == "text":
            return [Segment(one.text + self.special.get("eos_token", ""), True)]
        if one.kind == "label":
            return [Segment(one.text, False)]
        return self.conversation(one.messages, last_only=one.kind in ("pair", "kto"))

    def rejected(self, one: Example) -> list[Segment]:
        return self.conversation(one.other, last_only=True)

    def conversation(self, messages: Sequence[dict[str, Any]], *, last_only: bool = False) -> list[Segment]:
        answers = [i for i, m in enumerate(messages) if m["role"] == "assistant"]
        answers = answers[-1:] if last_only else answers
        if self.slots is not None:
            end = self.slots.end
            return [
                Segment(p.text, p.trained, p.special, end if p.ends else "")
                for p in self.slots.pieces(messages, set(answers))
            ]
        # With one answer the marks and the prompt before it say the same but for a line break; scripts know only the latter.
        if self.template is not None and self.template.marks and len(answers) > 1:
            return [Segment(text, trained) for text, trained in self.template.marked(messages)]
        if self.template is not None:
            return self._by_template(self.template, messages, answers)
        return self._plainly(messages, set(answers))

    def _by_template(
        self, template: ChatTemplate, messages: Sequence[dict[str, Any]], answers: Sequence[int]
    ) -> list[Segment]:
        """Each answer lies between the prompt that ends before it and the conversation that ends with it."""
        whole = template.render(messages)
        found: list[Segment] = []
        at = 0
        for i in answers:
            before = template.render(messages[:i], prompt=True)
            through = whole if i == len(messages) - 1 else template.render(messages[: i + 1])
            start = _shared(before, whole)
            stop = _shared(through, whole)
            # A template that rewrites earlier turns (dropping their reasoning) shares less than the whole prefix.
            start, stop = max(at, start), max(at, start, stop)
            found += [Segment(whole[at:start], False), Segment(whole[start:stop], True)]
            at = stop
        found.append(Segment(whole[at:], False))
        return [s for s in found if s.text]

    def _plainly(self, messages: Sequence[dict[str, Any]], answers: set[int]) -> list[Segment]:
        found = []
        for i, message in enumerate(messages):
            if message["role"] == "assistant":
                found.append(Segment(message["content"] + self.end, i in answers))
            else:
                found.append(Segment(message["content"] + "\n", False))
        return [s for s in found if s.text]


def _shared(part: str, whole: str) -> int:
    """How much of `part` the whole begins with."""
    if whole.startswith(part):
        return len(part)
    low, high = 0, min(len(part), len(whole))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if whole.startswith(part[:middle]) else (low, middle - 1)
    return low


def renderer(model: ModelSpec | None, template: str | None = None, thinking: bool | None = True) -> Renderer:
    """The renderer of a model: LLaMA-Factory's template of that name, else the model's own where its folder is here.

    thinking: the framework's `enable_thinking`.
    """
    own, special, says = (
        load_template(Path(model.local_path)) if model is not None and model.local_path else (None, {}, "")
    )
    if template is None:
        return Renderer(own, special, says)
    if template in slot_templates():
        return Renderer(None, special, "", SlotTemplate(template, special, thinking=thinking))
    return Renderer(own, special, says or f"no template {template!r} is known here: the model's own is used")
