"""`check`: what is wrong with configs, commands and data before they cost a night."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from papertrain.core.params import Arg, DryRunArg, EnvArg, ModeArg
from papertrain.core.report import Report
from papertrain.core.texts import say

if TYPE_CHECKING:
    from papertrain.configs.checking.document import ConfigDocument
    from papertrain.configs.checking.engine import Hit
    from papertrain.configs.checking.settings import Settings
    from papertrain.configs.checking.world import World
    from papertrain.core.findings import Finding
    from papertrain.core.models import Compute, DatasetProfile
    from papertrain.core.values import Level, Mode

PatternsArg = Annotated[Sequence[str], Arg("only these rules: TR305, or a prefix such as TR3", "RULES")]


def check(
    files: Annotated[Sequence[Path], Arg("configs, scripts, data files, or folders of them", "FILE")],
    *,
    gpu: Annotated[str | None, Arg('the cards it will run on: "4x A100-80GB", "2x8 H100"', "SPEC")] = None,
    nodes: Annotated[int | None, Arg("machines with those cards each", "N")] = None,
    host_ram: Annotated[str | None, Arg("memory of one machine, for offload: 512GB", "SIZE")] = None,
    show: Annotated[
        int | None, Arg("render the first N samples: what is trained, what is masked, where it is cut", "N")
    ] = None,
    model: Annotated[str | None, Arg("the model, where no file names it", "MODEL")] = None,
    template: Annotated[str | None, Arg("the chat template, where no file names it", "NAME")] = None,
    seq_len: Annotated[int | None, Arg("tokens of one sequence, for data files (default 2048)", "N")] = None,
    diff: Annotated[bool, Arg("show every proposed change as a diff")] = False,
    fix: Annotated[bool, Arg("write the changes that touch only the execution, never the experiment")] = False,
    select: PatternsArg = (),
    ignore: Annotated[Sequence[str], Arg("leave these rules out", "RULES")] = (),
    preview: Annotated[bool, Arg("with the rules that are still on trial")] = False,
    baseline: Annotated[Path | None, Arg("show only what this file does not hold", "FILE")] = None,
    write_baseline: Annotated[Path | None, Arg("keep today's findings as known", "FILE", advanced=True)] = None,
    output_format: Annotated[
        Literal["text", "json", "github", "sarif"], Arg("for people, programs, pull requests, code hosts")
    ] = "text",
    env: EnvArg = None,
    mode: ModeArg = None,
    dry_run: DryRunArg = False,
) -> Report:
    """Find what is wrong with configs, commands and data before they cost a night.

    Reads LLaMA-Factory, TRL, Axolotl, DeepSpeed, accelerate and TrainingArguments (YAML, JSON, a call in Python, a
    command line), Slurm and shell scripts, dataset_info.json and data files, recognises which is which, and follows the
    names between them. An error would stop the run, or train something else than it says; a warning is probably not
    meant; a note is advice. A line `# papertrain: ignore[TR305] reason` silences one finding.

      papertrain check sft.yaml ds_z2.json run.sh
      papertrain check sft.yaml --gpu "4x A100-80GB" --diff
      papertrain check train.jsonl --show 2 --model Qwen/Qwen2.5-7B-Instruct --template qwen
    """
    from papertrain.configs.checking.accounting import account
    from papertrain.configs.checking.engine import Choice, hits, rules
    from papertrain.configs.checking.settings import check_patterns, find_settings, read_baseline
    from papertrain.configs.checking.world import World
    from papertrain.core.environment import read_environment

    paths, skipped = _paths(files)
    settings = find_settings(paths[0])
    chosen = _patterns(select) or settings.select
    ignored = _patterns(ignore) + settings.ignore
    check_patterns(chosen, rules(), "--select")
    check_patterns(ignored, rules(), "--ignore")
    environment = read_environment(env, near=paths[0].parent)
    compute = _compute(gpu, nodes, host_ram)
    documents, unread = _documents(paths, {p.resolve() for p in skipped})
    world = World(documents, compute=compute, versions=dict(environment.versions) if environment else {}, model=model, template=template,
                  profiler=_profiler(model, template, seq_len))  # fmt: skip
    old = baseline or (Path(settings.file).parent / settings.baseline if settings.baseline else None)
    known = read_baseline(old) if old and (baseline or old.exists()) else frozenset()
    choice = Choice(select=chosen, ignore=ignored, preview=preview or settings.preview, known=known)
    applied: list[dict[str, Any]] = []
    if fix:
        applied = _fix(world, choice, settings, dry_run)
        if applied and not dry_run:
            documents, unread = _documents(paths, {p.resolve() for p in skipped})
            world = World(
                documents,
                compute=compute,
                versions=world.versions,
                model=model,
                template=template,
                profiler=world.profiler,
            )
    found = [h for h in hits(world, choice=choice) if not _off(h, settings)]
    if write_baseline:
        _write_baseline(write_baseline, [h.finding for h in found], dry_run)
    accounts = [a for d in documents if (a := account(d, world))]
    samples = _samples(show, documents, world, model, template, seq_len) if show else ""
    return _report(documents, [h.finding for h in found], accounts=accounts, applied=applied, world=world, diff=diff, dry_run=dry_run, samples=samples,
                   warnings=unread, output_format=output_format, mode=mode or "quick", files=list(files), environment=environment is not None)  # fmt: skip


VERSION_BOUND = {"TR201", "TR210", "TR211", "TR212", "TR313", "TR316", "TR404"}
_SUFFIXES = (".yaml", ".yml", ".json", ".sh", ".slurm", ".sbatch", ".py", ".toml")
_HIDDEN = {"node_modules", "__pycache__", "site-packages"}


def _paths(files: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """(files to check, those of them that only a folder brought in). Raises PapertrainError for nothing."""
    from papertrain.core.errors import PapertrainError

    if not files:
        raise PapertrainError(
            "no file was named",
            code="no-file",
            ask=["a config, script or data file"],
            command="papertrain check sft.yaml",
        )
    named: list[Path] = []
    brought: list[Path] = []
    for file in files:
        if file.is_dir():
            inside = sorted(
                p
                for p in file.rglob("*")
                if p.suffix in _SUFFIXES
                and p.is_file()
                and not any(part.startswith(".") or part in _HIDDEN for part in p.relative_to(file).parts)
            )
            brought += inside[:2000]
        else:
            named.append(file)
    if not named and not brought:
        raise PapertrainError("no config, script or data file in it", code="no-file", file=str(files[0]))
    return list(dict.fromkeys(named + brought)), [p for p in brought if p not in named]


def _documents(paths: Sequence[Path], brought: set[Path]) -> tuple[list[ConfigDocument], list[str]]:
    """What the files hold. A named file that cannot be read stops (exit 2); one that a folder brought in is only told."""
    from papertrain.configs.checking.read import read_file
    from papertrain.core.errors import PapertrainError

    documents: list[ConfigDocument] = []
    unread = []
    for path in paths:
        try:
            documents += read_file(path)
        except PapertrainError as error:
            if path.resolve() not in brought:
                raise
            unread.append(error.one_line())
    return documents, unread


def _patterns(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(part.strip() for text in texts for part in text.split(",") if part.strip())


def _off(hit: Hit, settings: Settings) -> bool:
    return any(
        hit.finding.rule.startswith(r.upper()) or hit.finding.name == r for r in settings.ignored_in(hit.finding.file)
    )


def _compute(gpu: str | None, nodes: int | None, host_ram: str | None) -> Compute | None:
    if gpu is None:
        return None
    from papertrain.core.units import parse_bytes
    from papertrain.facts.hardware import parse_compute

    return parse_compute(gpu, nodes=nodes, host_ram=parse_bytes(host_ram) if host_ram else None)


def _profiler(model: str | None, template: str | None, seq_len: int | None) -> Any:
    """Rooms do not know each other: the accounting of the data room is handed to the rules from here."""
    from papertrain.core.errors import PapertrainError

    def profile(path: Path, document: ConfigDocument | None) -> DatasetProfile | None:
        from papertrain.data.profile import profile as count

        cutoff = seq_len or (document.integer("cutoff_len") if document else None) or 2048
        named = model or (document.get("model_name_or_path") if document else None)
        used = template or (document.get("template") if document else None)
        task = (
            {"pt": "pt", "sft": "sft", "dpo": "dpo", "kto": "kto"}.get(str(document.settings.get("stage")))
            if document
            else None
        )
        try:
            return count(
                path,
                model=_model(named),
                cutoff=cutoff,
                template=used if isinstance(used, str) else None,
                task=task,
                limit=20_000,
            )
        except (PapertrainError, NotImplementedError):
            if document is None:
                raise
            return None

    return profile


def _model(named: object) -> Any:
    from papertrain.core.errors import PapertrainError
    from papertrain.facts.models import find_model

    if not isinstance(named, str) or not named:
        return None
    try:
        return find_model(named)
    except PapertrainError:
        return None


def _fix(world: World, choice: Any, settings: Settings, dry_run: bool) -> list[dict[str, Any]]:
    """Make the changes that touch only the execution, one file at a time, each file whole or not at all."""
    from papertrain.configs.checking.engine import hits
    from papertrain.configs.checking.patches import apply
    from papertrain.configs.checking.read import read_source
    from papertrain.configs.checking.world import World
    from papertrain.core.errors import PapertrainError
    from papertrain.core.files import read_text, unified, write_atomic

    done = []
    for path in list(dict.fromkeys(d.path for d in world.documents if d.path and d.text)):
        file = next(d.file for d in world.documents if d.path == path)
        before = text = next(d.text for d in world.documents if d.path == path)
        names: list[str] = []
        for _ in range(100):
            documents = read_source(text, file, path)
            others = [d for d in world.documents if d.path != path]
            here = World(
                [*documents, *others],
                compute=world.compute,
                versions=world.versions,
                model=world.model,
                template=world.template,
                profiler=world.profiler,
            )
            mendable = [h for h in hits(here, documents, choice) if h.finding.file == file and h.edits and h.finding.patch and h.finding.effect == "execution"
                        and h.finding.level in ("error", "warning") and not _off(h, settings)]  # fmt: skip
            if not mendable:
                break
            new = apply(mendable[0].document, text, mendable[0].edits)
            if new is None or new == text:
                break
            names.append(mendable[0].finding.rule)
            text = new
        if text == before:
            continue
        if read_text(path, limit=64 * 2**20) != before:
            raise PapertrainError("changed while it was being checked: nothing was written", code="changed", file=file)
        if not dry_run:
            mark = path.read_bytes()[:3]
            write_atomic(
                path,
                (b"\xef\xbb\xbf" if mark == b"\xef\xbb\xbf" else b"")
                + text.encode("utf-16" if mark[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"),
            )
        done.append(
            {"file": file, "rules": names, "patch": unified(before, text, file), "reverse": unified(text, before, file)}
        )
    return done


def _write_baseline(file: Path, findings: Sequence[Finding], dry_run: bool) -> None:
    import json

    from papertrain.core.files import write_atomic

    text = json.dumps({"findings": sorted({f.id for f in findings})}, indent=1) + "\n"
    if not dry_run:
        write_atomic(file, text.encode())


def _samples(
    show: int,
    documents: Sequence[ConfigDocument],
    world: World,
    model: str | None,
    template: str | None,
    seq_len: int | None,
) -> str:
    """N samples as the framework would tokenise them. Raises PapertrainError where no data file is at hand."""
    from papertrain.configs.checking.accounting import data_files
    from papertrain.core.errors import PapertrainError

    files = [(d.path, None) for d in documents if d.kind == "data" and d.path] or [
        (p, d) for d in documents if d.trains for _, p in data_files(d, world) if p
    ]
    if not files:
        raise PapertrainError(
            "--show needs a data file: name one, or a config whose data set is a local file", code="no-data"
        )
    path, document = files[0]
    named = model or (document.get("model_name_or_path") if document else None)
    used = template or (document.get("template") if document else None)
    cutoff = seq_len or (document.integer("cutoff_len") if document else None) or 2048
    try:
        from papertrain.data.render import render
    except ImportError:
        raise PapertrainError("--show is not available in this installation", code="no-render") from None
    text: str = render(
        path, model=_model(named), template=used if isinstance(used, str) else None, cutoff=cutoff, count=show
    )
    return text


def _report(
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
    output_format: str,
    mode: Mode,
    files: Sequence[Path],
    environment: bool,
) -> Report:
    from papertrain.configs.checking import outputs
    from papertrain.configs.checking.document import KINDS
    from papertrain.configs.checking.engine import rules
    from papertrain.core.findings import worst
    from papertrain.core.values import plain
    from papertrain.core.version import __version__

    strangers = list(
        dict.fromkeys(
            d.file for d in documents if d.kind in ("text", "python") and d.file not in {f.file for f in findings}
        )
    )
    told = list(warnings)
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
                "versions: {known} are taken; --env PATH reads the ones that are installed",
                known=_known_text(documents, world),
            )
        )
    printed = {"github": outputs.github, "sarif": lambda f: outputs.sarif(f, rules(), __version__)}.get(output_format)
    body = outputs.lines(findings, diffs=diff) + _applied_text(applied, dry_run)
    level: Level = worst([f.level for f in findings])
    data: dict[str, Any] = {
        "findings": [_plain_finding(f) for f in findings],
        "accounting": _accounting(documents, accounts, world),
        "known_up_to": _known(documents),
        "files": [{"file": d.file, "kind": d.kind} for d in documents if d.role != "override"],
    }
    if applied:
        data["applied"] = list(applied)
    if printed is not None:
        data["printed"] = printed(list(findings))
    return Report(
        verb="check",
        result=_result(findings, documents, applied, dry_run),
        explanation=_explanation(findings, accounts, documents),
        action=_action(findings, files, applied),
        data=plain(data),
        head=printed(list(findings)) if printed else "\n".join(t for t in (samples, body) if t),
        details="\n".join(_account_line(a) for a in accounts),
        warnings=tuple(told),
        unavailable=tuple(unavailable),
        mode=mode,
        level=level,
    )


def _plain_finding(f: Finding) -> dict[str, Any]:
    from papertrain.core.values import plain

    whole: dict[str, Any] = plain(f)
    whole.pop("seen")
    whole.pop("fixes")
    return whole


def _known(documents: Sequence[ConfigDocument]) -> dict[str, str]:
    from papertrain.facts.frameworks.load import framework

    kinds = {d.kind for d in documents}
    found = {
        k: framework(k).version for k in ("llamafactory", "trl", "axolotl", "deepspeed", "accelerate") if k in kinds
    }
    if kinds & {"trainer", "trl"}:
        found["transformers"] = framework("transformers").version
    if "command" in kinds or "slurm" in kinds:
        found.setdefault("llamafactory", framework("llamafactory").version)
    return found


def _known_text(documents: Sequence[ConfigDocument], world: World) -> str:
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


def _account_line(a: Any) -> str:
    parts = [say("{rows:,} rows", rows=a.rows)]
    if a.used_rows != a.rows:
        parts.append(say("{n:,} used", n=a.used_rows))
    if a.examples is not None:
        parts.append(say("{n:,} examples", n=a.examples))
    if a.tokens:
        parts.append(say("{n:,} tokens", n=a.tokens))
    if a.trainable_tokens:
        parts.append(say("{n:,} of them trained", n=a.trainable_tokens))
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
    where = say("in {n} files", n=files) if files != 1 else say("in {file}", file=documents[0].file)
    counts = {level: sum(f.level == level for f in findings) for level in ("error", "warning", "note")}
    parts = [f"{n} {level}{'s' if n != 1 else ''}" for level, n in counts.items() if n]
    said = (
        say("{counts} {where}", counts=", ".join(parts), where=where)
        if parts
        else say("nothing wrong {where}", where=where)
    )
    if applied:
        n = sum(len(a["rules"]) for a in applied)
        said = (
            say("{n} changes would be written; before them: {said}", n=n, said=said)
            if dry_run
            else say("{n} changes written; what is left: {said}", n=n, said=said)
        )
    return said


def _explanation(findings: Sequence[Finding], accounts: Sequence[Any], documents: Sequence[ConfigDocument]) -> str:
    if not findings:
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
            say("{n} of the {m} proposed changes touch the experiment", n=changing, m=len(mendable))
            if changing
            else say("no proposed change touches the experiment")
        )
    if not errors:
        parts.insert(0, say("nothing here stops the run"))
    return "; ".join(parts)


def _action(findings: Sequence[Finding], files: Sequence[Path], applied: Sequence[dict[str, Any]]) -> str | None:
    import shlex

    named = " ".join(shlex.quote(str(f)) for f in files[:6]) + (" …" if len(files) > 6 else "")
    mendable = [f for f in findings if f.patch and f.effect == "execution" and f.level in ("error", "warning")]
    if mendable and not applied:
        return f"papertrain check {named} --fix       " + say("({n} changes; --diff shows them first)", n=len(mendable))
    if findings:
        serious = [f for f in findings if f.level == "error"] or list(findings)
        return f"papertrain explain {serious[0].rule}       " + say("(what it is, why, where it was read)")
    return None
