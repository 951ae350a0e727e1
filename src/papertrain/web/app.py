"""The live page: Plan, Run, Diagnose, Results, Package of each workspace, and a form per reading verb.

Server-rendered HTML with a small script of its own; without the script everything but live curves and sliders works.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from papertrain.core.errors import PapertrainError
from papertrain.core.redact import document, redact
from papertrain.core.spelled import spelled
from papertrain.core.texts import language
from papertrain.web import api, forms, pages
from papertrain.web.guard import (
    HEADERS,
    LANGUAGE,
    chosen_language,
    cookie_name,
    host_allowed,
    same_origin,
    token_given,
    without_token,
)
from papertrain.web.static_files import asset

BODY_LIMIT = 32 * 2**20
FORM_LIMIT = 2**20
BODY_SECONDS = 20.0


def build(folders: Sequence[Path], token: str, port: int, host: str = "", *, writing: bool = False) -> Any:
    """The application. folders: the workspaces it shows, and the only places it may read. writing: whether a page may
    write what it has shown."""
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.middleware.base import BaseHTTPMiddleware
    from starlette.responses import HTMLResponse, RedirectResponse, Response
    from starlette.routing import Route

    site = pages.Site(tuple(folders), writing)
    state = api.State(site)

    def shown(html: str, status: int = 200) -> Any:
        return HTMLResponse(redact(html), status_code=status)

    async def guard(request: Any, call_next: Any) -> Any:
        if not host_allowed(request.headers.get("host"), port, host):
            response: Any = HTMLResponse("this Host is not served", status_code=421)
        elif (given := token_given(request, token, port)) is None:
            response = HTMLResponse(
                "the address needs its token: take it from the terminal where `papertrain serve` runs", status_code=401
            )
        elif request.method not in ("GET", "HEAD") and not same_origin(request, port, host):
            response = HTMLResponse("the form came from elsewhere", status_code=403)
        elif given == "address":
            response = RedirectResponse(without_token(request), status_code=303)
            response.set_cookie(cookie_name(port), token, httponly=True, samesite="strict")
        else:
            language.set(chosen_language(request))
            response = await call_next(request)
            if request.query_params.get("lang") in ("en", "zh"):
                response.set_cookie(LANGUAGE, request.query_params["lang"], httponly=True, samesite="strict")
        for name, value in HEADERS.items():
            response.headers[name] = value
        return response

    def html_page(make: Callable[[Any], str]) -> Callable[[Any], Awaitable[Any]]:
        """A page made by a function of the request; what the user got wrong is a page too."""

        async def answer(request: Any) -> Any:
            try:
                return shown(await run_in_threadpool(make, request))
            except PapertrainError as error:
                missing = error.code in ("no-page", "no-workspace-number")
                return shown(pages.wrong(site, error), 404 if missing else 400)

        return answer

    def json_answer(make: Callable[[Any, dict[str, Any]], dict[str, Any]]) -> Callable[[Any], Awaitable[Any]]:
        async def answer(request: Any) -> Any:
            status, given = 200, {}
            if request.method == "POST":
                try:
                    given = await _body(request)
                except (ValueError, TimeoutError) as error:
                    return Response(str(error), status_code=408 if isinstance(error, TimeoutError) else 400)
            try:
                content = await run_in_threadpool(make, request, given)
            except PapertrainError as error:
                content, status = {"error": pages.told(error)}, 404 if error.code.startswith("no-") else 400
            blob = document(content)
            return Response(
                blob,
                status_code=status,
                media_type="application/json",
                headers={"server-timing": f"derive;dur={content.get('milliseconds', 0)}"},
            )

        return answer

    async def form(request: Any) -> Any:
        given = None
        if request.method == "POST":
            size = request.headers.get("content-length", "")
            if not size.isdigit() or int(size) > FORM_LIMIT:
                return Response("a form of known and limited size is expected", status_code=413)
            async with asyncio.timeout(BODY_SECONDS):
                given = {k: v for k, v in (await request.form()).items() if isinstance(v, str) and v != ""}
        name = request.path_params["name"]
        if not forms.known(name):
            return shown(pages.wrong(site, PapertrainError("no such verb", code="no-page")), 404)
        return shown(await run_in_threadpool(forms.page, site, name, given))

    async def static(request: Any) -> Any:
        found = asset(request.path_params["name"])
        if found is None:
            return Response("not found", status_code=404)
        return Response(found[0], media_type=found[1])

    async def download(request: Any) -> Any:
        try:
            path = pages.download(site, request.path_params["number"], request.path_params["folder"], request.path_params["name"])  # fmt: skip
        except PapertrainError as error:
            return shown(pages.wrong(site, error), 404)
        disposition = {"content-disposition": f"attachment; filename*=UTF-8''{quote(spelled(path.name), safe='')}"}
        return Response(path.read_bytes(), media_type="application/octet-stream", headers=disposition)

    async def picture(request: Any) -> Any:
        try:
            path = pages.picture(site, request.path_params["number"], request.path_params["name"])
        except PapertrainError as error:
            return shown(pages.wrong(site, error), 404)
        return Response(path.read_bytes(), media_type="image/png")

    async def report_file(request: Any) -> Any:
        answer = await html_page(lambda r: pages.whole(site, r.path_params["number"]))(request)
        if answer.status_code == 200:
            answer.headers["content-disposition"] = 'attachment; filename="report.html"'
        return answer

    w = "/w/{number:int}"
    routes = [
        Route("/", html_page(lambda r: pages.home(site))),
        Route("/plan", html_page(lambda r: pages.new_plan(site))),
        Route("/report/{number:int}", html_page(lambda r: pages.report(site, r.path_params["number"]))),
        Route("/report/{number:int}/file", report_file),
        Route(
            f"{w}/plan", html_page(lambda r: pages.plan(site, r.path_params["number"], r.query_params.get("method")))
        ),
        Route(f"{w}/run", html_page(lambda r: pages.run(site, r.path_params["number"], r.query_params.get("run")))),
        Route(f"{w}/results", html_page(lambda r: pages.results(site, r.path_params["number"]))),
        Route(f"{w}/package", html_page(lambda r: pages.package(site, r.path_params["number"]))),
        Route(f"{w}/file/{{folder}}/{{name}}", download),
        Route(f"{w}/picture/{{name}}", picture),
        Route("/diagnose", html_page(lambda r: pages.diagnose(site))),
        Route("/api/plan", json_answer(state.plan), methods=["POST"]),
        Route("/api/files", json_answer(state.files), methods=["POST"]),
        Route("/api/write", json_answer(state.write), methods=["POST"]),
        Route("/api/diagnose", json_answer(state.diagnose), methods=["POST"]),
        Route("/api/fix", json_answer(state.fix), methods=["POST"]),
        Route("/api/apply", json_answer(state.apply), methods=["POST"]),
        Route("/api/package", json_answer(state.package), methods=["POST"]),
        Route("/api/pack", json_answer(state.pack), methods=["POST"]),
        Route("/api/part/{number:int}/{name}", json_answer(state.part)),
        Route("/api/run/{number:int}/{run}", json_answer(state.run)),
        Route("/api/log/{number:int}/{run}/{file}", json_answer(state.log)),
        Route("/static/{name}", static),
        Route("/verb/{name}", form, methods=["GET", "POST"]),
    ]
    app = Starlette(routes=routes)
    app.add_middleware(BaseHTTPMiddleware, dispatch=guard)
    return app


async def _body(request: Any) -> dict[str, Any]:
    """A JSON object of limited size, which comes within a limited time. Raises ValueError, TimeoutError."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise ValueError("a JSON body is expected")
    pieces, size = [], 0
    async with asyncio.timeout(BODY_SECONDS):
        async for piece in request.stream():
            size += len(piece)
            if size > BODY_LIMIT:
                raise ValueError("too large")
            pieces.append(piece)
    try:
        content = msgspec.json.decode(b"".join(pieces) or b"{}")
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(str(error)) from None
    if not isinstance(content, dict):
        raise ValueError("an object is expected")
    return content
