"""Scores and items → a board: system × (data set, metric) × seed, with what is wrong between them."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from papertrain.core.errors import PapertrainError
from papertrain.core.values import Value
from papertrain.results import kinds as reading
from papertrain.results import names
from papertrain.results.collect import Collection
from papertrain.results.metrics import classify
from papertrain.results.metrics.measured import Measured
from papertrain.results.records import Issue, Items, Scale, Score
from papertrain.results.score import measure

SAME = 1e-6
"""A recomputed score and a published one that differ by more are not the same number."""


class Entry(Value, frozen=True, kw_only=True):
    """One score of one run."""

    system: str
    dataset: str
    metric: str
    seed: str
    value: float | None
    scale: Scale = "unknown"
    higher_is_better: bool | None = None
    measured: Measured | None = None
    items: Items | None = None
    score: Score | None = None
    fold: bool = False
    repeats: int = 1
    reason: str = ""


class Head(Value, frozen=True):
    """A column: data set, metric, and the unit that its numbers are written in."""

    dataset: str
    metric: str
    scale: Scale


class Board(Value, frozen=True, kw_only=True):
    systems: list[str]
    heads: list[Head]
    entries: dict[tuple[str, Head], dict[str, Entry]]
    """(system, column) → seed → entry."""
    gaps: dict[tuple[str, Head], str]
    """Why a cell is empty, or which seeds its mean lacks."""
    issues: list[Issue]
    directions: dict[Head, bool | None]

    def runs(self, system: str, head: Head) -> dict[str, Entry]:
        return self.entries.get((system, head), {})


def content(e: Entry) -> str:
    """What a run left behind, as a digest: two trainings may well share a score, but not every single answer."""
    i = e.items
    if i is None:
        return f"{e.score.sha256} {e.score.pointer} {e.value!r}" if e.score is not None else repr(e.value)
    columns = [
        c for c in (i.prediction, i.score, *(i.probabilities or {}).values(), *i.scored.values()) if c is not None
    ]
    rows = sorted(zip(i.ids, *([classify.text(x) for x in c] for c in columns)))
    return hashlib.sha256(repr(rows).encode("utf-8", "replace")).hexdigest()


def natural(text: str) -> tuple[object, ...]:
    """Sort key: seed 2 before seed 10."""
    return tuple((0, int(p), "") if p.isdigit() else (1, 0, p) for p in re.split(r"(\d+)", text) if p)


def measured_entries(
    items: Sequence[Items],
    wanted: Sequence[str],
    positive: str = "",
    *,
    everything: bool = False,
    metrics: Mapping[str, Sequence[str]] | None = None,
    kinds: Mapping[str, str] | None = None,
) -> list[Entry]:
    """Score every set of items; classes are those of all systems on a data set, so that rows of two systems align.

    kinds: how the answers of a data set are read where that is known (text, classification)."""
    by: dict[str, list[Items]] = defaultdict(list)
    for i in items:
        by[i.dataset].append(i)
    out: list[Entry] = []
    refused: list[PapertrainError] = []
    for dataset, group in by.items():
        kind = reading.of_group(group, (kinds or {}).get(dataset, ""))
        classes = None
        if kind in reading.READINGS:
            classes = classify.classes_of(
                *(c for i in group if i.label is not None for c in (i.label, i.prediction or []))
            )
        for i in group:
            asked = (metrics or {}).get(dataset) or wanted
            k = kind if i.label is not None and kind else reading.task(i)
            try:
                scored = measure(
                    i,
                    asked or None,
                    classes=classes if k in reading.READINGS else None,
                    positive=positive,
                    everything=everything,
                    kind=k,
                )
            except PapertrainError as error:
                refused.append(error)
                continue
            for m in scored:
                if k == "classification" and everything and "[" in m.metric:
                    continue
                out.append(Entry(system=i.system, dataset=dataset, metric=m.metric, seed=i.seed, value=m.value, scale=scale_of(m), measured=m, items=i,
                                 higher_is_better=m.higher_is_better, reason=m.reason))  # fmt: skip
    if refused and not out:
        raise refused[0]
    return out


def scale_of(m: Measured) -> Scale:
    if m.library == "the file":
        return names.scale(m.metric, [m.value] if m.value is not None else [])
    if m.metric in names.PERCENT_BY_NATURE:
        return "percent"
    return (
        "number"
        if names.key(m.metric) in names.UNBOUNDED or m.metric in ("pearson", "spearman", "mcc", "kappa")
        else "fraction"
    )


def reported_entries(scores: Iterable[Score]) -> list[Entry]:
    """Scores as files give them. A task without a score takes the metric that most of its file has, for its empty cell."""
    scores = list(scores)
    usual = {
        f: Counter(s.metric for s in scores if s.file == f and s.metric).most_common(1)
        for f in {s.file for s in scores if not s.metric}
    }
    out = []
    for s in scores:
        metric = s.metric or (usual[s.file][0][0] if usual.get(s.file) else "score")
        up = s.higher_is_better if s.higher_is_better is not None else names.higher_is_better(metric)
        out.append(Entry(system=s.system, dataset=s.dataset, metric=metric, seed=s.fold or s.seed, value=s.value, scale=s.scale, higher_is_better=up, score=s, fold=bool(s.fold),
                         reason=s.reason))  # fmt: skip
    return out


def build(collection: Collection, *, wanted: Sequence[str] = (), positive: str = "", everything: bool = False, order: Sequence[str] = (),
          metrics: Mapping[str, Sequence[str]] | None = None, directions: Mapping[str, bool] | None = None,
          kinds: Mapping[str, str] | None = None) -> Board:  # fmt: skip
    """The board of a collection. wanted: metrics to show (all that the files hold where none is named)."""
    issues = list(collection.issues)
    computed = measured_entries(collection.items, wanted, positive, metrics=metrics, kinds=kinds)
    if not wanted:
        unsaid = [i for i in collection.items if i.dataset not in (metrics or {})]
        issues += reading.readings(unsaid, kinds or {}, doubtful=True)
    reported = reported_entries(collection.scores)
    if wanted:
        keys = {names.key(w) for w in wanted} | {w.lower() for w in wanted}
        reported = [e for e in reported if names.key(e.metric) in keys or e.metric.lower() in keys]
    reported = _test_split_only(reported, issues)
    reported = [e for e in reported if not _superseded(e, computed, issues)]
    if not everything:
        reported = _main_only(reported, bool(wanted), issues)
    reported = _members_left_out(reported, everything, issues)
    heads, entries = _columns([*computed, *reported], issues)
    systems = (
        list(dict.fromkeys([*order, *(s for s, _ in entries)])) if order else list(dict.fromkeys(s for s, _ in entries))
    )
    merged: dict[tuple[str, Head], dict[str, Entry]] = {}
    gaps: dict[tuple[str, Head], str] = {}
    for (system, head), found in entries.items():
        real = [e for e in found if e.value is not None]
        if head.scale == "mixed" and names.mixed([e.value for e in real if e.value is not None]):
            shown = ", ".join(f"{e.value:g}" for e in real[:4])
            gaps[system, head] = f"its runs are mixed fractions and percentages ({shown})"
        elif real:
            merged[system, head] = _by_seed(system, head, real, issues)
            if gone := [e for e in found if e.value is None and e.seed]:
                seeds = ", ".join(dict.fromkeys(e.seed for e in gone))
                gaps[system, head] = f"without seed {seeds}: {gone[0].reason or 'no value'}"
        else:
            gaps[system, head] = found[0].reason or "no value"
    ways: dict[Head, bool | None] = {}
    for head in heads:
        said = {e.higher_is_better for (_, h), es in entries.items() if h == head for e in es} - {None}
        given = (directions or {}).get(head.metric, (directions or {}).get(names.key(head.metric)))
        ways[head] = given if given is not None else next(iter(said)) if len(said) == 1 else None
        if head.scale == "mixed":
            ways[head] = None
            continue
        if ways[head] is None:
            says = f"{head.metric}: it is not known whether higher or lower is better, so nothing is ranked; say it with --columns lower={head.metric} or higher={head.metric}"
            issues.append(Issue(says=says, code="unknown-direction", column=head.metric))
    for head in heads:
        for system in systems:
            if (system, head) not in merged and (system, head) not in gaps:
                other = next(
                    (
                        h
                        for h in heads
                        if (h.dataset, h.metric) == (head.dataset, head.metric) and h != head and (system, h) in merged
                    ),
                    None,
                )
                gaps[system, head] = (
                    f"its files write it in {other.scale}, this column is in {head.scale}: not rescaled"
                    if other
                    else "no file holds it"
                )
    return Board(
        systems=systems, heads=heads, entries=merged, gaps=gaps, issues=list(dict.fromkeys(issues)), directions=ways
    )


def _superseded(e: Entry, computed: list[Entry], issues: list[Issue]) -> bool:
    """A published score of a run whose items are here: the recomputed one counts, and they must agree."""
    twin = next(
        (
            c
            for c in computed
            if (c.system, c.dataset, c.seed) == (e.system, e.dataset, e.seed) and _same_metric(c.metric, e.metric)
        ),
        None,
    )
    if twin is None:
        return (
            any((c.system, c.dataset, c.seed) == (e.system, e.dataset, e.seed) for c in computed)
            and e.score is not None
            and _beside(e, computed)
        )
    if (
        e.value is not None
        and twin.value is not None
        and abs(e.value - twin.value) > SAME * max(1.0, abs(e.value))
        and e.scale == twin.scale
    ):
        issues.append(Issue(says=f"{e.system} {e.metric} on {e.dataset or 'its test set'}: the file says {e.value:g}, its own outputs give {twin.value:g}; the outputs count",
                            file=e.score.file if e.score else "", code="disagrees"))  # fmt: skip
    return True


def _same_metric(a: str, b: str) -> bool:
    """The same name; `eval_accuracy` is accuracy, but two answer filters of one metric are two metrics."""
    return a == b or ("," not in a + b and names.key(a) == names.key(b))


def _beside(e: Entry, computed: list[Entry]) -> bool:
    """Results in the folder of the predictions that were scored here add nothing but training numbers."""
    folder = e.score.file.rpartition("/")[0] if e.score else ""
    return any(
        c.items is not None and c.items.file.rpartition("/")[0] == folder and c.system == e.system for c in computed
    )


TEST_SPLITS = {"test", "predict"}


def _test_split_only(entries: list[Entry], issues: list[Issue]) -> list[Entry]:
    """Where a run has a score on the test split, its score on the validation split is another number, not a repeat."""

    def split(e: Entry) -> str:
        return e.score.settings.get("split", "") if e.score is not None else ""

    tested = {(e.system, e.dataset, e.metric, e.seed) for e in entries if split(e) in TEST_SPLITS}
    keep = [
        e
        for e in entries
        if split(e) in TEST_SPLITS or not split(e) or (e.system, e.dataset, e.metric, e.seed) not in tested
    ]
    if len(keep) < len(entries):
        issues.append(
            Issue(
                says="scores on the validation split are left out beside those on the test split",
                code="validation-left-out",
                level="note",
            )
        )
    return keep


def _main_only(entries: list[Entry], named: bool, issues: list[Issue]) -> list[Entry]:
    """Leave out evaluation losses where scores exist, and metrics whose direction is not known where others are."""
    if named or not any(e.higher_is_better is not None and names.key(e.metric) != "loss" for e in entries):
        return entries
    keep = [e for e in entries if e.higher_is_better is not None and names.key(e.metric) != "loss"]
    left = sorted({e.metric for e in entries if e not in keep})
    if left:
        issues.append(
            Issue(
                says="; ".join(
                    f"left out: {', '.join(named[:6])}{' …' if len(named) > 6 else ''} ({why}; --metrics {named[0]} or --all shows it)"
                    for why, named in (
                        ("a loss is no score of the task", [m for m in left if names.key(m) == "loss"]),
                        (
                            "it is not known whether higher or lower is better",
                            [m for m in left if names.key(m) != "loss"],
                        ),
                    )
                    if named
                ),
                code="left-out",
                level="note",
            )
        )
    return keep


def _members_left_out(entries: list[Entry], everything: bool, issues: list[Issue]) -> list[Entry]:
    """Group rows and their members in one table would be averaged twice by a reader: the members are left out."""
    groups = {
        e.dataset for e in entries if e.score is not None and e.score.group and e.value is not None and e.score.metric
    }
    averages = {d for d in {e.dataset for e in entries} if re.match(r"(average|avg|mean)\b", d.lower())}
    if averages:
        issues.append(
            Issue(
                says=f"columns that are averages of others are left out: {', '.join(sorted(averages))}",
                code="derived-column",
                level="note",
            )
        )
        entries = [e for e in entries if e.dataset not in averages]
    if everything or not groups:
        return entries
    keep = [
        e
        for e in entries
        if e.dataset in groups
        or not any(e.dataset.startswith(f"{g}_") or e.dataset.startswith(f"{g}-") for g in groups)
    ]
    if len(keep) < len(entries):
        issues.append(
            Issue(
                says=f"sub-tasks of {', '.join(sorted(groups)[:4])} are left out beside their group (--all shows them)",
                code="members-left-out",
                level="note",
            )
        )
    return keep


def _columns(entries: list[Entry], issues: list[Issue]) -> tuple[list[Head], dict[tuple[str, Head], list[Entry]]]:
    """Columns by data set and metric; fractions and percents never share one."""
    scales: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for e in entries:
        if e.value is not None:
            scales[e.dataset, e.metric][e.scale] += 1
    for (dataset, metric), found in scales.items():
        real = [s for s in found if s not in ("unknown", "mixed")]
        if len(real) > 1:
            issues.append(Issue(says=f"{metric} on {dataset or 'the test set'}: {' and '.join(sorted(real))} are mixed; they stay in columns of their own, and nothing is rescaled",
                                code="mixed-scales", column=metric))  # fmt: skip
    heads: list[Head] = []
    out: dict[tuple[str, Head], list[Entry]] = defaultdict(list)
    for e in entries:
        usual = [s for s, _ in scales[e.dataset, e.metric].most_common() if s != "unknown"]
        scale: Scale = e.scale if e.value is not None and e.scale != "unknown" else (usual[0] if usual else "unknown")  # type: ignore[assignment]
        head = Head(e.dataset, e.metric, scale)
        if head not in heads:
            heads.append(head)
        out[e.system, head].append(e)
        limit = {"fraction": 1.0, "percent": 100.0}.get(scale)
        if e.value is not None and names.bounded(e.metric) and (e.value > (limit or 100.0) + 1e-9):
            issues.append(Issue(says=f"{e.system} {e.metric} on {e.dataset or 'the test set'}: {e.value:g} is above {limit or 100:g}", file=e.score.file if e.score else "",
                                code="above-limit", system=e.system))  # fmt: skip
    order = {d: i for i, d in enumerate(dict.fromkeys(h.dataset for h in heads))}
    return sorted(heads, key=lambda h: order[h.dataset]), out


def _by_seed(system: str, head: Head, found: list[Entry], issues: list[Issue]) -> dict[str, Entry]:
    """One entry per seed. Episodes of one seed are averaged; repeated unlabelled values are repeated runs, and said so."""
    by: dict[str, list[Entry]] = defaultdict(list)
    for e in found:
        by[e.seed].append(e)
    out: dict[str, Entry] = {}
    for seed, same in by.items():
        if len(same) == 1:
            out[seed] = same[0]
            continue
        files = {e.score.file if e.score else e.items.file if e.items else "" for e in same}
        values = [e.value for e in same if e.value is not None]
        contents = {content(e) for e in same}
        where = f"{system} {head.metric} on {head.dataset or 'the test set'}"
        episodes = all(e.score is not None and "episode" in e.score.settings for e in same)
        if len(contents) == 1 and len(files) > 1:
            issues.append(
                Issue(
                    says=f"{where}: the same outcomes in {len(files)} files; counted once",
                    file=sorted(files)[0],
                    code="duplicate-value",
                    system=system,
                )
            )
            out[seed] = same[0]
        elif episodes or seed:
            note = "episodes" if episodes else "values"
            issues.append(
                Issue(
                    says=f"{where}: {len(values)} {note} of seed {seed or 'none'} are averaged: the unit is the seed, never the {note[:-1]}",
                    code="repeats",
                    level="note",
                )
            )
            out[seed] = _mean(same, values)
        else:
            issues.append(
                Issue(
                    says=f"{where}: {len(values)} values without a seed are taken as repeated runs; name seeds with --map or a seed column",
                    code="unlabelled-runs",
                )
            )
            out |= {f"#{i + 1}": e for i, e in enumerate(same)}
    return dict(sorted(out.items(), key=lambda kv: natural(kv[0])))


def _mean(same: list[Entry], values: list[float]) -> Entry:
    import msgspec

    return msgspec.structs.replace(
        same[0], value=sum(values) / len(values), repeats=len(values), measured=None, items=None
    )
