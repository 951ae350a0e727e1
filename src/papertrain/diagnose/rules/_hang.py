"""Time-outs and hangs: who waited for what, and which rank differs."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import PurePath

from papertrain.core.findings import LogLine, RuledOut
from papertrain.core.values import Value
from papertrain.diagnose.case import Case

WATCHDOG = (
    "Watchdog caught collective operation timeout",
    "ran for ~ ran for \\d+ milliseconds before timing out",
    "collective operation timeout",
    "Timed out waiting ~ Timed out waiting \\d+ms for (?:recv|send)",
    "WorkNCCL(",
    "HCCL watchdog",
    "watchdog got stuck for",
    "retrieving ncclUniqueId ~ ncclUniqueId.*(?:Socket Timeout|[Tt]imed? ?out)",
    "Received a dump signal due to a collective timeout",
    "Some NCCL operations have failed or timed out",
    "wait timeout ~ (?i)hccl.*timeout",
)
STACK_WORDS = ("most recent call first", "Thread 0x", "Process ")


class Hang(Value, frozen=True, kw_only=True):
    """A collective that timed out. `rows`: training steps logged before; `differ`: ranks name different collectives."""

    line: LogLine
    lines: tuple[LogLine, ...]
    rows: int
    first_seq: int
    differ: bool
    odd: str

    def against(self, cls: str, because: str) -> tuple[RuledOut, ...]:
        return (RuledOut(cls=cls, because=because),)

    def suspects(self) -> str:
        return f" Here {self.odd}." if self.odd else ""


def timeout(case: Case) -> Hang | None:
    if "hang" not in case.memo:
        case.memo["hang"] = _timeout(case)
    found: Hang | None = case.memo["hang"]
    return found


def _timeout(case: Case) -> Hang | None:
    hits = sorted(case.find(*WATCHDOG), key=lambda h: (h.file, h.line))
    if not hits:
        return None
    work: dict[str, tuple[int, str]] = {}
    for h in hits:
        seq = re.search(r"SeqNum=(\d+), OpType=(\w+)", h.text)
        rank = re.search(r"[Rr]ank (\d+)", h.text)
        if seq:
            work.setdefault(rank[1] if rank else h.file, (int(seq[1]), seq[2]))
    rows = sum(1 for r in case.rows if "loss" in r.values and (r.file != hits[0].file or r.line < hits[0].line))
    counts = Counter(work.values())
    odd = ""
    if len(counts) > 1:
        rare = min(counts, key=lambda k: (counts[k], -k[0]))
        ranks = ", ".join(sorted(r for r, w in work.items() if w == rare))
        odd = f"rank {ranks} stands in {rare[1]} number {rare[0]}, the others elsewhere: the minority is the suspect"
    return Hang(
        line=hits[0],
        lines=tuple(dict.fromkeys(hits)),
        rows=rows,
        first_seq=min((w[0] for w in work.values()), default=10**9),
        differ=len(counts) > 1,
        odd=odd,
    )


class Stacks(Value, frozen=True, kw_only=True):
    evidence: tuple[LogLine, ...]
    says: str


_FRAME = re.compile(r'^\s+(?:File "([^"]+)", line \d+,? in (\S+)|(\S+) \(([^()]+:\d+)\))')


def minority(case: Case) -> Stacks | None:
    """Stack dumps of several ranks (py-spy, faulthandler) grouped by their top frames; the smallest group is named."""
    if not case.find("most recent call first", "MainThread"):
        return None
    tops: dict[tuple[str, str, int], tuple[str, LogLine]] = {}
    for log in case.logs:
        for i, line in enumerate(log.lines):
            spy = '"MainThread"' in line.text
            if not spy and "most recent call first" not in line.text:
                continue
            frames = [
                m[2] or m[3] for x in log.lines[i + 1 : i + 7] if x.rank == line.rank and (m := _FRAME.match(x.text))
            ]
            if frames:
                # faulthandler prints the main thread last; py-spy names it.
                tops[(log.name, line.rank, i if spy else -1)] = ("/".join(frames[:3]), log.quote(i + 1))
    groups = Counter(t for t, _ in tops.values())
    if len(tops) < 3 or len(groups) < 2:
        return None
    rare, n = min(groups.items(), key=lambda g: g[1])
    if n * 2 >= len(tops):
        return None
    odd = {key: line for key, (t, line) in tops.items() if t == rare}
    common = groups.most_common(1)[0][0]
    who = ", ".join(sorted({f"rank {rank}" if rank else PurePath(file).name for file, rank, _ in odd}))
    says = f"{who} stands in {rare.split('/')[0]}, {groups[common]} of {len(tops)} in {common.split('/')[0]}: the minority is the suspect"
    return Stacks(evidence=tuple(odd.values())[:2], says=says)
