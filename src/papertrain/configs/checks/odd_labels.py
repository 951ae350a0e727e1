"""Labels that may be slips of the pen: written almost as another one, or standing in one row only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.models import OddLabel
from papertrain.core.texts import say
from papertrain.core.values import Source

NAMED = 5


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    found = world.profile(document.path) if document.path is not None else None
    for line, says in in_words(found.odd_labels, found.labels) if found is not None else ():
        yield Wrong(says=says, line=line, instead=say("write each class in one way, and leave out what is none"))


def in_words(odd: Sequence[OddLabel], counts: dict[str, int]) -> Iterator[tuple[int, str]]:
    """(first line, what is odd): one sentence for each label that is almost another, one for all that stand alone."""
    for one in (o for o in odd if o.like):
        yield one.line, say(
            "label {label} ({n} rows, first in line {line}) is {like} ({m} rows) but for case or blanks: it is trained as a class of its own",
            label=repr(one.label), n=f"{one.rows:,}", line=one.line, like=repr(one.like), m=f"{counts[one.like]:,}",
        )  # fmt: skip
    once = [o for o in odd if not o.like]
    if once:
        names = ", ".join(say("{label} in line {line}", label=repr(o.label), line=o.line) for o in once[:NAMED])
        more = say(" and {n} more", n=len(once) - NAMED) if len(once) > NAMED else ""
        yield (
            once[0].line,
            say("labels with one row only, each a class of its own: {names}{more}", names=names, more=more),
        )


RULE = Rule(
    id="TR362",
    name="odd-labels",
    level="warning",
    status="stable",
    check=check,
    applies="data",
    effect="experiment",
    what="Labels that differ only by case or blanks, or that stand in one row only.",
    why="Each of them is a class of its own: the head grows, true answers count as wrong, and macro averages fall.",
    known_problems="A class that really has one row is named too. Labels that differ by more than case and blanks are not compared.",
    source=Source(kind="rule", ref="a classifier knows a class by its exact label"),
    fires="== d.jsonl\n" + "".join(f'{{"text": "film {i}", "label": "{x}"}}\n' for i, x in enumerate(("good", "bad", "good", "bad", "Good"))),
    quiet="== d.jsonl\n" + "".join(f'{{"text": "film {i}", "label": "{x}"}}\n' for i, x in enumerate(("good", "bad", "good", "bad"))),
)  # fmt: skip
