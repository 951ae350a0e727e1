"""A key that the framework does not know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from papertrain.configs.checking.document import ConfigDocument, Edit, Wrong, rename, show_setting
from papertrain.configs.checking.world import World
from papertrain.configs.checks._keys import DEEPSPEED_SECTIONS, TRAIN, beside, ever, keys, meant
from papertrain.configs.checks._weight import slip, weighs
from papertrain.core.errors import nearest
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source
from papertrain.facts.frameworks.load import Key, framework, renamed


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if document.role in ("script", "megatron"):
        return
    table = keys(document, world)
    known = world.framework(document)
    old = ever(document)
    # A TRL file is also read by scripts that add keys of their own to TRL's.
    extends = document.kind == "trl" and document.format in ("yaml", "json")
    reader = f"{NAMES.get(document.kind, document.kind)} {known.version}"
    for name, value in document.settings.items():
        if name in table or name in beside(document) or name in old or renamed(document.kind, name):
            continue
        if _elsewhere(document, name) or _remark(name):
            continue
        if document.kind == "llamafactory" and document.role == "evaluate" and name == "split":
            yield _split(document, value, reader)
            continue
        lax = not document.strict or document.kind == "deepspeed" or extends
        guess = meant(name, table, document.settings, sure=lax)
        if extends and guess is None:
            yield _of_a_script(document, name, reader)
            continue
        yield _unknown(document, (name,), value, guess, reader, strict=document.strict and document.kind != "deepspeed")
    if document.kind == "deepspeed":
        yield from _sections(document, known.sections, reader)
    if document.kind == "accelerate":
        yield from _nested(document, "fsdp_config", known.sections["fsdp_config"], reader, strict=False)
        yield from _nested(document, "deepspeed_config", known.sections["deepspeed_config"], reader, strict=False)


def _of_a_script(document: ConfigDocument, name: str, reader: str) -> Wrong:
    return Wrong(
        says=say("`{key}` is not a key of {reader}: `trl {role}` stops at it, unless a script of your own reads it", key=name, reader=reader, role=document.role),
        at=(name,), instead=say("remove `{key}`, or run it with the script that reads it", key=name), level="warning",
    )  # fmt: skip


def _remark(name: str) -> bool:
    """JSON has no comments, so people write them as keys; YAML anchors want a home too."""
    return name.startswith(("_", "x-", "//", "#", ".")) or name in ("comment", "comments", "anchors")


def _elsewhere(document: ConfigDocument, name: str) -> bool:
    """Keys that belong to another place of the same framework are another rule's."""
    if document.kind == "llamafactory":
        return document.role in ("chat", "export", "evaluate") and name in framework("llamafactory").known(*TRAIN)
    if document.kind == "deepspeed":
        return any(name in s for k, s in framework("deepspeed").sections.items() if k in ("zero_optimization", "fp16"))
    if document.kind == "trl":
        return name in framework("trl").known()
    if document.kind == "accelerate":
        return name.startswith(("fsdp_", "zero", "offload_", "deepspeed_"))
    return False


def _split(document: ConfigDocument, value: Any, reader: str) -> Wrong:
    task = str(document.settings.get("task") or "mmlu")
    joined = task if task.endswith(f"_{value}") else f"{task}_{value}"
    return Wrong(
        says=say("`split` is not a key of {reader}: the split is part of the task's name", reader=reader),
        at=("split",),
        instead=f"task: {joined}",
        edits=(Edit(op="set", path=("task",), value=joined), Edit(op="drop", path=("split",))),
    )


def _sections(document: ConfigDocument, sections: dict[str, dict[str, Key]], reader: str) -> Iterator[Wrong]:
    """Sections of DeepSpeed that are models forbid other keys; the rest let them pass in silence."""
    for section in DEEPSPEED_SECTIONS:
        forbids = section not in ("activation_checkpointing", "optimizer", "scheduler")
        yield from _nested(document, section, sections[section], reader, strict=forbids)
    yield from _optimizer(document)
    for part in ("offload_param", "offload_optimizer"):
        inner = document.at("zero_optimization", part)
        if not isinstance(inner, dict):
            continue
        for name, value in inner.items():
            table = sections[f"zero_optimization.{part}"]
            if name not in table:
                guess = meant(name, table, inner)
                yield _unknown(document, ("zero_optimization", part, name), value, guess, reader, strict=True)


