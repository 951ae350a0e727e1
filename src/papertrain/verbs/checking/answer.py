"""The answer of `check`: findings, accounting and what is known, in words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from papertrain.core.report import Report
from papertrain.core.texts import say
from papertrain.verbs.checking.next import action_of, logs_of

if TYPE_CHECKING:
    from papertrain.configs.checking.document import ConfigDocument
    from papertrain.configs.checking.world import World
    from papertrain.core.errors import PapertrainError
    from papertrain.core.findings import Finding
    from papertrain.core.values import Level, Mode

VERSION_BOUND = {"TR201", "TR210", "TR211", "TR212", "TR313", "TR316", "TR404"}


def report_of(
    documents: Sequence[ConfigDocument],
    findings: Sequence[Finding],
    *,
    accounts: Sequence[Any],
    applied: Sequence[dict[str, Any]],
    world: World,
    diff: bool,
    dry_run: bool,
    samples: str,
    warnings: Sequence[str],
    unread: Sequence[str],
    brought: set[str],
    output_format: str,
    mode: Mode,
    files: Sequence[Path],
    environment: bool,
    error: PapertrainError | None = None,
) -> Report:
    from papertrain.configs.checking import outputs
    from papertrain.configs.checking.document import KINDS
    from papertrain.core.findings import worst
    from papertrain.core.values import plain

    logs = logs_of(documents)
    strangers = list(
        dict.fromkeys(
            d.file
            for d in documents
            if d.kind in ("text", "python")
            and d.file not in logs
            and d.file not in brought
            and d.file not in {f.file for f in findings}
        )
    )
    told = list(warnings)
    if logs and len(logs) < len({d.file for d in documents}):
        told += [say("{file}: a log, not a config: papertrain diagnose {file}", file=file) for file in logs[:4]]
    if strangers:
        told.append(
            say(
                "{files}: not a kind that is checked (only searched for secrets); known kinds: {kinds}",
                files=", ".join(strangers[:4]) + (" …" if len(strangers) > 4 else ""),
                kinds=", ".join(KINDS.values()),
            )
        )
    unavailable: list[str] = []
    if not environment and _known(documents):
        # Where a finding hangs on a version, the reader must see which one was taken.
        bound = any(f.rule in VERSION_BOUND for f in findings)
        (told if bound else unavailable).append(
            say(
                "versions taken: {known}; --env PATH reads the ones that are installed",
                known=_known_text(documents),
            )
        )
    printed = _printed(output_format, findings)
    body = outputs.lines(findings, diffs=diff) + _applied_text(applied, dry_run)
    level: Level = worst([f.level for f in findings])
    estimates = _estimates(documents, world)
    if estimates is None:
        unavailable.append(say("whether it fits: state the cards with --gpu"))
    data: dict[str, Any] = {
        "findings": [_plain_finding(f) for f in findings],
        "accounting": _accounting(documents, accounts, world),
        "known_up_to": _known(documents),
        "files": [{"file": d.file, "kind": d.kind} for d in documents if d.role != "override"],
    }
    if estimates:
        data["estimates"] = estimates
    if applied:
        data["applied"] = list(applied)
    if error is not None:
        data["error"] = error.error()
    if output_format == "json":
        printed = json.dumps(plain(data), indent=1, ensure_ascii=False)
    if printed is not None:
        data["printed"] = printed
    action, aside = action_of(findings, files, applied, [d for d in documents if d.file not in unread])
    result = _result(findings, documents, applied, dry_run)
    if unread:
        n = len(set(unread))
        result += "; " + (say("{n} could not be read", n=n) if n > 1 else say("1 could not be read"))
    return Report(
        verb="check",
        result=result,
        explanation=say("what could be read is in order")
        if unread and not findings
        else _explanation(findings, accounts, documents),
        action=action,
        aside=aside,
        data=plain(data),
        head=printed if printed is not None else "\n".join(t for t in (samples, body) if t),
        details="\n".join([*(_account_line(a) for a in accounts), *(_estimate_line(e) for e in estimates or ())]),
        warnings=tuple(told),
        unavailable=tuple(unavailable),
        mode=mode,
        level=level,
    )


def _printed(output_format: str, findings: Sequence[Finding]) -> str | None:
    """The whole answer in a form of another program; None for a person's."""
    from papertrain.configs.checking import outputs
    from papertrain.configs.checking.engine import rules
    from papertrain.core.version import __version__

    if output_format == "github":
        return outputs.github(findings)
    return outputs.sarif(findings, rules(), __version__) if output_format == "sarif" else None


