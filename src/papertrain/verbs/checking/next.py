"""What to type after a check."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from papertrain.core.commands import line, quoted
from papertrain.core.texts import say

if TYPE_CHECKING:
    from papertrain.configs.checking.document import ConfigDocument
    from papertrain.core.findings import Finding

_LOG = re.compile(
    r"['\"]?\b(train_|eval_)?loss\b['\"]?\s*[:=]\s*-?\d|^Traceback \(most recent|CUDA out of memory|\d+%\|", re.M
)


def logs_of(documents: Sequence[ConfigDocument]) -> list[str]:
    """The files that are the output of a run."""
    return list(dict.fromkeys(d.file for d in documents if d.kind == "text" and _is_log(d)))


def _is_log(document: ConfigDocument) -> bool:
    ending = Path(document.file).suffix.lower()
    return document.format == "text" and (
        ending in (".log", ".out", ".err") or _LOG.search(document.text[: 1 << 20]) is not None
    )


def action_of(
    findings: Sequence[Finding],
    files: Sequence[Path],
    applied: Sequence[dict[str, Any]],
    documents: Sequence[ConfigDocument],
) -> tuple[str | None, str]:
    """One command that works as it stands, and a remark on it."""
    mendable = [f for f in findings if f.patch and f.effect == "execution" and f.level in ("error", "warning")]
    if mendable and not applied:
        n = len(mendable)
        # A file that another one names is changed only where it is named too.
        more = [Path(f) for f in dict.fromkeys(x.file for x in mendable) if not any(_within(Path(f), g) for g in files)]
        told = say("1 change; --diff shows it first") if n == 1 else say("{n} changes; --diff shows them first", n=n)
        return line("papertrain", "check", *files, *more, "--fix"), told
    serious = [f for f in findings if f.level == "error"] or [f for f in findings if f.level == "warning"]
    if serious or findings:
        worst = (serious or list(findings))[0].rule
        return line("papertrain", "explain", worst), say("what it is, why, where it was read")
    return _next(files, documents), ""


def _within(file: Path, given: Path) -> bool:
    return file == given or given in file.parents


def _next(files: Sequence[Path], documents: Sequence[ConfigDocument]) -> str | None:
    """After a clean check: start what was checked, or look closer."""
    if logs := logs_of(documents):
        return line("papertrain", "diagnose", Path(logs[0]))
    if len(files) == 1 and (files[0] / "plans").is_dir():
        return line("papertrain", "next", files[0])
    # A script starts the configs beside it; a config is started by its own program.
    order = ("slurm", "command", "llamafactory", "axolotl", "trl", "trainer", "data")
    ranked = sorted((d for d in documents if d.kind in order), key=lambda d: order.index(d.kind))
    return next((command for d in ranked if (command := _start(d))), None)


def _start(document: ConfigDocument) -> str | None:
    file = quoted(Path(document.file))
    if document.format == "python":
        return f"python {file}"
    if document.kind == "slurm":
        return f"sbatch {file}"
    if document.format == "shell":
        return f"bash {file}" if document.kind == "command" else None
    if document.kind == "llamafactory":
        verb = {"chat": "chat", "export": "export"}.get(document.role, "train")
        return f"llamafactory-cli {verb} {file}" if document.role not in ("evaluate", "megatron") else None
    if document.kind == "axolotl":
        return f"axolotl train {file}"
    if document.kind == "trl":
        return f"trl {document.role} --config {file}" if document.role else None
    if document.kind == "data":
        return f"papertrain check {file} --show 3"
    return None
