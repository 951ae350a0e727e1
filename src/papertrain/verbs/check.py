"""`check`: what is wrong with configs, commands and data before they cost a night."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from papertrain.core.params import Arg, DryRunArg, EnvArg, ModeArg
from papertrain.core.report import Report
from papertrain.core.texts import say

if TYPE_CHECKING:
    from papertrain.configs.checking.document import ConfigDocument
    from papertrain.configs.checking.settings import Settings
    from papertrain.configs.checking.world import Columns, World
    from papertrain.core.errors import PapertrainError
    from papertrain.core.models import Compute, DatasetProfile

COLUMNS = Arg("which column is what, where the names do not say it: prompt=question,answer=reply", "PART=COLUMN")
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
    columns: Annotated[Sequence[str], COLUMNS] = (),
    diff: Annotated[bool, Arg("show every proposed change as a diff")] = False,
    fix: Annotated[
        bool, Arg("write the changes of errors and warnings that touch only the execution, never the experiment")
    ] = False,
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
    names between them. A folder stands for its configs and scripts, or, where it has none, for its data files. An error
    would stop the run, or train something else than it says; a warning is probably not meant; a note is advice. A line
    `# papertrain: ignore[TR305] reason` silences one finding. Of a manuscript (.tex), every number and every claim of
    significance is held against the evidence.

      papertrain check sft.yaml ds_z2.json run.sh
      papertrain check sft.yaml --gpu "4x A100-80GB" --diff
      papertrain check main.tex work
      papertrain check train.jsonl --show 2 --model Qwen/Qwen2.5-7B-Instruct --template qwen
    """
    if any(f.suffix.lower() == ".tex" for f in files):
        options = {k: v for k, v in locals().items() if k not in ("files", "write_baseline")}
        from papertrain.verbs.checking.choosing import write_baseline as keep
        from papertrain.verbs.checking.manuscript import both, manuscript

        answer, rest = manuscript(files, options)
        answer = both(answer, check(rest, **options), output_format) if rest else answer
        if write_baseline:
            keep(write_baseline, [f["id"] for f in answer.data["findings"]], dry_run)
        return answer
    from papertrain.configs.checking.accounting import account
    from papertrain.configs.checking.engine import hits
    from papertrain.configs.checking.follow import followed
    from papertrain.configs.checking.world import World
    from papertrain.core.environment import read_environment
    from papertrain.data.columns import parse
    from papertrain.verbs.checking import choosing
    from papertrain.verbs.checking.answer import report_of
    from papertrain.verbs.checking.rows import row_faults, shared_rows

    paths, skipped = _paths(files)
    choice, settings = choosing.choose(paths[0], select=select, ignore=ignore, preview=preview, baseline=baseline)
    environment = read_environment(env, near=paths[0].parent)
    compute = _compute(gpu, nodes, host_ram)
    told_columns = parse(columns)
    documents, unread, broken = _documents(paths, set(skipped))
    world = World(documents, compute=compute, versions=dict(environment.versions) if environment else {}, model=model, template=template,
                  profiler=_profiler(model, template, seq_len, broken, told_columns), estimator=_estimate if compute else None, inspector=lambda path, document, said: row_faults(path, document, said if document else told_columns),
                  overlap=lambda train, test, said: shared_rows(train, test, said or told_columns))  # fmt: skip
    applied: list[dict[str, Any]] = []
    if fix:
        applied = _fix(world, choice, settings, dry_run)
        if applied and not dry_run:
            documents, unread, again = _documents(paths, set(skipped))
            broken[:] = again
            world = world.beside(documents)
    named = world.beside([*documents, *followed(world)])
    found = [h for h in hits(named, choice=choice) if not settings.off(h.finding)]
    if write_baseline:
        choosing.write_baseline(write_baseline, [h.finding.id for h in found], dry_run)
    told, failed = _unreadable(broken, alone=len(paths) == 1)
    gone = [str(e.file) for e in (*unread, *broken) if not _a_table(e)]
    accounts = [a for d in documents if (a := account(d, world))]
    samples = _samples(show, documents, world, model, template, seq_len, told_columns) if show else ""
    return report_of(named.documents, [h.finding for h in found], accounts=accounts, applied=applied, world=world, diff=diff, dry_run=dry_run, samples=samples,
                   warnings=[*(e.one_line() for e in unread), *told], unread=gone, error=failed, brought={str(p) for p in skipped}, output_format=output_format, mode=mode or "quick", files=list(files), environment=environment is not None)  # fmt: skip


FOLDER_FILES = 5_000
WHOLE_BYTES = 200 * 2**20
_SUFFIXES = (".yaml", ".yml", ".json", ".sh", ".slurm", ".sbatch", ".py", ".toml")
_DATA = (".jsonl", ".csv", ".tsv", ".parquet", ".arrow")
"""Beside configs and scripts, data is what these name: a folder may hold results and tables as well."""
_HIDDEN = {"node_modules", "__pycache__", "site-packages"}


