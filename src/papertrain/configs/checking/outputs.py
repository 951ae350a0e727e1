"""Findings as lines for a person, as annotations of a pull request, and as SARIF."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from papertrain.core.findings import Finding, Rule
from papertrain.core.sentences import translated
from papertrain.core.texts import say
from papertrain.core.wide import folded, padded, width

WIDTH = 100
_SARIF = {"error": "error", "warning": "warning", "note": "note"}


def lines(findings: Sequence[Finding], *, diffs: bool = False) -> str:
    """`file:line  level  TRnnn name  says`, aligned; what is too wide goes on a line of its own. A finding that `fix` can
    mend names its id."""
    places = [f"{f.file}:{f.line}" for f in findings]
    wide = min(max((len(p) for p in places), default=0), 40)
    names = max((len(f"{f.rule} {f.name}") for f in findings), default=0)
    out = []
    for place, f in zip(places, findings):
        level = padded(translated(f.level), 7)
        head = f"{place:<{wide}}  {level}  {f.rule + ' ' + f.name:<{names}}"
        if width(head) + 2 + width(f.says) <= WIDTH:
            out.append(f"{head}  {f.says}")
        else:
            out.append(head.rstrip())
            out += [f"    {line}" for line in folded(f.says, WIDTH - 4)]
        changes = say(" (changes the experiment)") if f.effect == "experiment" and f.patch else ""
        told = bool(f.instead) and (f.instead in f.says or f.says.endswith("remove it")) and not changes
        if (f.instead and not told) or f.patch:
            label = padded(say("fix") if told else say("write"), 5)
            rows = folded("  ".join(t for t in ("" if told else f.instead + changes, f"[{f.id}]" if f.patch else "") if t), WIDTH - 11)  # fmt: skip
            out += [f"    {label if i == 0 else ' ' * 5}  {row}" for i, row in enumerate(rows)]
        if diffs and f.patch:
            out += ["    " + line for line in f.patch.rstrip("\n").split("\n")]
    return "\n".join(out)


def github(findings: Sequence[Finding]) -> str:
    """Workflow commands: one annotation per finding, on the line of the file."""
    level = {"error": "error", "warning": "warning"}
    return "\n".join(
        f"::{level.get(f.level, 'notice')} file={_property(f.file)},line={f.line},title={f.rule} {f.name}::{_data(f.says)}"
        for f in findings
    )


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def sarif(findings: Sequence[Finding], rules: dict[str, Rule], version: str) -> str:
    """SARIF 2.1.0, the form that code hosts read."""
    used = sorted({f.rule for f in findings})
    driver = {
        "name": "papertrain",
        "version": version,
        "rules": [_sarif_rule(rules[r]) for r in used if r in rules],
    }
    results = [
        {
            "ruleId": f.rule,
            "level": _SARIF.get(f.level, "none"),
            "message": {"text": f.says},
            "partialFingerprints": {"papertrain/v1": f.id},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": f.file.replace("\\", "/")},
                        "region": {"startLine": max(f.line, 1)},
                    }
                }
            ],
        }
        for f in findings
    ]
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps(
        {"$schema": schema, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}, indent=1
    )


def _sarif_rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": rule.what},
        "fullDescription": {"text": rule.why},
    }
