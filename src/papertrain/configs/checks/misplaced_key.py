"""A key of the framework that stands in the wrong place."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Edit, Wrong
from papertrain.configs.checking.world import World
from papertrain.configs.checks._keys import TRAIN, keys
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source
from papertrain.facts.frameworks.load import framework

VERBS = {"chat": "chat", "export": "export", "evaluate": "eval"}


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if document.role == "script":
        return
    table = keys(document, world)
    for name, value in document.settings.items():
        if name in table or document.role in ("v1", "megatron"):
            continue
        if document.kind == "deepspeed":
            yield from _deepspeed(document, name, value)
        elif document.kind == "accelerate" and (home := _accelerate_home(name)):
            yield Wrong(
                says=say("`{key}` belongs inside `{home}`: at the top level accelerate stops at it", key=name, home=home),
                at=(name,), instead=f"{home}: {{{name}: …}}",
                edits=(Edit(op="drop", path=(name,)), Edit(op="set", path=(home, name), value=value)),
            )  # fmt: skip
        elif (
            document.kind == "llamafactory"
            and document.role in VERBS
            and name in framework("llamafactory").known(*TRAIN)
        ):
            verb = VERBS[document.role]
            yield Wrong(
                says=say("`{key}` is a setting of training: `llamafactory-cli {verb}` stops at it", key=name, verb=verb),
                at=(name,), instead=say("remove `{key}`", key=name), edits=(Edit(op="drop", path=(name,)),),
            )  # fmt: skip
        elif document.kind == "trl" and (other := _other_trainer(document.role, name)):
            yield Wrong(says=say("`{key}` is a setting of `trl {other}`: `trl {role}` stops at it", key=name, other=other, role=document.role),
                        at=(name,), instead=say("remove `{key}`, or start `trl {other}`", key=name, other=other), edits=(Edit(op="drop", path=(name,)),), effect="experiment")  # fmt: skip


def _deepspeed(document: ConfigDocument, name: str, value: object) -> Iterator[Wrong]:
    for home in ("zero_optimization", "fp16"):
        if name in framework("deepspeed").sections[home] and name != "enabled":
            yield Wrong(
                says=say("`{key}` belongs inside `{home}`: at the top level DeepSpeed passes it over in silence", key=name, home=home),
                at=(name,), instead=f'"{home}": {{"{name}": …}}',
                edits=(Edit(op="drop", path=(name,)), Edit(op="set", path=(home, name), value=value)),
                effect="experiment" if home == "fp16" else None,
            )  # fmt: skip
            return


def _accelerate_home(name: str) -> str | None:
    sections = framework("accelerate").sections
    return next(
        (
            home
            for home in ("fsdp_config", "deepspeed_config")
            if name in sections[home] or (home == "fsdp_config" and name.startswith("fsdp_"))
        ),
        None,
    )


def _other_trainer(role: str, name: str) -> str | None:
    sections = framework("trl").sections
    return next((s for s in sections if s != role and name in sections[s]), None) if role in sections else None


RULE = Rule(
    id="TR202",
    name="misplaced-key",
    level="error",
    status="stable",
    check=check,
    applies="llamafactory trl deepspeed accelerate",
    what="A key that the framework has, in a place where it is not read.",
    why='DeepSpeed takes any key at the top level and ignores it: `"stage": 3` there trains without ZeRO.',
    source=Source(
        kind="code",
        ref="deepspeed 0.19.8 runtime/config.py; accelerate 1.15.0 commands/config/config_args.py; llamafactory 0.9.5 hparams/parser.py",
    ),
    fires='== ds.json\n{"train_micro_batch_size_per_gpu": 2, "stage": 3, "zero_optimization": {}}\n',
    quiet='== ds.json\n{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 3}}\n',
)
