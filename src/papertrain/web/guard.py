"""Who may look: a token as Jupyter has it, the Host that was asked for, where a form came from."""

from __future__ import annotations

import hmac
from typing import Any

COOKIE = "papertrain"
HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
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


def token_given(request: Any, token: str) -> str | None:
    """`cookie` or `address` where the right token came with the request, else None. Compared in constant time."""
    if hmac.compare_digest(request.cookies.get(COOKIE, "").encode(), token.encode()):
        return "cookie"
    return "address" if hmac.compare_digest(request.query_params.get("token", "").encode(), token.encode()) else None


def same_origin(request: Any, port: int, extra: str = "") -> bool:
    """A form must come from our own page: Origin is there and names an allowed host, or Sec-Fetch-Site says so."""
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("sec-fetch-site") in ("same-origin", None)
    return origin.startswith("http://") and host_allowed(origin.removeprefix("http://"), port, extra)
