"""The package: what can be shown, with a digest for every file, and nothing private in it."""

from __future__ import annotations

import hashlib
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from papertrain.core.errors import PapertrainError
from papertrain.core.redact import Hidden
from papertrain.core.values import Value
from papertrain.core.workspace import Workspace
from papertrain.core.writing import HIDDEN, leftover
from papertrain.evidence.cleaning import WORDS, cleaned, inside, name_of, text_of

WEIGHTS = {".safetensors", ".pt", ".pth", ".bin", ".gguf", ".npz", ".ckpt", ".distcp"}
LARGEST = 20 * 2**20
MOST, LARGEST_ARCHIVE = 100_000, 4 * 2**30
DAMAGED = (
    zipfile.BadZipFile,
    OSError,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    IndexError,
    struct.error,
)
"""What the library raises for a broken, encrypted or unheard-of archive."""
TOP = ("study.toml", "commands.md", "commands.sh", "monitoring.md", "evidence.jsonl")
FOLDERS = ("plans", "configs", "runs", "results", "tables", "figures")


class Packed(Value, frozen=True, kw_only=True):
    """One file of the bundle. `source_sha256` is the workspace's file, before anything private was taken out."""

    name: str
    data: bytes
    source_sha256: str | None


class Left(Value, frozen=True, kw_only=True):
    """A file that stays behind, and why."""

    name: str
    why: str


def collect(work: Workspace, *, anonymous: Sequence[Hidden] = ()) -> tuple[list[Packed], list[Left]]:
    """Every file of the method's list, redacted, in the order of its name; and what is left out with the reason."""
    packed, left, root = [], [], work.root.resolve()
    names: set[str] = set()
    for path in _candidates(work.root):
        name = path.relative_to(work.root).as_posix()
        if not path.resolve().is_relative_to(root):
            left.append(Left(name=name_of(name, anonymous), why="a link out of the workspace"))
        elif path.suffix in WEIGHTS or "checkpoint-" in name:
            left.append(
                Left(
                    name=name_of(name, anonymous),
                    why="weights and optimizer states are not packed; the record says how to make them again",
                )
            )
        elif path.stat().st_size > LARGEST:
            left.append(Left(name=name_of(name, anonymous), why=f"larger than {LARGEST // 2**20} MiB"))
        else:
            one, why = _pack(path, name, list(anonymous), strict=bool(anonymous))
            if one is None:
                left.append(Left(name=name_of(name, anonymous), why=why))
            elif one.name in names:
                left.append(
                    Left(name=one.name, why="another file has this name once what is private is taken out of it")
                )
            else:
                names.add(one.name)
                packed.append(one)
    return packed, _fold(left)


def _pack(path: Path, name: str, hide: list[Hidden], *, strict: bool) -> tuple[Packed | None, str]:
    raw = path.read_bytes()
    data, why = cleaned(name, raw, hide)
    if data is None:
        return None, why
    if strict and name.startswith("runs/") and text_of(raw) is None and names_somebody(data, name, hide):
        return None, "it names an author, a user or a host, and is no text that could be cleaned"
    return Packed(name=name_of(name, hide), data=data, source_sha256=hashlib.sha256(raw).hexdigest()), ""


def names_somebody(data: bytes, name: str, hide: Iterable[Hidden]) -> bool:
    """Whether the bytes, or what is packed in them, hold what would be replaced in a text."""
    parts = [data, *inside(data, PurePosixPath(name).suffix.lower())]
    return any(
        pattern.search(m[0].decode("utf-8", "replace"))
        for part in parts
        for m in WORDS.finditer(part)
        for pattern in hide
    )


def _candidates(root: Path) -> list[Path]:
    found = [root / name for name in TOP if (root / name).is_file()]
    for folder in FOLDERS:
        found += [
            p
            for p in sorted((root / folder).rglob("*"))
            if p.is_file() and HIDDEN not in p.parts and "__pycache__" not in p.parts and not leftover(p.name)
        ]
    return found


def _fold(left: list[Left]) -> list[Left]:
    """One line per checkpoint folder instead of one per file in it."""
    folded: dict[str, Left] = {}
    for item in left:
        m = re.match(r"(.*?checkpoint-[^/]+)/", item.name)
        folded.setdefault(m[1] + "/" if m else item.name, Left(name=m[1] + "/" if m else item.name, why=item.why))
    return list(folded.values())


def manifest(files: list[Packed], *, complete: bool, missing: list[str], left: list[Left], version: str) -> str:
    """`MANIFEST.json`: the same workspace gives the same bytes."""
    entries = {}
    for f in sorted(files, key=lambda f: f.name):
        entry = {"sha256": hashlib.sha256(f.data).hexdigest(), "bytes": len(f.data)}
        if f.source_sha256 is not None:
            entry["source_sha256"] = f.source_sha256
        entries[f.name] = entry
    document = {
        "schema": "papertrain-manifest/1",
        "made_by": f"papertrain {version}",
        "complete": complete,
        "missing": missing,
        "left_out": [{"name": x.name, "why": x.why} for x in left],
        "files": entries,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def zip_bytes(files: dict[str, bytes]) -> bytes:
    """A zip whose bytes depend on the contents alone: fixed dates, fixed order, fixed modes."""
    import io

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.external_attr = 0o100644 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, files[name])
    return buffer.getvalue()


class Archive:
    """A bundle as a folder or a zip, read safely: no absolute names, no `..`, no links, bounded sizes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.zip: zipfile.ZipFile | None = None
        if not path.exists():
            raise PapertrainError("no such bundle", code="no-bundle", file=path)
        if path.is_file():
            try:
                self.zip = zipfile.ZipFile(path)
            except DAMAGED:
                raise PapertrainError(
                    "a bundle is a folder or a .zip that `papertrain package` wrote", code="no-bundle", file=path
                ) from None
            entries = self.zip.infolist()
            if len(entries) > MOST or sum(i.file_size for i in entries) > LARGEST_ARCHIVE:
                raise PapertrainError("more in it than any package holds", code="unsafe-archive", file=path)
            if len({i.filename for i in entries}) != len(entries):
                raise PapertrainError("two files in it have the same name", code="unsafe-archive", file=path)
            for info in entries:
                parts = Path(info.filename.replace("\\", "/")).parts
                kind = (info.external_attr >> 16) & 0o170000
                if (
                    not info.filename
                    or info.filename.startswith(("/", "\\"))
                    or ".." in parts
                    or kind not in (0, 0o100000, 0o040000)
                ):
                    raise PapertrainError(
                        f"{info.filename!r} leads out of the archive", code="unsafe-archive", file=path
                    )
                if info.file_size > 200 * 2**20 or info.file_size > 1000 * max(info.compress_size, 1):
                    raise PapertrainError(
                        f"{info.filename!r} unpacks to {info.file_size:,} bytes", code="unsafe-archive", file=path
                    )

    def names(self) -> list[str]:
        if self.zip is not None:
            return sorted(i.filename for i in self.zip.infolist() if not i.is_dir())
        return sorted(
            p.relative_to(self.path).as_posix() for p in self.path.rglob("*") if p.is_file() and HIDDEN not in p.parts
        )

    def read(self, name: str) -> bytes:
        if self.zip is not None:
            try:
                return self.zip.read(name)
            except KeyError:
                raise
            except DAMAGED:
                raise PapertrainError(f"{name!r} in it is damaged", code="damaged-archive", file=self.path) from None
        target = self.path / name
        if not target.resolve().is_relative_to(self.path.resolve()):
            raise PapertrainError(f"{name!r} leads out of the bundle", code="unsafe-archive", file=self.path)
        return target.read_bytes()
