"""Each number of a manuscript held against what is known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from papertrain.core.errors import nearest
from papertrain.core.findings import Finding, Rule, finding_id
from papertrain.core.values import Level, Record
from papertrain.results.manuscript import rules
from papertrain.results.manuscript.known import Ground, Known, mentioned
from papertrain.results.manuscript.numbers import Number, numbers
from papertrain.results.manuscript.tex import Page

CITED = re.compile(r"\\(?:\w*cite\w*)\b")
COMPARES = re.compile(
    r"\b(?:point|improv|gain|higher|lower|better|worse|above|below|over|increas|decreas|reduc|drop|differ|outperform|exceed|times|factor|relative|ahead|margin)",
    re.I,
)
OURS = re.compile(r"\b(?:ours?|we)\b", re.I)
BASELINE = re.compile(r"\bthe baseline\b", re.I)
MEANS = re.compile(r"\b(?:average|avg|mean|macro)\b", re.I)
NEAR = 0.1


class Held(Record, frozen=True, kw_only=True):
    """What became of the numbers of a manuscript: how many agree, and what the others are."""

    findings: tuple[Finding, ...]
    agree: int = 0
    macros: int = 0
    cited: int = 0
    other: int = 0
    """Counts, settings and years that no evidence speaks of."""


class Context(Record, frozen=True, kw_only=True):
    """What a number is about, as far as the words say."""

    methods: frozenset[str]
    datasets: frozenset[str]
    metrics: frozenset[str]
    cited: bool
    compares: bool
    means: bool
    exact: str = ""

    def admits(self, k: Known) -> bool:
        pair = {k.method, k.against} - {""}
        whose = (
            k.method in self.methods
            if not k.against
            else self.methods <= pair
            if len(self.methods) < 3
            else pair <= self.methods
        )
        return (
            (not self.methods or not k.method or whose)
            and (not self.datasets or not k.dataset or k.dataset in self.datasets)
            and (not self.metrics or not k.metric or k.metric in self.metrics)
        )


def hold(pages: Sequence[Page], ground: Ground) -> Held:
    out: list[Finding] = []
    tally = {"agree": 0, "cited": 0, "other": 0}
    for page in pages:
        contexts: dict[object, Context] = {}
        for n in numbers(page):
            key = n.sentence if n.place is None else n.place
            if key not in contexts:
                contexts[key] = context(page, n, ground)
            what, finding = _one(page, n, contexts[key], ground)
            tally[what] = tally.get(what, 0) + 1
            if finding is not None:
                out.append(finding)
    used, wrong = _macros(pages, ground)
    return Held(findings=(*out, *wrong), agree=tally["agree"], cited=tally["cited"], other=tally["other"], macros=used)


def finding(rule: Rule, page: Page, at: int, says: str, instead: str = "", level: Level | None = None) -> Finding:
    line = page.line(at)
    own: Level = "error" if rule.level in ("error", "critical") else "warning" if rule.level == "warning" else "note"
    return Finding(
        rule=rule.id,
        name=rule.name,
        level=level or own,
        says=says,
        id=finding_id(rule.id, page.file, line, says),
        file=page.file,
        line=line,
        instead=instead,
        effect="execution",
    )


def context(page: Page, n: Number, ground: Ground) -> Context:
    if n.place is not None:
        row, column = n.place.row, n.place.column
        methods = methods_in(row, ground) or methods_in(column, ground)
        if ground.ours and not methods and (OURS.search(row) or OURS.search(column)):
            methods = frozenset({ground.ours})
        named = f"{row} {column}"
        datasets = datasets_in(named, ground) or datasets_in(n.place.around, ground)
        metrics = metrics_in(named, ground) or metrics_in(n.place.around, ground)
        raw = page.text[max(0, n.place.start - 300) : n.place.end]
        cited = bool(CITED.search(raw.rpartition("\\\\")[2])) or bool(CITED.search(column))
        return Context(methods=methods, datasets=datasets, metrics=metrics, cited=cited, compares=bool(COMPARES.search(named)) or bool(re.search(r"\\?[Dd]elta|Δ", named)),
                       means=bool(MEANS.search(named)), exact=n.place.evidence)  # fmt: skip
    a, b = n.sentence
    text = page.seen[a:b]
    methods = methods_said(text, ground)
    return Context(methods=methods, datasets=datasets_in(text, ground), metrics=metrics_in(text, ground), cited=bool(CITED.search(text)), compares=bool(COMPARES.search(text)),
                   means=bool(MEANS.search(text)))  # fmt: skip


def methods_in(text: str, ground: Ground) -> frozenset[str]:
    return frozenset(ground.methods[k] for k in mentioned(text, ground.methods))


def methods_said(text: str, ground: Ground) -> frozenset[str]:
    """The methods of a sentence, which may be called ours and the baseline too."""
    methods = methods_in(text, ground)
    if ground.ours and OURS.search(text):
        methods |= {ground.ours}
    if ground.baseline and BASELINE.search(text):
        methods |= {ground.baseline}
    return methods


def datasets_in(text: str, ground: Ground) -> frozenset[str]:
    return frozenset(ground.datasets[k] for k in mentioned(text, ground.datasets))


def metrics_in(text: str, ground: Ground) -> frozenset[str]:
    return frozenset(m for k in mentioned(text, ground.metrics) for m in ground.metrics[k])


def _one(page: Page, n: Number, c: Context, ground: Ground) -> tuple[str, Finding | None]:
    if n.kind == "p":
        return _p(page, n, c, ground)
    kinds = {"plus-minus": ("std", "bound"), "bound": ("bound",), "count": ("count", "setting")}.get(n.kind)
    able = [
        k
        for k in ground.known
        if (kinds is None or k.kind in kinds) and (k.kind not in ("difference", "ratio") or c.compares or n.sign)
    ]
    sign = n.sign and n.value < 0
    fits = [
        k for k in able if k.agrees(n.value, n.decimals, sign=sign or k.kind not in ("difference", "ratio", "bound"))
    ]
    pinned = [k for k in able if c.exact and k.evidence == c.exact]
    if pinned and n.kind == "value":
        good = [k for k in fits if k in pinned]
        return _agreed(page, n, good, ground) if good else ("wrong", _contradicts(page, n, pinned[0], fits))
    mine = [k for k in fits if c.admits(k)]
    if mine:
        return _agreed(page, n, mine, ground)
    if c.cited:
        return "cited", None
    if n.plain and n.place is None:
        return "other", None
    scores = [k for k in able if k.kind == (kinds or ("score",))[0] and c.admits(k)]
    apart = [k for k in able if k.kind == "difference" and c.admits(k)] if c.compares and kinds is None else []
    about = bool(c.methods) and (
        n.place is None
        or bool(c.metrics or c.datasets)
        or len({(k.metric, k.dataset) for k in ground.known if k.kind == "score"}) == 1
    )
    if n.place is not None and about and len(scores) == 1 and not n.plain:
        return "wrong", _contradicts(page, n, scores[0], fits)
    if n.place is not None and c.methods and c.means and not n.plain and kinds is None:
        if _mean(n, c, ground):
            return "agree", None
        says = f"{_text(n)} is called an average of {', '.join(sorted(c.methods))}, and no average of measured cells comes out so"
        return "unheld", finding(rules.NO_EVIDENCE, page, n.at, says)
    meant = [k for k in (*scores, *apart) if c.metrics or not ground.shown or k.metric in ground.shown]
    close = sorted((k for k in meant if _near(k, n)), key=lambda k: _distance(k, n))
    if close and (c.methods or c.metrics) and (not n.plain or n.percent or n.place is not None):
        return "wrong", _contradicts(page, n, close[0], fits)
    if c.methods and fits and not n.plain and n.place is None and scores:
        return "wrong", _contradicts(page, n, min(scores, key=lambda k: _distance(k, n)), fits)
    if (c.methods or c.metrics) and not n.plain and n.kind != "count" and ground.known and (n.place is None or about):
        who = ", ".join(sorted(c.methods) or sorted(c.metrics))
        says = f"{_text(n)} stands beside {who}, and no evidence holds such a number"
        return "unheld", finding(rules.NO_EVIDENCE, page, n.at, says)
    return "other", None


def _text(n: Number) -> str:
    sign = "-" if n.value < 0 else ""
    return f"{'± ' if n.kind == 'plus-minus' else ''}{sign}{n.shown}{' %' if n.percent else ''}"


def _distance(k: Known, n: Number) -> float:
    return min(abs(k.value * s - n.value) for s in k.scales)


def _near(k: Known, n: Number) -> bool:
    """Near enough to be meant: within a tenth, and printed in the same scale."""
    return any(abs(k.value * s - n.value) <= NEAR * max(abs(k.value * s), 1e-9) for s in k.scales)


def _contradicts(page: Page, n: Number, k: Known, fits: Sequence[Known]) -> Finding:
    right = k.shown(n.decimals, n.value)
    sign = "± " if n.kind == "plus-minus" else ""
    source = f"evidence {k.evidence}" if k.evidence[:1] == "E" else k.evidence or "tables/main.csv"
    says = f"{_text(n)}, {source} says {sign}{right} ({k.said})"
    other = next((f for f in fits if f.kind == "score" and f.method and f.method != k.method), None)
    if other is not None:
        says += f"; {n.shown} is {other.evidence} ({other.said})"
    return finding(rules.CONTRADICTS, page, n.at, says, instead=right)


def _agreed(page: Page, n: Number, good: Sequence[Known], ground: Ground) -> tuple[str, Finding | None]:
    """A number that holds, unless all that it could rest on is stale."""
    old = [k for k in good if k.evidence in ground.stale]
    if old and len(old) == len(good) and not n.plain:
        return "agree", finding(
            rules.STALE, page, n.at, f"{_text(n)} rests on {old[0].evidence}: {ground.stale[old[0].evidence]}"
        )
    return "agree", None


def _mean(n: Number, c: Context, ground: Ground) -> bool:
    """Whether the number is the average of a row of the table, each cell of which was measured."""
    from itertools import combinations

    mine = [k for k in ground.known if k.kind == "score" and k.method in c.methods]
    groups: dict[str, list[Known]] = {}
    for k in mine:
        groups.setdefault(k.metric, []).append(k)
    for ks in [*groups.values(), mine]:
        sizes = range(2, len(ks) + 1) if len(ks) <= 10 else (len(ks),)
        for size in sizes:
            for chosen in combinations(ks, size):
                value = sum(k.value for k in chosen) / size
                scales = chosen[0].scales if len({k.scales for k in chosen}) == 1 else (1.0,)
                if Known(value=value, kind="score", said="", scales=scales).agrees(n.value, n.decimals):
                    return True
    return False


THRESHOLDS = (0.1, 0.05, 0.01, 0.005, 0.001, 0.0001)


def _p(page: Page, n: Number, c: Context, ground: Ground) -> tuple[str, Finding | None]:
    """A p-value: never zero; an equation is one of the tests; a bound is below none of those it speaks of."""
    below = n.op not in ("=", "of", ">")
    if n.value == 0:
        return "wrong", finding(
            rules.ZERO_P, page, n.at, f"p {n.op or '='} {n.shown}: no test gives certainty", instead="p < 0.001"
        )
    tests = [t for t in ground.tests if not t.refused and t.p is not None and speaks(t.a, t.b, t.metric, t.dataset, c)]
    if c.cited and not tests:
        return "cited", None
    if not tests:
        said = [t for t in ground.tests if t.refused]
        why = f" (refused: {said[0].refused})" if said else ""
        return "wrong", finding(
            rules.UNTESTED, page, n.at, f"p {n.op} {n.shown}: no test in the evidence speaks of it{why}"
        )
    values = [(p, t) for t in tests for p in (t.corrected, t.p) if p is not None]
    if below:
        if any(p <= n.value for p, _ in values):
            return "agree", None
    elif n.op == ">":
        if any(p >= n.value for p, _ in values):
            return "agree", None
    else:
        half = 0.5 * 10.0**-n.decimals * (1 + 1e-9)
        if any(abs(p - n.value) <= half for p, _ in values):
            return "agree", None
    p, t = min(values, key=lambda x: abs(x[0] - n.value))
    right = "< 0.001" if p < 0.001 else f"= {p:.{max(n.decimals, 3)}f}"
    says = f"p {n.op} {n.shown}, the test says p {right} ({t.a} against {t.b}, {t.test})"
    return "wrong", finding(rules.CONTRADICTS, page, n.at, says, instead=f"p {right}")


def speaks(a: str, b: str, metric: str, dataset: str, c: Context) -> bool:
    pair = not c.methods or (c.methods <= {a, b} if len(c.methods) <= 2 else {a, b} <= c.methods)
    return pair and (not c.metrics or metric in c.metrics) and (not c.datasets or dataset in c.datasets)


MACRO = re.compile(r"\\(pt[A-Z][A-Za-z]+)\b")
DEFINED = re.compile(r"\\newcommand\{\\(pt[A-Z][A-Za-z]+)\}\{([^{}]*)\}%\s*(E\d+)?")


def _macros(pages: Sequence[Page], ground: Ground) -> tuple[int, list[Finding]]:
    """Macros of numbers.tex: each that is used is defined, and says what its evidence says today."""
    defined: set[str] = set()
    out: list[Finding] = []
    by_id: dict[str, list[Known]] = {}
    for k in ground.known:
        by_id.setdefault(k.evidence, []).append(k)
    for page in pages:
        for m in DEFINED.finditer(page.text):
            defined.add(m[1])
            out += _defined(page, m, by_id)
    used = 0
    for page in pages:
        for m in MACRO.finditer(page.seen):
            if page.seen[max(0, m.start() - 12) : m.start()].endswith("\\newcommand{"):
                continue
            used += 1
            if defined and m[1] not in defined:
                close = nearest(m[1], sorted(defined))
                instead = f"\\{close}" if close else ""
                out.append(
                    finding(
                        rules.NO_MACRO,
                        page,
                        m.start(),
                        f"\\{m[1]} is defined nowhere" + (f", perhaps {instead}" if instead else ""),
                        instead=instead,
                    )
                )
    return used, out


def _defined(page: Page, m: re.Match[str], by_id: dict[str, list[Known]]) -> Iterator[Finding]:
    if m[3] is None or m[1].endswith(("Seeds",)):
        return
    if m[3] not in by_id:
        yield finding(
            rules.CONTRADICTS,
            page,
            m.start(),
            f"\\{m[1]} rests on {m[3]}, which the evidence does not hold any more: write the tables again",
        )
        return
    try:
        value = float(m[2])
    except ValueError:
        return
    decimals = len(m[2].partition(".")[2])
    if not any(k.agrees(value, decimals) for k in by_id[m[3]]):
        k = by_id[m[3]][0]
        right = k.shown(decimals, value)
        yield finding(
            rules.CONTRADICTS,
            page,
            m.start(),
            f"\\{m[1]} is {m[2]}, evidence {m[3]} says {right} ({k.said})",
            instead=right,
        )
