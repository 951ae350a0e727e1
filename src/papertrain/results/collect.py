"""Files and folders → scores and items, each with its method, data set and seed, and how that was understood."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec

from papertrain.core.discover import discover
from papertrain.core.errors import PapertrainError
from papertrain.core.spelled import spelled
from papertrain.results import readers
from papertrain.results.records import Issue, Items, Reader, Reading, Score
from papertrain.results.source import Source

SUFFIXES = {".json", ".jsonl", ".csv", ".tsv", ".parquet", ".npz", ".md", ".xlsx"}
PASSED_OVER = {"plan.json", "record.json", "study.toml", "config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.json",
               "generation_config.json", "adapter_config.json", "training_args.json", "trainer_log.jsonl", "train_results.json", "README.md", "evidence.jsonl",
               "MANIFEST.json", "added_tokens.json", "summary.json", "run_spec.json", "index.jsonl"}  # fmt: skip
PASSED_FOLDERS = (".", "checkpoint-", "__pycache__")
MAX_FILES = 5000
MAX_ENTRIES = 100_000
SEED = re.compile(r"^(?:seed|s|run|trial|rep)[-_=]?(\d+)$", re.I)
SEED_INSIDE = re.compile(r"(?:^|[-_.])seed[-_=]?(\d+)(?=$|[-_.])", re.I)
FOLD = re.compile(r"^(?:fold|cv)[-_=]?(\d+)$", re.I)
RUN_ID = re.compile(r"^([A-Za-z0-9][\w-]*)\.([\w-]+)\.(-?\d+)$")
STAMP = re.compile(r"[-_.]?\d{4}-\d\d-\d\d[T_ -]\d\d[-:_]\d\d[-:_]\d\d(?:\.\d+)?$")
GENERIC = {"results", "result", "eval", "evaluation", "outputs", "output", "predictions", "prediction", "preds", "metrics", "scores", "all_results", "eval_results",
           "predict_results", "generated_predictions", "test", "trainer_state", "stats", "per_instance_stats", "runs", "test_predictions", "summary", "samples"}  # fmt: skip


@lru_cache
def known_readers() -> tuple[Reader, ...]:
    return tuple(sorted(discover(readers, "READER").values(), key=lambda r: (r.order, r.id)))


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """How one file was understood; shown before it is used, corrected with `--map`."""

    file: str
    format: str
    method: str = ""
    dataset: str = ""
    seed: str = ""


class Collection(msgspec.Struct, frozen=True, kw_only=True):
    scores: list[Score]
    items: list[Items]
    issues: list[Issue]
    placed: list[Placed]


def read_file(path: Path, given: dict[str, str]) -> Reading:
    """The content of one file by the first reader that knows it. Raises PapertrainError where none does."""
    source = Source(path, given)
    if not path.stat().st_size:
        raise PapertrainError("the file is empty (0 bytes): was the run cut short?", code="empty-file", file=path)
    for reader in known_readers():
        if reader.sniff(source):
            return msgspec.structs.replace(reader.read(source), reader=reader.id)
    if source.suffix in (".csv", ".tsv") and len(source.grid) == 1:
        raise PapertrainError("a header and no rows: was the run cut short?", code="empty-file", file=path)
    why, line = source.json_error if source.text.lstrip()[:1] in ("{", "[") and source.lines is None else ("", 0)
    if source.json is None and why:
        raise PapertrainError(f"damaged JSON: {why}", code="bad-json", file=path, line=line)
    hint = (
        f"columns: {', '.join(map(str, list(source.table[0])[:8]))}"
        if source.table and isinstance(source.table[0], dict)
        else ""
    )
    raise PapertrainError(
        f"no results in it that I understand{f' ({hint})' if hint else ''}", code="unknown-format", file=path,
        ask=["name the columns with --columns label=NAME,prediction=NAME (or method=…,value=…)", f"known: {'; '.join(r.title for r in known_readers())}"],
    )  # fmt: skip


def files_under(folder: Path) -> list[Path]:
    """Candidate files of a results folder, sorted; hidden folders and checkpoints are passed over."""
    if not os.access(folder, os.R_OK | os.X_OK):
        raise PapertrainError("this folder cannot be read: permission denied", code="no-permission", file=folder)
    found: list[Path] = []
    entries = 0
    for top, folders, names in os.walk(folder):
        folders[:] = [f for f in folders if not f.startswith(PASSED_FOLDERS)]
        entries += len(folders) + len(names)
        for name in names:
            path = Path(top, name)
            known = (
                path.suffix.lower() in SUFFIXES
                or (not path.suffix and path.parent.name == "metrics" and (path.parent.parent / "meta.yaml").is_file())
                or name == "results.log"
            )
            known = known and name not in PASSED_OVER and not name.startswith((*PASSED_FOLDERS, "~$"))
            if known and path.is_file():
                found.append(path)
        if len(found) > MAX_FILES or entries > MAX_ENTRIES:
            what = (
                f"more than {MAX_FILES:,} result files"
                if len(found) > MAX_FILES
                else f"more than {MAX_ENTRIES:,} files"
            )
            raise PapertrainError(f"{what}: name the folders to compare", code="too-many-files", file=folder)
    return sorted(found)


def stem(path: Path) -> str:
    return STAMP.sub("", path.stem)


class Guess(msgspec.Struct, frozen=True, kw_only=True):
    method: str = ""
    dataset: str = ""
    seed: str = ""


def template(pattern: str) -> re.Pattern[str]:
    """`{method}/{dataset}/seed_{seed}/{_}` as an expression; `*` stands for anything within one name."""
    out, seen = "", set()
    for part in re.split(r"(\{\w+\}|\*\*|\*)", pattern.strip()):
        if part == "**":
            out += ".*"
        elif part == "*":
            out += "[^/]*"
        elif m := re.fullmatch(r"\{(\w+)\}", part):
            name = m[1]
            if name not in ("method", "dataset", "seed", "_"):
                raise PapertrainError(
                    f"--map: {{{name}}} is no part of a path",
                    code="bad-map",
                    ask=["use {method} {dataset} {seed} {_}, as in {method}/{dataset}/seed_{seed}/*"],
                )
            out += "[^/]+?" if name == "_" else f"(?P={name})" if name in seen else f"(?P<{name}>[^/]+?)"
            seen.add(name) if name != "_" else None
        else:
            out += re.escape(part)
    return re.compile(out + r"(?:\.[A-Za-z0-9]+)?$")


def guess(paths: Sequence[str], patterns: Sequence[re.Pattern[str]]) -> dict[str, Guess]:
    """Method, data set and seed of each relative path, from what varies between them."""
    out: dict[str, Guess] = {}
    parts: dict[str, list[str]] = {}
    seeds: dict[str, str] = {}
    for p in paths:
        hit = next((m for m in (x.fullmatch(p) for x in patterns) if m), None)
        if hit:
            g = hit.groupdict()
            out[p] = Guess(method=g.get("method") or "", dataset=g.get("dataset") or "", seed=g.get("seed") or "")
            continue
        pieces = [*Path(p).parts[:-1], stem(Path(p))]
        run = next((m for m in map(RUN_ID.match, pieces) if m), None)
        if run:
            out[p] = Guess(method=run[1], dataset=run[2], seed=run[3])
            continue
        rest = []
        for piece in pieces:
            if (m := SEED.match(piece)) or FOLD.match(piece):
                seeds[p] = m[1] if m else seeds.get(p, "")
                continue
            if m := SEED_INSIDE.search(piece):
                seeds[p] = m[1]
                piece = (piece[: m.start()] + piece[m.end() :]).strip("-_.")
            if piece:
                rest.append(piece)
        parts[p] = rest
    varying = _varying(list(parts.values()))
    for p, pieces in parts.items():
        names = [pieces[i] for i in varying if i < len(pieces)]
        plain = [n for n in names if n.lower() not in GENERIC]
        out[p] = Guess(
            method=plain[0] if plain else "", dataset=plain[1] if len(plain) > 1 else "", seed=seeds.get(p, "")
        )
    return out


def _varying(rows: list[list[str]]) -> list[int]:
    """Positions at which the paths differ; all of them where there is one path."""
    width = max((len(r) for r in rows), default=0)
    if len(rows) < 2:
        return list(range(width))
    return [i for i in range(width) if len({r[i] if i < len(r) else "" for r in rows}) > 1]


def collect(
    targets: Iterable[tuple[str, Path]], *, columns: Sequence[str] = (), maps: Sequence[str] = ()
) -> Collection:
    """Read (system name or "", path) pairs. A file in a folder that is no result is passed over, with a note; a file that
    the user named and that cannot be understood is an error."""
    from papertrain.results import roles

    given = roles.parse(columns)
    patterns = [template(m) for m in maps]
    scores: list[Score] = []
    items: list[Items] = []
    issues: list[Issue] = []
    placed: list[Placed] = []
    targets = list(targets)
    loose = [(name, path) for name, path in targets if not path.is_dir()]
    groups: list[tuple[str, Path | None, list[Path]]] = [
        (name, path, files_under(path)) for name, path in targets if path.is_dir()
    ]
    named = [x for x in loose if x[0]]
    unnamed = [path for name, path in loose if not name]
    groups += [(name, None, [path]) for name, path in named]
    if unnamed:
        groups.append(("", None, unnamed))
    for name, root, files in groups:
        relative = {f: str(f.relative_to(root)) if root else _short(f, files) for f in files}
        guesses = guess(list(relative.values()), patterns)
        before, nearest = len(placed), _nearest(files)
        twice = {r.id: r.repeats(files) for r in known_readers() if r.repeats is not None}
        for f in files:
            try:
                reading = read_file(f, given)
            except PapertrainError as error:
                if root is None:
                    raise
                level: Literal["note", "warning"] = "note" if error.code == "unknown-format" else "warning"
                issues.append(
                    Issue(says=f"not read: {error.says} ({relative[f]})", file=str(f), code=error.code, level=level)
                )
                continue
            if f in twice.get(reading.reader, ()):
                continue
            g = guesses[relative[f]]
            if name:
                # the folder belongs to one system: the first part of its path that varies is its data set
                g = Guess(method=name, dataset=g.dataset or ("" if root is None else g.method), seed=g.seed)
            here: list[Score | Items] = [
                *(_place(s, g, name, several=len(files) > 1) for s in reading.scores),
                *(_place(i, g, name, several=len(files) > 1) for i in reading.items),
            ]
            if f.name not in SUMMARIES or SUMMARIES[f.name] == nearest[f.parent]:
                scores += [x for x in here if isinstance(x, Score)]
            items += [x for x in here if isinstance(x, Items)]
            issues += reading.issues
            systems, datasets = sorted({x.system for x in here}), sorted({x.dataset for x in here if x.dataset})
            placed.append(
                Placed(file=str(f), format=reading.format, method=_few(systems), dataset=_few(datasets), seed=g.seed)
            )
        if root is not None and len(placed) == before:
            unread = [i for i in issues if i.level == "warning"] or [i for i in issues if "columns:" in i.says]
            bad = f"; {unread[0].says}" if unread else ""
            how = ["name the columns with --columns label=NAME,prediction=NAME (or method=…,value=…)"] if "columns:" in bad else []  # fmt: skip
            raise PapertrainError(
                f"no result files in it{bad}",
                code="no-results",
                file=root,
                ask=[*how, "files that are understood: " + "; ".join(r.title for r in known_readers())],
            )
    issues += _duplicates(placed)
    return Collection(
        scores=scores,
        items=items,
        issues=_once(msgspec.structs.replace(i, says=clean(i.says, 2000)) for i in issues),
        placed=placed,
    )


SUMMARIES = {
    "all_results.json": 1,
    "trainer_state.json": 2,
    "eval_results.json": 0,
    "predict_results.json": 0,
    "test_results.json": 0,
}
"""Files of one training run that repeat each other: eval_results.json is the source, all_results.json its copy, and
trainer_state.json only the log of what was measured on the way."""


def _nearest(files: Iterable[Path]) -> dict[Path, int]:
    """How near to the measurement the nearest of these files lies, by folder."""
    out: dict[Path, int] = {}
    for f in files:
        if f.name in SUMMARIES:
            out[f.parent] = min(SUMMARIES[f.name], out.get(f.parent, SUMMARIES[f.name]))
    return out


def _few(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _short(path: Path, files: Sequence[Path]) -> str:
    """The end of the path that tells the file from its neighbours."""
    if len(files) < 2:
        return path.name
    common = 0
    parents = [f.absolute().parts[:-1] for f in files]
    while all(len(p) > common for p in parents) and len({p[common] for p in parents}) == 1:
        common += 1
    return "/".join(path.absolute().parts[common:])


def clean(text: str, limit: int = 200) -> str:
    """A name from a file as one printable line: without half and control characters, and it ends."""
    return "".join(c if c.isprintable() else " " for c in spelled(text))[:limit].strip()


def _place(x: Score | Items, g: Guess, name: str, *, several: bool) -> Score | Items:
    """What the content says stands, unless the user named the system; the path fills the gaps."""
    if name:
        inner = (
            bool(x.system) and x.system != name and isinstance(x, Items) and "correct" in x.scored and x.label is None
        )
        system = f"{name}/{x.system}" if inner else name
    else:
        system = x.system or g.method
    path_dataset = g.dataset if not x.dataset else x.dataset
    if not x.dataset and not g.dataset and x.system and not name and several:
        path_dataset = (
            g.method if g.method.lower() != x.system.lower() else ""
        )  # files that name their systems themselves differ by data set
    named = {"system": clean(system or "system"), "dataset": clean(path_dataset), "seed": clean(x.seed or g.seed)}
    if isinstance(x, Score):
        return msgspec.structs.replace(
            x,
            **named,
            metric=clean(x.metric),
            reason=clean(x.reason),
            pointer=clean(x.pointer),
            settings={k: clean(v) for k, v in x.settings.items()},
        )
    return msgspec.structs.replace(
        x,
        **named,
        scored={clean(k): v for k, v in x.scored.items()},
        settings={k: clean(v) for k, v in x.settings.items()},
    )


def _duplicates(placed: list[Placed]) -> list[Issue]:
    from papertrain.core.files import sha256_file

    by: dict[str, list[Placed]] = {}
    for p in placed:
        by.setdefault(sha256_file(Path(p.file)), []).append(p)
    return [
        Issue(
            says=f"the same file under {len(same)} names: {', '.join(p.file for p in same)}; one of them may be the wrong one",
            file=same[0].file,
            code="duplicate-file",
        )
        for same in by.values()
        if len(same) > 1
    ]


def _once(issues: Iterable[Issue]) -> list[Issue]:
    return list(dict.fromkeys(issues))
