"""The page: workspaces as reports, and a form per reading verb, derived from its signature."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from papertrain import verbs
from papertrain.core.errors import PapertrainError
from papertrain.core.files import only_reading
from papertrain.core.redact import redact
from papertrain.core.schema import READING, arguments, confine, readable, unwritten
from papertrain.report.html import page, three_parts
from papertrain.web.guard import COOKIE, HEADERS, host_allowed, same_origin, token_given


def build(folders: Sequence[Path], token: str, port: int, host: str = "") -> Any:
    """The application. folders: the workspaces it shows, and the only places its forms may read."""
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.middleware.base import BaseHTTPMiddleware
    from starlette.responses import HTMLResponse, RedirectResponse
    from starlette.routing import Route

    def answer(title: str, sections: list[tuple[str, str]], status: int = 200) -> HTMLResponse:
        lead = '<p><a href="/">all workspaces and verbs</a></p>'
        return HTMLResponse(redact(page(title, sections, lead=lead)), status_code=status)

    async def guard(request: Any, call_next: Any) -> Any:
        if not host_allowed(request.headers.get("host"), port, host):
            response: Any = HTMLResponse("this Host is not served", status_code=421)
        elif (given := token_given(request, token)) is None:
            response = HTMLResponse(
                "the address needs its token: take it from the terminal where `papertrain serve` runs", status_code=401
            )
        elif request.method == "POST" and not same_origin(request, port, host):
            response = HTMLResponse("the form came from elsewhere", status_code=403)
        elif given == "address":
            response = RedirectResponse(request.url.path, status_code=303)
            response.set_cookie(COOKIE, token, httponly=True, samesite="strict")
        else:
            response = await call_next(request)
        for name, value in HEADERS.items():
            response.headers[name] = value
        return response

    async def home(request: Any) -> Any:
        return answer("papertrain", _home(folders))

    async def workspace(request: Any) -> Any:
        number = request.path_params["number"]
        if number >= len(folders):
            return answer("no such workspace", [], 404)
        report = await run_in_threadpool(_ask, "report", {"work": folders[number]})
        if isinstance(report, PapertrainError):
            return answer("papertrain", [("What is wrong", f"<p>{escape(report.one_line())}</p>")], 400)
        return HTMLResponse(report.data["html"])

    async def form(request: Any) -> Any:
        name = request.path_params["name"]
        if name not in READING or name not in verbs.names():
            return answer("no such verb", [], 404)
        sections = [("Ask", _form(name, {}))]
        if request.method == "POST":
            given = {k: v for k, v in (await request.form()).items() if isinstance(v, str) and v != ""}
            report = await run_in_threadpool(_answer, name, given, list(folders))
            told = (
                three_parts(report)
                if not isinstance(report, PapertrainError)
                else f'<p class="error">{escape(report.one_line())}</p>'
            )
            sections = [("Answer", told), ("Ask again", _form(name, given))]
        return answer(f"papertrain {name}", sections)

    routes = [
        Route("/", home),
        Route("/work/{number:int}", workspace),
        Route("/verb/{name}", form, methods=["GET", "POST"]),
    ]
    app = Starlette(routes=routes)
    app.add_middleware(BaseHTTPMiddleware, dispatch=guard)
    return app


def _home(folders: Sequence[Path]) -> list[tuple[str, str]]:
    rows = []
    for i, folder in enumerate(folders):
        told = _ask("status", {"work": folder})
        text = told.one_line() if isinstance(told, PapertrainError) else f"{told.result}. {told.explanation}"
        rows.append(f'<li><a href="/work/{i}">{escape(folder.name or str(folder))}</a>: {escape(text)}</li>')
    asks = []
    for name in READING:
        if name in verbs.names():
            doc = (verbs.load(name).__doc__ or "").strip().splitlines()[0]
            asks.append(f'<li><a href="/verb/{name}">{name}</a>: {escape(doc)}</li>')
    return [("Workspaces", f"<ul>{''.join(rows)}</ul>"), ("Ask", f"<ul>{''.join(asks)}</ul>")]


def _form(name: str, given: dict[str, str]) -> str:
    """A form with a field per parameter."""
    fields = []
    for p in readable(verbs.load(name)):
        value = given.get(p.name, "")
        label = f'<label for="f-{p.name}">{escape(p.name)}{" (needed)" if p.required else ""}</label>'
        if p.kind is bool:
            field = f'<input type="checkbox" id="f-{p.name}" name="{p.name}" value="true"{" checked" if value else ""}>'
        elif p.choices:
            options = "".join(
                f"<option{' selected' if c == value else ''}>{escape(c)}</option>" for c in ("", *p.choices)
            )
            field = f'<select id="f-{p.name}" name="{p.name}">{options}</select>'
        else:
            field = f'<input id="f-{p.name}" name="{p.name}" value="{escape(value)}" placeholder="{escape(p.arg.metavar or "")}">'
        fields.append(f"<p>{label}<br>{field} <small>{escape(p.arg.help)}</small></p>")
    return f'<form method="post" action="/verb/{name}">{"".join(fields)}<button>Ask</button></form>'


def _answer(name: str, given: dict[str, str], folders: list[Path]) -> Any:
    params = {p.name: p for p in readable(verbs.load(name))}
    try:
        typed: dict[str, Any] = {}
        for key, text in given.items():
            p = params.get(key)
            typed[key] = (
                True if p is not None and p.kind is bool else text.split("\n") if p is not None and p.many else text
            )
        values = arguments(list(params.values()), typed)
        for key, value in values.items():
            confine(key, value, folders, is_path=params[key].kind is Path)
    except PapertrainError as error:
        return error
    return _ask(name, values)


def _ask(name: str, values: dict[str, Any]) -> Any:
    try:
        with only_reading():
            return verbs.load(name)(**values, **unwritten(verbs.load(name)))
    except PapertrainError as error:
        return error
    except Exception as fault:
        return PapertrainError(f"a fault of papertrain itself: {type(fault).__name__}", code="fault")
