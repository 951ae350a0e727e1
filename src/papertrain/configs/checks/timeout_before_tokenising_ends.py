"""The ranks that wait give up before rank 0 has tokenised the data."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.accounting import data_files
from papertrain.configs.checking.document import ConfigDocument, Wrong, set_to
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.units import show_seconds
from papertrain.core.values import Source

# One process of a fast tokenizer with LLaMA-Factory's template code, in rows of a few hundred tokens.
ROWS_PER_SECOND = 700
DEFAULT_SECONDS = 1800


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if (
        not document.trains
        or document.role == "override"
        or (world.world_size or 1) < 2
        or document.settings.get("streaming") is True
        or document.settings.get("tokenized_path")
    ):
        return
    counted = [world.rows(path) for _, path in data_files(document, world) if path]
    rows = sum(r for r in counted if r is not None)
    workers = document.integer("preprocessing_num_workers") or 1
    timeout = document.number("ddp_timeout") or DEFAULT_SECONDS
    needed = rows / ROWS_PER_SECOND / max(workers, 1)
    if rows and needed > 0.8 * timeout:
        yield Wrong(says=say("tokenising {rows:,} rows takes about {needed} with {n} workers, and the other ranks wait {timeout}", rows=rows, needed=show_seconds(needed), n=workers, timeout=show_seconds(timeout)),
                    at=("ddp_timeout",) if document.has("ddp_timeout") else (), instead="ddp_timeout: 180000000" if document.kind == "llamafactory" else "ddp_timeout: 36000",
                    edits=(set_to("ddp_timeout", value=180000000 if document.kind == "llamafactory" else 36000),))  # fmt: skip


RULE = Rule(
    id="TR413",
    name="timeout-before-tokenising-ends",
    level="warning",
    status="preview",
    check=check,
    applies="llamafactory trl",
    what="Tokenising on rank 0 outlasts the timeout of the process group.",
    why="All other ranks wait at a barrier; after `ddp_timeout` NCCL ends the run, with a message about a collective.",
    known_problems="The speed of tokenising is assumed, not measured on the machine.",
    source=Source(kind="assumed", ref="700 rows per second and process; measure your own"),
    fires='== with gpu=8x A100-80GB\n== t.yaml\nstage: sft\ndo_train: true\ntemplate: qwen\nfinetuning_type: lora\nmodel_name_or_path: m\noutput_dir: o\ndataset: rows\ndataset_dir: .\nddp_timeout: 1\n== dataset_info.json\n{"rows": {"file_name": "rows.jsonl"}}\n== rows.jsonl\n'
    + '{"instruction": "a", "output": "b"}\n' * 1000,
    quiet='== with gpu=8x A100-80GB\n== t.yaml\nstage: sft\ndo_train: true\ntemplate: qwen\nfinetuning_type: lora\nmodel_name_or_path: m\noutput_dir: o\ndataset: rows\ndataset_dir: .\n== dataset_info.json\n{"rows": {"file_name": "rows.jsonl"}}\n== rows.jsonl\n'
    + '{"instruction": "a", "output": "b"}\n' * 10,
)
