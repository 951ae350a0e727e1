"""The model's own chat template, which is a program that somebody wrote: it runs in a sandbox with a budget."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NoReturn

from papertrain.core.errors import PapertrainError
from papertrain.data.examples import RowError
from papertrain.facts.config import read_json

TEMPLATE_LIMIT_BYTES = 1_000_000
_RANGE_LIMIT = 10_000
_TEXT_LIMIT = 16_000_000


class ChatTemplate:
    """Renders conversations as `apply_chat_template` would."""

    def __init__(self, source: str, special: dict[str, str]) -> None:
        self.special = special
        self._template = _environment().from_string(source)
        self.marks = "endgeneration" in source
        """Whether the template itself says which words are the model's: training libraries then train on those."""

    def marked(self, messages: Sequence[dict[str, Any]]) -> list[tuple[str, bool]]:
        """The conversation in parts, each with whether it stands inside a `{% generation %}` block. Raises RowError."""
        sign = f"\x02{secrets.token_hex(8)}\x03"  # nothing that a row could hold
        parts = self.render(messages, generation_sign=sign).split(sign)
        return [(part, i % 2 == 1) for i, part in enumerate(parts) if part]

    def render(self, messages: Sequence[dict[str, Any]], *, prompt: bool = False, generation_sign: str = "") -> str:
        """The conversation as one text; with `prompt`, up to where the next answer begins. Raises RowError."""
        try:
            text: str = self._template.render(
                messages=list(messages),
                add_generation_prompt=prompt,
                tools=None,
                documents=None,
                generation_sign=generation_sign,
                **self.special,
            )
        except Exception as e:  # the template may raise anything: it is somebody's program
            raise RowError(f"the model's template refuses it: {type(e).__name__}: {str(e)[:60]}") from None
        if len(text) > _TEXT_LIMIT:
            raise RowError("the rendered text is too long")
        return text


def _environment() -> Any:
    from jinja2.exceptions import SecurityError, TemplateError
    from jinja2.ext import loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Guarded(ImmutableSandboxedEnvironment):
        # `"a" * 10**9` and `9**9**9` need no loop to hang.
        intercepted_binops = frozenset({"*", "**"})

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            sizes = [len(x) if isinstance(x, (str, list, tuple)) else x for x in (left, right)]
            if operator == "**" or not all(isinstance(s, (int, float)) and abs(s) < 1e9 for s in sizes):
                raise SecurityError("arithmetic that a template has no need of")
            if any(isinstance(x, (str, list, tuple)) for x in (left, right)) and sizes[0] * sizes[1] > 100_000:
                raise SecurityError("a text too long to repeat")
            return super().call_binop(context, operator, left, right)

    def raise_exception(message: object) -> NoReturn:
        raise TemplateError(str(message)[:200])

    def bounded(*numbers: int) -> range:
        found = range(*numbers)
        if len(found) > _RANGE_LIMIT:
            raise SecurityError("a loop too long for a template")
        return found

    environment = Guarded(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, _generation_tag()])
    environment.globals.update(
        raise_exception=raise_exception, range=bounded, strftime_now=lambda form: date.today().strftime(str(form)[:40])
    )
    environment.filters["tojson"] = _tojson
    return environment


def _generation_tag() -> Any:
    """`{% generation %}` marks answers for training libraries: its content, between two signs where they are asked for."""
    from jinja2 import nodes
    from jinja2.ext import Extension

    class Generation(Extension):
        tags = {"generation"}

        def parse(self, parser: Any) -> Any:
            line = next(parser.stream).lineno
            body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            sign = nodes.Output([nodes.Name("generation_sign", "load")])
            return nodes.Scope([sign, *body, sign]).set_lineno(line)

    return Generation


def _tojson(
    value: Any, ensure_ascii: bool = False, indent: int | None = None, separators: Any = None, sort_keys: bool = False
) -> str:
    import json

    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def load_template(folder: Path) -> tuple[ChatTemplate | None, dict[str, str], str]:
    """(the template of the model in a folder, its special tokens, what must be said)."""
    config = folder / "tokenizer_config.json"
    try:
        table = read_json(config, limit=64_000_000) if config.is_file() else {}
    except PapertrainError as e:
        return None, {}, e.one_line()
    special = dict(_special(table))
    source = _source(folder, table)
    if source is None:
        return None, special, ""
    if len(source) > TEMPLATE_LIMIT_BYTES:
        return None, special, "the model's chat template is too long to be one"
    try:
        return ChatTemplate(source, special), special, ""
    except Exception as e:
        return None, special, f"the model's chat template is broken: {type(e).__name__}"


def _source(folder: Path, table: dict[str, Any]) -> str | None:
    file = folder / "chat_template.jinja"
    if file.is_file() and file.stat().st_size <= TEMPLATE_LIMIT_BYTES:
        return file.read_text("utf-8", "replace")
    found = table.get("chat_template")
    if isinstance(found, list):  # several, by name
        named = {t.get("name"): t.get("template") for t in found if isinstance(t, dict)}
        found = named.get("default") or next(iter(named.values()), None)
    return found if isinstance(found, str) else None


def _special(table: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name in ("bos_token", "eos_token", "pad_token", "unk_token"):
        value = table.get(name)
        value = value.get("content") if isinstance(value, dict) else value
        if isinstance(value, str):
            yield name, value