def _paths(files: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """(files to check, those of them that only a folder brought in). Raises PapertrainError for nothing."""
    from functools import cache

    from papertrain.core.errors import PapertrainError
    from papertrain.run.folders import of_a_run

    ran = cache(of_a_run)
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
            seen = [
                p
                for p in file.rglob("*")
                if p.suffix in (*_SUFFIXES, *_DATA)
                and p.is_file()
                and not any(part.startswith(".") or part in _HIDDEN for part in p.relative_to(file).parts)
                and not any(ran(folder) for folder in p.parents if file in folder.parents)
            ]
            inside = sorted(p for p in seen if p.suffix in _SUFFIXES) or sorted(seen)
            if len(inside) > FOLDER_FILES:
                raise PapertrainError(
                    f"{len(inside):,} files in it, more than {FOLDER_FILES:,}",
                    code="too-many",
                    file=str(file),
                    ask=["a folder of configs"],
                )
            brought += inside
        else:
            named.append(file)
    if not named and not brought:
        raise PapertrainError("no config, script or data file in it", code="no-file", file=str(files[0]))
    return list(dict.fromkeys(named + brought)), [p for p in brought if p not in named]


def _unreadable(broken: Sequence[PapertrainError], *, alone: bool) -> tuple[list[str], PapertrainError | None]:
    """(what is only told, the error that ends the check). Raises it where there is nothing else to tell.

    A table among other files (`*`) is no training data, and no mistake.
    """
    if alone and broken:
        raise broken[0]
    tables = [e for e in broken if _a_table(e)]
    wrong = [e for e in broken if e not in tables]
    told = [say("{file}: no training data, not checked", file=str(e.file)) for e in tables]
    return [*told, *(e.one_line() for e in wrong[1:])], wrong[0] if wrong else None


def _a_table(e: PapertrainError) -> bool:
    return e.code in NO_DATA_SET and str(e.file).lower().endswith((".csv", ".tsv"))


NO_DATA_SET = ("unknown-format", "no-examples", "empty-file")


def _documents(
    paths: Sequence[Path], brought: set[Path]
) -> tuple[list[ConfigDocument], list[PapertrainError], list[PapertrainError]]:
    """(what the files hold, what a folder brought in and cannot be read, the named files that cannot). Raises where all fail."""
    from papertrain.configs.checking.read import read_file
    from papertrain.core.errors import PapertrainError

    documents: list[ConfigDocument] = []
    unread: list[PapertrainError] = []
    broken: list[PapertrainError] = []
    for path in paths:
        try:
            documents += read_file(path)
        except PapertrainError as error:
            (unread if path in brought else broken).append(error)
    if broken and not documents:
        raise broken[0]
    return documents, unread, broken


def _compute(gpu: str | None, nodes: int | None, host_ram: str | None) -> Compute | None:
    if gpu is None:
        return None
    from papertrain.core.units import parse_bytes
    from papertrain.facts.hardware import parse_compute

    return parse_compute(gpu, nodes=nodes, host_ram=parse_bytes(host_ram) if host_ram else None)


def _profiler(
    model: str | None,
    template: str | None,
    seq_len: int | None,
    broken: list[PapertrainError] | None = None,
    columns: Mapping[str, str] | None = None,
) -> Any:
    """Rooms do not know each other: the accounting of the data room is handed to the rules from here."""
    from papertrain.core.errors import PapertrainError

    def profile(path: Path, document: ConfigDocument | None, said: Columns) -> DatasetProfile | None:
        from papertrain.data.profile import profile as count

        cutoff = seq_len or (document.integer("cutoff_len") if document else None) or 2048
        named = model or (document.get("model_name_or_path") if document else None)
        used = template or (document.get("template") if document else None)
        task = (
            {"pt": "pt", "sft": "sft", "dpo": "dpo", "kto": "kto"}.get(str(document.settings.get("stage")))
            if document
            else None
        )
        # A file that a config names is sampled; one that is named itself is counted whole, unless it is very large.
        sample = 20_000 if document is not None or path.stat().st_size > WHOLE_BYTES else None
        try:
            return count(
                path,
                model=_model(named),
                cutoff=cutoff,
                template=used if isinstance(used, str) else None,
                thinking=_thinking(document),
                task=task,
                columns=columns if document is None else said,
                limit=sample,
            )
        except NotImplementedError:
            return None
        except PapertrainError as error:
            if document is None and broken is None:
                raise
            if document is None and broken is not None:
                broken.append(error)
            return None

    return profile


def _estimate(row: dict[str, Any]) -> dict[str, Any] | None:
    """The planner's answer for one configuration, in the fields of a cases file; None where it cannot say."""
    import json

    from papertrain.plan.answers import answers

    answer: dict[str, Any] | None = next(iter(answers([json.dumps(row).encode()])), None)
    return answer if answer and answer["device_bytes"] else None


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
    from papertrain.configs.checking.read import read_source
    from papertrain.core.errors import PapertrainError
    from papertrain.core.files import read_text, unified
    from papertrain.core.writing import write_atomic

    def mendable(found: Sequence[Any]) -> list[Any]:
        return [h for h in found if h.edits and h.finding.patch and h.finding.effect == "execution" and h.finding.level in ("error", "warning") and not settings.off(h.finding)]  # fmt: skip

    # Only what says something of a file is asked again while it is mended: a folder may hold thousands.
    said_by: dict[str, set[str]] = {}
    for hit in mendable(hits(world, choice=choice)):
        said_by.setdefault(hit.finding.file, {hit.finding.file}).add(hit.by)
    done = []
    for path in list(dict.fromkeys(d.path for d in world.documents if d.path and d.text and d.file in said_by)):
        file = next(d.file for d in world.documents if d.path == path)
        before = text = next(d.text for d in world.documents if d.path == path)
        names: list[str] = []
        for _ in range(100):
            documents = read_source(text, file, path)
            others = [d for d in world.documents if d.path != path]
            here = world.beside([*documents, *others])
            asked = [*documents, *(d for d in others if d.file in said_by[file])]
            left = [h for h in mendable(hits(here, asked, choice)) if h.finding.file == file]
            if not left:
                break
            new = _mended(left, text, names)
            if new == text:
                break
            text = new
        if text == before:
            continue
        raw = path.read_bytes()
        coding = (
            "utf-16"
            if raw[:2] in (b"\xff\xfe", b"\xfe\xff")
            else "utf-8-sig"
            if raw[:3] == b"\xef\xbb\xbf"
            else "utf-8"
        )
        if before.encode(coding) != raw and read_text(path, limit=64 * 2**20) == before:
            raise PapertrainError("holds bytes that are not text: nothing was written", code="binary", file=file)
        if before.encode(coding) != raw:
            raise PapertrainError("changed while it was being checked: nothing was written", code="changed", file=file)
        if not dry_run:
            write_atomic(path, text.encode(coding))
        done.append(
            {"file": file, "rules": names, "patch": unified(before, text, file), "reverse": unified(text, before, file)}
        )
    return done


def _thinking(document: ConfigDocument | None) -> bool | None:
    """LLaMA-Factory's `enable_thinking`: true unless the file says otherwise."""
    said = document.settings.get("enable_thinking", True) if document else True
    return said if isinstance(said, bool) or said is None else True


def _mended(mendable: Sequence[Any], text: str, names: list[str]) -> str:
    """The changes of the first rule, as far as no two touch the same place: each could settle another, so the file is then read again."""
    from papertrain.configs.checking.patches import apply, at_once

    chosen: list[Any] = []
    touched: set[Any] = set()
    for hit in (h for h in mendable if h.finding.rule == mendable[0].finding.rule):
        places = {(hit.document.part, e.path[:1]) if e.path else e.line for e in hit.edits}
        # A line number holds only in the text that was read.
        if not places & touched and not (touched and any(e.op == "swap" for e in hit.edits)):
            chosen.append(hit)
            touched |= places
    if len({h.document.part for h in chosen}) == 1:
        new = at_once(chosen[0].document, text, [e for h in chosen for e in h.edits])
        if new not in (None, text):
            names += [h.finding.rule for h in chosen]
            return str(new)
    for hit in chosen:
        new = apply(hit.document, text, hit.edits)
        if new is not None and new != text:
            names.append(hit.finding.rule)
            text = new
    return text


def _samples(
    show: int,
    documents: Sequence[ConfigDocument],
    world: World,
    model: str | None,
    template: str | None,
    seq_len: int | None,
    columns: Mapping[str, str],
) -> str:
    """N samples as the framework would tokenise them. Raises PapertrainError where no data file is at hand."""
    from papertrain.configs.checking.accounting import data_files
    from papertrain.core.errors import PapertrainError

    if not 0 < show <= 10_000:
        raise PapertrainError(f"--show {str(show)[:20]}: a number of samples from 1 to 10,000", code="bad-value")
    files: list[tuple[Path, ConfigDocument | None]] = [
        (d.path, None) for d in documents if d.kind == "data" and d.path
    ] or [(p, d) for d in documents if d.trains for _, p in data_files(d, world) if p]
    if not files:
        raise PapertrainError(
            "--show needs a data file: name one, or a config whose data set is a local file", code="no-data"
        )
    path, document = files[0]
    named = model or (document.get("model_name_or_path") if document else None)
    used = template or (document.get("template") if document else None)
    cutoff = seq_len or (document.integer("cutoff_len") if document else None) or 2048
    from papertrain.data.show import show_rows

    return show_rows(
        path,
        model=_model(named),
        template=used if isinstance(used, str) else None,
        thinking=_thinking(document),
        cutoff=cutoff,
        count=show,
        columns=columns if document is None else world.columns(path, document),
    )
