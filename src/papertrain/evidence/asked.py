"""What NeurIPS and ACL ask about experiments: filled where the package has the evidence, else left open for the authors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from papertrain.core.results import Evidence
from papertrain.core.training import TrainingPlan
from papertrain.core.units import show_bytes, show_seconds
from papertrain.core.values import Value
from papertrain.core.workspace import Study
from papertrain.evidence.runbook import held_out

OPEN = "(open: nothing in this package answers it)"
SOURCES = {
    "NeurIPS": "the paper checklist of NeurIPS 2025, whose sixteen items are those of 2026 too (https://neurips.cc/public/guides/PaperChecklist)",
    "ACL": "the Responsible NLP Research checklist of ACL Rolling Review, form of 2024 and later (https://aclrollingreview.org/responsibleNLPresearch/)",
}
"""Read on 2026-12-01. The order and the numbers are the venues'; the words here are ours."""
NEURIPS = {
    1: "claims", 2: "limits", 3: "theory", 4: "reproduce", 5: "code", 6: "setting", 7: "errors", 8: "compute", 9: "ethics", 10: "impact", 11: "safeguards", 12: "licences",
    13: "documented", 14: "participants", 15: "board", 16: "assistants",
}  # fmt: skip
ACL = {
    "A1": "limits", "A2": "impact", "A3": "claims", "B1": "creators", "B2": "licences", "B3": "intended", "B4": "private", "B5": "documented", "B6": "splits", "C1": "compute", "C2": "setting",
    "C3": "errors", "C4": "software", "D1": "participants", "D2": "payment", "D3": "consent", "D4": "board", "D5": "annotators", "E1": "assistants",
}  # fmt: skip
ALSO = {
    "software": "NeurIPS 4",
    "splits": "NeurIPS 6",
    "payment": "NeurIPS 14",
    "creators": "NeurIPS 12",
    "code": "",
    "reproduce": "ACL C2",
}
"""Where a topic is asked for under another item besides."""


class Row(Value, frozen=True, kw_only=True):
    """One line of the checklist; said: what in the package answers it."""

    topic: str
    item: str
    said: tuple[str, ...] = ()


def asked_by(topic: str) -> str:
    """`NeurIPS 7, ACL C3`."""
    items = [f"NeurIPS {n}" for n, t in NEURIPS.items() if t == topic] + [f"ACL {n}" for n, t in ACL.items() if t == topic]  # fmt: skip
    return ", ".join(dict.fromkeys([*items, *filter(None, [ALSO.get(topic)])]))


def checklist(
    study: Study,
    plans: dict[str, TrainingPlan],
    records: dict[str, dict[str, Any]],
    evidence: Sequence[Evidence],
    files: set[str],
) -> str:
    """`CHECKLIST.md`."""
    rows = [*_on_paper(), *_on_reproduction(study, plans, records, files), *_on_results(records, evidence, files), *_on_compute(plans, records), *_on_data(study, plans), *_on_people()]  # fmt: skip
    lines = [
        "# Reproducibility checklist",
        "",
        "Filled where this package has the evidence; the rest is the authors'. Asked by:",
        "",
        *(f"- {venue}: {source}" for venue, source in SOURCES.items()),
        "",
        "| asked by | item | answer |",
        "| --- | --- | --- |",
    ]
    return "\n".join([*lines, *(f"| {asked_by(r.topic)} | {r.item} | {_answer(r.said)} |" for r in rows)]) + "\n"


def _on_paper() -> list[Row]:
    return [
        Row(topic="claims", item="Claims match the results"),
        Row(topic="limits", item="Limitations"),
        Row(topic="theory", item="Assumptions and proofs"),
        Row(topic="ethics", item="Code of ethics"),
        Row(topic="impact", item="Broader impact and risks"),
        Row(topic="safeguards", item="Safeguards"),
    ]


