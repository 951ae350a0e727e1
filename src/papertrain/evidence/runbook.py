"""README of a package, its index, and the reproducibility checklist: filled where the evidence answers, else left open."""

from __future__ import annotations

import json
from typing import Any

from papertrain.core.results import Evidence
from papertrain.core.training import TrainingPlan
from papertrain.core.units import show_bytes, show_count, show_number, show_seconds
from papertrain.core.workspace import Run, Study
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
        shown = " ".join(map(str, command)) if isinstance(command, list) else command
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


def checklist(
    study: Study, plans: dict[str, TrainingPlan], records: dict[str, dict[str, Any]], evidence: list[Evidence]
) -> str:
    """The questions that NeurIPS and ACL ask about experiments, answered from the evidence or left open."""
    finished = [r for r in records.values() if r.get("exit_code") == 0]
    seconds = [float(r["seconds"]) for r in finished if isinstance(r.get("seconds"), (int, float))]
    seeds = sorted({int(r["seed"]) for r in finished if isinstance(r.get("seed"), int)})
    devices = sorted({str(r.get("device")) for r in finished if r.get("device")})
    knobs = "; ".join(f"{n}: plans/{n}/plan.md lists all {len(p.decisions())}" for n, p in plans.items())
    trials = [f"{m.name}: {m.trials}" for m in study.methods if m.trials is not None]
    intervals = any("ci" in e.claim or "interval" in e.claim for e in evidence)
    data = [f"{p.dataset.path} (sha256 {p.dataset.sha256[:12]}…)" for p in plans.values() if p.dataset is not None]
    estimates = "; ".join(
        f"{n}: estimated {show_bytes(p.memory.device_bytes.value)} a card, {show_seconds(p.duration.total_seconds.value)} (estimates, not measurements)"
        for n, p in plans.items() if p.memory is not None and p.duration is not None
    )  # fmt: skip
    rows = [
        ("All training details (data splits, hyper-parameters, how they were chosen)", knobs),
        (
            "Number of parameters of each model",
            "; ".join(f"{n}: {p.model.parameters:,}" for n, p in plans.items() if p.model.exact),
        ),
        ("Type of compute workers", "; ".join(devices)),
        (
            "Total compute of the runs reported (measured)",
            f"{sum(seconds) / 3600:.2f} h of wall time over {len(seconds)} runs" if seconds else "",
        ),
        ("Compute as planned", estimates),
        ("Seeds", ", ".join(map(str, seeds))),
        ("Hyper-parameter search: trials per method", "; ".join(trials)),
        (
            "Error bars and how they were computed",
            "tables/main.tex, caption; results/*/metrics.json, `ci.method`" if intervals or evidence else "",
        ),
        (
            "Number of runs behind each result",
            f"{len(finished)} finished runs; n_seeds per cell in tables/main.csv" if finished else "",
        ),
        ("Data: version and digest", "; ".join(data)),
        (
            "Data: licence and terms",
            "; ".join(str(p.dataset.licence) for p in plans.values() if p.dataset is not None and p.dataset.licence),
        ),
        (
            "Software versions",
            "runs/*/record.json, `versions`" if any(r.get("versions") for r in records.values()) else "",
        ),
        ("Code to reproduce the main results", "configs/, commands.sh, figures/*.py"),
        (
            "Commit of the repository",
            "; ".join(sorted({str(r["git_commit"])[:12] for r in records.values() if r.get("git_commit")})),
        ),
        ("Limitations discussed", ""),
        ("Broader impact, safeguards, consent", ""),
        ("Licences of models and code used", ""),
    ]
    lines = [
        "# Reproducibility checklist",
        "",
        "Filled where this package has the evidence; the rest is the authors'.",
        "",
        "| item | answer |",
        "| --- | --- |",
    ]
    return "\n".join([*lines, *(f"| {q} | {a or OPEN} |" for q, a in rows)]) + "\n"


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