# What the Adam family takes, with DeepSpeed's own additions; others take more, so only these are judged.
ADAM = ("lr", "betas", "eps", "weight_decay", "torch_adam", "adam_w_mode", "bias_correction", "amsgrad", "fused", "foreach", "cuda_aware", "comm_backend_name", "freeze_step")  # fmt: skip
MEANT = {"learning_rate": "lr", "wd": "weight_decay", "epsilon": "eps", "adam_epsilon": "eps", "decay": "weight_decay"}


def _optimizer(document: ConfigDocument) -> Iterator[Wrong]:
    """`params` go to the optimizer as they are: an unknown one is a TypeError when it is built."""
    params = document.at("optimizer", "params")
    if not isinstance(params, dict) or str(document.at("optimizer", "type")).lower() not in ("adam", "adamw"):
        return
    for name, value in params.items():
        if name not in ADAM:
            guess = MEANT.get(name) or nearest(name, ADAM, cutoff=0.75)
            yield _unknown(
                document,
                ("optimizer", "params", name),
                value,
                guess if guess not in params else None,
                "Adam",
                strict=True,
            )


def _nested(
    document: ConfigDocument, section: str, table: dict[str, Key], reader: str, *, strict: bool
) -> Iterator[Wrong]:
    inner = document.settings.get(section)
    if not isinstance(inner, dict):
        return
    for name, value in inner.items():
        if name not in table:
            yield _unknown(
                document, (section, name), value, meant(name, table, inner, sure=not strict), reader, strict=strict
            )


def _unknown(
    document: ConfigDocument, path: tuple[str, ...], value: Any, guess: str | None, reader: str, *, strict: bool
) -> Wrong:
    shown, where = path[-1], " in `" + ".".join(path[:-1]) + "`" if len(path) > 1 else ""
    # A family of keys that grows with every release: a stranger among them is more likely new than wrong.
    new = shown.startswith("kt_") or document.role == "v1"
    if guess:
        instead = show_setting(document.format, guess, "…" if isinstance(value, (dict, list)) else value)
        consequence = say("it stops at this key") if strict else say("it passes this key over in silence")
        return Wrong(
            says=say("`{key}`{where} is not a key of {reader}: {consequence}; write `{guess}`", key=shown, where=where, reader=reader, consequence=consequence, guess=guess),
            at=path, instead=instead, edits=(rename(*path, new=guess),), level="error",
            # What was passed over in silence takes effect once it is renamed; what is not the same word is a guess.
            effect="experiment" if weighs(guess) and not (strict and slip(shown, guess)) else None,
        )  # fmt: skip
    consequence = say("it stops at this key") if strict else say("it passes this key over in silence")
    return Wrong(
        says=say("`{key}`{where} is not a key of {reader}: {consequence}; remove it", key=shown, where=where, reader=reader, consequence=consequence),
        at=path, instead=say("remove `{key}`", key=shown), edits=(Edit(op="drop", path=path),), level="error" if strict and not new else "warning",
        # Nothing reads a key that is passed over; where it stops the run, what it was meant to do is not known.
        effect="experiment" if strict else None,
    )  # fmt: skip


NAMES = {"llamafactory": "LLaMA-Factory", "trl": "TRL", "axolotl": "Axolotl", "trainer": "transformers", "deepspeed": "DeepSpeed", "accelerate": "accelerate"}  # fmt: skip

RULE = Rule(
    id="TR201",
    name="unknown-key",
    level="error",
    status="stable",
    check=check,
    applies="llamafactory trl axolotl trainer deepspeed accelerate",
    what="A key that the framework does not have, often a misspelling or another framework's name for the same thing.",
    why="Strict readers stop after the model is loaded; DeepSpeed and Axolotl read on, and the run differs from the file.",
    known_problems="A key that is newer than the versions on record looks unknown: the answer says up to which version it knows.",
    source=Source(
        kind="code",
        ref="llamafactory 0.9.5 hparams/parser.py (unused keys raise); deepspeed 0.19.8 runtime/config.py (top level is not checked)",
    ),
    fires="== lora.yaml\nstage: sft\nfinetuning_type: lora\ntemplate: qwen\nlora_rankk: 8\n",
    quiet="== lora.yaml\nstage: sft\nfinetuning_type: lora\ntemplate: qwen\nlora_rank: 8\n",
)
