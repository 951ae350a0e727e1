"""Which keys a document may hold, and where each of them belongs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from papertrain.configs.checking.document import ConfigDocument, Place
from papertrain.configs.checking.world import World
from papertrain.configs.checks._common import under_unsloth
from papertrain.core.errors import nearest
from papertrain.facts.frameworks.load import Framework, Key, framework, synonyms, versions

# What `llamafactory-cli chat`, `export` and `eval` read: not the training arguments.
_LLAMAFACTORY: dict[str, tuple[str, ...]] = {
    "export": ("model", "data", "finetuning", "generating"),
    "chat": ("model", "data", "finetuning", "generating"),
    "evaluate": ("model", "data", "evaluation", "finetuning"),
    "v1": ("v1",),
}
TRAIN = ("model", "data", "training", "finetuning", "generating")
# Keys that a program takes beside its own fields: TRL's config path, LLaMA-Factory's ray and accelerate leftovers.
_BESIDE: dict[str, frozenset[str]] = {
    "trl": frozenset(
        {"config", "env", "num_processes", "accelerate_config", "max_tool_calling_iterations", "dataset_kwargs"}
    ),
    # accelerate takes `fp16` of its first files over into `mixed_precision`.
    "accelerate": frozenset({"dynamo_backend", "gpu_ids", "deepspeed_hostfile", "mpirun_config", "fp16"}),
    "axolotl": frozenset({"cloud", "ray", "seed"}),
}
_SEQ2SEQ = frozenset(
    {"sortish_sampler", "predict_with_generate", "generation_max_length", "generation_num_beams", "generation_config"}
)
_AXOLOTL_CLI = frozenset({
    "launcher", "accelerate", "cloud", "sweep", "use_ray", "ray_num_workers", "num_processes", "main_process_port", "iterable", "debug", "debug_text_only", "debug_num_examples",
    "shard", "prompter", "gradio", "chat", "merge_lora", "dest",
})  # fmt: skip
# unsloth puts its own classes in the place of TRL's; they take these besides.
_UNSLOTH = frozenset({"max_seq_length", "vllm_sampling_params", "unsloth_num_chunks", "unsloth_logit_chunk_multiplier", "unsloth_grpo_mini_batch"})  # fmt: skip
DEEPSPEED_SECTIONS = ("zero_optimization", "fp16", "bf16", "activation_checkpointing", "tensorboard", "wandb", "csv_monitor", "comet", "comms_logger", "optimizer", "scheduler")  # fmt: skip


def sections(document: ConfigDocument) -> tuple[str, ...]:
    """The groups of the framework's keys that this document may use."""
    if document.kind == "llamafactory":
        return _LLAMAFACTORY.get(document.role, TRAIN)
    if document.kind == "trl":
        return (document.role,) if document.role in framework("trl").sections else ("sft",)
    return {"axolotl": ("main", "plugins"), "deepspeed": ("top",), "accelerate": ("main", "sagemaker")}.get(
        document.kind, ()
    )


def keys(document: ConfigDocument, world: World) -> dict[str, Key]:
    return world.framework(document).known(*sections(document))


def beside(document: ConfigDocument) -> frozenset[str]:
    if document.kind == "trl" and document.format == "shell":
        # `trl` hands what it does not know to `accelerate launch`.
        return _BESIDE["trl"] | frozenset(framework("accelerate").sections["launch"])
    more: frozenset[str] = frozenset()
    if document.part == "Seq2SeqTrainingArguments":
        more = _SEQ2SEQ
    elif document.kind == "axolotl" and document.format == "shell":
        more = _AXOLOTL_CLI
    elif document.kind == "trl" and under_unsloth(document):
        more = _UNSLOTH
    return _BESIDE.get(document.kind, frozenset()) | more


def typed(document: ConfigDocument, world: World) -> Iterator[tuple[Place, Any, Key]]:
    """(path, value, key) of every setting whose type is on record, nested sections of DeepSpeed included."""
    table = keys(document, world)
    for name, value in document.settings.items():
        if name in table:
            yield (name,), value, table[name]
    if document.kind == "deepspeed":
        yield from _nested(document.settings, world.framework(document))


def _nested(settings: dict[str, Any], known: Framework) -> Iterator[tuple[Place, Any, Key]]:
    for section in known.sections:
        path = tuple(section.split("."))
        here: Any = settings
        for part in path:
            here = here.get(part) if isinstance(here, dict) else None
        if section != "top" and isinstance(here, dict):
            for name, value in here.items():
                if name in known.sections[section]:
                    yield (*path, name), value, known.sections[section][name]


def ever(document: ConfigDocument) -> frozenset[str]:
    """Keys that any version on record of this framework knows."""
    name = {"trainer": "transformers"}.get(document.kind, document.kind)
    return frozenset(k for v in versions(name) for k in framework(name, v).known(*sections(document)))


def meant(name: str, table: dict[str, Key], taken: dict[str, Any], *, sure: bool = False) -> str | None:
    """The key that was probably meant: the same setting under this framework's name, or the nearest spelling.

    sure: only where hardly a letter differs, for readers that pass over what they do not know.
    """
    for other in synonyms(name):
        if other in table and other != name and other not in taken:
            return other
    low = name.lower().replace("-", "_")
    if low in table and low != name:
        return low
    found = nearest(name, table, cutoff=0.9 if sure else 0.78)
    return found if found and found not in taken else None
