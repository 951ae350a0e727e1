"""`status --project`: what was understood of the paper's own file, and a proposed change that only its owner can let through."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from papertrain.core.commands import line
from papertrain.core.errors import PapertrainError, Refused
from papertrain.core.files import sha256_text
from papertrain.core.project import FILE, Project, proposal, read_project, write_project
from papertrain.core.report import Report
from papertrain.core.texts import say
from papertrain.core.values import Mode
from papertrain.core.workspace import Workspace
from papertrain.core.writing import HIDDEN, Writer

SHOWN = "project.json"


def project_report(space: Workspace, authorize: Sequence[str], mode: Mode) -> Report:
    """List what was understood, show the diff; write it only where the user named the file and it is still the same."""
    for name in authorize:
        if Path(name).name != FILE or name != FILE:
            raise Refused(f"{name!r} can never be authorised: only {FILE} can", code="not-authorized", nearest=FILE)
    project = read_project(space.root)
    if project is None:
        raise PapertrainError(f"no {FILE} in this folder or above it", code="no-project", file=space.root)
    new, diff, keys = proposal(project, known(space))
    written = False
    if authorize and diff:
        shown = space.state(SHOWN)
        if "sha256" not in shown:
            raise Refused("look at the change first, then authorise it", code="not-shown", file=project.path, command=line("papertrain", "status", space.root, "--project"))  # fmt: skip
        if shown.get("diff") != sha256_text(diff):
            raise Refused(f"the change is another than the one that was shown: {FILE} or the study has changed", code="changed", file=project.path, command=line("papertrain", "status", space.root, "--project"))  # fmt: skip
        write_project(project, str(shown["sha256"]), new, authorize)
        written = True
    elif diff:
        with Writer(space.root, overwrite=True) as w:
            w.text(
                f"{HIDDEN}/{SHOWN}", json.dumps({"sha256": project.sha256, "diff": sha256_text(diff)}, indent=1) + "\n"
            )
    return _report(space, project, diff, keys, written, mode)


def known(space: Workspace) -> dict[str, Any]:
    """What the study knows that a paper's file could hold."""
    study = space.study
    plans = [space.plan(m) for m in space.methods()]
    cards = list(dict.fromkeys(f"{p.compute.gpus}x {p.compute.gpu.label}" for p in plans))
    found: dict[str, Any] = {"venue": study.venue, "seeds": list(study.seeds), "baselines": list(study.baselines)}
    return found | {"datasets": [d.name for d in study.datasets], "hardware": cards[0] if len(cards) == 1 else ""}


def _report(space: Workspace, project: Project, diff: str, keys: list[str], written: bool, mode: Mode) -> Report:
    width = max((len(k.key) for k in project.keys), default=0)
    body = [
        f"  {k.key:<{width}}  {k.as_ or say('not used')}: {_short(k.value)}"
        if k.as_
        else f"  {k.key:<{width}}  {say('not used by this tool')}"
        for k in project.keys
    ]
    used = sum(1 for k in project.keys if k.as_)
    body += ["", *diff.splitlines()] if diff else []
    if written:
        result = say("wrote {keys} to {file}", keys=", ".join(keys), file=project.path)
    else:
        result = say(
            "{used} of {all} keys of {file} are understood", used=used, all=len(project.keys), file=project.path
        )
    differs = [
        say(
            "{key}: the file says {said}, the study has {has}",
            key=name,
            said=_short(project.get(name)),
            has=_short(value),
        )
        for name, value in known(space).items()
        if value
        and name in ("seeds", "baselines", "datasets")
        and project.get(name)
        and not _same(project.get(name), value)
    ]
    why = (
        say("the study knows what the file does not say; nothing that stands in it is changed")
        if diff
        else say("the file says all that the study knows")
    )
    return Report(
        verb="status", mode=mode, result=result, body="\n".join(body),
        explanation=say("the file is the paper's: it is read for context, and written only with --authorize {file}", file=FILE) + "; " + why,
        action=line("papertrain", "next", space.root) if written or not diff else line("papertrain", "status", space.root, "--project", "--authorize", FILE),
        warnings=tuple(differs),
        data={
            "project": {"file": project.path, "sha256": project.sha256, "keys": [{"key": k.key, "line": k.line, "understood_as": k.as_ or None, "value": k.value} for k in project.keys]},
            "patch": diff or None, "written": written,
        },
    )  # fmt: skip


def _same(said: Any, has: list[Any]) -> bool:
    named = [i.get("name") or i.get("id") if isinstance(i, dict) else i for i in said]
    return sorted(map(str, named)) == sorted(map(str, has))


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 70 else text[:69] + "…"
