"""GRPO: a batch that does not hold whole groups of generations."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from papertrain.configs.checking.document import ConfigDocument, Wrong, set_to
from papertrain.configs.checking.world import World
from papertrain.configs.checks._launch import commands, nodes, number, processes_per_node
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source
from papertrain.facts.frameworks.load import framework, release

# Up to 0.16 the group had to fit into one forward batch of all cards; from 0.17 on, into one optimizer step.
ACCUMULATION_COUNTS = "0.17"


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if document.role not in ("grpo", "rloo") and not (
        document.role == "script" and "num_generations" in document.settings
    ):
        return
    generations = document.integer("num_generations") or (2 if document.role == "rloo" else 8)
    if generations < 2:
        yield Wrong(
            says=say("`num_generations` is {n}: an advantage needs at least 2", n=generations),
            at=("num_generations",),
            instead=document.shown("num_generations", 8),
        )
        return
    cards = world.world_size or _processes(world)
    if cards is None:
        return
    micro = document.integer("per_device_train_batch_size") or 8
    steps = document.integer("gradient_accumulation_steps") or 1
    version = world.version("trl") or framework("trl").version
    counts = release(version or "1") >= release(ACCUMULATION_COUNTS)
    batch = document.integer("generation_batch_size") or (
        micro * cards * (document.integer("steps_per_generation") or steps) if counts else micro * cards
    )
    if batch % generations == 0:
        return
    product = f"{cards} × {micro}" + (f" × {steps}" if counts else "")
    fewer = max((n for n in range(2, generations + 1) if batch % n == 0), default=None)
    ways = []
    if fewer:
        ways.append(document.shown("num_generations", fewer))
    more = steps * (generations // gcd(batch, generations))
    if counts:
        ways.append(document.shown("gradient_accumulation_steps", more))
        edits = (set_to("gradient_accumulation_steps", value=more),)
    else:
        right = micro * (generations // gcd(batch, generations))
        ways.append(document.shown("per_device_train_batch_size", right))
        edits = (set_to("per_device_train_batch_size", value=right),)
    rule = (
        say("one optimizer step (cards × batch × accumulation)")
        if counts
        else say("one batch of all cards (cards × batch)")
    )
    yield Wrong(
        says=say("{batch} completions per {rule} = {product} do not make whole groups of {generations} generations (TRL {version}): {ways}; both change the algorithm",
                 batch=batch, rule=rule, product=product, generations=generations, version=version, ways=say(" or ").join(ways)),
        at=("num_generations",) if document.has("num_generations") else ("per_device_train_batch_size",),
        instead=say(" or ").join(ways), edits=edits, effect="experiment",
    )  # fmt: skip


def _processes(world: World) -> int | None:
    """The number of processes that an accelerate config or a command among the files states."""
    # An accelerate file belongs to this run where it is checked beside it, not where a folder holds many.
    beside = [d for d in world.documents if d.kind == "accelerate"]
    if len(beside) == 1 and len({d.file for d in world.documents}) <= 3 and (n := beside[0].integer("num_processes")):
        return n
    for command in (c for d in world.documents for c in commands(d)):
        if "num_processes" in command.options:  # of all machines, as accelerate counts
            return number(command.options["num_processes"][0])
        if "nproc_per_node" in command.options:
            each, machines = processes_per_node(command)[0], nodes(command)[0] if "nnodes" in command.options else 1
            return each * machines if each and machines else None
    return None


RULE = Rule(
    id="TR313",
    name="grpo-generations",
    level="error",
    status="stable",
    check=check,
    applies="trl trainer",
    effect="experiment",
    what="The batch of a GRPO run cannot be divided into whole groups of `num_generations`.",
    why="TRL refuses before the first step; which batch it divides depends on its version.",
    known_problems="Needs the number of cards: --gpu, or an accelerate file or command beside it.",
    source=Source(
        kind="code",
        ref="trl 0.15.2 and 0.16.1 grpo_trainer.py (`global train batch size`), 0.17.0 (`effective train batch size`), 1.16.0 grpo_config.py (generation_batch_size)",
    ),
    fires="== with gpu=7x A100-80GB\n== g.yaml\nmodel_name_or_path: m\ndataset_name: d\nnum_generations: 8\nper_device_train_batch_size: 1\n",
    quiet="== with gpu=8x A100-80GB\n== g.yaml\nmodel_name_or_path: m\ndataset_name: d\nnum_generations: 8\nper_device_train_batch_size: 1\n",
)
