"""Applying a change: exact hunks, the user's own bytes, a way back, and the text that proves it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from papertrain.core.errors import PapertrainError, Refused

if TYPE_CHECKING:
    from papertrain.core.findings import Change

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")


def apply_hunks(text: str, diff: str, name: str) -> str:
    """A unified diff of one file applied exactly: no fuzz. Raises Refused where the text is not what the diff expects."""
    lines = text.splitlines(keepends=True)
    out: list[str] = []
    at = 0
    for hunk in re.split(r"(?m)(?=^@@ )", diff)[1:]:
        head, *body = hunk.splitlines(keepends=True)
        m = _HUNK.match(head)
        if m is None:
            raise Refused(f"{name}: the patch cannot be read", code="bad-patch", file=name)
        start = int(m[1]) - (0 if m[2] == "0" else 1)
        out += lines[at:start]
        at = start
        for i, line in enumerate(body):
            if line.startswith("\\"):
                continue
            content = line[1:]
            if i + 1 < len(body) and body[i + 1].startswith("\\"):
                content = content.rstrip("\n")
            if line[:1] in (" ", "-", "\n"):
                content = content if line[:1] != "\n" else "\n"
                if at >= len(lines) or lines[at].rstrip("\r\n") != content.rstrip("\r\n"):
                    raise changed(name)
                if line[:1] != "-":
                    out.append(lines[at])
                at += 1
            elif line[:1] == "+":
                out.append(content)
    return "".join([*out, *lines[at:]])


def sets_of(edits: Sequence[Any]) -> list[str]:
    """Changes of a plan's knobs as `plan --set` takes them."""
    from papertrain.core.yaml import dump_scalar

    return [
        f"{e['key']}={dump_scalar(e['new'], 'json') if isinstance(e['new'], list) else dump_scalar(e['new'])}"
        for e in edits
    ]


def changed(name: str | Path) -> Refused:
    return Refused(f"{Path(name).name} is not what the fix was made for: it has changed since", code="changed-since", file=name,
                   ask=["diagnose again: the fix is then made for the file as it is"])  # fmt: skip


def split_patch(patch: str) -> list[tuple[str, str]]:
    """(file name in the header, its part of the diff)."""
    parts = re.split(r"(?m)(?=^--- )", patch)
    return [(m[1].strip(), p) for p in parts if (m := re.search(r"(?m)^\+\+\+ (?:b/)?([^\t\n]+)", p))]


def after(files: Sequence[tuple[str, str]], patch: str) -> dict[str, tuple[str, str]]:
    """file → (text now, text after). `files`: path and the sha256 that the patch was made for. Raises Refused."""
    import hashlib

    parts = split_patch(patch)
    out: dict[str, tuple[str, str]] = {}
    for path, digest in files:
        raw = read_bytes(path)
        text = raw.decode("utf-8", "surrogateescape")
        if digest and hashlib.sha256(raw).hexdigest() != digest:
            raise changed(path)
        part = next((p for name, p in parts if Path(name).name == Path(path).name), None)
        if part is not None:
            out[path] = (text, apply_hunks(text, part, path))
    return out


def read_bytes(path: str | Path) -> bytes:
    from papertrain.core.files import regular_file

    regular_file(Path(path))
    try:
        return Path(path).read_bytes()
    except OSError as e:
        raise PapertrainError(
            f"cannot be read: {(e.strerror or str(e)).lower()}", code="unreadable", file=path
        ) from None


def write(files: dict[str, tuple[str, str]], debug: str, note: str, root: Path | None = None) -> str:
    """Write the new texts and the way back (`<debug>.patch`, `<debug>.md`), all or nothing. Returns the path of the patch.

    The user's own bytes are kept as they are: nothing is redacted out of a file that is theirs.
    """
    from papertrain.core.files import unified
    from papertrain.core.writing import Writer

    paths = {p: Path(p).absolute() for p in files}
    place = root.absolute() if root else Path(os.path.commonpath([str(p.parent) for p in paths.values()]))
    reverse = "".join(unified(new, old, os.path.relpath(paths[p], place)) for p, (old, new) in files.items())
    note += "\n## After the change\n\n" + digests(files) + "\n"
    outside = {p for p, full in paths.items() if not full.is_relative_to(place)}
    with Writer(place, overwrite=True) as w:
        for path in files.keys() - outside:
            w.binary(paths[path].relative_to(place).as_posix(), files[path][1].encode("utf-8", "surrogateescape"))
        w.binary(f"{debug}.patch", reverse.encode("utf-8", "surrogateescape"))
        w.text(f"{debug}.md", note)
    for path in outside:
        with Writer(paths[path].parent, overwrite=True) as w:
            w.binary(paths[path].name, files[path][1].encode("utf-8", "surrogateescape"))
    return str(place / f"{debug}.patch")


def noted(note: Path, root: Path, head: str, text: str) -> None:
    """What was found after the change, under its note. root: where the note was written from."""
    from papertrain.core.files import read_text
    from papertrain.core.writing import Writer

    try:
        old = read_text(note)
        name = note.absolute().relative_to(root.absolute()).as_posix()
    except (PapertrainError, ValueError):
        return
    with Writer(root, overwrite=True) as w:
        w.text(name, old.rstrip("\n") + f"\n\n## {head}\n\n{text}\n")


def note_text(
    id: str,
    title: str,
    cause: str,
    effect: str,
    evidence: Sequence[str],
    edits: Sequence[Change],
    patch: str,
    proof: str,
) -> str:
    """`debug/<n>.md`: what was wrong, what was changed, and how one knows."""
    lines = [f"# {id}: {title}", "", f"Effect: {effect}.", "", "## Cause", "", cause or "-", ""]
    if evidence:
        lines += ["## Evidence", "", *(f"- {e}" for e in evidence), ""]
    lines += ["## Change", ""]
    lines += [f"- {e.file}: {e.knob}: {e.old} -> {e.new}" for e in edits] or ["- see the patch"]
    if patch:
        lines += ["", "```diff", patch.rstrip("\n"), "```"]
    return "\n".join([*lines, "", "## To be seen when it runs", "", proof or "-", ""])


def already(folder: Path, id: str, target: Path) -> Path | None:
    """The note of the same fix, if the file still is what that fix made of it."""
    from papertrain.core.files import made_as_read, read_text, sha256_file

    if not target.is_file() or made_as_read(target):
        return None
    digest = sha256_file(target)
    for note in sorted((folder / ".papertrain" / "debug").glob("*.md")):
        try:
            text = read_text(note)
        except PapertrainError:
            continue
        if text.startswith(f"# {id}:") and digest in text:
            return note
    return None


def digests(files: dict[str, tuple[str, str]]) -> str:
    """The contents that a change leaves behind, so that it is not applied twice."""
    import hashlib

    return "\n".join(
        f"- {Path(p).name} sha256 {hashlib.sha256(new.encode('utf-8', 'surrogateescape')).hexdigest()}"
        for p, (_, new) in files.items()
    )


def checked_again(paths: Sequence[Path]) -> str:
    """What `check` says about the changed files, in one sentence."""
    from papertrain.core.texts import say
    from papertrain.verbs.check import check

    try:
        report = check(list(paths))
    except PapertrainError as e:
        return say("check: {why}", why=e.one_line())
    found: list[dict[str, Any]] = report.data.get("findings", [])
    errors = sum(1 for f in found if f.get("level") == "error")
    return say(
        "check after the change: {errors} errors, {all} findings in {files}",
        errors=errors,
        all=len(found),
        files=", ".join(p.name for p in paths),
    )
