"""VLMEvalKit: predictions and judged results (`<model>_<dataset>[_<judge>_result].xlsx`, `.tsv`, `.json`), scores
(`_acc.csv`, `_score.csv`, `_score.json`). Model and data set stand in the file name only.

`hit` is the judge's 0 or 1; circular questions share `g_index` and are one cluster. `_acc.csv` holds fractions, a column
per ability: those are parts of Overall, never averaged with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from papertrain.results.names import higher_is_better, scale
from papertrain.results.records import Issue, Items, Reader, Reading, Score
from papertrain.results.source import Row, Source, number

ITEMS = (".xlsx", ".tsv", ".json")
SUFFIX = re.compile(
    r"_(?:acc|score|rating|judge|result|gpt_score|fine|coarse)+$|_(?:exact_matching|chatgpt-\w+|gpt-?4[\w.-]*|gpt-?3[\w.-]*|openai|qwen[\w.-]*|deepseek[\w.-]*)(?:_result)?$",
    re.I,
)
KNOWN = re.compile(
    r"_((?:MMBench|MMMU|MME|MMStar|MMVet|MM-?Vet|MathVista|MathVision|MathVerse|OCRBench|OCRVQA|TextVQA|DocVQA|ChartQA|InfoVQA|AI2D|ScienceQA|SEEDBench\d?|HallusionBench|POPE|RealWorldQA|CCBench|"
    r"BLINK|LLaVABench|COCO|MMT-?Bench|MVBench|Video-?MME|MLVU|MMLongBench|CMMMU|LogicVista|VisOnlyQA|MIA-?Bench|WildVision|CRPE|R-?Bench|A-?OKVQA|GQA|TableVQABench|Q-?Bench|A-?Bench|CharXiv|HRBench|VStarBench|V\*Bench)[\w.-]*)$",
    re.I,
)
SPLIT = re.compile(r"(?:TEST|VAL|DEV|MINI|FULL|TRAIN|V\d+|EN|CN|ZH|IMG|TESTCORE|ALL|rot\d+|\d+F)", re.I)
"""Ends of data set names that are no benchmark by themselves: `MTVQA_TEST`."""


def sniff(source: Source) -> bool:
    return _is_items(source) or _is_scores(source)


def _is_items(source: Source) -> bool:
    if source.suffix not in ITEMS:
        return False
    names = set(source.header)
    return (
        {"index", "prediction"} <= names
        and bool({"hit", "answer", "question"} & names)
        and bool({"question", "l2-category", "category", "g_index", "hit", "split"} & names)
    )


def _is_scores(source: Source) -> bool:
    name = source.path.stem.lower()
    if source.suffix == ".csv" and name.endswith(("_acc", "_score")):
        return len(source.table) >= 1 and (
            name.endswith("_acc") or "split" in _lower(source) or len(source.table) == 1 or "category" in _lower(source)
        )
    return (
        source.suffix == ".json"
        and name.endswith("_score")
        and bool(source.object)
        and all(_plain(v) for v in source.object.values())
    )


def _plain(x: Any) -> bool:
    return (
        number(x) is not None
        or (isinstance(x, list) and len(x) == 1 and number(x[0]) is not None)
        or isinstance(x, str)
    )


def _lower(source: Source) -> list[str]:
    return [h.strip().lower() for h in source.header]


def named(stem: str) -> tuple[str, str]:
    """(model, data set) of a file name: what follows the last known benchmark's underscore is the data set."""
    previous = ""
    while previous != stem:
        previous, stem = stem, SUFFIX.sub("", stem)
    m = KNOWN.search(stem)
    if m:
        return stem[: m.start()], m[1]
    language = re.search(r"_[A-Z]{2}$", stem)
    if language and SPLIT.fullmatch(stem[: language.start()].rpartition("_")[2]):
        model, data = named(stem[: language.start()])
        return model, data + language[0]
    model, mark, data = stem.rpartition("_")
    if mark and "_" in model and SPLIT.fullmatch(data):
        model, mark, name = model.rpartition("_")
        data = f"{name}_{data}"
    return (model, data) if mark else (stem, "")


def superseded(files: Iterable[Path]) -> set[Path]:
    """Answers beside which their judged copy lies, and the mean of what lies beside it item by item: it would count twice."""
    files = list(files)
    judged = {
        (f.parent, f.stem[: m.start()])
        for f in files
        if f.suffix in ITEMS and f.stem.endswith("_result")
        for m in re.finditer("_", f.stem)
    }
    out = set()
    for f in files:
        base = re.sub(r"_(?:acc|score)$", "", f.stem)
        mean = f.suffix == ".csv" and base != f.stem
        if (mean or not f.stem.endswith("_result")) and f.suffix in (*ITEMS, ".csv") and (f.parent, base) in judged:
            out.add(f)
    return out


def read(source: Source) -> Reading:
    return _items(source) if _is_items(source) else _scores(source)


