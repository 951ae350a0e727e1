"""scikit-learn's `classification_report`, saved as JSON (`output_dict=True`) or as a table: its averages are scores of the
system, its rows are classes and no systems."""

from __future__ import annotations

from typing import Any

from papertrain.results.records import Issue, Reader, Reading, Score
from papertrain.results.source import Source, number

AVERAGES = {"macro avg": "macro_", "weighted avg": "weighted_", "micro avg": "micro_"}
COLUMNS = {"precision": "precision", "recall": "recall", "f1-score": "f1", "f1": "f1", "f1_score": "f1"}


def _rows(source: Source) -> dict[str, Any]:
    """Class or average → its row."""
    if source.object:
        return source.object
    table = source.table
    if not table or len(table[0]) < 3 or source.suffix not in (".csv", ".tsv", ".md", ".xlsx"):
        return {}
    first = next(iter(table[0]))
    return {str(row.get(first, "")).strip(): {k: v for k, v in row.items() if k != first} for row in table}


def sniff(source: Source) -> bool:
    rows = _rows(source)
    average = rows.get("macro avg") or rows.get("weighted avg")
    return isinstance(average, dict) and any(k.strip().lower() in COLUMNS for k in average)


def read(source: Source) -> Reading:
    rows, scores = _rows(source), []
    size = next((n for k in AVERAGES if isinstance(rows.get(k), dict) and (n := number(rows[k].get("support")))), None)
    common: dict[str, Any] = {"n": int(size) if size else None, "file": str(source.path), "sha256": source.sha256, "higher_is_better": True}  # fmt: skip

    def add(metric: str, value: float, where: str) -> None:
        scores.append(Score(metric=metric, value=value, scale="fraction" if abs(value) <= 1 else "percent", pointer=where, **common))  # fmt: skip

    accuracy = rows.get("accuracy")
    if isinstance(accuracy, dict):
        accuracy = next((v for k, v in accuracy.items() if COLUMNS.get(k.strip().lower()) == "f1"), None)
    if (value := number(accuracy)) is not None:
        add("accuracy", value, "accuracy")
    for name, prefix in AVERAGES.items():
        for column, x in (rows.get(name) or {}).items() if isinstance(rows.get(name), dict) else ():
            metric = COLUMNS.get(column.strip().lower())
            if metric and (value := number(x)) is not None:
                add(prefix + metric, value, f"{name}, {column}")
    classes = [k for k, v in rows.items() if isinstance(v, dict) and k not in AVERAGES and k != "accuracy"]
    says = f"a classification report: its averages are read, the rows of {len(classes)} classes are left out"
    note = Issue(says=says, file=str(source.path), code="left-out", level="note")
    return Reading(scores=scores, issues=[note], format="classification report")


READER = Reader(
    id="classification-report", title="scikit-learn classification_report", sniff=sniff, read=read, order=28
)
