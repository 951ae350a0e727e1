"""README of a package, its index, and the reproducibility checklist: filled where the evidence answers, else left open."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import PurePath
from typing import Any

from papertrain.core.results import Evidence
from papertrain.core.training import TrainingPlan
from papertrain.core.units import show_count, show_number
from papertrain.core.workspace import Data, Run, Study
from papertrain.evidence.bundle import Left
from papertrain.evidence.checklist import Condition


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
