"""README of a package, its index, and the reproducibility checklist: filled where the evidence answers, else left open."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from papertrain.core.results import Evidence
from papertrain.core.training import TrainingPlan
from papertrain.core.units import show_bytes, show_count, show_number, show_seconds
from papertrain.core.workspace import Data, Run, Study
from papertrain.evidence.bundle import Left
from papertrain.evidence.checklist import Condition

OPEN = "(open: nothing in this package answers it)"


def readme(
    study: Study,
    plans: dict[str, TrainingPlan],
    grid: list[Run],
    conditions: list[Condition],
    left: list[Left],
    records: dict[str, dict[str, Any]],
) -> str:
    """A run-book that a stranger can follow from top to bottom."""
    lines = [
        f"# {study.name}: training package",
        "",
        "Made by `papertrain package`. Every file's digest is in `MANIFEST.json`; check them with",
        "",
        "    papertrain package --verify .",
        "",
    ]
    lines += ["## What was trained", ""]
    for name, plan in plans.items():
        lines += [
            f"- **{name}**: {plan.model.name} ({show_count(plan.model.parameters)} parameters), {plan.task}, {plan.method.value}, "
            f"{plan.precision.value}, learning rate {show_number(plan.learning_rate.value)}, global batch {plan.global_batch_size.value}, "
            f"{show_number(plan.total_steps.value)} steps on {plan.compute.gpus} × {plan.compute.gpu.label}. Reasons: `plans/{name}/plan.md`.",
        ]
    lines += [f"- **{m.name}**: its own command, `{m.command}`" for m in study.methods if m.kind == "command"]
    lines += [
        "",
        "## Run it again",
        "",
        "1. Install the versions in each run's `record.json` (`versions`).",
        "2. Put the data where the configs look for it; the digests are below.",
        "3. Start the commands of `commands.md`, or run by run:",
        "",
    ]
    for run in grid:
        command = records.get(run.id, {}).get("command")
        shown = for_a_stranger(command) if command else None
        lines.append(f"   - `{run.id}` ({run.state}): " + (f"`{shown}`" if shown else "not run"))
    lines += ["", "## Data", ""]
    for plan in plans.values():
        if plan.dataset is not None:
            d = plan.dataset
            lines.append(
                f"- `{d.path}`: {d.examples:,} examples, sha256 `{d.sha256}`, licence {d.licence or 'not stated'}"
            )
    lines += [
        "",
        "## Results",
        "",
        "Tables are in `tables/`, figures with the scripts that draw them in `figures/`, every number with its source in `evidence.jsonl`.",
    ]
    lines += ["", "## What is done and what is missing", ""]
    lines += [f"- [{'x' if c.met else ' '}] {c.text}: {c.because}" for c in conditions]
    lines += [f"- run `{r.id}` is {r.state}: {r.because}" for r in grid if r.state != "done"]
    if left:
        lines += ["", "Left out:", "", *(f"- `{x.name}`: {x.why}" for x in left[:40])]
    return "\n".join(lines) + "\n"


# Where each venue asks: the NeurIPS paper checklist (2025) and the ACL Responsible NLP Research checklist, by item.
ASKED = {
    "claims": "NeurIPS 1", "limits": "NeurIPS 2, ACL A1", "theory": "NeurIPS 3", "reproduce": "NeurIPS 4, ACL C2", "code": "NeurIPS 5", "setting": "NeurIPS 6, ACL C2",
    "search": "NeurIPS 6, ACL C2", "errors": "NeurIPS 7, ACL C3", "runs": "NeurIPS 7, ACL C3", "compute": "NeurIPS 8, ACL C1", "parameters": "ACL C1", "ethics": "NeurIPS 9", "impact": "NeurIPS 10, ACL A2",
    "safeguards": "NeurIPS 11", "licences": "NeurIPS 12, ACL B1, B2, B3", "private": "ACL B4", "documented": "NeurIPS 13, ACL B5", "splits": "NeurIPS 6, ACL B6", "software": "NeurIPS 4, ACL C4",
    "people": "NeurIPS 14, 15, ACL D", "assistants": "NeurIPS 16, ACL E1",
}  # fmt: skip


def checklist(
    study: Study,
    plans: dict[str, TrainingPlan],
    records: dict[str, dict[str, Any]],
    evidence: list[Evidence],
    files: set[str],
) -> str:
    """The questions that NeurIPS and ACL ask about experiments, answered from what is in the package, or left open."""
    finished = [r for r in records.values() if r.get("exit_code") == 0]
    seconds = [float(r["seconds"]) for r in finished if isinstance(r.get("seconds"), (int, float))]
    seeds = sorted({int(r["seed"]) for r in finished if isinstance(r.get("seed"), int)})
    devices = sorted({str(r.get("device")) for r in finished if r.get("device")})
    commits = sorted({str(r["git_commit"])[:12] for r in records.values() if r.get("git_commit")})
    sets = [p.dataset for p in plans.values() if p.dataset is not None]
    knobs = [f"{n}: plans/{n}/plan.md lists all {len(p.decisions())} with their reasons" for n, p in plans.items()]
    trials = [f"{m.name}: {m.trials}" for m in study.methods if m.trials is not None]
    scored = any(e.status == "verified" for e in evidence)
    estimates = [
        f"{n}: estimated {show_bytes(p.memory.device_bytes.value)} a card, {show_seconds(p.duration.total_seconds.value)} (estimates, not measurements)"
        for n, p in plans.items() if p.memory is not None and p.duration is not None
    ]  # fmt: skip
    splits = [
        f"{d.name}: train {d.train}, validation {held_out(d, plans)}, test {d.test or 'none'}"
        for d in study.datasets
        if d.train
    ]
    code = [
        what
        for what, there in (
            ("configs/", _any(files, "configs/")),
            ("commands.sh", "commands.sh" in files),
            ("figures/*.py", _any(files, "figures/", ".py")),
        )
        if there
    ]
    rows: list[tuple[str, str, Any]] = [
        ("claims", "Claims match the results", ""),
        ("limits", "Limitations", ""),
        ("theory", "Assumptions and proofs", ""),
        ("reproduce", "What is needed to reproduce the main results", ["README.md, the run-book"] if finished else ""),
        ("reproduce", "Seeds", [", ".join(map(str, seeds))] if seeds else ""),
        ("code", "Code and commands", code),
        ("code", "Commit of the repository", commits),
        ("code", "Data: version and digest", [f"{d.path} (sha256 {d.sha256[:12]}…)" for d in sets]),
        ("setting", "All training details", knobs),
        ("search", "Hyper-parameter search: trials per method", trials),
        ("splits", "Data splits", splits),
        ("splits", "Number of examples", [f"{d.path}: {d.examples:,}" for d in sets]),
        ("errors", "Error bars and how they were computed", ["results/*/metrics.json, `ci.method`; tables/main.tex, caption"] if scored else ""),
        ("runs", "Number of runs behind each result", [f"{len(finished)} finished runs; n_seeds per cell in tables/main.csv"] if finished and "tables/main.csv" in files else ""),
        ("parameters", "Number of parameters of each model", [f"{n}: {p.model.parameters:,}" for n, p in plans.items() if p.model.exact]),
        ("compute", "Type of compute workers", devices),
        ("compute", "Total compute of the runs reported (measured)", [f"{sum(seconds) / 3600:.2f} h of wall time over {len(seconds)} runs"] if seconds else ""),
        ("compute", "Compute as planned", estimates),
        ("software", "Software versions", ["runs/*/record.json, `versions` and `packages`"] if any(r.get("versions") for r in records.values()) else ""),
        ("licences", "Licence and terms of the data", [f"{d.path}: {d.licence}" for d in sets if d.licence]),
        ("licences", "Creators, licences and intended use of models and code", ""),
        ("private", "Personal or offensive content in the data", ""),
        ("documented", "New assets are documented", ""),
        ("ethics", "Code of ethics", ""),
        ("impact", "Broader impact and risks", ""),
        ("safeguards", "Safeguards", ""),
        ("people", "Annotators, participants, review boards", ""),
        ("assistants", "Use of language models in the work", ""),
    ]  # fmt: skip
    lines = [
        "# Reproducibility checklist",
        "",
        "Filled where this package has the evidence; the rest is the authors'.",
        "",
        "| asked by | item | answer |",
        "| --- | --- | --- |",
    ]
    return "\n".join([*lines, *(f"| {ASKED[where]} | {item} | {_answer(said)} |" for where, item, said in rows)]) + "\n"


def _answer(said: Sequence[str] | str) -> str:
    return "; ".join(" ".join(x.split()).replace("|", "\\|") for x in said) if said else OPEN


def _any(files: set[str], start: str, end: str = "") -> bool:
    return any(f.startswith(start) and f.endswith(end) for f in files)


def index(
    study: Study, plans: dict[str, TrainingPlan], grid: list[Run], evidence: list[Evidence], conditions: list[Condition]
) -> str:
    """`index.json`: what is in the package, for programs."""
    document = {
        "schema": "papertrain-index/1",
        "study": study.name,
        "methods": {n: {"plan": f"plans/{n}/plan.json", "configs": f"configs/{n}/"} for n in plans},
        "runs": {r.id: {"state": r.state, "folder": f"runs/{r.id}/", "results": f"results/{r.id}/"} for r in grid},
        "evidence": len(evidence),
        "done_when": [{"text": c.text, "met": c.met, "because": c.because} for c in conditions],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def for_a_stranger(command: list[Any] | str) -> str:
    """The command with the name of its program instead of the place where it lay on the author's machine."""
    try:
        words = shlex.split(command) if isinstance(command, str) else [str(w) for w in command]
    except ValueError:
        return str(command)
    if words and PurePath(words[0]).is_absolute():
        words[0] = re.sub(r"^python3?(?:\.\d+)?$", "python", PurePath(words[0]).name)
    return shlex.join(words)


def held_out(data: Data, plans: dict[str, TrainingPlan]) -> str:
    """The file, or the share of the training data that the plans keep back."""
    shares = {p.validation_share.value for p in plans.values() if p.validation_share is not None}
    if data.validation:
        return data.validation
    return ", ".join(f"{100 * s:.3g} % of {data.train}" for s in sorted(shares) if s) or "none"
