"""What the live page asks of a bundle: which files it would hold, each with its digest, before the verb writes it.

A page names no path: a bundle goes into the workspace that it is made of, under a name that is fixed here.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from papertrain.core.errors import Refused
from papertrain.core.texts import say
from papertrain.core.values import Value
from papertrain.core.workspace import Workspace
from papertrain.core.writing import only_reading

if TYPE_CHECKING:
    from papertrain.core.report import Report


class Bundle(Value, frozen=True, kw_only=True):
    """Which bundle of a workspace is meant."""

    work: Path
    anonymous: bool = False
    zipped: bool = False

    @property
    def place(self) -> Path:
        name = "bundle-anonymous" if self.anonymous else "bundle"
        return self.work / (f"{name}.zip" if self.zipped else name)


class Contents(Value, frozen=True, kw_only=True):
    """What a bundle would hold. files: (name, bytes, sha256 as packed); made: those that the verb writes about it."""

    files: tuple[tuple[str, int, str], ...]
    made: tuple[str, ...]
    left: tuple[tuple[str, str], ...]
    missing: tuple[str, ...]
    size: int
    warnings: tuple[str, ...] = ()

    def digest(self, bundle: Bundle) -> str:
        rows = [f"{name}\0{digest}" for name, _, digest in self.files]
        joined = "\0".join([str(bundle.place), *rows, *self.made, *self.missing])
        return hashlib.sha256(joined.encode("utf-8", "surrogateescape")).hexdigest()


def contents(bundle: Bundle) -> Contents:
    """The files as they would be packed now. Raises PapertrainError as the verb does; nothing is written."""
    from papertrain import verbs
    from papertrain.evidence.anonymous import patterns
    from papertrain.evidence.bundle import collect

    _free(bundle.place)
    with only_reading():
        told: dict[str, Any] = {"output": bundle.place, "anonymous": bundle.anonymous, "dry_run": True}
        report = verbs.load("package")(bundle.work, **told)
        packed, left = collect(Workspace.open(bundle.work), anonymous=patterns(bundle.work) if bundle.anonymous else ())
    files = tuple((f.name, len(f.data), hashlib.sha256(f.data).hexdigest()) for f in packed)
    made = tuple(sorted(set(report.data["files"]) - {f.name for f in packed}))
    return Contents(
        files=files, made=made, left=tuple((x.name, x.why) for x in left), missing=tuple(report.data["missing"]),
        size=report.data["bytes"], warnings=report.warnings,
    )  # fmt: skip


def write(bundle: Bundle, digest: str) -> Report:
    """Write the bundle whose files were shown with this digest. Raises Refused where anything changed; else the verb's Report."""
    from papertrain import verbs

    if contents(bundle).digest(bundle) != digest:
        raise Refused(say("something changed since the files were shown: look again"), code="changed")
    return verbs.load("package")(bundle.work, output=bundle.place, anonymous=bundle.anonymous)


def _free(place: Path) -> None:
    """An earlier bundle is replaced by the verb's rules; anything else that stands there is left alone."""
    if place.is_symlink() or (place.exists() and place.suffix != ".zip" and not (place / "MANIFEST.json").is_file()):
        raise Refused(say("{name} stands there and is no bundle: move it away", name=place.name), code="not-a-bundle")
