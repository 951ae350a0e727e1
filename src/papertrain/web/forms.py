"""A form per reading verb, derived from its signature, and its answer as the command gives it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from papertrain import verbs
from papertrain.core.errors import PapertrainError, of_system
from papertrain.core.help import helped
from papertrain.core.schema import READING, arguments, confine, readable, unwritten
from papertrain.core.texts import say
from papertrain.core.writing import only_reading
from papertrain.report.html import three_parts
from papertrain.web.shell import shell


def known(name: str) -> bool:
    return name in READING and name in verbs.names()


def page(site: Any, name: str, given: dict[str, str] | None) -> str:
    """The form; after a question its answer above it."""
    parts = [(say("Ask"), form(name, given or {}))]
    if given is not None:
        report = answer(name, given, list(site.folders))
        told = f'<p class="error">{escape(report.one_line())}</p>' if isinstance(report, PapertrainError) else three_parts(report)  # fmt: skip
        parts.insert(0, (say("Answer"), told))
    return shell(site, f"papertrain {name}", parts)


def form(name: str, given: dict[str, str]) -> str:
    """A field per parameter, with its help beside it."""
    fields = []
    for p in readable(verbs.load(name)):
        value = given.get(p.name, "")
        label = f'<label for="f-{p.name}">{escape(p.name)}{" (" + say("needed") + ")" if p.required else ""}</label>'
        about = f'aria-describedby="h-{p.name}"'
        if p.kind is bool:
            field = f'<input type="checkbox" id="f-{p.name}" name="{p.name}" value="true" {about}{" checked" if value else ""}>'
        elif p.choices:
            options = "".join(
                f"<option{' selected' if c == value else ''}>{escape(c)}</option>" for c in ("", *p.choices)
            )
            field = f'<select id="f-{p.name}" name="{p.name}" {about}>{options}</select>'
        else:
            field = f'<input id="f-{p.name}" name="{p.name}" value="{escape(value)}" placeholder="{escape(p.arg.metavar or "")}" {about}>'
        fields.append(f'<p>{label}<br>{field} <small id="h-{p.name}">{escape(helped(p.arg.help))}</small></p>')
    return f'<form method="post" action="/verb/{name}">{"".join(fields)}<button>{escape(say("Ask"))}</button></form>'


def answer(name: str, given: dict[str, str], folders: list[Path]) -> Any:
    """The Report, or the error: unknown fields, wrong types and places outside are refused."""
    params = {p.name: p for p in readable(verbs.load(name))}
    try:
        typed: dict[str, Any] = {}
        for key, text in given.items():
            p = params.get(key)
            typed[key] = True if p is not None and p.kind is bool else text.split("\n") if p is not None and p.many else text  # fmt: skip
        values = arguments(list(params.values()), typed)
        for key, value in values.items():
            confine(key, value, folders, is_path=params[key].kind is Path)
    except PapertrainError as error:
        return error
    except OSError as error:
        return of_system(error)
    return ask(name, values)


def ask(name: str, values: dict[str, Any]) -> Any:
    """One verb, with nothing written whatever is asked. A fault of ours is an error, not a trace."""
    try:
        with only_reading():
            return verbs.load(name)(**values, **unwritten(verbs.load(name)))
    except PapertrainError as error:
        return error
    except OSError as error:
        return of_system(error)
    except Exception as fault:
        return PapertrainError(f"a fault of papertrain itself: {type(fault).__name__}", code="fault")


def reading() -> Sequence[str]:
    return [n for n in READING if known(n)]
