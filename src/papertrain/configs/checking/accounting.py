"""rows → examples → steps, as the framework of a config will count them."""

from __future__ import annotations

import math
from pathlib import Path

from papertrain.configs.checking.document import ConfigDocument
from papertrain.configs.checking.world import World, datasets
from papertrain.core.models import DatasetProfile
from papertrain.core.values import Value


class Accounting(Value, frozen=True, kw_only=True):
    """What a run will see. A count that cannot be known is None; `unknown` says why. exact: the tokens were counted, and all of
    them are trained on."""

    file: str = ""
    rows: int | None = None
    used_rows: int | None = None
    examples: int | None = None
    tokens: int | None = None
    trainable_tokens: int | None = None
    truncated_examples: int | None = None
    steps_per_epoch: int | None = None
    total_steps: int | None = None
    unknown: str = ""
    exact: bool = True


def data_files(document: ConfigDocument, world: World, key: str = "dataset") -> list[tuple[str, Path | None]]:
    """(name, local file) of each data set that a config names."""
    if document.kind == "llamafactory":
        return [(name, world.data_file(document, name)) for name in datasets(document, key)]
    if document.kind == "axolotl":
        listed = document.settings.get("datasets" if key == "dataset" else "test_datasets")
        paths = [d.get("path") for d in listed if isinstance(d, dict)] if isinstance(listed, list) else []
    else:
        paths = [document.settings.get("dataset_name")]
    found = [(str(p), world.place(document, str(p))) for p in paths if isinstance(p, str)]
    return [(name, path if path and path.is_file() else None) for name, path in found]


def local_files(document: ConfigDocument, world: World) -> list[tuple[str, Path]]:
    """(as written, where it is) of each data file on this machine that a config names."""
    if document.kind == "llamafactory":
        return [(name, path) for name, path in data_files(document, world) if path is not None]
    named: list[str] = []
    listed = document.settings.get("datasets")
    for row in listed if isinstance(listed, list) else []:
        files = (row.get("data_files") or row.get("path")) if isinstance(row, dict) else None
        named += [files] if isinstance(files, str) else [str(f) for f in files] if isinstance(files, list) else []
    if isinstance(document.settings.get("dataset_name"), str):
        named.append(document.settings["dataset_name"])
    found = [(name, world.place(document, name)) for name in named if 0 < len(name) < 500]
    return [(name, path) for name, path in found if path is not None and path.is_file()]


def account(document: ConfigDocument, world: World) -> Accounting | None:
    """The accounting of a training config whose data is at hand; None for other documents."""
    if not document.trains or document.role in ("override", "script"):
        return None
    files = data_files(document, world)
    if not files or any(path is None for _, path in files):
        return None
    rows = [world.rows(path) for _, path in files if path]
    if any(r is None for r in rows):
        return None
    counted = [r for r in rows if r is not None]
    cut = document.integer("max_samples") if document.kind == "llamafactory" else None
    used = sum(min(r, cut) if cut and cut > 0 else r for r in counted)
    profiles = [p for _, path in files if path and (p := world.profile(path, document))]
    return _steps(document, world, sum(counted), used, profiles if len(profiles) == len(files) else [])


def _steps(document: ConfigDocument, world: World, rows: int, used: int, profiles: list[DatasetProfile]) -> Accounting:
    val = document.number("val_size") or 0.0
    held = math.ceil(used * val) if 0 < val < 1 else int(val)
    examples: int | None = max(used - held, 0)
    tokens = trainable = truncated = None
    exact = True
    if profiles and examples and sum(p.rows for p in profiles):
        # A profile may be a sample of the file: its counts are carried over to the rows that are trained on.
        share = examples / sum(p.rows for p in profiles)
        tokens = _sum([p.tokens for p in profiles], share)
        trainable = _sum([p.trainable_tokens for p in profiles], share)
        truncated = _sum([p.truncated_examples for p in profiles], share)
        exact = share == 1 and all(p.exact for p in profiles)
    if packs(document):
        cutoff = document.integer("cutoff_len") or 2048
        examples = math.ceil(tokens / cutoff) if tokens else None
    per_epoch = total = None
    why = "" if examples is not None else "packed: the number of sequences needs the model's tokenizer (--model)"
    if examples and (batch := global_batch(document, world)):
        per_epoch = max(math.ceil(examples / batch), 1)
        steps = document.integer("max_steps") or -1
        total = steps if steps > 0 else math.ceil(per_epoch * (document.number("num_train_epochs") or 3.0))
    elif examples:
        why = "the number of cards is not stated (--gpu)"
    return Accounting(file=document.file, rows=rows, used_rows=used, examples=examples, tokens=tokens, trainable_tokens=trainable,
                      truncated_examples=truncated, steps_per_epoch=per_epoch, total_steps=total, unknown=why, exact=exact)  # fmt: skip


def packs(document: ConfigDocument) -> bool:
    """Whether rows are joined into full sequences; LLaMA-Factory's pre-training does so unless told otherwise."""
    asked = document.flag("packing") or document.flag("neat_packing")
    return asked or (document.settings.get("stage") == "pt" and document.settings.get("packing") is None)


def _sum(values: list[int | None], share: float) -> int | None:
    known = [v for v in values if v is not None]
    return round(sum(known) * share) if len(known) == len(values) else None


def global_batch(document: ConfigDocument, world: World) -> int | None:
    """Examples per optimizer step, where the number of cards is known."""
    if world.world_size is None:
        return None
    default = 1 if document.kind == "axolotl" else 8
    micro = document.integer("per_device_train_batch_size") or default
    return micro * (document.integer("gradient_accumulation_steps") or 1) * world.world_size
