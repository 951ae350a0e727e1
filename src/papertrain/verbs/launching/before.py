"""What is said of the chosen cells before they start, and what stops them in standard mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from papertrain.core.commands import line
from papertrain.core.errors import Refused
from papertrain.core.texts import say
from papertrain.core.workspace import Run, Workspace
from papertrain.run.cards import cards_here

if TYPE_CHECKING:
    from papertrain.core.values import Mode
    from papertrain.verbs.launching.ready import Ready


def too_few_cards(todo: Sequence[Ready]) -> list[str]:
    """Trainings that would start here with more processes than this machine has cards for."""
    have = cards_here()
    here = [one for one in todo if not one.start.submits and not one.on_cpu and one.target != "command"]
    if have is None:
        return []
    return [
        say("{run} wants {n} cards, and this machine shows {have}", run=one.run.id, n=one.program.devices, have=have)
        for one in here
        if one.program.devices > have
    ]


def without_cards(space: Workspace, todo: Sequence[Ready]) -> Refused | None:
    """Several processes without a card for each would share one, or crawl on the processor: nobody means that unasked."""
    few = too_few_cards([one for one in todo if one.program.devices > 1])
    if not few:
        return None
    return Refused(
        few[0], code="too-few-cards", command=line("papertrain", "plan", space.root, "--gpu", _cards_here()),
        ask=["start it on the machine that has them, or submit it: --launcher slurm", "start it here all the same: --launcher torchrun", "or plan for what is here"],
    )  # fmt: skip


def _cards_here() -> str:
    """This machine as `--gpu` takes it."""
    from papertrain.facts.detect import detect_compute

    have = cards_here()
    found = detect_compute() if have else None
    return f"{have}x {found.gpu.label}" if found else "cpu"


def stale(space: Workspace, chosen: Sequence[Run], mode: Mode) -> list[str]:
    """Config files of an older plan: a warning, a refusal in standard mode."""
    made, found = space.state("generated.json"), []
    for method in dict.fromkeys(c.method for c in chosen):
        if space.plan_path(method).is_file() and method in made and made[method] != space.plan_digest(method):
            text = say("the plan of {method} changed after its files were written", method=method)
            if mode == "standard":
                raise Refused(
                    text,
                    code="stale",
                    file=space.root / "configs" / method,
                    command=line("papertrain", "generate", space.root),
                )
            found.append(text + ": " + line("papertrain", "generate", space.root))
    return found


def too_large(space: Workspace, chosen: Sequence[Run]) -> list[str]:
    from papertrain.core import ways

    study = space.study
    methods = dict.fromkeys(c.method for c in chosen if study.method(c.method).kind == "train")
    return [large for m in methods if (large := ways.too_large(space.plan(m)))]


def unscored(space: Workspace, chosen: Sequence[Run]) -> list[str]:
    """Trainings that will leave nothing to score, since nothing names what they should predict."""
    study = space.study
    lacking = [c.data for c in chosen if study.method(c.method).kind == "train" and not study.data(c.data).test]
    return [say("the study names no test set for {data}, so there will be no result to score: `papertrain plan WORK --test FILE` adds one", data=d) for d in dict.fromkeys(lacking)]  # fmt: skip


def preflight(space: Workspace, todo: Sequence[Ready], mode: Mode) -> list[str]:
    """`check` on the files that will be read: an error is a warning here, a refusal in standard mode."""
    from papertrain.verbs.check import check

    files = sorted(
        {
            space.root / f
            for one in todo
            for f in one.files
            if f.endswith(("train.yaml", "sft.yaml", "dpo.yaml")) and one.target != "command"
        }
    )
    if not files:
        return []
    errors = [f for f in check(files).data.get("findings", []) if f.get("level") == "error"]
    told = [
        say("check {rule}: {says} ({file}:{line})", rule=f["rule"], says=f["says"], file=f["file"], line=f["line"])
        for f in errors[:5]
    ]
    if errors and mode == "standard":
        raise Refused(
            say("check finds {n} errors: {first}", n=len(errors), first=told[0]),
            code="check-failed",
            file=files[0],
            command=line("papertrain", "check", files[0]),
        )
    return told
