"""The decision as diagnoses with ids, fixes and proofs; and as a person reads it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from papertrain.core.findings import Diagnosis, Fix, LogLine, RuledOut
from papertrain.core.sentences import translated
from papertrain.core.texts import say
from papertrain.core.values import plain
from papertrain.core.wide import folded, padded, width
from papertrain.diagnose import patches
from papertrain.diagnose.case import Case
from papertrain.diagnose.decide import Answer
from papertrain.diagnose.rule import Match

BRANCHES = {
    "crash": ("crash", "the process died", "reduce the batch size, gradient checkpointing, DeepSpeed ZeRO"),
    "training": (
        "training anomaly",
        "it ran, and its numbers went wrong",
        "reduce the learning rate, check the data for NaN, reduce the LoRA rank",
    ),
    "result": (
        "result anomaly",
        "it ended, and what came out is not usable",
        "check data loading, verify model initialisation, increase training time",
    ),
}
"""branch of the method's decision tree → its name, why it is taken, and what the method tries there first."""

IN_ORDER = (
    "oom-",
    "nan-lr-too-high",
    "nan-bad-data",
    "divergence-lr",
    "low-score-data-loading",
    "low-score-model-init",
    "low-score-undertrained",
)


def diagnoses(answer: Answer, case: Case, work: str = "") -> list[Diagnosis]:
    """Best first; benign ones stand alone."""
    chosen = answer.matches or answer.benign
    return [one(m, f"D{i}", case, answer, work) for i, m in enumerate(chosen, 1)]


def one(m: Match, id: str, case: Case, answer: Answer, work: str) -> Diagnosis:
    rule = m.rule
    rivals = tuple(
        RuledOut(
            cls=o.rule.name,
            because=f"less likely here ({o.confidence:.2f}): {within(o.rule.what)}",
        )
        for o in answer.matches
        if o is not m and o.confidence < m.confidence and o.rule.name not in {r.cls for r in m.ruled_out}
    )[:2]
    # What stands in the list of candidates is not ruled out.
    listed = {o.rule.name for o in answer.matches} - {r.cls for r in rivals}
    against = tuple(r for r in m.ruled_out if r.cls not in listed)
    return Diagnosis(
        id=id, cls=rule.name, branch=rule.branch, title=m.title or rule.what, cause=m.cause or rule.why, confidence=round(m.confidence, 2),
        benign=rule.benign, evidence=m.evidence, ruled_out=(*against[:4], *rivals), next_check="" if rule.benign else m.next_check or rule.next_check,
        fixes=() if rule.benign else tuple(fixes(m, id, case, work)),
    )  # fmt: skip


def within(sentence: str) -> str:
    """A sentence as part of another: small at its beginning, unless that is a name (`NCCL …`, `ZeRO-3 …`)."""
    word = sentence.split(" ", 1)[0]
    return sentence if word[1:] != word[1:].lower() else sentence[:1].lower() + sentence[1:]


def fixes(m: Match, id: str, case: Case, work: str) -> list[Fix]:
    """Execution first, the rule's order otherwise; a change that makes no sense here is left out."""
    remedies = m.remedies if m.remedies is not None else m.rule.fixes
    out: list[Fix] = []
    for remedy in sorted(remedies, key=lambda r: r.effect == "experiment"):
        found = patches.build(remedy, f"{id}.F{len(out) + 1}", case, work)
        if found is not None:
            out.append(found)
    return out


def as_json(d: Diagnosis) -> dict[str, Any]:
    """The contract's names: `class`, and `key` for a changed setting."""
    return {
        "id": d.id, "class": d.cls, "benign": d.benign, "branch": d.branch, "title": d.title, "cause": d.cause, "confidence": d.confidence,
        "evidence": [plain(e) for e in d.evidence], "ruled_out": [{"class": r.cls, "because": r.because} for r in d.ruled_out],
        "next_check": d.next_check, "fixes": [fix_json(f) for f in d.fixes],
    }  # fmt: skip


def fix_json(f: Fix) -> dict[str, Any]:
    return {
        "id": f.id, "title": f.title, "effect": f.effect, "patch": f.patch, "edits": [{"file": e.file, "key": e.knob, "old": e.old, "new": e.new} for e in f.edits],
        "commands": list(f.commands), "proof": f.proof, "applies_to": [plain(a) for a in f.applies_to],
    }  # fmt: skip


def branch_says(d: Diagnosis) -> str:
    """The branch taken and why; the method's first fixes only where the evidence leads to them."""
    name, why, first = BRANCHES[d.branch]
    what = say("out of memory") if d.cls.startswith("oom-") else translated(why)
    name, first = translated(name), translated(first)
    if d.cls.startswith(IN_ORDER):
        return say("{name}: {what}; the method tries in this order: {first}", name=name, what=what, first=first)
    return say("{name}: {what}", name=name, what=what)


def place(line: LogLine) -> str:
    name = Path(line.file).name
    return f"{name}:{line.line}" if line.line else name


def body(found: Sequence[Diagnosis], most: int = 3, fix: str = "") -> str:
    """Because, not, next: aligned, at most 100 columns. fix: the first one's, which stands with it."""
    out: list[str] = []
    for d in found[:most]:
        if d is not found[0]:
            # The first one is the result above.
            out.append(f"{d.id}  {d.cls}  {d.confidence:.2f}  {translated(d.title)}")
        for i, e in enumerate(d.evidence[:3]):
            out.append(f"  {_word(say('because'), i)}  {padded(_fit(e.text, 66), 66)}  {place(e)}")
        ruled = list(dict.fromkeys(f"{r.cls} ({translated(r.because)})" for r in d.ruled_out))[:3]
        for i, text in enumerate(ruled):
            out.append(f"  {_word(say('not'), i)}  {_fit(text, 88)}")
        if d is found[0] and not d.benign:
            out += [f"  {_word(say('branch'), i)}  {x}" for i, x in enumerate(folded(branch_says(d), 88))]
        if d.next_check:
            out.append(f"  {_word(say('check'), 0)}  {_fit(translated(d.next_check), 120)}")
        if d is found[0] and fix:
            out.append(fix)
    return "\n".join(out)


def _word(text: str, line: int) -> str:
    """The word before the first line of a part, in its column."""
    return padded(text if line == 0 else "", 8)


def _fit(text: str, room: int) -> str:
    if width(text) <= room:
        return text
    cut = _first(text, room - 2)
    left = max(("()", "[]", "{}"), key=lambda pair: cut.rfind(pair[0]))
    is_open = cut.rfind(left[0]) > cut.rfind(left[1])
    return cut + "…" + left[1] if is_open else _first(text, room - 1) + "…"


def _first(text: str, room: int) -> str:
    """As much of a text as has so many columns."""
    text = text[:room]
    while width(text) > room:
        text = text[:-1]
    return text


def fix_lines(f: Fix) -> str:
    """The changed lines of a fix, or what to type."""
    marks = [x for x in (f.patch or "").splitlines() if x[:1] in "+-" and x[:3] not in ("+++", "---")]
    if marks:
        shown = [x if len(x) <= 110 else x[:109] + "…" for x in marks[:8]]
        return "\n".join([*shown, *([say("… and {n} more lines", n=len(marks) - 8)] if len(marks) > 8 else [])])
    return "\n".join([*(f"{e.knob}: {e.old} -> {e.new}" for e in f.edits), *f.commands][:4])
