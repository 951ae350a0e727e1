"""What stands in a workspace under an id: evidence, diagnoses, fixes, findings."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

from papertrain.core.commands import quoted
from papertrain.core.errors import PapertrainError
from papertrain.core.results import Evidence
from papertrain.core.spelled import meant
from papertrain.core.texts import say
from papertrain.core.values import plain
from papertrain.verbs.explaining.answer import Answer

EVIDENCE = re.compile(r"E\d{1,9}")
STORED = re.compile(r"(D\d+(\.F\d+)?|F-[\w.-]+|C\d+)")


def evidence(id: str, where: Path | None, method: str | None) -> Answer | None:
    if not EVIDENCE.fullmatch(id):
        return None
    if where is None:
        raise PapertrainError(
            f"{id} is an evidence id: say which workspace it is in",
            code="needs-plan",
            ask=["--plan WORK"],
            command=f"papertrain explain {quoted(id)} --plan work",
        )
    from papertrain.core.evidence import read_evidence, rests_on, stale, superseded
    from papertrain.core.workspace import Workspace

    space = Workspace.open(where)
    entries = read_evidence(space.root)
    e = next((x for x in entries if x.id == id), None)
    if e is None:
        raise PapertrainError(
            f"no evidence {id} in {where} (it has {len(entries)})",
            code="unknown-id",
            nearest=entries[-1].id if entries else None,
        )
    value = "–" if e.value is None else e.value
    lines = ["", f"  {e.claim}: {value} {'' if e.unit in ('1', 'text') else e.unit}".rstrip()]
    lines += [
        f"  {say('read in')}  {e.file}{' at ' + e.pointer if e.pointer else ''}",
        f"  sha256   {e.sha256}",
        f"  {say('made by')}  {e.made_by or '?'}",
    ]
    lines += [f"  {say('read at')}  {e.read_at}"] if e.read_at else []
    lines += [f"  seed     {e.seed}"] if e.seed is not None else []
    lines += [f"  commit   {e.commit}"] if e.commit else []
    made = ", ".join(x for x in (e.framework, e.device) if x)
    lines += [f"  {say('trained')}  {made}"] if made else []
    for other in entries:
        if other.id in rests_on(e):
            lines.append(
                f"  {say('rests on')}  {other.id}  {other.claim}: {other.value} ({other.status}, {other.file})"
            )
    now = unchanged(meant(space.root, e.file), e.sha256)
    status = str(e.status)
    if (source := read_again(space.root, e)) is not None:
        status = say("not what its source says: {value}", value=source)
        now += "; " + say("the entry was altered after it was read")
    if held := stale(space.root, entries).get(e.id):
        status = say("stale") if status == e.status else status
        now += "; " + say("stale: {why}", why=held)
    elif e.id in superseded(entries, lambda file: (space.root / file).is_file()):
        now += "; " + say("it was read anew later, and nothing rests on this entry any more")
    return Answer(
        id=id,
        kind="evidence",
        result=f"{e.claim}: {value} ({status})",
        explanation=now,
        body="\n".join(lines) + "\n",
        data={"evidence": plain(e), "now": now},
    )


def read_again(root: Path, e: Evidence) -> float | None:
    """What the unchanged source of a number says, where that is another number than the entry's."""
    from papertrain.core.files import sha256_file
    from papertrain.evidence.verify import CLAIM, follow
    from papertrain.verbs.package import recompute

    path = meant(root, e.file)
    if not isinstance(e.value, (int, float)) or not path.is_file() or sha256_file(path) != e.sha256:
        return None
    content = path.read_bytes()
    try:
        found = follow(content, e.pointer)
    except (ValueError, KeyError, IndexError, TypeError):
        return None
    if found is None and e.status == "verified" and (m := CLAIM.match(e.claim)):
        found = recompute(e.file, content).get(m["metric"])
    if not isinstance(found, (int, float)) or math.isclose(float(found), float(e.value), rel_tol=1e-9, abs_tol=1e-12):
        return None
    return float(found)


def unchanged(path: Path, digest: str) -> str:
    from papertrain.core.files import sha256_file

    if not path.is_file():
        return say("its file is not there any more")
    return (
        say("its file still has the content it was read from")
        if sha256_file(path) == digest
        else say("its file has changed since it was read")
    )


def stored(id: str, where: Path | None, method: str | None) -> Answer | None:
    """A diagnosis, fix or finding that was written into the workspace: debug logs and the tool's own state."""
    if not STORED.fullmatch(id):
        return None
    if where is None:
        raise PapertrainError(
            f"{id} belongs to a workspace: say which",
            code="needs-plan",
            ask=["--plan WORK"],
            command=f"papertrain explain {quoted(id)} --plan work",
        )
    from papertrain.core.workspace import Workspace

    space = Workspace.open(where)
    for file in sorted([*space.root.glob("runs/*/debug/*.md"), *space.root.glob(".papertrain/*.json")])[:500]:
        try:
            text = file.read_text("utf-8", errors="replace")[: 2**20]
        except OSError:
            continue
        item = by_id(text, id) if file.suffix == ".json" else None
        lines = (
            [line for line in text.splitlines() if re.search(rf"(?<![\w.]){re.escape(id)}(?![\w.])", line)]
            if file.suffix == ".md"
            else []
        )
        if item is not None or lines:
            shown = json.dumps(item, indent=1, ensure_ascii=False).splitlines()[:60] if item is not None else lines[:20]
            name = file.relative_to(space.root)
            title = str(
                (item or {}).get("title") or (item or {}).get("says") or (lines[0].strip("# ") if lines else id)
            )
            return Answer(id=id, kind="finding", result=f"{id}: {title}", explanation=say("as written in {file}", file=name), body="\n".join(["", *(f"  {x}" for x in shown)]) + "\n", data={"file": str(name), "item": item})  # fmt: skip
    return None


def by_id(text: str, id: str) -> dict[str, Any] | None:
    """The object with that `id` anywhere in a JSON text."""
    try:
        queue: list[Any] = [json.loads(text)]
    except (ValueError, RecursionError):
        return None
    while queue:
        x = queue.pop()
        if isinstance(x, dict):
            if x.get("id") == id:
                return x
            queue += x.values()
        elif isinstance(x, list):
            queue += x
    return None
