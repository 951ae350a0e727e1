"""Config files whose every line carries its reason: `learning_rate: 2.0e-4  # …`."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from papertrain.configs.target import Job
from papertrain.core.values import Value
from papertrain.core.yaml import dump_scalar

WIDTH = 118


class Line(Value, frozen=True, kw_only=False):
    """One key of a config file. decision: the knob of the plan whose reason is written beside it."""

    key: str
    value: Any
    why: str = ""
    decision: str = ""


def pinned(job: Job) -> list[Line]:
    """The code of a model's repository runs only where the user named it with its commit; these keys are never written else."""
    if job.remote_code is None:
        return []
    return [
        Line("model_revision", job.remote_code, "the commit whose code was allowed; another one needs another yes"),
        Line("trust_remote_code", True, f"allowed by --allow-remote-code {job.model}@{job.remote_code}"),
    ]


def unconfirmed(job: Job, sign: str = "#") -> list[str]:
    """The line that marks every file of a plan nobody has said yes to."""
    if job.confirmed:
        return []
    return [f"{sign} unconfirmed: nobody has confirmed this plan yet (papertrain status . --confirm derive)".strip()]


def header(job: Job, title: str, notes: Iterable[str] = (), sign: str = "#") -> list[str]:
    """The first lines of a file: what it is, from which plan, and what it cannot say."""
    lines = [
        f"{sign} {title}",
        f"{sign} written by papertrain from plans/{job.name}/plan.json; change the plan, not this file",
    ]
    lines += unconfirmed(job, sign)
    for note in notes:
        lines += textwrap.wrap(note, 110, initial_indent=f"{sign} ", subsequent_indent=f"{sign}   ")
    return lines


def yaml_text(job: Job, title: str, sections: Sequence[tuple[str, Sequence[Line]]], notes: Iterable[str] = ()) -> str:
    """A flat or nested YAML file in sections. Floats have a dot (`1.0e-4`), so that every YAML reader sees a number."""
    out = header(job, title, notes)
    for name, lines in sections:
        if lines:
            out += ["", *([f"### {name}"] if name else [])]
        for line in lines:
            out += _yaml_line(job, line)
    return "\n".join(out) + "\n"


def reason(job: Job, line: Line) -> str:
    return " ".join((line.why or (job.why(line.decision) if line.decision else "")).split())


def _yaml_line(job: Job, line: Line) -> list[str]:
    why = reason(job, line)
    body = _yaml_value(line.key, line.value, 0)
    if len(body) == 1 and why and len(body[0]) + len(why) + 4 <= WIDTH:
        return [f"{body[0]:<40}  # {why}"] if len(body[0]) + len(why) + 4 <= WIDTH - 10 else [f"{body[0]}  # {why}"]
    return [*textwrap.wrap(why, 110, initial_indent="# ", subsequent_indent="# "), *body]


def _yaml_value(key: str, value: Any, depth: int) -> list[str]:
    pad = "  " * depth
    if isinstance(value, dict):
        return [f"{pad}{key}:", *(part for k, v in value.items() for part in _yaml_value(k, v, depth + 1))]
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], dict):
        lines = [f"{pad}{key}:"]
        for item in value:
            inner = [part for k, v in item.items() for part in _yaml_value(k, v, depth + 2)]
            lines += [f"{pad}  - {inner[0].lstrip()}", *inner[1:]]
        return lines
    if isinstance(value, (list, tuple)):
        return [f"{pad}{key}:", *(f"{pad}  - {dump_scalar(v)}" for v in value)]
    return [f"{pad}{key}: {dump_scalar(value)}"]


def json_text(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def no_comment_page(job: Job, title: str, files: Mapping[str, Sequence[Line]], notes: Sequence[str]) -> str:
    """README.md beside JSON files, which cannot carry comments: every value with its reason."""
    out = [f"# {title}", "", f"Written by papertrain from `plans/{job.name}/plan.json`.", *unconfirmed(job, "")]
    for name, lines in files.items():
        out += ["", f"## {name}", "", "| key | value | why |", "| --- | --- | --- |"]
        out += [
            f"| `{line.key}` | `{json.dumps(line.value)}` | {reason(job, line).replace('|', '/')} |" for line in lines
        ]
    if notes:
        out += ["", "## What these files cannot say", "", *(f"- {note.removeprefix('cannot say ')}" for note in notes)]
    return "\n".join(out) + "\n"


def cannot(cannot_say: dict[str, str]) -> list[str]:
    """What a file cannot say, one line per reason."""
    reasons: dict[str, list[str]] = {}
    for name, why in cannot_say.items():
        reasons.setdefault(why, []).append(name)
    return [f"cannot say {', '.join(names)}: {why}" for why, names in reasons.items()]
