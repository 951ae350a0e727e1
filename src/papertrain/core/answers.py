"""What `data` of each reading verb holds, as JSON schema: for tool servers and for programs that read `--json`.

A shape is written as its own example: a type, a list of one shape, a table of shapes. Keys may be added to an answer at
any time, and an error has only `error`, so nothing is required here; what is there has its type.
"""

from __future__ import annotations

from typing import Any

TEXT: dict[str, Any] = {"type": ["string", "null"]}
NUMBER: dict[str, Any] = {"type": ["number", "null"]}
COUNT: dict[str, Any] = {"type": ["integer", "null"]}
TRUTH: dict[str, Any] = {"type": ["boolean", "null"]}
ANY: dict[str, Any] = {}


class OneOf(tuple[str, ...]):
    """A text out of these."""


SPAN = {"value": NUMBER, "low": NUMBER, "high": NUMBER}
SOURCE = {"kind": TEXT, "ref": TEXT}
PLACE = {"file": TEXT, "line": COUNT}
APPLIES = {"file": TEXT, "sha256": TEXT}
FITS = OneOf(("yes", "tight", "no", "unknown"))
EFFECT = OneOf(("execution", "experiment"))
INTERVAL = {"low": NUMBER, "high": NUMBER, "level": NUMBER, "method": TEXT}
DECISION = {
    "name": TEXT, "value": ANY, "unit": TEXT, "why": TEXT, "rests_on": [TEXT], "source": SOURCE,
    "contested_by": [{"ref": TEXT, "says": TEXT}],
}  # fmt: skip
EVIDENCE = {"id": TEXT, "claim": TEXT, "value": ANY, "file": TEXT, "sha256": TEXT, "pointer": TEXT, "made_by": TEXT, "status": TEXT}  # fmt: skip
FIX = {
    "id": TEXT, "title": TEXT, "effect": EFFECT, "patch": TEXT, "edits": [{"file": TEXT, "key": TEXT, "old": ANY, "new": ANY}],
    "commands": [TEXT], "proof": TEXT, "applies_to": [APPLIES],
}  # fmt: skip
SHAPES: dict[str, dict[str, Any]] = {
    "plan": {
        "model": {"name": TEXT, "parameters": COUNT, "active_parameters": COUNT, "trainable_parameters": COUNT},
        "dataset": ANY, "compute": ANY, "fits": FITS, "decisions": [DECISION],
        "memory": {
            "gpu": {
                "allocated_bytes": SPAN, "reserved_bytes": SPAN, "device_bytes": SPAN, "capacity_bytes": COUNT,
                "components": ANY, "peak_phase": TEXT, "basis": [TEXT],
            },
            "host": {"peak_bytes": SPAN}, "disk": {"bytes": ANY},
        },
        "time": {"step_seconds": SPAN, "total_seconds": SPAN, "basis": TEXT},
        "alternatives": [{"what": TEXT, "fits": FITS, "effect": EFFECT, "changes": ANY, "step_seconds": NUMBER}],
    },
    "estimate": {
        "cases": [
            {
                "id": ANY, "allocated_bytes": SPAN, "reserved_bytes": SPAN, "device_bytes": SPAN, "host_bytes": SPAN, "disk_bytes": SPAN,
                "components": ANY, "peak_phase": TEXT, "fits": FITS, "tokens_per_second_per_gpu": SPAN, "unknown": ANY, "ask": ANY,
            }
        ]
    },
    "check": {
        "findings": [
            {
                "id": TEXT, "rule": TEXT, "name": TEXT, "level": OneOf(("error", "warning", "note")), **PLACE, "says": TEXT, "instead": TEXT,
                "patch": TEXT, "effect": EFFECT, "applies_to": [APPLIES],
            }
        ],
        "accounting": {
            "rows": COUNT, "examples": COUNT, "tokens": COUNT, "trainable_tokens": COUNT, "truncated_examples": COUNT, "steps_per_epoch": COUNT,
            "total_steps": COUNT,
        },
        "known_up_to": ANY,
    },
    "watch": {
        "level": OneOf(("normal", "warning", "critical", "unknown")),
        "signals": [{"name": TEXT, "level": TEXT, "since_step": COUNT, "says": TEXT, "evidence": [{**PLACE, "step": COUNT, "value": ANY}]}],
        "steps": COUNT, "last_step": COUNT, "format": TEXT, "skipped_lines": COUNT,
    },
    "diagnose": {
        "diagnoses": [
            {
                "id": TEXT, "class": TEXT, "benign": TRUTH, "branch": TEXT, "title": TEXT, "cause": TEXT, "confidence": NUMBER,
                "evidence": [{**PLACE, "text": TEXT}], "ruled_out": [{"class": TEXT, "because": TEXT}], "next_check": TEXT, "fixes": [FIX],
            }
        ],
        "unexplained": TEXT,
    },
    "evaluate": {
        "metrics": [
            {"dataset": TEXT, "metric": TEXT, "value": NUMBER, "n": COUNT, "ci": INTERVAL, "signature": TEXT, "evidence": TEXT, "reason": TEXT}
        ],
        "evidence": [EVIDENCE],
    },
    "compare": {
        "table": {
            "rows": [TEXT], "columns": [{"dataset": TEXT, "metric": TEXT, "higher_is_better": TRUTH}],
            "cells": [[{"value": NUMBER, "std": NUMBER, "n_seeds": COUNT, "rank": COUNT, "evidence": TEXT, "status": TEXT, "reason": TEXT}]],
        },
        "tests": [
            {
                "column": COUNT, "a": TEXT, "b": TEXT, "test": TEXT, "unit": TEXT, "n": COUNT, "difference": NUMBER, "ci": INTERVAL, "p": NUMBER,
                "p_adjusted": NUMBER, "adjustment": TEXT, "significant": TRUTH, "effect_size": NUMBER, "assumptions": [TEXT], "signature": TEXT,
                "refused": TEXT,
            }
        ],
        "files": [TEXT], "issues": [{"says": TEXT, "file": TEXT}],
    },
    "explain": {"id": TEXT, "kind": TEXT},
    "status": {
        "steps": [{"step": COUNT, "name": TEXT, "state": OneOf(("done", "unconfirmed", "missing", "stale")), "because": TEXT, "next": TEXT}],
        "grid": [{"run": TEXT, "state": TEXT}], "done_when": [{"text": TEXT, "met": TRUTH, "because": TEXT}],
    },
    "next": {"command": TEXT, "step": ANY, "because": TEXT},
}  # fmt: skip
ERROR = {"code": TEXT, "says": TEXT, "where": PLACE, "nearest": TEXT, "ask": [TEXT], "command": TEXT}


def data_schema(verb: str) -> dict[str, Any]:
    """The schema of `data`; any object where the verb is not described."""
    return _schema({**SHAPES.get(verb, {}), "error": ERROR}, top=True)


def _schema(shape: Any, *, top: bool = False) -> dict[str, Any]:
    if isinstance(shape, OneOf):
        return {"enum": [*shape, None]}
    if isinstance(shape, list):
        return {"type": ["array", "null"], "items": _schema(shape[0])}
    if ("type" in shape and isinstance(shape["type"], list)) or not shape:
        return dict(shape)
    properties = {name: _schema(part) for name, part in shape.items()}
    return {"type": "object" if top else ["object", "null"], "properties": properties}