def _items(source: Source) -> Reading:
    system, dataset = named(source.path.stem)
    table, names = source.table, set(source.header)
    issues: list[Issue] = []
    ids = [str(row.get("index", "")).removesuffix(".0") for row in table]
    twice = len(ids) - len(set(ids))
    if twice:
        issues.append(
            Issue(
                says=f"{twice} rows repeat an index: the first of each was read",
                file=str(source.path),
                code="duplicate-id",
            )
        )
        first = {i: n for n, i in reversed(list(enumerate(ids)))}
        table = [table[n] for n in sorted(first.values())]
        ids = [str(row.get("index", "")).removesuffix(".0") for row in table]
    cluster = [str(row.get("g_index", "")).removesuffix(".0") for row in table] if "g_index" in names else None
    gold = [f"{row.get('question', '')}\n{row.get('answer', '')}" for row in table] if "question" in names else None
    hits = [number(row.get("hit")) for row in table] if "hit" in names else []
    common: dict[str, Any] = {
        "ids": ids,
        "dataset": dataset,
        "system": system,
        "cluster": cluster if cluster and len(set(cluster)) < len(cluster) else None,
        "gold": gold,
        "file": str(source.path),
        "sha256": source.sha256,
    }
    if hits and all(h is not None for h in hits):
        judge = re.search(
            r"_((?:chatgpt|gpt|openai|qwen|deepseek|exact_matching)[\w.-]*?)_result$", source.path.stem, re.I
        )
        settings = {"judge": judge[1]} if judge else {}
        return Reading(
            items=[
                Items(
                    **common,
                    scored={"accuracy": [float(h or 0.0) for h in hits]},
                    directions={"accuracy": True},
                    settings=settings,
                )
            ],
            issues=issues,
            format="VLMEvalKit judged results",
        )
    if "answer" not in names or any(str(row.get("answer", "")) == "" for row in table):
        issues.append(
            Issue(
                says="answers that no judge has read (no column hit), and no gold for all of them: nothing to score",
                file=str(source.path),
                code="not-judged",
            )
        )
        return Reading(issues=issues, format="VLMEvalKit predictions")
    letters = [_letter(row) for row in table]
    if all(len(str(row.get("answer", "")).strip()) == 1 for row in table):
        unread = sum(x is None for x in letters)
        if unread:
            issues.append(
                Issue(
                    says=f"{unread:,} of {len(table):,} answers hold no single option letter and count as wrong: VLMEvalKit asks a judge for those",
                    file=str(source.path),
                    code="not-judged",
                )
            )
        right = [float(x == str(row.get("answer", "")).strip().upper()) for x, row in zip(letters, table)]
        return Reading(
            items=[
                Items(
                    **common,
                    scored={"accuracy": right},
                    directions={"accuracy": True},
                    settings={"judge": "exact letter"},
                )
            ],
            issues=issues,
            format="VLMEvalKit predictions",
        )
    item = Items(
        **common, label=[row.get("answer") for row in table], prediction=[row.get("prediction") for row in table]
    )
    return Reading(items=[item], issues=issues, format="VLMEvalKit predictions")


def _letter(row: Row) -> str | None:
    """The option that an answer names: `B`, `B.`, `(B)`, `The answer is B.`"""
    text = str(row.get("prediction", "")).strip()
    if m := re.match(r"^\(?([A-H])\)?(?:[.:,)\s]|$)", text):
        return m[1]
    found = set(re.findall(r"(?<![A-Za-z])\(?([A-H])\)?(?![A-Za-z'])", text.split("\n")[-1]))
    return found.pop() if len(found) == 1 else None


WHOLE = ("overall", "total", "final score", "avg", "average", "all")
COUNTS = ("split", "category", "tot", "hit", "task name", "index", "total_questions", "num", "count_of_questions")


def _scores(source: Source) -> Reading:
    system, dataset = named(source.path.stem)
    metric = "accuracy" if source.path.stem.lower().endswith("_acc") else "score"
    table = (
        source.table
        if source.suffix == ".csv"
        else [{k: v[0] if isinstance(v, list) else v for k, v in source.object.items()}]
    )
    scores: list[Score] = []
    lower = {h.strip().lower(): h for h in table[0]}
    by_row = lower.get("category") or lower.get("task name")
    several = by_row is not None and sum(number(x) is not None for n, x in table[0].items() if n.strip().lower() not in COUNTS) > 1  # fmt: skip
    splits = [str(row.get(lower.get("split", ""), "") or "") for row in table]
    parted = len(table) > 1 and any(s.lower() in WHOLE for s in splits)
    for i, row in enumerate(table):
        split, inside = splits[i], ""
        if parted:
            split, inside = "", "" if split.lower() in WHOLE else split
        for name, x in row.items():
            value = number(x)
            if value is None or name.strip().lower() in COUNTS:
                continue
            part = str(row.get(by_row)) if by_row else name
            whole = part.strip().lower() in WHOLE
            known = higher_is_better(name) is not None and not by_row
            own = (
                name.strip()
                if several
                else "accuracy"
                if metric == "accuracy" or name.strip().lower() in ("acc", "accuracy") or "acc" in name.lower()
                else name
                if known
                else metric
            )
            values = [v for r in table if (v := number(r.get(name))) is not None]
            unit = (
                scale(own, values)
                if own == "accuracy"
                else "number"
                if max(map(abs, values)) > 100
                else "percent"
                if max(map(abs, values)) > 1
                else "fraction"
            )
            parts = [dataset, "" if whole or known else part, inside]
            scores.append(Score(
                metric=own, value=value, dataset="-".join(p for p in parts if p), system=system, scale=unit, higher_is_better=True, file=str(source.path),
                sha256=source.sha256, pointer=f"row {i + 1}, {name}", settings={"split": split} if split and split != "none" else {}, group=not inside and (parted or (whole and len(row) > 2)),
            ))  # fmt: skip
    return Reading(scores=scores, format="VLMEvalKit scores")


READER = Reader(
    id="vlmeval", title="VLMEvalKit xlsx, _acc.csv, _score.csv", sniff=sniff, read=read, repeats=superseded, order=12
)