def _estimates(documents: Sequence[ConfigDocument], world: World) -> list[dict[str, Any]] | None:
    """What the planner expects of each training config; None where the cards are not stated."""
    from papertrain.configs.checking.memory import case

    if world.estimator is None:
        return None if any(d.trains and d.role not in ("override", "script") for d in documents) else []
    rows = [(d.file, row) for d in documents if (row := case(d, world))]
    answers = [(file, world.estimator(row)) for file, row in rows]
    return [{"file": file, **answer} for file, answer in answers if answer]


def _plain_finding(f: Finding) -> dict[str, Any]:
    from papertrain.core.values import plain

    whole: dict[str, Any] = plain(f)
    whole.pop("seen")
    whole.pop("fixes")
    return whole


def _known(documents: Sequence[ConfigDocument]) -> dict[str, str]:
    from papertrain.facts.frameworks.load import framework

    kinds = {d.kind for d in documents}
    names: tuple[str, ...] = ("llamafactory", "trl", "axolotl", "deepspeed", "accelerate")
    found: dict[str, str] = {k: framework(k).version for k in names if k in kinds}
    if kinds & {"trainer", "trl"}:
        found["transformers"] = framework("transformers").version
    if "command" in kinds or "slurm" in kinds:
        found.setdefault("llamafactory", framework("llamafactory").version)
    return found


def _known_text(documents: Sequence[ConfigDocument]) -> str:
    names = {"llamafactory": "LLaMA-Factory", "trl": "TRL", "axolotl": "Axolotl", "deepspeed": "DeepSpeed"}
    return ", ".join(f"{names.get(k, k)} {v}" for k, v in _known(documents).items())


def _accounting(documents: Sequence[ConfigDocument], accounts: Sequence[Any], world: World) -> dict[str, Any]:
    """The first training config's accounting, or that of the first data file; null with a reason where there is none."""
    keys = ("rows", "examples", "tokens", "trainable_tokens", "truncated_examples", "steps_per_epoch", "total_steps")
    if accounts:
        from papertrain.core.values import plain

        first: dict[str, Any] = plain(accounts[0])
        return {k: first[k] for k in keys} | {
            "file": first["file"],
            "used_rows": first["used_rows"],
            "reason": first["unknown"] or None,
        }
    for d in documents:
        if d.kind == "data" and d.path and (p := world.profile(d.path)):
            counted = {
                "rows": p.rows,
                "examples": p.examples,
                "tokens": p.tokens,
                "trainable_tokens": p.trainable_tokens,
                "truncated_examples": p.truncated_examples,
            }
            return {k: counted.get(k) for k in keys} | {
                "file": d.file,
                "reason": None if p.exact else say("token counts are an estimate: name the model with --model"),
            }
    return dict.fromkeys(keys) | {"reason": say("no data file is at hand: name it beside the config")}


def _estimate_line(e: dict[str, Any]) -> str:
    from papertrain.core.units import show_bytes

    d = e["device_bytes"]
    return say(
        "{file}: about {n} a card ({low} to {high}), fits: {fits}",
        file=e["file"],
        n=show_bytes(d["value"]),
        low=show_bytes(d["low"]),
        high=show_bytes(d["high"]),
        fits=e["fits"],
    )


