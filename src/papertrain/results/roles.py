"""Which column of a table plays which part: by the names that people use, or as `--columns` says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from papertrain.core.errors import PapertrainError, nearest

ROLES: dict[str, tuple[str, ...]] = {
    "id": ("id", "ids", "idx", "index", "question_id", "qid", "example_id", "doc_id", "sample_id", "instance_id", "item_id", "item", "uid", "guid", "row_id",
           "problem_id", "utterance_id", "task_id", "sentence_id", "image_id"),
    "label": ("label", "labels", "gold", "gold_label", "gold_labels", "y_true", "ytrue", "target", "targets", "true", "truth", "true_label", "answer",
              "answers", "reference", "references", "ref", "expected", "actual", "ground_truth", "groundtruth", "gt", "y"),
    "prediction": ("prediction", "predictions", "pred", "preds", "pred_label", "predicted", "predicted_label", "predict", "y_pred", "ypred", "output",
                   "outputs", "hypothesis", "hyp", "response", "generated", "generated_text", "model_output", "generation"),
    "score": ("score", "scores", "y_score", "y_prob", "proba", "prob", "probability", "confidence", "logit", "positive_probability"),
    "correct": ("correct", "is_correct", "hit", "right", "acc", "passed", "em", "correctness"),
    "loss": ("nll", "loss", "neg_log_likelihood", "negative_log_likelihood", "log_loss"),
    "tokens": ("tokens", "n_tokens", "num_tokens", "token_count"),
    "cluster": ("cluster", "cluster_id", "passage_id", "conversation_id", "dialogue_id", "document_id", "group_id", "paragraph_id", "speaker_id"),
    "method": ("method", "model", "system", "model_name", "classifier", "classifier_name", "algorithm", "approach", "method_name", "run", "name", "models"),
    "dataset": ("dataset", "dataset_name", "task", "data", "benchmark", "corpus", "task_name", "env", "environment", "subset"),
    "metric": ("metric", "measure", "metric_name"),
    "value": ("value", "result", "metric_value"),
    "seed": ("seed", "trial", "trial_seed", "repeat", "repetition", "random_seed", "run_id", "seed_id", "rep", "replicate", "run"),
    "fold": ("fold", "cv_fold", "split_id"),
    "episode": ("episode", "episodes", "rollout", "episode_id"),
    "stderr": ("stderr", "standard_error", "std_err", "se", "sem"),
    "std": ("std", "sd", "stdev", "standard_deviation"),
    "n": ("n", "count", "n_total", "num_examples", "support", "samples"),
    "relevance": ("relevance", "relevant", "qrel", "qrels"),
    "split": ("split",),
    "source": ("source", "provenance"),
}  # fmt: skip
OPTIONS = ("lower", "higher", "positive", "unit")
"""Not columns: `--columns lower=latency` says a direction, `positive=spam` the positive class, `unit=percent` the unit."""
UNITS = ("fraction", "percent", "number")


def parse(columns: Iterable[str]) -> dict[str, str]:
    """`label=gold,prediction=pred` → roles. Raises PapertrainError for a role that does not exist."""
    out: dict[str, str] = {}
    for part in (p for text in columns for p in text.split(",") if p.strip()):
        role, mark, name = (s.strip() for s in part.partition("="))
        if not mark or not name:
            raise PapertrainError(
                f"--columns {part!r}: write ROLE=NAME, as in label=gold_label",
                code="bad-columns",
                ask=[f"roles: {', '.join(ROLES)}"],
            )
        if role not in ROLES and role not in OPTIONS:
            raise PapertrainError(
                f"--columns: no role {role!r}",
                code="bad-columns",
                nearest=nearest(role, [*ROLES, *OPTIONS]),
                ask=[f"roles: {', '.join(ROLES)}"],
            )
        if role == "unit" and name not in UNITS:
            raise PapertrainError(
                f"--columns: no unit {name!r} (there are {', '.join(UNITS)})",
                code="bad-columns",
                nearest=nearest(name, UNITS),
            )
        out[role] = f"{out[role]}+{name}" if role in out and role in OPTIONS else name
    return out


def find(names: Iterable[str], given: Mapping[str, str] | None = None, *, skip: Iterable[str] = ()) -> dict[str, str]:
    """Role → column for the columns of one table. A given name that is not there is left out (another file may have it)."""
    columns = [n for n in names if n not in set(skip)]
    plain: dict[str, str] = {}
    for n in columns:
        plain.setdefault(re.sub(r"[^a-z0-9_]", "", n.strip().lower().replace(" ", "_").replace("-", "_")), n)
    out: dict[str, str] = {}
    given = given or {}
    for role in ROLES:
        if role in given:
            wanted = given[role].split("+")
            if all(w in columns for w in wanted):
                out[role] = given[role]
            continue
        taken = {*given.values(), *(out[r] for r in ("method", "dataset") if r in out and role == "seed")}
        out |= next(({role: plain[w]} for w in ROLES[role] if w in plain and plain[w] not in taken), {})
    if "label" not in out or "prediction" not in out:
        for role, prefix in (("label", "true_"), ("prediction", "predicted_")):
            match = [n for k, n in plain.items() if k.startswith(prefix)]
            if role not in out and len(match) == 1 and role not in given:
                out[role] = match[0]
    return out


def cell(row: Mapping[str, object], column: str | None) -> str:
    """The text of a cell; several columns (`representation+variant`) joined by a slash."""
    if not column:
        return ""
    parts = [str(row.get(c, "")).strip() for c in column.split("+")]
    return "/".join(p for p in parts if p and p != "None")
