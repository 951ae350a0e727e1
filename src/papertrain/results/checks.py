"""What a reviewer would ask about the inputs of a comparison."""

from __future__ import annotations

from papertrain.results import names
from papertrain.results.board import Board, Entry, Head, content
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
            same = [e.value for e in runs.values()]
            alike = len({content(e) for e in runs.values()}) == 1 or not any(e.items for e in runs.values())
            if len(same) > 1 and len(set(same)) == 1 and alike:
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
        if len(sizes) > 1:
            out.append(
                Issue(
                    says=f"{where}: test sets of different size ({', '.join(f'{n:,}' for n in sorted(sizes))} items)",
                    code="different-n",
                    column=head.metric,
                )
            )
    return list(dict.fromkeys(out))


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
