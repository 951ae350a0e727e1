"""What a reviewer would ask about the inputs of a comparison."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping

from papertrain.results import names
from papertrain.results.board import Board, Entry, Head, content
from papertrain.results.metrics import classify
from papertrain.results.records import Issue, Score
from papertrain.results.stats.proportion import integer_count, stderr


def settings(e: Entry) -> dict[str, str]:
    return e.score.settings if e.score is not None else e.items.settings if e.items is not None else {}


ASKED = {
    "shots": ("few-shot", "settings-differ"),
    "prompt": ("prompt", "settings-differ"),
    "prompts": ("prompt hashes", "settings-differ"),
    "version": ("task version", "version-differs"),
    "hash": ("task hash", "version-differs"),
    "split": ("split", "split-differs"),
    "filter": ("answer filter", "settings-differ"),
    "limit": ("--limit", "limit"),
    "temperature": ("temperature", "settings-differ"),
    "n_samples": ("number of samples per problem", "settings-differ"),
    "judge": ("judge", "settings-differ"),
}


def between_rows(board: Board) -> list[Issue]:
    """Settings that differ between the rows of one column; values that cannot be rounded counts; typed values; one seed
    against many; more tuning for one side is checked by the verb, which knows the study."""
    out = []
    for head in board.heads:
        rows = {s: board.runs(s, head) for s in board.systems if board.runs(s, head)}
        where = f"{names.pretty(head.metric)} on {head.dataset or 'the test set'}"
        for key, (word, code) in ASKED.items():
            said = {s: sorted({settings(e).get(key, "") for e in runs.values()} - {""}) for s, runs in rows.items()}
            values = {v for found in said.values() for v in found}
            if len(values) > 1:
                shown = ", ".join(f"{s} {'/'.join(v)}" for s, v in list(said.items())[:4] if v)
                out.append(
                    Issue(says=f"{where}: the {word} differs between rows ({shown})", code=code, column=head.metric)
                )
        for system, runs in rows.items():
            for e in runs.values():
                out += _entry(e, where)
                out += answers(e)
            same = [e.value for e in runs.values()]
            if len(same) > 1 and len(set(same)) == 1 and _alike(runs.values()):
                says = f"{where}, {system}: {len(same)} seeds gave the same value {same[0]:g} to the last digit: did the seed reach the training?"
                out.append(Issue(says=says, code="identical-seeds", system=system))
            if any(e.score is not None and e.score.typed for e in runs.values()):
                out.append(
                    Issue(
                        says=f"{where}, {system}: typed by hand, not read from a result file",
                        code="typed",
                        system=system,
                    )
                )
        sizes = {n for runs in rows.values() for e in runs.values() if (n := count(e))}
        if len(sizes) == 1 and not same_items(rows.values()):
            says = f"{where}: the systems were not run on the same items, so nothing is ranked"
            out.append(Issue(says=says, code="different-items", column=head.metric))
        if len(sizes) > 1:
            out.append(
                Issue(
                    says=f"{where}: test sets of different size ({', '.join(f'{n:,}' for n in sorted(sizes))} items)",
                    code="different-n",
                    column=head.metric,
                )
            )
    return list(dict.fromkeys(out))


def _alike(runs: Iterable[Entry]) -> bool:
    """Whether runs of one value also gave the same answers, as far as their files show them."""
    runs = list(runs)
    return not any(e.items for e in runs) or len({content(e) for e in runs}) == 1


def same_items(runs: Iterable[Mapping[str, Entry]]) -> bool:
    """Whether all systems of a column answered the same questions, as far as their files show them."""
    each = [list(r.values()) for r in runs]
    ids = {frozenset(f for e in r if (f := _asked(e))) for r in each}
    gold = {frozenset(f for e in r if (f := _gold(e))) for r in each}
    return len(ids - {frozenset()}) < 2 and len(gold - {frozenset()}) < 2


def _gold(e: Entry) -> str:
    """A digest of the right answers of one run; empty where its file has none."""
    i = e.items
    if i is None or i.label is None:
        return ""
    rows = sorted(zip(i.ids, map(classify.text, i.label))) if not i.numbered else list(map(classify.text, i.label))
    return hashlib.sha256(repr(rows).encode("utf-8", "replace")).hexdigest()


def _asked(e: Entry) -> str:
    """A digest of the items of one run; empty where only a score is known."""
    i = e.items
    if i is None:
        return ""
    return hashlib.sha256(repr(sorted(i.ids) if not i.numbered else i.n).encode("utf-8", "replace")).hexdigest()


def answers(e: Entry) -> list[Issue]:
    """What the predicted labels of one run show: a single class, or words that are no class at all."""
    i = e.items
    if e.metric != "accuracy" or i is None or i.label is None or i.prediction is None or e.measured is None:
        return []
    where = " ".join(
        x for x in (e.system, f"on {e.dataset}" if e.dataset else "", f"(seed {e.seed})" if e.seed else "") if x
    )
    gold = {classify.text(x) for x in i.label}
    said = Counter(classify.text(x) for x in i.prediction)
    out = []
    if len(said) == 1 and len(gold) > 1:
        says = f"{where}: predicts {next(iter(said))[:40]!r} for all {i.n:,} items (kappa 0): it has learnt nothing, or the outputs were read wrongly"
        out.append(Issue(says=says, file=i.file, code="one-class", system=e.system))
    strange = {w: n for w, n in said.most_common() if w not in gold}
    if strange:
        total = sum(strange.values())
        plain = {_normal(g) for g in gold}
        close = sum(n for w, n in strange.items() if _normal(w) in plain)
        shown = ", ".join(f"{w[:30]!r} ({n:,})" for w, n in list(strange.items())[:4])
        how = (
            f"; {close:,} would match in lower case without punctuation: normalise label and prediction alike before scoring"
            if close
            else ""
        )
        says = f"{where}: {total:,} of {i.n:,} predictions are no gold label and count as wrong: {shown}{' …' if len(strange) > 4 else ''}{how}"
        out.append(Issue(says=says, file=i.file, code="unknown-labels", system=e.system))
    return out


def _normal(word: str) -> str:
    return re.sub(r"^[\W_]+|[\W_]+$", "", word.casefold())


def count(e: Entry) -> int | None:
    return e.measured.n if e.measured is not None else e.score.n if e.score is not None else None


def _entry(e: Entry, where: str) -> list[Issue]:
    out = []
    s = e.score
    if s is not None and s.value is not None and _no_count(s):
        out.append(
            Issue(
                says=f"{where}, {e.system}: {s.value:g} of {s.n} items is no whole number of right answers",
                file=s.file,
                code="no-count",
                level="note",
            )
        )
    if (
        s is not None
        and s.stderr == 0
        and s.value is not None
        and 0 < s.value < 1
        and "stderr" not in s.settings
        and not s.pointer.startswith("results.")
    ):
        derived = f"; sqrt(p(1-p)/(n-1)) gives {stderr(s.value, s.n):.6f}" if s.n else ""
        out.append(
            Issue(
                says=f"{where}, {e.system}: stderr 0 on a score of {s.value:g} cannot be right{derived}",
                file=s.file,
                code="zero-stderr",
            )
        )
    n = count(e)
    if n is not None and n < 30:
        out.append(
            Issue(
                says=f"{where}, {e.system}: {n} items are too few for a claim",
                file=s.file if s else e.items.file if e.items else "",
                code="few-items",
            )
        )
    return out


def _no_count(s: Score) -> bool:
    """An accuracy printed in full whose product with n is no whole number: n or the score is of something else."""
    if (
        s.value is None
        or not s.n
        or s.scale != "fraction"
        or names.key(s.metric) not in ("acc", "accuracy", "exact_match", "em")
    ):
        return False
    return (
        integer_count(s.value, s.n) is None
        and abs(s.value * s.n - round(s.value * s.n)) > 0.02
        and len(repr(s.value)) > 9
    )


def comparable(a: Entry, b: Entry, head: Head) -> str:
    """Why two entries of a column must not be tested against each other; empty where nothing speaks against it."""
    x, y = settings(a), settings(b)
    for key, word in (
        ("version", "task versions"),
        ("hash", "task hashes"),
        ("filter", "answer filters"),
        ("split", "splits"),
    ):
        if x.get(key) and y.get(key) and x[key] != y[key]:
            return f"different {word}: {x[key]} and {y[key]}"
    if x.get("limit") != y.get("limit"):
        return "one of the runs used --limit"
    return ""
