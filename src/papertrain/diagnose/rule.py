"""One class of failure as a value: how it shows, what it is taken for, what to do about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from papertrain.core.findings import LogLine, Rule, RuledOut
from papertrain.core.values import Effect, Source, Value

if TYPE_CHECKING:
    from papertrain.diagnose.case import Case

Branch = Literal["crash", "training", "result"]
VOCABULARY = Source(kind="assumed", ref="public reports and maintainers' answers, collected; not re-run here")


class Sig(NamedTuple):
    """A literal that the one pass looks for, and a pattern that its line (with what wraps after it) must match."""

    literal: str
    pattern: re.Pattern[str] | None


@lru_cache(maxsize=2048)
def sig(text: str) -> Sig:
    """`literal`, or `literal ~ regex`."""
    literal, tilde, pattern = text.partition(" ~ ")
    return Sig(literal, re.compile(pattern) if tilde else None)


class Remedy(Value, frozen=True, kw_only=True):
    """A fix before it meets a file. `sets`: knob → value, `*2`, `/2`; knobs are named as in `knobs`.

    env: variables of the start command. data: `labels` or `finite` for rows to drop from the training data. commands: what to type. proof: how to see that it helped.
    """

    title: str
    effect: Effect = "execution"
    sets: tuple[tuple[str, Any], ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    commands: tuple[str, ...] = ()
    proof: str = ""
    data: str = ""


class Match(Value, frozen=True, kw_only=True):
    """A class that a case fits. `at`: file and line of the decisive evidence. Empty texts mean the rule's own."""

    rule: Any
    confidence: float
    evidence: tuple[LogLine, ...]
    cause: str = ""
    ruled_out: tuple[RuledOut, ...] = ()
    next_check: str = ""
    remedies: tuple[Remedy, ...] | None = None
    title: str = ""
    notes: tuple[str, ...] = ()

    @property
    def at(self) -> tuple[str, int]:
        return (self.evidence[0].file, self.evidence[0].line) if self.evidence else ("", 0)


class Cause(Rule, frozen=True, kw_only=True):
    """A class of failure. `sig`: any of these is decisive; `needs`: all of these; `never`: none of these; `more`: each
    found adds certainty. `early`: the line may stand far above the end (a warning). `yields`: classes that explain this
    one away. `unlike`: look-alikes that the signature itself rules out. `judge`: logic, where a signature is not enough.
    share: logic of a whole group, asked for this class's part of what the group's evidence leaves.
    bound: package and range in which it happens; a known version outside of it speaks against the class.
    last_resort: says only that something failed, so any other class explains it away.
    kinds: wordings of a whole family of messages, each with a sample; asked only where no signature of any class fits,
    and answered with `kind_confidence`.
    """

    family: str
    branch: Branch
    benign: bool = False
    sig: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    confidence: float = 0.9
    early: bool = False
    yields: tuple[str, ...] = ()
    unlike: tuple[tuple[str, str], ...] = ()
    next_check: str = ""
    fixes: tuple[Remedy, ...] = ()
    judge: Callable[[Case], Match | None] | None = None
    share: Callable[[Case, Any], Match | None] | None = None
    bound: tuple[str, str] | None = None
    last_resort: bool = False
    kinds: tuple[tuple[str, str], ...] = ()
    kind_confidence: float = 0.5

    def literals(self) -> Iterable[str]:
        for text in (*self.sig, *self.needs, *self.never, *self.more):
            yield sig(text).literal

    def match(self, case: Case) -> Match | None:
        if self.share is not None:
            return self.share(case, self)
        return self.judge(case) if self.judge is not None else by_signature(self, case)

    def found(self, confidence: float, evidence: Iterable[LogLine], **more: Any) -> Match:
        return Match(rule=self, confidence=confidence, evidence=tuple(dict.fromkeys(evidence)), **more)


def by_signature(rule: Cause, case: Case) -> Match | None:
    """The plain rule: decisive lines, those that must or must not be there, and those that add certainty."""
    hits = case.find(*rule.sig)
    if not hits:
        return None
    evidence = hits[:2]
    for need in rule.needs:
        if not (found := case.find(need)):
            return None
        evidence += found[:1]
    if any(case.find(n) for n in rule.never):
        return None
    confidence = rule.confidence
    for extra in rule.more:
        if found := case.find(extra):
            confidence = min(0.97, confidence + 0.05)
            evidence += found[:1]
    ruled_out = tuple(RuledOut(cls=c, because=b) for c, b in rule.unlike)
    return Match(rule=rule, confidence=confidence, evidence=unique(evidence), ruled_out=ruled_out)


def unique(lines: Iterable[LogLine], most: int = 4) -> tuple[LogLine, ...]:
    return tuple(dict.fromkeys(lines))[:most]


def fix(
    title: str,
    *commands: str,
    sets: dict[str, Any] | None = None,
    env: dict[str, str] | None = None,
    effect: Effect = "execution",
    proof: str = "",
    data: str = "",
) -> Remedy:
    """A remedy in one line of a rule file."""
    return Remedy(title=title, effect=effect, sets=tuple((sets or {}).items()), env=tuple((env or {}).items()),
                  commands=commands, proof=proof, data=data)  # fmt: skip


def cause(
    id: str,
    name: str,
    family: str,
    *,
    title: str,
    why: str,
    branch: Branch = "crash",
    level: str = "error",
    **more: Any,
) -> Cause:
    """The value of one rule file. The check that catalogues and tests call is `match`."""
    more.setdefault("source", VOCABULARY)
    for key in ("sig", "needs", "never", "more", "yields", "unlike", "fixes"):
        if key in more and not isinstance(more[key], tuple):
            more[key] = (more[key],)
    return Cause(id=id, name=name, family=family, what=title, why=why, branch=branch, level=level,  # type: ignore[arg-type]
                 check=by_signature, **more)  # fmt: skip
