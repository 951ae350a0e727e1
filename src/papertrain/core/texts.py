"""The message catalogue. English sentences are the keys; another language is one TOML file in `core/catalogues/`.

say("{n} errors in {files} files", n=2, files=3)
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import Any

from papertrain.core.counts import agreed

language: ContextVar[str] = ContextVar("language", default="en")
"""`en` or `zh`; set once by the face that shows the answer."""

LANGUAGES = ("en", "zh")

CATALOGUES = Path(__file__).with_name("catalogues")


@lru_cache
def catalogue(lang: str) -> dict[str, str]:
    """English sentence → sentence. Empty for English, and for a language that has no file."""
    file = CATALOGUES / f"{lang}.toml"
    if lang == "en" or not file.is_file():
        return {}
    try:
        return {k: v for k, v in tomllib.loads(file.read_text("utf-8")).get("messages", {}).items() if v}
    except ValueError:  # a damaged file: the answer comes in English, rather than not at all
        return {}


def of_environment() -> str:
    """PAPERTRAIN_LANG, else the locale (`zh_CN.UTF-8`), as gettext reads it; English for any that is not known here."""
    said = next((v for n in ("PAPERTRAIN_LANG", "LC_ALL", "LC_MESSAGES", "LANG") if (v := os.environ.get(n))), "en")
    return of_locale(said) or "en"


def of_locale(word: str) -> str | None:
    """The language of `zh`, `zh-Hans`, `zh_CN.UTF-8`, `C`; None for any that is not known here."""
    if word.partition(".")[0] in ("C", "POSIX"):
        return "en"
    found = re.split(r"[-_.@]", word.strip().lower(), maxsplit=1)[0]
    return found if found in LANGUAGES else None


@contextmanager
def english() -> Iterator[None]:
    """For what is kept in files: its bytes, and the digests of them, must not hang on who asked in which language."""
    token = language.set("en")
    try:
        yield
    finally:
        language.reset(token)


def say(sentence: str, **values: Any) -> str:
    """The sentence in the user's language, filled in. The sentence must be a literal, so that it can be collected."""
    text = catalogue(language.get()).get(sentence, sentence)
    return agreed(text.format(**values)) if values else text
