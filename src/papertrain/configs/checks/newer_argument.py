"""A name that came with a later version than the one at hand."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, drop, rename
from papertrain.configs.checking.world import World
from papertrain.configs.checks._keys import ever, keys
from papertrain.configs.checks._weight import weighs
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source
from papertrain.facts.frameworks.load import history, release, renamed_to


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    package = {"trainer": "transformers"}.get(document.kind, document.kind)
    at_hand = world.version(package)
    if at_hand is None or document.role == "script":
        return
    table = keys(document, world)
    for name in document.settings:
        if name in table or name not in ever(document):
            continue
        _, first = history(package, name)
        if first is None or release(first) <= release(at_hand):
            continue
        older = renamed_to(document.kind, name)
        back = older.old if older and older.old in table else None
        instead = document.shown(back, document.settings[name]) if back else say("remove `{key}`, or update", key=name)
        yield Wrong(
            says=say("`{key}` came with {package} {first} at the latest; {at_hand} is installed: {instead}", key=name, package=package, first=first, at_hand=at_hand,
                     instead=say("write `{old}`", old=back) if back else say("remove it, or update")),
            at=(name,), instead=instead, edits=(rename(name, new=back) if back else drop(name),),
            effect=None if back or not weighs(name) else "experiment",
        )  # fmt: skip


RULE = Rule(
    id="TR212",
    name="newer-argument",
    level="error",
    status="stable",
    check=check,
    applies="llamafactory trl trainer",
    what="A name that the installed version does not have yet.",
    why="An example for a newer release stops an older one at this name.",
    known_problems="Needs --env: without it the newest version on record is taken.",
    source=Source(kind="code", ref="training_args.py of transformers 4.40.2 to 5.24.0, compared"),
    fires='== with transformers=4.40.2\n== t.json\n{"per_device_train_batch_size": 4, "eval_strategy": "steps", "num_train_epochs": 1}\n',
    quiet='== with transformers=4.46.3\n== t.json\n{"per_device_train_batch_size": 4, "eval_strategy": "steps", "num_train_epochs": 1}\n',
)
