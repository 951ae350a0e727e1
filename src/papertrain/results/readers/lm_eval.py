"""lm-evaluation-harness results: 0.3 and older (`acc`), 0.4 (`acc,none`, groups), 2026 counts, the BigScience fork, and
dumps that broke off."""

from __future__ import annotations

import math
import re
from typing import Any

from papertrain.results.names import is_metric, scale
from papertrain.results.records import Issue, Reader, Reading, Score
from papertrain.results.source import Source, as_dict, no_number, number
from papertrain.results.stats.proportion import group_score, n_from_stderr, stderr


def document(source: Source) -> dict[str, Any]:
    doc = source.object or (source.salvaged if source.text.lstrip()[:1] == "{" else {})
    return doc if isinstance(doc.get("results"), dict) else {}


def sniff(source: Source) -> bool:
    doc = document(source)
    results = doc.get("results", {})
    if not results or "config_general" in doc or not all(isinstance(v, dict) for v in results.values()):
        return False
    known = {"versions", "configs", "config", "n-shot", "group_subtasks", "n-samples", "higher_is_better", "groups"}
    return bool(known & set(doc)) or any("," in k or k.endswith("_stderr") for v in results.values() for k in v)


def _flat(task: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """The entries of one task; of the newest time stamp in the BigScience fork."""
    if task and all(isinstance(v, dict) for v in task.values()):
        return task[max(task)], len(task) > 1
    return task, False


def _stderr_key(metric: str) -> str:
    name, _, filter_ = metric.partition(",")
    return f"{name}_stderr,{filter_}" if filter_ else f"{name}_stderr"


def read(source: Source) -> Reading:
    doc, issues, scores = document(source), [], []
    if source.json is None:
        why, line = source.json_error
        issues.append(
            Issue(
                says=f"the file breaks off or is damaged ({why}, line {line}): only its complete parts were read",
                file=str(source.path),
                code="truncated",
            )
        )
    config = as_dict(doc.get("config"))
    system = doc.get("model_name") or config.get("model_name") or _model(config)
    shots, samples, directions = (as_dict(doc.get(k)) for k in ("n-shot", "n-samples", "higher_is_better"))
    versions, hashes, members = (as_dict(doc.get(k)) for k in ("versions", "task_hashes", "group_subtasks"))
    limit = config.get("limit")
    if limit not in (None, 0, "None", ""):
        issues.append(
            Issue(
                says=f"run with --limit {limit}: these are scores of a part of each task",
                file=str(source.path),
                code="limit",
            )
        )
    groups = {g for g, m in members.items() if m} | set(as_dict(doc.get("groups")))
    for task, raw in doc["results"].items():
        entry, several = _flat(raw)
        if several:
            issues.append(
                Issue(
                    says=f"{task}: several time stamps in one file, the newest was read",
                    file=str(source.path),
                    code="several-runs",
                )
            )
        n = _effective(samples.get(task)) or _int(entry.get("sample_len"))
        settings = {k: str(v) for k, v in {"shots": shots.get(task, config.get("num_fewshot")), "version": versions.get(task), "hash": hashes.get(task), "limit": limit}.items() if v is not None}  # fmt: skip
        if isinstance(entry.get("prompt_name"), str):
            settings["prompt"] = entry["prompt_name"]
        found = False
        for name, x in entry.items():
            base = name.partition(",")[0]
            value = number(x)
            if (
                (value is None and not (no_number(x) and x is not None))
                or isinstance(x, str)
                or base.endswith("_stderr")
                or not is_metric(base)
                or base in ("alias", "name")
            ):
                continue
            found = True
            se = number(entry.get(_stderr_key(name)))
            direction = as_dict(directions.get(task)).get(base)
            score = Score(
                metric=name.removesuffix(",none"), value=value, dataset=task, system=str(system or ""), stderr=se, n=n,
                scale=scale(base, [value], "fraction" if 0 <= value <= 1 and scale(base, [value]) == "fraction" else "unknown") if value is not None else "unknown",
                reason=no_number(x),
                higher_is_better=direction if isinstance(direction, bool) else None, file=str(source.path), sha256=source.sha256,
                pointer=f"results.{task}.{name}", settings={**settings, "filter": name.partition(",")[2] or "none"}, group=task in groups,
            )  # fmt: skip
            scores.append(score)
            issues += _stderr_issues(score, source)
        if not found:
            reason = "the harness wrote no score for it" + (
                " (a group without one of its own)" if set(entry) <= {"alias", " "} else ""
            )
            scores.append(Score(metric="", value=None, dataset=task, system=str(system or ""), file=str(source.path), sha256=source.sha256,
                                pointer=f"results.{task}", reason=reason, settings=settings, group=True))  # fmt: skip
            issues.append(
                Issue(says=f"{task}: {reason}; its cell stays unfilled", file=str(source.path), code="no-score")
            )
    issues += _group_issues(scores, members, source)
    return Reading(scores=scores, issues=issues, format="lm-evaluation-harness results")


def _stderr_issues(s: Score, source: Source) -> list[Issue]:
    top = 100 if s.scale == "percent" else 1
    if s.stderr != 0 or s.value is None or not 0 < s.value < top:
        return []
    says = f"{s.dataset} {s.metric}: stderr 0 on a score of {s.value:g}, strictly between 0 and {top}, cannot be right"
    if s.n:
        says += f"; sqrt(p(1-p)/(n-1)) with n = {s.n} gives {top * stderr(s.value / top, s.n):.6f}"
    return [Issue(says=says + ". ± 0.000 is not printed", file=str(source.path), code="zero-stderr")]


def _group_issues(scores: list[Score], members: dict[str, Any], source: Source) -> list[Issue]:
    """Published group errors of 0.4.0 and 0.4.1 are about ten times too large; recompute them from the sub-tasks."""
    out = []
    by = {(s.dataset, s.metric): s for s in scores}
    for group in dict.fromkeys(s.dataset for s in scores if s.stderr):
        named = [s.dataset for s in scores if s.dataset != group and s.dataset.startswith(group + "_")]
        names = _list(members.get(group)) or list(dict.fromkeys(named))
        for s in [x for x in scores if x.dataset == group and x.stderr]:
            parts = [by[m, s.metric] for m in names if (m, s.metric) in by]
            if len(parts) < 2 or s.value is None or s.stderr is None:
                continue
            sized = [
                (p.value, p.n or round(n_from_stderr(p.value, p.stderr) or 0))
                for p in parts
                if p.value is not None and p.stderr and 0 < p.value < 1
            ]
            if len(sized) < len(parts) or not all(n > 1 for _, n in sized):
                continue
            mean, se = group_score(sized)
            if math.isclose(mean, s.value, abs_tol=2e-3) and not 0.5 < s.stderr / se < 2:
                out.append(Issue(says=f"{group} {s.metric}: published stderr {s.stderr:.4g}, from its {len(parts)} sub-tasks ({sum(n for _, n in sized):,} items) "
                                 f"{se:.4g} is right (a known defect of lm-eval 0.4.0 and 0.4.1)", file=str(source.path), code="group-stderr"))  # fmt: skip
    return out


def _model(config: dict[str, Any]) -> str:
    args = config.get("model_args")
    if isinstance(args, dict):
        return str(args.get("pretrained") or args.get("model") or "")
    found = re.search(r"(?:pretrained|model)=([^,]+)", args) if isinstance(args, str) else None
    return found[1].rstrip("/").split("/")[-1] if found else ""


def _list(x: Any) -> list[str]:
    return [v for v in x if isinstance(v, str)] if isinstance(x, list) else []


def _effective(x: Any) -> int | None:
    return _int(x.get("effective")) if isinstance(x, dict) else None


def _int(x: Any) -> int | None:
    value = number(x)
    return int(value) if value is not None and value >= 1 else None


READER = Reader(id="lm-eval", title="lm-evaluation-harness results_*.json", sniff=sniff, read=read, order=20)
