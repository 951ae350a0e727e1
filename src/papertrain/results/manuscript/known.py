"""What may be said: every number that the evidence, the tests and the plans hold, and whose it is."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from papertrain.core.results import Evidence
from papertrain.core.values import Record
from papertrain.results import names
from papertrain.results.manuscript.tex import words

OF_CLAIM = re.compile(
    r"^(?P<method>.+?): (?P<mean>mean )?(?P<metric>\S+?)(?: on (?P<data>.*?))?(?: over \d+ runs)?(?: \((?P<seed>[^()]*)\))?$"
)


class Known(Record, frozen=True, kw_only=True):
    """One number. kind: `score`, `seed`, `std`, `bound`, `count`, `difference`, `ratio`, `p` or `setting`.

    scales: what it may be multiplied with to be printed (a fraction as itself or as a percentage).
    """

    value: float
    kind: str
    said: str
    evidence: str = ""
    method: str = ""
    against: str = ""
    dataset: str = ""
    metric: str = ""
    scales: tuple[float, ...] = (1.0,)

    def agrees(self, x: float, decimals: int, *, sign: bool = True) -> bool:
        """Whether the printed number is this one, rounded to as many places as were printed."""
        half = 0.5 * 10.0**-decimals * (1 + 1e-9) + 1e-12
        return any(
            abs(v - x) <= half
            for s in self.scales
            for v in ((self.value * s,) if sign else (self.value * s, -self.value * s))
        )

    def shown(self, decimals: int, near: float) -> str:
        """The number as the manuscript would print it: in the scale that is nearest to what stands there."""
        best = min(
            (self.value * s for s in self.scales),
            key=lambda v: abs(math.log(abs(v / near))) if v and near else abs(v - near),
        )
        return f"{best:.{max(decimals, 0)}f}"


class Claimed(Record, frozen=True, kw_only=True):
    """One test of `tables/tests.csv`; refused says why there is none."""

    a: str
    b: str
    dataset: str
    metric: str
    test: str = ""
    p: float | None = None
    p_adjusted: float | None = None
    significant: bool | None = None
    refused: str = ""
    primary: bool = True

    @property
    def corrected(self) -> float | None:
        return self.p_adjusted if self.p_adjusted is not None else self.p


class Ground(Record, frozen=True, kw_only=True):
    """All of it. names: what the manuscript may call a method, a data set or a metric → what the evidence calls it."""

    known: tuple[Known, ...]
    tests: tuple[Claimed, ...]
    methods: Mapping[str, str]
    datasets: Mapping[str, str]
    metrics: Mapping[str, tuple[str, ...]]
    ours: str = ""
    baseline: str = ""
    stale: Mapping[str, str] = {}
    shown: frozenset[str] = frozenset()
    """The metrics of the main table: what a sentence that names none of them is about."""


SCALES = {"fraction": (1.0, 100.0), "percent": (1.0, 0.01)}


def scores(entries: Iterable[Evidence], old: set[str]) -> list[Known]:
    """The numbers of evidence.jsonl that still hold."""
    out = []
    for e in entries:
        if e.id in old or isinstance(e.value, str) or e.value is None:
            continue
        m = OF_CLAIM.match(e.claim)
        scale = SCALES.get(e.unit, (1.0,))
        if m is None:
            out.append(Known(value=float(e.value), kind="setting", said=e.claim, evidence=e.id, scales=scale))
            continue
        whole = bool(m["mean"]) or (e.seed is None and not m["seed"])
        out.append(Known(value=float(e.value), kind="score" if whole else "seed", said=said(m["method"], m["metric"], (m["data"] or "").strip()), evidence=e.id,
                         method=m["method"], dataset=(m["data"] or "").strip(), metric=m["metric"], scales=scale))  # fmt: skip
    return _single_seeds(out)


def _single_seeds(found: list[Known]) -> list[Known]:
    """One seed and no mean: the seed is the score."""
    import msgspec

    places: dict[tuple[str, str, str], list[Known]] = {}
    for k in found:
        places.setdefault((k.method, k.dataset, k.metric), []).append(k)
    alone = {id(ks[0]) for ks in places.values() if len(ks) == 1 and ks[0].kind == "seed"}
    return [msgspec.structs.replace(k, kind="score") if id(k) in alone else k for k in found]


def said(method: str, metric: str, dataset: str) -> str:
    return f"{method}, {names.pretty(metric)}" + (f" on {dataset}" if dataset else "")


def of_table(rows: Sequence[Mapping[str, str]]) -> list[Known]:
    """Deviations, intervals and numbers of seeds, from `tables/main.csv`."""
    from papertrain.results.source import number

    out = []
    for r in rows:
        scale = SCALES.get(r.get("unit", ""), (1.0,))
        where: dict[str, Any] = {
            "method": r.get("method", ""),
            "dataset": r.get("dataset", ""),
            "metric": r.get("metric", ""),
            "evidence": r.get("evidence", ""),
        }
        text = said(where["method"], where["metric"], where["dataset"])
        for column, kind, word in (
            ("std", "std", "standard deviation"),
            ("ci_low", "bound", "interval"),
            ("ci_high", "bound", "interval"),
            ("n_seeds", "count", "seeds"),
        ):
            v = number(r.get(column))
            if v is not None:
                out.append(
                    Known(
                        value=v, kind=kind, said=f"{text}, {word}", scales=(1.0,) if kind == "count" else scale, **where
                    )
                )
    return out


def tests(rows: Sequence[Mapping[str, str]]) -> tuple[list[Claimed], list[Known]]:
    """The tests of `tables/tests.csv`, and the numbers in them."""
    from papertrain.results.source import number

    claimed, known = [], []
    for r in rows:
        a, b, dataset, metric = (r.get(k, "") for k in ("a", "b", "dataset", "metric"))
        primary = r.get("role", "primary") == "primary"
        significant = {"true": True, "false": False}.get(r.get("significant", "").lower())
        claimed.append(Claimed(a=a, b=b, dataset=dataset, metric=metric, test=r.get("test", ""), p=number(r.get("p")), p_adjusted=number(r.get("p_adjusted")),
                               significant=significant, refused=r.get("refused", ""), primary=primary))  # fmt: skip
        if not primary:
            continue  # one seed against one seed: no paper quotes it, and it would agree with many a wrong number
        scale = SCALES.get(r.get("unit", ""), (1.0,))
        where: dict[str, Any] = {"method": a, "against": b, "dataset": dataset, "metric": metric}
        text = said(f"{a} against {b}", metric, dataset)
        for column, kind in (
            ("difference", "difference"),
            ("low", "bound"),
            ("high", "bound"),
            ("p", "p"),
            ("p_adjusted", "p"),
            ("n", "count"),
        ):
            v = number(r.get(column))
            if v is not None:
                out_scale = scale if kind in ("difference", "bound") else (1.0,)
                known.append(
                    Known(
                        value=v,
                        kind=kind,
                        said=f"{text}: {r.get('test', '')}",
                        evidence="tables/tests.csv",
                        scales=out_scale,
                        **where,
                    )
                )
    return claimed, known


def differences(found: Sequence[Known]) -> list[Known]:
    """What follows from two scores of one column: their difference and their ratio."""
    columns: dict[tuple[str, str], list[Known]] = {}
    for k in found:
        if k.kind == "score" and k.metric:
            columns.setdefault((k.dataset, k.metric), []).append(k)
    out = []
    for ks in columns.values():
        for a in ks[:40]:
            for b in ks[:40]:
                if a is b or a.method == b.method:
                    continue
                proof = f"{a.evidence} and {b.evidence}"
                where: dict[str, Any] = {
                    "method": a.method,
                    "against": b.method,
                    "dataset": a.dataset,
                    "metric": a.metric,
                    "evidence": proof,
                }
                text = said(f"{a.method} minus {b.method}", a.metric, a.dataset)
                out.append(Known(value=a.value - b.value, kind="difference", said=text, scales=a.scales, **where))
                if b.value:
                    ratio = f"{a.method} over {b.method}, {names.pretty(a.metric)}"
                    out.append(
                        Known(
                            value=(a.value - b.value) / b.value,
                            kind="ratio",
                            said=f"{ratio}, relative change",
                            scales=(1.0, 100.0),
                            **where,
                        )
                    )
                    out.append(
                        Known(value=a.value / b.value, kind="ratio", said=f"{ratio}, ratio", scales=(1.0,), **where)
                    )
    return out


ALIASES = {
    "accuracy": ("accuracy", "acc", "accuracies"), "acc": ("accuracy", "acc"), "macro_f1": ("macro f1", "f1"), "micro_f1": ("micro f1", "f1"), "weighted_f1": ("weighted f1", "f1"),
    "f1": ("f1", "f1 score"), "em": ("em", "exact match"), "exact_match": ("exact match", "em"), "token_f1": ("token f1", "f1"), "auc": ("auc", "auroc", "roc auc"),
    "bleu": ("bleu",), "perplexity": ("perplexity", "ppl"), "loss": ("loss",), "wer": ("wer", "word error rate"), "cer": ("cer", "character error rate"),
    "mcc": ("mcc", "matthews correlation"), "precision": ("precision",), "recall": ("recall",), "rouge1": ("rouge 1",), "rouge2": ("rouge 2",), "rougel": ("rouge l",),
}  # fmt: skip


def joined(text: str) -> str:
    return "".join(words(text))


def metric_names(metrics: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Every name of a metric → the metrics that it may mean."""
    out: dict[str, dict[str, None]] = {}
    for m in metrics:
        key = names.key(m)
        for alias in (m, key, names.pretty(m), *ALIASES.get(key, ())):
            if joined(alias):
                out.setdefault(joined(alias), {})[m] = None
    return {k: tuple(v) for k, v in out.items()}


def plain_names(given: Iterable[str], labels: Mapping[str, str]) -> dict[str, str]:
    return {joined(n): g for g in given for n in (g, labels.get(g, g)) if joined(n)}


WINDOW = 8


def mentioned(text: str, known: Mapping[str, object]) -> dict[str, None]:
    """Which of the names stand in a text, longest first, each word used once."""
    tokens = words(text)
    out: dict[str, None] = {}
    at = 0
    while at < len(tokens):
        for length in range(min(WINDOW, len(tokens) - at), 0, -1):
            one = "".join(tokens[at : at + length])
            if one in known:
                out[one] = None
                at += length
                break
        else:
            at += 1
    return out
