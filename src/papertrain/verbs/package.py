"""`package`: everything that can be shown, with a digest for every file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from papertrain.core.commands import line
from papertrain.core.errors import PapertrainError, Refused
from papertrain.core.params import Arg, DryRunArg, ModeArg, OutArg, OverwriteArg
from papertrain.core.report import Report
from papertrain.core.texts import say
from papertrain.core.workspace import Workspace


def package(
    work: Annotated[Path | None, Arg("the workspace to pack", "WORK")] = None,
    *,
    output: OutArg = None,
    verify: Annotated[Path | None, Arg("check a bundle (folder or .zip) instead of making one", "BUNDLE")] = None,
    anonymous: Annotated[bool, Arg("for double-blind review: no names, paths, hosts or repository owners")] = False,
    mode: ModeArg = None,
    overwrite: OverwriteArg = False,
    dry_run: DryRunArg = False,
) -> Report:
    """Pack configs, commands, guide, debug logs, results, tables, figures and evidence; or verify such a package.

    A package calls itself complete only when every step of the method is done; otherwise it lists what is missing.
    Weights stay behind. Everything private is taken out of what is packed; the workspace is not touched, but for its
    own MANIFEST.json and README.md.

    papertrain package work -o bundle          a folder; `-o bundle.zip` writes an archive
    papertrain package --verify bundle         works on a machine without the workspace
    """
    if verify is not None:
        return _verify(verify)
    if work is None:
        raise PapertrainError("which workspace?", code="no-workspace", command="papertrain package WORK -o BUNDLE")
    space = Workspace.open(work)
    if output is None:
        raise PapertrainError(
            "where to? name the bundle with -o",
            code="no-output",
            command=line("papertrain", "package", work, "-o", f"{work.name}-bundle"),
        )
    return _make(space, output, anonymous=anonymous, mode=mode, overwrite=overwrite, dry_run=dry_run)


def _make(space: Workspace, output: Path, *, anonymous: bool, mode: Any, overwrite: bool, dry_run: bool) -> Report:
    from papertrain.core.evidence import read_evidence
    from papertrain.core.gate import decide_mode
    from papertrain.core.version import __version__
    from papertrain.core.writing import HIDDEN, Writer
    from papertrain.evidence.anonymous import patterns, traces, undecided
    from papertrain.evidence.asked import checklist
    from papertrain.evidence.bundle import FOLDERS, Packed, collect, manifest, zip_bytes
    from papertrain.evidence.checklist import done_when, steps
    from papertrain.evidence.runbook import index, readme

    if output.resolve() == space.root.resolve():
        raise PapertrainError("the bundle cannot be the workspace itself", code="bad-output", file=output)
    if output.resolve().is_relative_to(space.root.resolve()):
        first = output.resolve().relative_to(space.root.resolve()).parts[0]
        if first in (*FOLDERS, HIDDEN):
            raise PapertrainError(
                f"the bundle cannot lie in {first}/, which is a part of it", code="bad-output", file=output
            )
    hide = patterns(space.root) if anonymous else []
    files, left = collect(space, anonymous=hide)
    study, grid, entries = space.study, space.grid(), read_evidence(space.root)
    plans = {name: space.plan(name) for name in space.methods()}
    records = {run.id: _record(space.run_path(run.id) / "record.json") for run in grid}
    conditions = done_when(space)
    open_steps = [f"{s.name}: {s.because}" for s in steps(space) if s.state != "done" and s.name != "package"]
    open_steps += [f"run {r.id}: {r.because}" for r in grid if r.state != "done"]
    made = {
        "README.md": readme(study, plans, grid, conditions, left, records),
        "index.json": index(study, plans, grid, entries, conditions),
        "CHECKLIST.md": checklist(study, plans, records, entries, {f.name for f in files}),
    }
    from papertrain.core.redact import redact

    files += [Packed(name=n, data=redact(t, extra=hide).encode(), source_sha256=None) for n, t in made.items()]
    open_steps = [redact(m, extra=hide) for m in open_steps]
    text = manifest(files, complete=not open_steps, missing=open_steps, left=left, version=__version__)
    contents = {f.name: f.data for f in files} | {"MANIFEST.json": text.encode()}
    found = traces(contents, hide) if anonymous else []
    if found:
        raise Refused(
            f"not anonymous: {found[0][0]} still holds {found[0][1]}" + (f" and {len(found) - 1} more places" if len(found) > 1 else ""),
            code="not-anonymous", file=space.root / found[0][0],
        )  # fmt: skip
    open_words = undecided(contents, hide) if anonymous else []
    as_zip = output.suffix == ".zip"
    with Writer(output.parent if as_zip else output, overwrite=overwrite, dry_run=dry_run) as w:
        if as_zip:
            w.binary(output.name, zip_bytes(contents))
        else:
            for name in _listed(output) - set(contents):
                w.remove(name)
            for name, data in contents.items():
                w.binary(name, data)
    if not dry_run:
        with Writer(space.root, overwrite=overwrite) as own:
            own.text("MANIFEST.json", text)
            own.text("README.md", made["README.md"])
    size = sum(map(len, contents.values()))
    return Report(
        verb="package",
        mode=decide_mode(mode, space.root),
        level="warning" if open_steps else "ok",
        result=say(
            "{n} files, {mb:.1f} MB in {where}, {state}", n=len(contents), mb=size / 1e6, where=str(output),
            state=_state(open_steps),
        ) + (say(" (dry run: nothing written)") if dry_run else ""),
        body="\n".join(_lacking(open_steps)),
        warnings=(*broken(space), *(_left_standing(open_words) if anonymous else _named(space))),
        details="\n".join(f"  left out  {x.name}: {x.why}" for x in left),
        explanation=say("every file has its digest in MANIFEST.json; secrets, home folders and host names were replaced; weights stay behind"),
        action=line("papertrain", "package", "--verify", output),
        data={
            "bundle": str(output), "files": sorted(contents), "bytes": size, "complete": not open_steps, "missing": open_steps,
            "left_out": [{"name": x.name, "why": x.why} for x in left], "anonymous": anonymous,
            **({"undecided": [{"word": w, "file": f, "line": n} for w, f, n in open_words]} if anonymous else {}),
        },
    )  # fmt: skip


def _state(missing: Sequence[str]) -> str:
    return say("complete") if not missing else say("not complete: {n} things are missing", n=len(missing))


def _lacking(missing: Sequence[str]) -> list[str]:
    more = [f"  … {len(missing) - 10} more"] if len(missing) > 10 else []
    return [f"  {say('missing')}  {m}" for m in missing[:10]] + more


def _left_standing(found: list[tuple[str, str, int]]) -> tuple[str, ...]:
    """A word for each short name that may be left somewhere as an ordinary word: only a person can tell."""
    words = dict.fromkeys(word for word, _, _ in found)
    return tuple(
        say(
            "{word}, the name of a user or host, is left in {n} places where it may be an ordinary word, first in {file}:{line}: look at them",
            word=word, n=len(places), file=places[0][1], line=places[0][2],
        )
        for word in words if (places := [f for f in found if f[0] == word])
    )  # fmt: skip


def broken(space: Workspace) -> tuple[str, ...]:
    """What is wrong with the lines of the evidence themselves."""
    from papertrain.core.evidence import FILE, damage
    from papertrain.core.files import read_text

    path = space.root / FILE
    told = damage(read_text(path)) if path.is_file() else []
    return tuple(say("evidence.jsonl: {told}", told=t) for t in told[:5])


def _named(space: Workspace) -> tuple[str, ...]:
    """A word of warning where the paper's own file says that review is anonymous."""
    from papertrain.core.project import FILE, read_project

    try:
        project = read_project(space.root)
    except PapertrainError:
        return ()
    said = str(project.get("anonymity") if project is not None else "").lower()
    if said in ("true", "anonymous", "double-blind", "double_blind", "yes"):
        return (
            say(
                "{file} says that review is anonymous: this package may name authors; --anonymous takes them out",
                file=FILE,
            ),
        )
    return ()


