"""One printed line as a person reads it: without colours, cursor movements, prefixes of ranks and clocks, and boxes."""

from __future__ import annotations

import re

LONGEST_LINE = 2000
"""Characters of a line that rules see; a quote shows fewer."""

_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-_]|\x9b[0-?]*[ -/]*[@-~]")
# C0 and C1 controls, bidirectional overrides, zero-width characters: all of them can make a quote lie.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_SUSPECT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")

_RANK = re.compile(
    r"\[(?:rank|default|RANK|Rank|local_rank|worker)[ =_:-]?(\d{1,5})\]:?\s?"  # torch >= 2.3, Megatron's [default7]:
    r"|(?:rank|RANK|Rank)[ =]?(\d{1,5})\]?: "
    r"|\((?:[\w.:<>-]+ )?pid=(\d+)(?:, [^)]{0,60})?\)\s?"  # Ray
    r"|(\d{1,4}): (?=\S|  )"  # srun --label
    r"|worker-(\d{1,4}): "  # pdsh under DeepSpeed
    r"|\[(\d{1,4})\]:? ?(?=Traceback|  |\w+Error|\[)"
)
_CLOCK = re.compile(
    r"\[?\d{4}[-/]\d\d[-/]\d\d[T ,]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?[ :|-]*(?:>> )?"
    r"|\d\d/\d\d/\d{4} \d\d:\d\d:\d\d - "
    r"|\[\d\d/\d\d/\d\d \d\d:\d\d:\d\d\] ?"
    r"|\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]? (?=\S)"
    r"|(?!(?:[Ss]tep|[Ee]poch)\s)[A-Za-z][\w.-]{0,39}\s+\| (?=\S)"  # docker compose; not the first cell of a table
)
_BOX = re.compile(r"^\s*[│┃║](.*?)[│┃║]?\s*$")
_STARTS = frozenset("[(0123456789rRw│┃║ \t")


def clean(raw: str) -> tuple[str, str]:
    """(text, rank): `rank` is '' where the line does not name one."""
    if _SUSPECT.search(raw):
        raw = _CONTROL.sub("", _ANSI.sub("", raw.replace("\r", "\n").rstrip("\n").rpartition("\n")[2]))
    if len(raw) > (8 * LONGEST_LINE if raw[:1] == "{" else LONGEST_LINE):
        raw = raw[: LONGEST_LINE - 600] + " … " + raw[-590:]
    rank = ""
    if not raw or (raw[0] not in _STARTS and " | " not in raw[:44]):
        return raw, rank
    for _ in range(4):
        if m := _RANK.match(raw):
            rank = rank or next((g for g in m.groups() if g), "")
        elif not (m := _CLOCK.match(raw)):
            break
        raw = raw[m.end() :]
    if raw[:40].lstrip()[:1] in ("│", "┃", "║") and (m := _BOX.match(raw)):
        raw = m[1]
    return raw, rank


def pieces(raw: str) -> list[str]:
    """A line with carriage returns holds several states of a progress bar: each, the last first-class like the others."""
    return [p for p in raw.split("\r") if p] if "\r" in raw else [raw]


def quote(text: str, width: int = 240) -> str:
    """The part of a line that is shown."""
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 1] + "…"
