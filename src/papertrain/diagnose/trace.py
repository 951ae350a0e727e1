"""Tracebacks, and which of several exceptions came first."""

from __future__ import annotations

import re
from collections.abc import Iterator

from papertrain.core.findings import LogLine
from papertrain.core.values import Value
from papertrain.diagnose.clean import quote
from papertrain.diagnose.log import LogFile

_FRAME = re.compile(r'^\s*(?:-->\s*)?File "([^"]+)", line (\d+)(?:, in (.+))?')
_RICH_FRAME = re.compile(
    r"^\s*(?:in )?([^\s:]+\.py):(\d+)(?:[: ] ?(?:in )?([\w<>.]+))?"  # rich
    r"|^\s*(?:File )?([^\s:]+\.py):(\d+), in ([\w<>.]+)\("  # IPython 8
    r"|^\s*\[?([^\s:\]]+\.py|<ipython-input[^>]*>)\]?(?:\([^)]*\))?() in ([\w<>.]+)\("  # IPython 7, and Colab's links
)
_EXCEPTION = re.compile(
    r"^((?:[A-Za-z_]\w*\.)*(?:Exception|[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Timeout|Failure|Full|Empty|NotFound|Refused|Abort|Unschedulable|Assertion|Invalid|Failed|Exhausted|Mismatch)))(?::\s?(.*))?$"
)
_LOOSE = re.compile(r"^(?:E\s+)?((?:[A-Za-z_]\w*\.)*(?:Exception|[A-Z]\w*(?:Error|Exception))): (.+)$")
_START = "Traceback (most recent call last"
_RICH_SITE = re.compile(r"^[/\w.~-]+\.py:\d+ in \w+")
WRAPPERS = frozenset(
    [
        "ChildFailedError",
        "CalledProcessError",
        "ProcessRaisedException",
        "ProcessExitedException",
        "SystemExit",
        "KeyboardInterrupt",
        "RayTaskError",
        "TrainingFailedError",
        "WorkerCrashedError",
        "RayActorError",
        "ActorDiedError",
        "TuneError",
        "SignalException",
        "BrokenPipeError",
        "ConnectionResetError",
        "EOFError",
    ]
)
CONTINUES = ("During handling of the above exception", "The above exception was the direct cause")


_FOREIGN = re.compile(r"site-packages|dist-packages|[/\\]lib[/\\]python\d|[/\\]Lib[/\\]|<frozen|<string>|<decorator|importlib|[/\\]bin[/\\](?:torchrun|accelerate|deepspeed|llamafactory-cli)|[Ll][Ll]a[Mm][Aa]-?[Ff]actory[/\\]|runpy\.py")  # fmt: skip
"""Paths of installed libraries and launchers: a traceback goes through them, and a user's error seldom lies there."""


class Own(Value, frozen=True, kw_only=True):
    """The deepest frame of a traceback that lies in a file of the user's own. at: its line in the log; last: nothing is below it."""

    file: str
    line: int
    function: str
    code: str
    at: int
    last: bool


class Exc(Value, frozen=True, kw_only=True):
    """One exception. `first`, `last`: indices into the log's lines; `follows`: raised while another was handled."""

    file: str
    type: str
    message: str
    first: int
    last: int
    line: int
    rank: str = ""
    frames: tuple[str, ...] = ()
    follows: bool = False
    own: Own | None = None

    @property
    def wrapper(self) -> bool:
        return self.type.rpartition(".")[2] in WRAPPERS

    def has_frame(self, *words: str) -> bool:
        return any(w in f for f in self.frames for w in words)

    def quote(self) -> LogLine:
        return LogLine(
            file=self.file, line=self.line, text=quote(f"{self.type}: {self.message}" if self.message else self.type)
        )


