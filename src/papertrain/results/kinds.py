"""How answers are read, as text, classes or numbers: as the plan that made them says, as asked, else by what they look like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from papertrain.results.records import Issue, Items
from papertrain.results.source import number

WRITES_TEXT = frozenset({"sft", "dpo", "kto", "orpo", "simpo", "ppo", "grpo"})
NAMES_CLASSES = frozenset({"classification", "image"})
OF_TEXT = frozenset({"em", "token_f1", "bleu", "chrf", "ter", "rouge1", "rouge2", "rougel", "wer", "cer"})
OF_CLASSES = frozenset({
    "accuracy", "balanced_accuracy", "macro_f1", "macro_precision", "macro_recall", "weighted_f1", "micro_f1", "mcc", "kappa",
})  # fmt: skip
OF_NUMBERS = frozenset({"mse", "rmse", "mae", "r2", "pearson", "spearman"})
READINGS = {"text": OF_TEXT, "classification": OF_CLASSES, "regression": OF_NUMBERS}
"""One answer beside one label can be read in each of these ways; ranked lists and scores cannot."""

FEW = 30
"""So many different short answers are taken for classes even where few rows share one."""
WORDS = 8


def decided(tasks: Collection[str], metrics: Sequence[str] = ()) -> str:
    """What a study says of a data set: by the metrics it names, else by the tasks of its plans. '' where it says nothing.

    A classifier among the methods shows that the answers are classes, whatever the others write."""
    named = {m.lower() for m in metrics}
    for kind, belonging in READINGS.items():
        if named and named <= belonging:
            return kind
    if NAMES_CLASSES & set(tasks):
        return "classification"
    return "text" if WRITES_TEXT & set(tasks) else ""


def task(items: Items) -> str:
    """classification, text, regression, ranking, scores or given: by what the columns hold."""
    if items.label is None:
        return "given"
    if items.prediction is None:
        return "scores"
    if all(isinstance(p, list) for p in items.prediction) and items.prediction:
        return "ranking"
    labels = [x for x in items.label if not isinstance(x, (list, dict))]
    if len(labels) < len(items.label):
        return "text"
    distinct = {str(x) for x in labels}
    numbers = [number(x) for x in labels]
    if all(v is not None for v in numbers) and all(number(p) is not None for p in items.prediction):
        whole = all(v == int(v) for v in numbers if v is not None)
        if not whole or len(distinct) > max(50, len(labels) // 4):
            return "regression"
        return "classification"
    words = max((len(str(x).split()) for x in list(distinct)[:2000]), default=1)
    many = len(distinct) > max(FEW, len(labels) // 5)
    return "text" if many or words > WORDS else "classification"


def of_group(group: Iterable[Items], said: str = "") -> str:
    """One reading for all systems on a data set, so that their scores can be compared."""
    found = Counter(task(i) for i in group if i.label is not None)
    usual = found.most_common(1)[0][0] if found else ""
    return said if said and usual in READINGS else usual


ASSUMED = {
    "classification": "read as classes: {n} different answers in {rows} rows; --metrics em,token_f1 reads them as text",
    "text": "read as text: {n} different answers in {rows} rows; --metrics accuracy,macro_f1 reads them as classes",
    "regression": "read as numbers: {n} different ones in {rows} rows; --metrics em,token_f1 reads them as text",
}
TOLD = {
    "text": "read as text, as the workspace says (its plans, or metrics in study.toml); --metrics accuracy,macro_f1 reads the answers as classes",
    "classification": "read as classes, as the workspace says (its plans, or metrics in study.toml); --metrics em,token_f1 reads the answers as text",
}


def readings(items: Sequence[Items], kinds: Mapping[str, str], *, doubtful: bool = False) -> list[Issue]:
    """How each data set was read, where it could be read otherwise. doubtful: only where hardly a row shares its answer."""
    by: dict[str, list[Items]] = {}
    for i in items:
        by.setdefault(i.dataset, []).append(i)
    out = []
    for dataset, group in by.items():
        first = next((i for i in group if i.label is not None), None)
        kind, usual = of_group(group, kinds.get(dataset, "")), of_group(group)
        if first is None or first.label is None or usual not in READINGS:
            continue
        n, rows = len({str(x) for x in first.label}), len(first.label)
        if kinds.get(dataset):
            says = TOLD.get(kind, "") if kind != usual else ""
        elif doubtful and not (usual == "classification" and n > rows // 5):
            says = ""
        elif usual == "text" and any(isinstance(x, (list, dict)) or len(str(x).split()) > WORDS for x in first.label):
            says = ""  # nobody takes these for classes
        elif usual == "regression" and any((v := number(x)) is None or v % 1 for x in first.label):
            says = ""
        else:
            says = ASSUMED[usual].format(n=n, rows=rows)
        if says:
            says = f"{dataset}: {says}" if dataset else says
            out.append(Issue(says=says, file=first.file, code="read-as", level="note"))
    return out