def _verify(bundle: Path) -> Report:
    from papertrain.evidence.bundle import Archive
    from papertrain.evidence.verify import verify

    verdict = verify(Archive(bundle), recompute)
    bad = verdict.faults
    body = [f"  {f.file}: {f.says}" for f in bad[:20]] + ([f"  … {len(bad) - 20} more"] if len(bad) > 20 else [])
    show = ["python3", "-m", "zipfile", "-e", bundle, bundle.with_suffix("")] if bundle.is_file() else ["cat", bundle / "README.md"]  # fmt: skip
    return Report(
        verb="package",
        level="error" if bad else "ok",
        result=say("the package does not verify: {n} faults", n=len(bad)) if bad else say(
            "the package verifies: {files} files beside its manifest, {reread} of {numbers} numbers read again from their sources; {state}",
            files=verdict.files, reread=verdict.reread, numbers=verdict.numbers, state=_state(verdict.missing),
        ),
        body="\n".join(body + _lacking(verdict.missing)),
        warnings=verdict.notes,
        explanation=say("each file was held against the digest in MANIFEST.json, each number of evidence.jsonl against its source in the package"),
        action="papertrain package --help" if bad else line(*show),
        aside="" if bad else say("README.md says what it holds and how to run it again"),
        data={
            "verified": not bad, "files": verdict.files, "numbers": verdict.numbers, "reread": verdict.reread, "missing": list(verdict.missing),
            "faults": [{"file": f.file, "says": f.says} for f in bad],
        },
    )  # fmt: skip


def recompute(name: str, content: bytes) -> dict[str, float]:
    """Every score of a file of raw outputs, computed anew, however its answers were read; nothing where it is none, or the
    results extra is missing."""
    import tempfile

    try:
        from papertrain.results.board import measured_entries
        from papertrain.results.collect import collect
        from papertrain.results.kinds import READINGS
    except ModuleNotFoundError:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / Path(name).name
        file.write_bytes(content)
        try:
            found = collect([("", file)])
        except PapertrainError:
            return {}
        entries = []
        for kind in ("", *READINGS):
            try:
                entries += measured_entries(
                    found.items, [], "", everything=True, kinds={i.dataset: kind for i in found.items}
                )
            except PapertrainError:
                continue
    return {e.metric: e.measured.value for e in entries if e.measured is not None and e.measured.value is not None}


def _listed(bundle: Path) -> set[str]:
    """What an earlier package here holds: files that are no longer packed go away."""
    files = _record(bundle / "MANIFEST.json").get("files")
    return set(files) if isinstance(files, dict) else set()


def _record(file: Path) -> dict[str, Any]:
    from papertrain.core.files import json_object

    return json_object(file) or {}
