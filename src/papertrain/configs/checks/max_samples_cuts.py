"""`max_samples` leaves rows out."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, drop
from papertrain.configs.checking.world import World, datasets
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    limit = document.integer("max_samples")
    if limit is None or limit < 1 or document.role in ("export", "chat"):
        return
    for name in datasets(document) or datasets(document, "eval_dataset"):
        path = world.data_file(document, name)
        rows = world.rows(path) if path else None
        if rows is not None and rows > limit:
            yield Wrong(
                says=say(
                    "{limit:,} of {rows:,} rows of `{name}` are used ({share:.1f} %): `max_samples` cuts each data set",
                    limit=limit,
                    rows=rows,
                    name=name,
                    share=100 * limit / rows,
                ),
                at=("max_samples",),
                instead=say("remove `max_samples`, or raise it to {rows}", rows=rows),
                edits=(drop("max_samples"),),
            )


RULE = Rule(
    id="TR305",
    name="max-samples-cuts",
    level="warning",
    status="stable",
    check=check,
    applies="llamafactory",
    effect="experiment",
    what="`max_samples` is smaller than a data set, so part of the rows is never read.",
    why="Example files carry `max_samples: 1000` for a quick try; left in place, it costs more than half of a small data set.",
    source=Source(
        kind="code",
        ref="llamafactory 0.9.5 data/loader.py: max_samples = min(data_args.max_samples, len(dataset)), per data set",
    ),
    fires='== s.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\ndataset: rows\ndataset_dir: .\nmax_samples: 2\n== dataset_info.json\n{"rows": {"file_name": "rows.jsonl"}}\n== rows.jsonl\n{"instruction": "a", "output": "b"}\n{"instruction": "c", "output": "d"}\n{"instruction": "e", "output": "f"}\n',
    quiet='== s.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\ndataset: rows\ndataset_dir: .\nmax_samples: 3\n== dataset_info.json\n{"rows": {"file_name": "rows.jsonl"}}\n== rows.jsonl\n{"instruction": "a", "output": "b"}\n{"instruction": "c", "output": "d"}\n{"instruction": "e", "output": "f"}\n',
)
