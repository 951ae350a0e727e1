"""`plan --test`: the file that results are measured on, read against the training data and kept in study.toml."""

from __future__ import annotations

import json
import re
from pathlib import Path

from papertrain.configs.checks.train_test_overlap import in_words
from papertrain.configs.target import seen_from
from papertrain.core.errors import PapertrainError, Refused
from papertrain.core.files import read_text
from papertrain.core.models import DatasetProfile
from papertrain.core.texts import say
from papertrain.core.workspace import STUDY, Workspace
from papertrain.plan.derive_question import Question
from papertrain.verbs.checking.rows import shared_rows
from papertrain.verbs.planning.questions import profile_of

HEAD = "# What this study adds to its plans. Everything that it may hold: papertrain explain test-set, docs/howto/study.md\n"


def read_test(file: Path, q: Question) -> tuple[DatasetProfile, list[str]]:
    """The test file, read as the training data is, and what to know of it. Raises PapertrainError where no score could
    follow from it."""
    if q.dataset is None:
        raise PapertrainError(
            "--test needs --data: the test file is read as the training data is", code="no-data", file=file
        )
    known = q.dataset
    try:
        found = profile_of(file, q.model, q.task, q.seq_len, q.columns)
    except PapertrainError as error:
        needs = f"; it needs the columns {', '.join(known.columns.values())}" if known.columns else ""
        raise PapertrainError(
            f"no test set for {known.path}: {error.says}{needs}", code="bad-test", file=file
        ) from None
    if found.sha256 == known.sha256:
        raise PapertrainError(
            "the test file is the training file: a score on it would say nothing",
            code="test-is-train",
            file=file,
            ask=["keep some rows out of the training data, and name the file that holds them"],
        )
    kind, wanted = (d.format.split(" (")[0] for d in (found, known))
    lacking = [name for name in known.columns.values() if name not in found.columns.values()]
    if kind != wanted or lacking:
        columns = ", ".join(lacking or known.columns.values())
        raise PapertrainError(
            f"read as {kind}, but {known.path} as {wanted}: a test set needs the same columns ({columns})",
            code="bad-test",
            file=file,
        )
    said = [say("{name} holds labels that the training data does not have: {labels}", name=file.name, labels=", ".join(strange[:5]))
            ] if (strange := [x for x in found.labels if known.labels and x not in known.labels]) else []  # fmt: skip
    if (both := shared_rows(Path(known.path), file, q.columns, limit=None)) is not None:
        said.append(in_words(both, Path(known.path).name, file.name))
    if found.bad_rows:
        said.append(say("{n} of {all} rows of {name} do not fit its format and are not scored", n=f"{found.bad_rows:,}", all=f"{found.rows:,}", name=file.name))  # fmt: skip
    return found, said


def study_with(place: Path, file: Path, q: Question) -> str:
    """The text of study.toml with that test file for the plan's data; all that stands there already is kept."""
    space, test = Workspace(place), seen_from(place, file)
    stands = (place / STUDY).is_file()
    text = read_text(place / STUDY, limit=2**20) if stands else HEAD
    name = _name(space, q) if stands or Workspace.is_workspace(place) else None
    if name is None:
        path = "" if q.dataset is None else q.dataset.path
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(path).name.split(".")[0]).strip("-") or "data"
    return with_test(text, name, test)


def _name(space: Workspace, q: Question) -> str | None:
    """The data set of the study that the plan trains on."""
    study = space.study
    if not study.written:
        return None
    if len(study.datasets) == 1:
        return study.datasets[0].name
    train = None if q.dataset is None else Path(q.dataset.path).resolve()
    mine = [d.name for d in study.datasets if d.train and (space.root / d.train).resolve() == train]
    if len(mine) == 1:
        return mine[0]
    raise PapertrainError(
        f"the study has {len(study.datasets)} data sets, and none of them is certainly the plan's",
        code="which-data",
        file=space.root / STUDY,
        ask=['write test = "FILE" under its [datasets.NAME] yourself'],
    )


def with_test(text: str, name: str, test: str) -> str:
    """`test = …` under `[datasets.NAME]`: the line is replaced, added, or added with its table."""
    said = f"test = {json.dumps(test, ensure_ascii=False)}"
    lines = text.splitlines()
    header = re.compile(rf"\s*\[\s*datasets\s*\.\s*[\"']?{re.escape(name)}[\"']?\s*\]")
    at = next((i for i, one in enumerate(lines) if header.match(one)), None)
    if at is None:
        return "\n".join([*lines, *([""] if lines and lines[-1].strip() else []), f"[datasets.{name}]", said]) + "\n"
    end = next((i for i in range(at + 1, len(lines)) if lines[i].lstrip().startswith("[")), len(lines))
    there = next((i for i in range(at + 1, end) if re.match(r"\s*test\s*=", lines[i])), None)
    if there is not None:
        lines[there] = said
    else:
        last = max(
            (i for i in range(at, end) if lines[i].strip() and not lines[i].lstrip().startswith("#")), default=at
        )
        lines.insert(last + 1, said)
    return "\n".join(lines) + "\n"


def by_hand(place: Path, file: Path, error: Refused) -> Refused:
    """The refusal to touch a study.toml that a person wrote, with the line that a person can add."""
    return Refused(
        error.says,
        code=error.code,
        file=place / STUDY,
        ask=[f"write test = {json.dumps(seen_from(place, file))} under its [datasets.NAME]", "or --overwrite adds that line and keeps the rest"],
    )  # fmt: skip
