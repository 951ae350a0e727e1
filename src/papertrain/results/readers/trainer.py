"""Hugging Face Trainer and LLaMA-Factory: `all_results.json`, `eval_results.json`, `predict_results.json`.

predict_bleu-4 and predict_rouge-* of LLaMA-Factory are percent already (character BLEU, jieba ROUGE: not sacrebleu's or
rouge-score's); its eval_accuracy is the mean of *token* accuracy.
"""

from __future__ import annotations

import re
from typing import Any

from papertrain.results.names import is_metric, scale
from papertrain.results.records import Issue, Reader, Reading, Score
from papertrain.results.source import Source, no_number, number

PREFIX = re.compile(r"^(eval|predict|test)_(.+)$")


def sniff(source: Source) -> bool:
    doc = source.object
    return (
        bool(doc)
        and "results" not in doc
        and any(PREFIX.match(k) for k in doc)
        and not any(isinstance(v, dict) for v in doc.values())
    )


def sizes(doc: dict[str, Any]) -> dict[str, int]:
    out = {}
    for k, v in doc.items():
        m = re.match(r"^(eval|predict|test)_(?:(.+)_)?samples$", k)
        if m and number(v):
            out[m[1] + (f"_{m[2]}" if m[2] else "")] = int(number(v) or 0)
    return out


def read(source: Source) -> Reading:
    doc, scores, issues = source.object, [], []
    ns = sizes(doc)
    # a dict of evaluation sets gives eval_<set>_loss beside eval_<set>_<metric>
    sets = {m[2] for k in doc if (m := re.match(r"^(eval|predict|test)_(.+)_loss$", k)) and "/" not in m[2]}
    for name, x in doc.items():
        m = PREFIX.match(name)
        value = number(x)
        if (
            not m
            or (value is None and not no_number(x))
            or not is_metric(name)
            or m[2] in ("logits/chosen", "logits/rejected", "logps/chosen", "logps/rejected")
        ):
            continue
        split, metric = m[1], m[2]
        subset = next((s for s in sorted(sets, key=len, reverse=True) if metric.startswith(s + "_")), "")
        metric = metric.removeprefix(f"{subset}_") if subset else metric
        scores.append(Score(
            metric=metric, value=value, dataset=subset, scale=scale(metric, [value] if value is not None else []), n=ns.get(f"{split}_{subset}" if subset else split),
            file=str(source.path), sha256=source.sha256, pointer=name, settings={"split": split},
            reason=no_number(x),
        ))  # fmt: skip
    if any(k.startswith("predict_rouge-") for k in doc):
        issues.append(Issue(says="predict_rouge and predict_bleu of LLaMA-Factory are character and jieba based: not comparable with rouge-score or sacrebleu",
                            file=str(source.path), code="llamafactory-rouge", level="note"))  # fmt: skip
    return Reading(scores=scores, issues=issues, format="Trainer results")


READER = Reader(
    id="trainer", title="all_results.json, eval_results.json, predict_results.json", sniff=sniff, read=read, order=30
)
