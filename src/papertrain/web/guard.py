"""Who may look: a token as Jupyter has it, the Host that was asked for, where a form came from, and for how long."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Any

from papertrain.report.html import style

COOKIE = "papertrain"
LANGUAGE = "papertrain-lang"
HEADER_SECONDS = 10.0

STYLE_HASH = base64.b64encode(hashlib.sha256(style().encode()).digest()).decode()
HEADERS = {
    "content-security-policy": (
        f"default-src 'none'; script-src 'self'; style-src 'self' 'sha256-{STYLE_HASH}'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def host_allowed(host: str | None, port: int, extra: str = "") -> bool:
    """Only this machine's own names, with our port: a page that rebinds its name to 127.0.0.1 sends another Host."""
    names = {"localhost", "127.0.0.1", "[::1]", extra} - {""}
    return host is not None and host.lower() in {f"{n}:{port}" for n in names}


def cookie_name(port: int) -> str:
    """One per server: browsers keep cookies by host, whatever the port, and two servers must not log each other out."""
    return f"{COOKIE}-{port}"


def token_given(request: Any, token: str, port: int) -> str | None:
    """`cookie` or `address` where the right token came with the request, else None. Compared in constant time."""
    for name in (cookie_name(port), COOKIE):
        if hmac.compare_digest(request.cookies.get(name, "").encode(), token.encode()):
            return "cookie"
    return "address" if hmac.compare_digest(request.query_params.get("token", "").encode(), token.encode()) else None


def without_token(request: Any) -> str:
    """The same page of this server, with everything that was asked but the token. Two slashes would lead elsewhere."""
    query = str(request.url.remove_query_params("token").query)
    path = str(request.url.path).lstrip("/\\")
    return f"/{path}" + (f"?{query}" if query else "")


def same_origin(request: Any, port: int, extra: str = "") -> bool:
    """A form must come from our own page: Origin is there and names an allowed host, or Sec-Fetch-Site says so."""
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("sec-fetch-site") in ("same-origin", None)
    return origin.startswith("http://") and host_allowed(origin.removeprefix("http://"), port, extra)


def chosen_language(request: Any) -> str:
    """What the address says, else what was chosen before, else the browser's first known language."""
    for said in (request.query_params.get("lang"), request.cookies.get(LANGUAGE)):
        if said in ("en", "zh"):
            return str(said)
    for part in request.headers.get("accept-language", "").split(","):
        word = part.partition(";")[0].strip().lower()[:2]
        if word in ("en", "zh"):
            return str(word)
    return "en"


def patient() -> Any:
    """uvicorn's protocol with a limit: a client that has not sent its headers in time is let go."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Patient(H11Protocol):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.loop.call_later(HEADER_SECONDS, self._late)

        def _late(self) -> None:
            if self.cycle is None and not self.transport.is_closing():
                self.transport.close()

    return Patient
