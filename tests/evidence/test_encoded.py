"""A name is found as addresses, pages, mails and tables write it."""

from __future__ import annotations

import html
import re
from urllib.parse import quote, quote_plus

import pytest
from patience import grows_with_length_only

from papertrain.core.redact import redact
from papertrain.evidence.anonymous import traces
from papertrain.evidence.encoded import Encoded
from papertrain.evidence.people import patterns_of, who

NAMES = ["Zoë Ötztürk", "Grace Underhill", "王伟", "Marisol Quintanilla-Ferreyra"]
HIDE = patterns_of(who([("name", n) for n in NAMES]))


def numeric(text: str, form: str = "&#{};") -> str:
    return "".join(form.format(ord(c)) if not c.isascii() else c for c in text)


def wide(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else "\u3000" if c == " " else c for c in text)


WAYS = {
    "percent": quote,
    "query": quote_plus,
    "every byte": lambda t: "".join(f"%{b:02x}" for b in t.encode()),
    "latin-1": lambda t: quote(t.encode("latin-1", "ignore")) if all(ord(c) < 256 for c in t) else quote(t),
    "entities": lambda t: t.encode("ascii", "xmlcharrefreplace").decode(),
    "hexadecimal entities": lambda t: numeric(t, "&#x{:X};"),
    "every letter an entity": lambda t: "".join(f"&#{ord(c)};" for c in t),
    "hard blanks": lambda t: html.escape(t).replace(" ", "&nbsp;"),
    "tie": lambda t: t.replace(" ", "~"),
    "full width": wide,
    "escapes": lambda t: "".join(f"\\u{ord(c):04x}" if not c.isascii() else c for c in t),
    "escapes in escapes": lambda t: "".join(f"\\\\u{ord(c):04X}" if not c.isascii() else c for c in t),
    "mail": lambda t: "".join("".join(f"={b:02X}" for b in c.encode()) if not c.isascii() else c for c in t),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("way", WAYS)
def test_a_name_is_replaced_however_it_is_encoded_and_nothing_else(way: str, name: str) -> None:
    written = WAYS[way](name)
    for before, after in (
        ("by ", ", 2026"),
        ("https://example.org/?q=", "&page=2"),
        ("<td>", "</td>\n<td>0.5 &amp; 1%</td>"),
    ):
        left = redact(before + written + after, extra=HIDE)
        assert left == before + "[redacted]" + after, (way, written)


@pytest.mark.parametrize("way", WAYS)
def test_the_search_afterwards_sees_what_was_left(way: str) -> None:
    text = f"thanks to {WAYS[way](NAMES[0])}".encode()
    assert traces({"README.md": text}, HIDE) == [("README.md", "the name of an author, user or host")]


def test_a_piece_that_holds_the_name_and_more_keeps_the_rest() -> None:
    every = WAYS["every byte"]
    assert redact(every("by Grace Underhill!"), extra=HIDE) == every("by ") + "[redacted]" + every("!")


@pytest.mark.parametrize("text", ["a 5%20b and 100%", "x=3D &lt;b&gt; \\u0041 \\x1b ~/runs a+b=1%", "％ｄ １２", "%zz &nosuch; &#99999999; \\ud83d", "lr=1e-5&bs=8 c++ ~", "=E9=80 broken %C3"])  # fmt: skip
def test_what_names_nobody_stays_to_the_letter(text: str) -> None:
    assert Encoded([re.compile("nobody")]).sub("[redacted]", text) == text


def test_a_page_of_entities_takes_time_that_grows_with_its_length_only() -> None:
    piece = "&quot;loss&quot;: 1.5, %20 &amp; a+b~c \\u0041 "
    assert grows_with_length_only(lambda text: redact(text, extra=HIDE), piece, 20_000)
