"""From many matches to one ordered answer: consequences step back behind their cause, benign lines behind failures."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from papertrain.core.findings import LogLine, RuledOut
from papertrain.core.values import Value
from papertrain.diagnose.case import Case
from papertrain.diagnose.catalogue import GENERIC, causes
from papertrain.diagnose.clean import quote
from papertrain.diagnose.kinds import by_kind
from papertrain.diagnose.metrics import BAR
from papertrain.diagnose.rule import Match, unique
from papertrain.diagnose.shapes import non_finite

LEAST, ALSO = 0.15, 0.1
"""Below the first a class is no answer; below the second it is not worth a line beside an unsure one."""


class Answer(Value, frozen=True, kw_only=True):
    """What the rules say. `failed` is the reason to believe that something went wrong, '' for a healthy log.

    unjudged: why nothing can be said at all. stops: that the log ends long before the run's last step, without an end.
    """

    matches: tuple[Match, ...]
    benign: tuple[Match, ...]
    failed: str
    suspicious: tuple[LogLine, ...]
    healthy: str
    unjudged: str = ""
    stops: str = ""


def decide(case: Case) -> Answer:
    """All candidates, best first."""
    every = [m for r in causes().values() if (m := r.match(case))]
    bad = [bounded(placed(m, case), case) for m in every if not m.rule.benign]
    bad = stepped_back(bad)
    bad = shared_out(bad)
    benign = tuple(sorted((m for m in every if m.rule.benign), key=lambda m: -m.confidence))
    failed = signs(case)
    if failed and not bad:
        bad = shared_out([placed(m, case) for m in by_kind(case)])
    return Answer(
        matches=tuple(bad),
        benign=benign if not bad else (),
        failed=failed,
        suspicious=tuple(suspicious(case)) if failed and not bad else (),
        healthy="" if failed or bad else healthy(case),
        unjudged="" if failed or bad or benign else unjudged(case),
        stops="" if failed or bad else stops(case),
    )


_TRAINING = re.compile(
    r"(?i)loss|\blr\b|learning|norm|reward|accuracy|\bacc\b|\bf1\b|perplexity|\bstep|epoch|train|eval"
)


def unjudged(case: Case) -> str:
    """Why a text says nothing about a run: no numbers of training, no progress, no error."""
    if any(_TRAINING.search(k) for r in case.rows[:500] for k in r.values) or bars(case):
        return ""
    if any(log.lines for log in case.logs):
        return "no training step, no progress and no error in it"
    return "it is empty"


def bars(case: Case) -> list[tuple[str, int, int, int]]:
    """(file, line, at, of) of the progress bars."""
    return [
        (log.name, line.no, int(m[1]), int(m[2]))
        for log in case.logs
        for line in log.lines
        if "/" in line.text and "<" in line.text and (m := BAR.search(line.text)) and len(m[2]) < 12
    ]


def stops(case: Case) -> str:
    """Where the log ends in the middle of the run: the run goes on, hangs, or was ended from outside."""
    if any("train_runtime" in r.values for r in case.rows):
        return ""
    told = [
        (r.file, r.line, int(at), int(of))
        for r in case.rows
        if (at := r.get("step")) and (of := r.get("total_steps")) and math.isfinite(at) and math.isfinite(of)
    ]
    long = [b for b in (*bars(case), *told) if b[3] >= 20]
    if not long:
        return ""
    file, line, at, of = long[-1]
    return f"the log ends at step {at:,} of {of:,} ({file}:{line}) without an end" if at < 0.98 * of else ""


def placed(m: Match, case: Case) -> Match:
    """A line that belongs to the first exception weighs more than one that follows from it."""
    root = case.root
    if (
        m.rule.branch == "crash"
        and m.rule.family not in ("hardware",)
        and m.evidence
        and _handled(case, m.at[1], m.at[0])
    ):
        return replace(m, confidence=0.05 * m.confidence)
    if m.rule.early or m.rule.branch != "crash" or root is None or not m.evidence:
        return m
    log = next((x for x in case.logs if x.name == root.file), None)
    if log is None or m.at[0] != root.file:
        return m
    first, last = log.lines[root.first].no, root.line + 12
    later = [e for e in case.exceptions if e.file == root.file and e.line > last]
    inside_later = any(log.lines[e.first].no <= m.at[1] <= e.line for e in later)
    if inside_later and not first <= m.at[1] <= last:
        return replace(m, confidence=0.6 * m.confidence)
    return m


def bounded(m: Match, case: Case) -> Match:
    """A class that only some versions show: a known version outside of the range speaks against it, an unknown one is asked for."""
    if m.rule.bound is None:
        return m
    package, spec = m.rule.bound
    known = case.facts.version(package)
    if known is None:
        return replace(
            m,
            next_check=f"pip show {package} | grep Version   # it happens with {package} {spec}; "
            + (m.next_check or m.rule.next_check),
        )
    if not in_range(known, spec):
        return replace(m, confidence=0.4 * m.confidence)
    return replace(
        m,
        cause=(m.cause or m.rule.why)
        + f" The version here, {package} {'.'.join(map(str, known))}, is in the range {spec}.",
    )


def in_range(version: tuple[int, ...], spec: str) -> bool:
    """`>=0.12.4,<0.17`: every part holds."""
    for part in spec.split(","):
        op, number = re.match(r"(>=|<=|<|>|==)(.+)", part.strip()).groups()  # type: ignore[union-attr]
        other = tuple(int(x) for x in number.split("."))
        n = max(len(version), len(other))
        a, b = (v + (0,) * (n - len(v)) for v in (version, other))
        if not {">=": a >= b, "<=": a <= b, "<": a < b, ">": a > b, "==": a == b}[op]:
            return False
    return True


def stepped_back(found: list[Match]) -> list[Match]:
    """Classes that another class explains away leave, and are named among what was ruled out."""
    names = {m.rule.name: m for m in found}
    out: list[Match] = []
    gone: dict[str, list[RuledOut]] = {}
    for m in found:
        if m.rule.last_resort and any(o.confidence >= 0.3 for o in found if o is not m):
            continue
        over = [names[y] for y in m.rule.yields if y in names and names[y].confidence >= 0.6 * m.confidence]
        if over:
            gone.setdefault(over[0].rule.name, []).append(
                RuledOut(cls=m.rule.name, because=f"follows from {over[0].rule.name}, which stands in the log as well")
            )
        else:
            out.append(m)
    return [replace(m, ruled_out=(*m.ruled_out, *gone.get(m.rule.name, ()))) for m in out]


def shared_out(found: list[Match]) -> list[Match]:
    """Best first; a class that competes for the same lines cannot be likelier than what the better ones leave."""
    ordered = sorted(found, key=lambda m: (-m.confidence, m.at[1]))
    left: dict[tuple[str, int], float] = {}
    out: list[Match] = []
    for m in ordered:
        share = min(m.confidence, left.get(m.at, 1.0))
        left[m.at] = min(left.get(m.at, 1.0), 1.0 - share) if m.at not in left else left[m.at] - share
        if share >= ALSO and len(out) < 5:
            out.append(replace(m, confidence=round(min(0.97, share), 2)))
    out.sort(key=lambda m: -m.confidence)
    if not out or out[0].confidence < LEAST:
        return []
    # Beside a sure answer, weak rivals are noise; where nothing is sure, they are the answer.
    return [m for m in out if m.confidence >= (ALSO if out[0].confidence < 0.6 else LEAST)]


_EXIT = re.compile(r"(?:exit ?code|exitcode|returned non-zero exit status|exit status)\s*[:=]?\s*\(?(-?\d+)", re.I)
_FATAL = re.compile(
    r"^(?:E\s+)?(?:[\w.]+\.)?(?:Exception|[A-Z]\w*(?:Error|Exception))(?:$|[:(])|Segmentation fault|core dumped|^Aborted|(?:^|\])Killed$|terminate called|\bFATAL\b|slurmstepd: error|"
    r"Bus error|Floating point exception|CANCELLED AT|DUE TO TIME LIMIT|Caught signal|panic:|"
    r"(?:训练|进程|任务|作业|程序)(?:被|已|异常|意外|提前)*(?:中止|失败|终止|崩溃|退出|杀死|杀掉)|段错误|核心已转储|已杀死|已放弃|错误[:：]"
)  # fmt: skip


def signs(case: Case) -> str:
    """Why one must think that the run failed, or ''."""
    if (root := case.root) is not None and not _handled(case, root.line):
        return f"{root.type} in {root.file}:{root.line}"
    for e in case.exceptions:
        if not _handled(case, e.line):
            return f"{e.type} in {e.file}:{e.line}"
    for log in case.logs:
        for i in sorted({i for g in GENERIC for i in log.having(g, 60)}):
            text = log.lines[i].text
            fatal = _FATAL.search(text) or ((m := _EXIT.search(text)) and m[1] != "0")
            if fatal and not _handled(case, log.lines[i].no):
                return f"{log.name}:{log.lines[i].no}: {text.strip()[:80]}"
    if broken := non_finite(case):
        return f"the numbers stop being finite at {broken.row.file}:{broken.row.line}"
    once = next((r for r, v in case.series("loss") if not math.isfinite(v)), None)
    if once is not None:
        return f"a loss that is not a number at {once.file}:{once.line}, finite again later"
    return ""


def _handled(case: Case, line: int, file: str = "") -> bool:
    """An exception long before a run that then went on to its end was caught by somebody."""
    after = [r for r in case.rows if r.line > line and file in ("", r.file)]
    ended = any("train_runtime" in r.values for r in after)
    return ended or (len(after) >= 50 and not case.find("ChildFailedError", "exitcode", "Killed"))


def suspicious(case: Case) -> Iterable[LogLine]:
    """The three lines to look at first: the first exception, its deepest own frame, the first line that says error."""
    seen: list[LogLine] = []
    if case.root is not None:
        seen.append(case.root.quote())
        if (own := case.root.own) is not None:
            where = f'File "{own.file}", line {own.line}' + (f", in {own.function}" if own.function else "")
            seen.append(LogLine(file=case.root.file, line=own.at, text=quote(f"{where}: {own.code}" if own.code else where)))  # fmt: skip
    seen += [e.quote() for e in case.exceptions[:3]]
    broken = non_finite(case)
    if broken:
        seen.append(broken.row.quote())
    for log in case.logs:
        order = (
            "FATAL",
            "Segmentation fault",
            "terminate called",
            "Killed",
            "exitcode",
            "Error: ",
            "Exception: ",
            "ERROR",
            "timed out",
            "错误",
            "失败",
        )
        seen += [log.quote(i) for g in order for i in log.at.get(g, ())[:1]]
        if log.lines:
            seen.append(log.quote(len(log.lines) - 1))
    return unique(seen, 3)


def healthy(case: Case) -> str:
    """What speaks for a healthy run, in one sentence of facts."""
    losses = [v for _, v in case.curve]
    ended = any("train_runtime" in r.values for r in case.rows)
    parts = ["no exception, no kill and no time-out in the log"]
    if losses:
        first, last = losses[0], losses[-1]
        parts.append(f"{len(losses):,} losses, all finite, from {first:.4g} to {last:.4g}")
    norms = [v for v in case.values("grad_norm") if math.isfinite(v)]
    if norms:
        parts.append(f"gradient norm up to {max(norms):.3g}")
    if ended:
        parts.append("the end record of the run is there")
    return "; ".join(parts)


def first_line(lines: Sequence[LogLine]) -> LogLine | None:
    return min(lines, key=lambda x: (x.file, x.line), default=None)