def _on_reproduction(
    study: Study, plans: dict[str, TrainingPlan], records: dict[str, dict[str, Any]], files: set[str]
) -> list[Row]:
    finished = _finished(records)
    seeds = sorted({int(r["seed"]) for r in finished if isinstance(r.get("seed"), int)})
    commits = sorted({str(r["git_commit"])[:12] for r in records.values() if r.get("git_commit")})
    knobs = [f"{n}: plans/{n}/plan.md lists all {len(p.decisions())} with their reasons" for n, p in plans.items()]
    trials = [f"{m.name}: {m.trials}" for m in study.methods if m.trials is not None]
    there = {
        "configs/": _any(files, "configs/"),
        "commands.sh": "commands.sh" in files,
        "figures/*.py": _any(files, "figures/", ".py"),
    }
    versions = any(r.get("versions") for r in records.values())
    sets = [p.dataset for p in plans.values() if p.dataset is not None]
    return [
        _row("reproduce", "What is needed to reproduce the main results", ["README.md, the run-book"] if finished else ()),
        _row("reproduce", "Seeds", [", ".join(map(str, seeds))] if seeds else ()),
        _row("code", "Code and commands", [name for name, is_there in there.items() if is_there]),
        _row("code", "Commit of the repository", commits),
        _row("code", "Data: version and digest", [f"{d.path} (sha256 {d.sha256[:12]}…)" for d in sets]),
        _row("setting", "All training details", knobs),
        _row("setting", "Hyper-parameter search: trials per method", trials),
        _row("software", "Software versions", ["runs/*/record.json, `versions` and `packages`"] if versions else ()),
    ]  # fmt: skip


def _on_results(records: dict[str, dict[str, Any]], evidence: Sequence[Evidence], files: set[str]) -> list[Row]:
    finished = _finished(records)
    computed = any(e.status == "verified" for e in evidence) and _any(files, "results/", "/metrics.json")
    bars = ["results/*/metrics.json, `ci.method`"] if computed else []
    bars += ["tables/main.tex, caption"] if bars and "tables/main.tex" in files else []
    counted = [f"{len(finished)} finished runs; n_seeds per cell in tables/main.csv"]
    return [
        _row("errors", "Error bars and how they were computed", bars),
        _row("errors", "Number of runs behind each result", counted if finished and "tables/main.csv" in files else ()),
    ]


def _on_compute(plans: dict[str, TrainingPlan], records: dict[str, dict[str, Any]]) -> list[Row]:
    finished = _finished(records)
    seconds = [float(r["seconds"]) for r in finished if isinstance(r.get("seconds"), (int, float))]
    estimates = [
        f"{n}: estimated {show_bytes(p.memory.device_bytes.value)} a card, {show_seconds(p.duration.total_seconds.value)} (estimates, not measurements)"
        for n, p in plans.items() if p.memory is not None and p.duration is not None
    ]  # fmt: skip
    total = [f"{sum(seconds) / 3600:.2f} h of wall time over {len(seconds)} runs"] if seconds else []
    return [
        _row("compute", "Number of parameters of each model", [f"{n}: {p.model.parameters:,}" for n, p in plans.items() if p.model.exact]),
        _row("compute", "Type of compute workers", sorted({str(r.get("device")) for r in finished if r.get("device")})),
        _row("compute", "Total compute of the runs reported (measured)", total),
        _row("compute", "Compute as planned", estimates),
    ]  # fmt: skip


def _on_data(study: Study, plans: dict[str, TrainingPlan]) -> list[Row]:
    sets = [p.dataset for p in plans.values() if p.dataset is not None]
    splits = [
        f"{d.name}: train {d.train}, validation {held_out(d, plans)}, test {d.test or 'none'}"
        for d in study.datasets
        if d.train
    ]
    return [
        _row("splits", "Data splits", splits),
        _row("splits", "Number of examples", [f"{d.path}: {d.examples:,}" for d in sets]),
        _row("licences", "Licence and terms of the data", [f"{d.path}: {d.licence}" for d in sets if d.licence]),
        Row(topic="licences", item="Licences of models and code"),
        Row(topic="creators", item="Creators of data, models and code are cited"),
        Row(topic="intended", item="Use of data and models is the intended one"),
        Row(topic="private", item="Personal or offensive content in the data"),
        Row(topic="documented", item="New assets are documented"),
    ]


def _on_people() -> list[Row]:
    return [
        Row(topic="participants", item="Instructions given to participants"),
        Row(topic="payment", item="Recruitment and payment"),
        Row(topic="consent", item="Consent of those whose data are used"),
        Row(topic="board", item="Review board"),
        Row(topic="annotators", item="Who the annotators are"),
        Row(topic="assistants", item="Use of language models in the work"),
    ]


def _row(topic: str, item: str, said: Iterable[str]) -> Row:
    return Row(topic=topic, item=item, said=tuple(said))


def _finished(records: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [r for r in records.values() if r.get("exit_code") == 0]


def _answer(said: Sequence[str]) -> str:
    return "; ".join(" ".join(x.split()).replace("|", "\\|") for x in said) if said else OPEN


def _any(files: set[str], start: str, end: str = "") -> bool:
    return any(f.startswith(start) and f.endswith(end) for f in files)