def _account_line(a: Any) -> str:
    parts = [say("{rows:,} rows", rows=a.rows) if a.rows != 1 else say("1 row")]
    if a.used_rows != a.rows:
        parts.append(say("{n:,} used", n=a.used_rows))
    if a.examples is not None:
        parts.append(say("{n:,} examples", n=a.examples))
    about = "" if a.exact else "≈ "
    if a.tokens:
        parts.append(about + say("{n:,} tokens", n=a.tokens))
    if a.trainable_tokens:
        parts.append(about + say("{n:,} of them trained", n=a.trainable_tokens))
    if a.total_steps:
        parts.append(say("{e:,} steps per epoch, {n:,} in all", e=a.steps_per_epoch, n=a.total_steps))
    return f"{a.file}: " + " → ".join(parts) + (f" ({a.unknown})" if a.unknown else "")


def _applied_text(applied: Sequence[dict[str, Any]], dry_run: bool) -> str:
    verb = say("would write") if dry_run else say("wrote")
    return "".join(
        f"\n{verb} {a['file']} ({', '.join(a['rules'])})\n"
        + "\n".join("    " + line for line in a["patch"].rstrip().split("\n"))
        for a in applied
    )


def _result(
    findings: Sequence[Finding], documents: Sequence[ConfigDocument], applied: Sequence[dict[str, Any]], dry_run: bool
) -> str:
    files = len({d.file for d in documents})
    if not findings and not applied and (logs := logs_of(documents)) and len(logs) == files:
        return say("{file}: a log, not a config", file=logs[0]) if files == 1 else say("{n} logs, no config", n=files)
    where = say("in {n} files", n=files) if files != 1 else say("in {file}", file=documents[0].file)
    counts = {level: sum(f.level == level for f in findings) for level in ("error", "warning", "note")}
    says = {"error": say("{n} errors", n=counts["error"]), "warning": say("{n} warnings", n=counts["warning"]), "note": say("{n} notes", n=counts["note"])}  # fmt: skip
    parts = [says[level] for level, n in counts.items() if n]
    said = (
        say("{counts} {where}", counts=", ".join(parts), where=where)
        if parts
        else say("nothing wrong {where}", where=where)
    )
    if applied:
        n = sum(len(a["rules"]) for a in applied)
        if dry_run:
            said = (
                say("1 change would be written; before it: {said}", said=said)
                if n == 1
                else say("{n} changes would be written; before them: {said}", n=n, said=said)
            )
        else:
            said = (
                say("1 change written; what is left: {said}", said=said)
                if n == 1
                else say("{n} changes written; what is left: {said}", n=n, said=said)
            )
    return said


def _explanation(findings: Sequence[Finding], accounts: Sequence[Any], documents: Sequence[ConfigDocument]) -> str:
    if not findings:
        if logs_of(documents) and not {d.kind for d in documents} - {"text"}:
            return say(
                "only searched for secrets, of which there is none; what went wrong in a run is another question"
            )
        if accounts:
            return _account_line(accounts[0])
        known = {d.kind for d in documents} - {"text", "python"}
        return (
            say("every key, value and reference that could be checked is in order")
            if known
            else say("no secret was found; the content is not a kind that is checked")
        )
    errors = [f for f in findings if f.level == "error"]
    mendable = [f for f in findings if f.patch]
    parts = []
    if errors:
        parts.append(say("an error stops the run, or makes it train something else than the file says"))
    if mendable:
        changing = sum(f.effect == "experiment" for f in mendable)
        parts.append(
            say("{n} of {m} proposed changes would alter the experiment", n=changing, m=len(mendable))
            if len(mendable) > 1
            else say("the proposed change would alter the experiment")
            if changing
            else say("no proposed change touches the experiment")
        )
        noted = sum(f.level == "note" and f.effect == "execution" for f in mendable)
        if noted and noted < len(mendable):
            parts.append(say("{n} stand in notes, which --fix leaves to you", n=noted) if noted > 1 else say("1 stands in a note, which --fix leaves to you"))  # fmt: skip
    if not errors:
        parts.insert(0, say("nothing here stops the run"))
    return "; ".join(parts)
