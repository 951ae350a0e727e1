"""What the rules may know beside the document they look at: other files, cards, versions, the model that was named."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from papertrain.configs.checking.document import ConfigDocument
from papertrain.configs.checking.rows import RowFault, SharedRows
from papertrain.core.errors import PapertrainError
from papertrain.core.files import read_text
from papertrain.core.models import Compute, DatasetProfile
from papertrain.facts.frameworks.load import Framework, framework, release

Columns = Mapping[str, str] | None
"""Which column plays which part, where somebody said so."""


class World:
    """The surroundings of one check. Files are read once; what cannot be known is None, never a guess."""

    def __init__(
        self,
        documents: Sequence[ConfigDocument] = (),
        *,
        compute: Compute | None = None,
        versions: dict[str, str] | None = None,
        model: str | None = None,
        template: str | None = None,
        profiler: Callable[[Path, ConfigDocument | None, Columns], DatasetProfile | None] | None = None,
        estimator: Callable[[dict[str, Any]], dict[str, Any] | None] | None = None,
        inspector: Callable[[Path, ConfigDocument | None, Columns], tuple[RowFault, ...]] | None = None,
        overlap: Callable[[Path, Path, Columns], SharedRows | None] | None = None,
    ) -> None:
        self.documents = list(documents)
        self.compute = compute
        self.versions = versions or {}
        self.model = model
        self.template = template
        self.profiler = profiler
        self.estimator = estimator
        self.inspector = inspector
        self.overlap = overlap
        self._shared: dict[tuple[Path, Path], SharedRows | None] = {}
        self._faults: dict[Path, tuple[RowFault, ...]] = {}
        self._read: dict[Path, list[ConfigDocument]] = {}
        self._rows: dict[Path, int | None] = {}
        self._profiles: dict[Path, DatasetProfile | None] = {}

    def beside(self, documents: Sequence[ConfigDocument]) -> World:
        """The same surroundings with other documents."""
        return World(
            documents,
            compute=self.compute,
            versions=self.versions,
            model=self.model,
            template=self.template,
            profiler=self.profiler,
            estimator=self.estimator,
            inspector=self.inspector,
            overlap=self.overlap,
        )

    def version(self, package: str) -> str | None:
        """The installed version of a package, where the training environment is known."""
        return self.versions.get(package)

    def framework(self, document: ConfigDocument) -> Framework:
        """The framework of a document, at the version at hand or the newest on record."""
        name = {"trainer": "transformers"}.get(document.kind, document.kind)
        return framework(name, self.version(name))

    def transformers(self, document: ConfigDocument) -> tuple[int, ...]:
        """The transformers release below a document's framework."""
        own = self.version("transformers")
        if own is None and document.kind in ("llamafactory", "trl"):
            own = self.framework(document).built_on.get("transformers")
        return release(own or framework("transformers").version)

    @property
    def world_size(self) -> int | None:
        return self.compute.gpus if self.compute else None

    def place(self, document: ConfigDocument, named: str) -> Path | None:
        """Where a file named in a document stands: beside the working folder, or beside the document. None: nowhere."""
        for path in self.places(document, named):
            if exists(path):
                return path
        return None

    def places(self, document: ConfigDocument, named: str) -> list[Path]:
        path = Path(named).expanduser() if not named.startswith("~") or named.startswith("~/") else Path(named)
        if path.is_absolute() or document.path is None:
            return [path]
        # Paths are written for the folder that the run starts in: beside the file, or some way above it.
        folders = [document.path.parent, *document.path.absolute().parents[1:6]]
        return list(dict.fromkeys([path, *(folder / path for folder in folders)]))

    def read(self, path: Path) -> list[ConfigDocument]:
        """The documents of a file that another one names; none where it cannot be read (its own check says why)."""
        from papertrain.configs.checking.read import read_file

        key = path.resolve()
        if key not in self._read:
            given = [d for d in self.documents if d.path is not None and d.path.resolve() == key]
            try:
                self._read[key] = given or read_file(path)
            except PapertrainError:
                self._read[key] = []
        return self._read[key]

    def deepspeed(self, document: ConfigDocument) -> ConfigDocument | None:
        """The DeepSpeed config that a trainer names, or holds."""
        named = document.settings.get("deepspeed")
        if isinstance(named, dict):
            return ConfigDocument(file=document.file, path=document.path, kind="deepspeed", format=document.format, text=document.text,
                                  settings=named, start=document.line("deepspeed"))  # fmt: skip
        if not isinstance(named, str) or not (path := self.place(document, named)):
            return None
        return next((d for d in self.read(path) if d.kind == "deepspeed"), None)

    def trainers_of(self, document: ConfigDocument) -> list[ConfigDocument]:
        """The trainer configs among the files of this check that name this file."""
        if document.path is None:
            return []
        here = document.path.resolve()
        found = []
        for other in self.documents:
            named = (
                other.settings.get("deepspeed") if other.kind in ("llamafactory", "trl", "trainer", "axolotl") else None
            )
            if isinstance(named, str) and (path := self.place(other, named)) and path.resolve() == here:
                found.append(other)
        return found

    def dataset_folder(self, document: ConfigDocument) -> str:
        """LLaMA-Factory's `dataset_dir`, with its default."""
        named = document.settings.get("dataset_dir")
        return named if isinstance(named, str) else "data"

    def registry(self, document: ConfigDocument) -> tuple[Path | None, dict[str, Any] | None]:
        """(where dataset_info.json stands, what it says); (None, None) where it is not there or remote."""
        folder = self.dataset_folder(document)
        if folder in ("ONLINE",) or folder.startswith("REMOTE:"):
            return None, None
        path = self.place(document, f"{folder}/dataset_info.json")
        if path is None:
            return None, None
        try:
            value = json.loads(read_text(path))
        except (PapertrainError, ValueError, RecursionError):
            return path, None
        return path, value if isinstance(value, dict) else None

    def data_file(self, document: ConfigDocument, dataset: str) -> Path | None:
        """The local file behind a registered data set, where there is one."""
        path, table = self.registry(document)
        entry = (table or {}).get(dataset)
        if path is None or not isinstance(entry, dict) or not isinstance(entry.get("file_name"), str):
            return None
        file = path.parent / entry["file_name"]
        return file if exists(file) and file.is_file() else None

    def rows(self, path: Path) -> int | None:
        """How many rows a data file holds; None where its format is not one that can be counted quickly."""
        if path not in self._rows:
            from papertrain.configs.checking.rows import count_rows

            self._rows[path] = count_rows(path)
        return self._rows[path]

    def profile(self, path: Path, document: ConfigDocument | None = None) -> DatasetProfile | None:
        """The accounting of a data file (rows → examples → tokens), where the caller can make one."""
        if path not in self._profiles:
            self._profiles[path] = (
                self.profiler(path, document, self.columns(path, document)) if self.profiler else None
            )
        return self._profiles[path]

    def faults(self, path: Path, document: ConfigDocument | None = None) -> tuple[RowFault, ...]:
        """The kinds of bad rows of a data file, where the caller can tell."""
        if path not in self._faults:
            self._faults[path] = self.inspector(path, document, self.columns(path, document)) if self.inspector else ()
        return self._faults[path]

    def columns(self, path: Path, document: ConfigDocument | None) -> Columns:
        """Part → column of a data file, where the config that names it (or its dataset_info.json) says so."""
        if document is not None and document.kind == "llamafactory":
            registry, table = self.registry(document)
            entries = [e for n in datasets(document) if isinstance(e := (table or {}).get(n), dict)] if registry else []
            found = [e for e in entries if registry and registry.parent / str(e.get("file_name")) == path]
            return _parts(found[0].get("columns")) if found else None
        if document is None or document.kind != "axolotl":
            return None
        listed = document.settings.get("datasets")
        for row in listed if isinstance(listed, list) else ():
            if isinstance(row, dict) and self.place(document, str(row.get("path"))) == path:
                return _fields(row)
        return None

    def shared(self, train: Path, test: Path, columns: Columns = None) -> SharedRows | None:
        """The rows that stand in both files, where the caller can tell."""
        if (train, test) not in self._shared:
            self._shared[train, test] = self.overlap(train, test, columns) if self.overlap else None
        return self._shared[train, test]


