"""Hugging Face `trainer_state.json`: the last evaluation, and a warning where the best checkpoint was chosen by the
score that is reported."""

from __future__ import annotations

from papertrain.results.names import is_metric, scale
from papertrain.results.records import Issue, Reader, Reading, Score
from papertrain.results.source import Source, number


def sniff(source: Source) -> bool:
    return isinstance(source.object.get("log_history"), list)


def read(source: Source) -> Reading:
    doc = source.object
    rows = [r for r in doc["log_history"] if isinstance(r, dict) and any(str(k).startswith("eval_") for k in r)]
    scores, issues = [], []
    if rows:
        last = rows[-1]
        for name, x in last.items():
            value = number(x)
            if name.startswith("eval_") and value is not None and is_metric(name):
                metric = name.removeprefix("eval_")
                scores.append(Score(metric=metric, value=value, scale=scale(metric, [number(r.get(name)) or 0.0 for r in rows]), file=str(source.path),
                                    sha256=source.sha256, pointer=f"log_history[-1].{name}", settings={"split": "eval", "step": str(last.get("step"))}))  # fmt: skip
    best = number(doc.get("best_metric"))
    if best is not None and len(rows) > 1:
        issues.append(Issue(says=f"the best of {len(rows)} checkpoints was chosen on the evaluation set (best_metric {best:g}): a score on that set is too good; "
                            "report one on a set that chose nothing", file=str(source.path), code="best-on-test"))  # fmt: skip
    return Reading(scores=scores, issues=issues, format="trainer_state.json")


READER = Reader(id="trainer-state", title="trainer_state.json", sniff=sniff, read=read, order=25)