def exceptions(log: LogFile) -> list[Exc]:
    """Every exception of a log, in order of its last line; ranks are followed separately."""
    blocks: dict[str, list[int]] = {}
    out: list[Exc] = []
    follows: dict[str, bool] = {}
    for i, line in enumerate(log.lines):
        rank, text = line.rank, line.text
        if _START in text or (rank not in blocks and ", in " in text and _FRAME.match(text)):
            # A part that somebody pasted may begin at a frame, without the line that announces them.
            blocks[rank] = [i]
        elif text.startswith(CONTINUES):
            follows[rank] = True
        elif rank in blocks:
            if found := _closing(text):
                blocks[rank].append(i)
                out.append(_exception(log, blocks.pop(rank), *found, follows=follows.pop(rank, False)))
            elif len(blocks[rank]) < 600:
                blocks[rank].append(i)
            else:
                del blocks[rank]
        elif found := _bare(text):
            out.append(_exception(log, [i], *found, follows=follows.pop(rank, False)))
    return out


def _closing(text: str) -> tuple[str, str] | None:
    if text[:1] in (" ", "\t", "") or not text[:1].isalpha():
        return None
    m = _EXCEPTION.match(text) or _LOOSE.match(text)
    return (m[1], m[2] or "") if m else None


def _bare(text: str) -> tuple[str, str] | None:
    """An exception line outside of a traceback: pasted alone, or torn from its block by other ranks."""
    if "Error" not in text and "Exception" not in text:
        return None
    m = _LOOSE.match(text)
    return (m[1], m[2]) if m else None


def _exception(log: LogFile, block: list[int], kind: str, message: str, *, follows: bool) -> Exc:
    last, rank = block[-1], log.lines[block[-1]].rank
    more = list(_rest(log, last, rank))
    return Exc(
        file=log.name,
        type=kind,
        message=" ".join([message, *more]).strip(),
        first=block[0],
        last=last,
        line=log.lines[last].no,
        rank=rank,
        frames=tuple(_frames(log, block)),
        follows=follows,
        own=_own(log, block),
    )


def _own(log: LogFile, block: list[int]) -> Own | None:
    """The last frame in a file that is no library's."""
    frames = [(i, m) for i in block if (m := _FRAME.match(log.lines[i].text))]
    for k, (i, m) in reversed(list(enumerate(frames))):
        if _FOREIGN.search(m[1]):
            continue
        until = frames[k + 1][0] if k + 1 < len(frames) else block[-1]
        code = [log.lines[j].text.strip() for j in block if i < j < until]
        kept = " ".join(c for c in code if c.strip("^~ "))
        return Own(file=m[1], line=int(m[2]), function=m[3] or "", code=kept[:300], at=log.lines[i].no, last=k + 1 == len(frames))  # fmt: skip
    return None


def _rest(log: LogFile, last: int, rank: str) -> Iterator[str]:
    """The further lines of a message that has several."""
    taken = 0
    for line in log.lines[last + 1 : last + 40]:
        if line.rank != rank:
            continue
        if (
            taken >= 8
            or _START in line.text
            or line.text.startswith(CONTINUES)
            or line.text[:1] in "[{="
            or _LOOSE.match(line.text)
        ):
            return
        taken += 1
        yield line.text.strip()


def _frames(log: LogFile, block: list[int]) -> Iterator[str]:
    """`path:function code` per frame, outermost first."""
    pending = ""
    for i in block:
        text = log.lines[i].text
        m = _FRAME.match(text) or _RICH_FRAME.match(text)
        if m:
            if pending:
                yield pending
            found = [g for g in m.groups() if g]
            pending = f"{found[0]}:{found[-1] if len(found) > 2 else ''}"
        elif pending and len(pending) < 600:
            pending += " " + text.strip()
    if pending:
        yield pending


def first_cause(found: list[Exc]) -> Exc | None:
    """The exception that the others follow from: the earliest that is no wrapper and no consequence."""
    real = [e for e in found if not e.wrapper and not e.follows] or [e for e in found if not e.wrapper]
    return min(real, key=lambda e: (_secondary(e), e.line), default=None)


_SECONDARY = re.compile(r"Connection reset by peer|Connection closed by|Broken pipe|connectFullMesh|store->get|TCPStore|"
                        r"NCCL communicator was aborted|process group has been destroyed|Socket Timeout|watchdog|remote process exited",
                        re.I)  # fmt: skip


def _secondary(e: Exc) -> bool:
    """What the surviving ranks print after another one died."""
    return bool(_SECONDARY.search(e.message[:400]))