def _parts(said: object) -> Columns:
    """LLaMA-Factory's words for the columns as parts: a prompt alone is plain text."""
    if not isinstance(said, dict):
        return None
    named = {str(part): column for part, column in said.items() if isinstance(column, str)}
    if set(named) == {"prompt"}:
        return {"text": named["prompt"]}
    return {("label" if part == "kto_tag" else part): column for part, column in named.items()} or None


def _fields(row: dict[str, Any]) -> Columns:
    """Axolotl's words for the columns of one data set."""
    form = row["type"] if isinstance(row.get("type"), dict) else {}
    said = {"prompt": form.get("field_instruction"), "query": form.get("field_input"), "response": form.get("field_output"),
            "messages": row.get("field_messages"), "text": row.get("field")}  # fmt: skip
    return {part: column for part, column in said.items() if isinstance(column, str) and column} or None


def datasets(document: ConfigDocument, key: str = "dataset") -> list[str]:
    """The data sets that a LLaMA-Factory file names, as a list or divided by commas."""
    named = document.settings.get(key)
    if isinstance(named, str):
        return [part.strip() for part in named.split(",") if part.strip()]
    return [str(part) for part in named] if isinstance(named, list) else []


def exists(path: Path) -> bool:
    """Whether a path is there; a name that is too long, and a folder that may not be read, count as not there."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def names_in(folder: Path, suffix: str | None = None) -> list[str]:
    """Names of the files in a folder, at most a thousand; none where it cannot be read."""
    try:
        found = sorted(folder.iterdir())[:1000] if folder.is_dir() else []
        return [f.name for f in found if f.is_file() and (suffix is None or f.suffix == suffix)]
    except (OSError, ValueError):
        return []
