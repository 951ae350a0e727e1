"""Topics that `explain` has words on, beside what has an id of its own."""

from __future__ import annotations

from pathlib import Path

from papertrain.core.commands import line, quoted
from papertrain.core.texts import say
from papertrain.core.wide import padded
from papertrain.evidence.test_set import TOPIC
from papertrain.report.plan import wrapped
from papertrain.verbs.explaining.answer import Answer

STUDY = ("study.toml", "study")


def test_set(id: str, where: Path | None, method: str | None) -> Answer | None:
    """How a study gets the file that its results are measured on, and what else study.toml may hold."""
    if id.lower() not in (TOPIC, *STUDY):
        return None
    from papertrain.core.workspace import Workspace

    space = None if where is None else Workspace.open(where if where.is_dir() else where.parent)
    work = quoted("work" if space is None else space.root)
    data = None if space is None else space.study.datasets[0]
    name = "NAME" if data is None else data.name
    run = "METHOD.DATA.SEED" if space is None else next((r.id for r in space.grid()), "METHOD.DATA.SEED")
    rows = (
        (say("add it"), f"papertrain plan {work} --test FILE", say("a file with the columns of the training data; its rows are predicted after training")),
        (say("by hand"), f'[datasets.{name}]  test = "FILE"', say("in study.toml, seen from the workspace; then papertrain generate")),
        (say("or bring"), f"runs/{run}/predictions.csv", say("id, label and prediction of each row, from a program of your own: evaluate scores them")),
        (say("baselines"), '[methods.NAME]  kind = "command"  command = "…"', say("{data_train} {data_test} {seed} {out} are filled in; it writes predictions.csv into {out}", data_train="{data_train}", data_test="{data_test}", seed="{seed}", out="{out}")),
        (say("seeds"), "[study]  seeds = [1, 2, 3]", say("each method is run with each; three or more make a spread that can be tested")),
        (say("cells"), say("method × data set × seed"), say("papertrain status shows them, papertrain launch --missing runs the open ones")),
    )  # fmt: skip
    body = [""]
    for label, what, why in rows:
        body += [f"  {padded(label, 10)} {what}", *wrapped(" " * 13, why)]
    if data is None:
        result = say("a result is measured on rows that training never saw: the test set of the study")
    elif data.test:
        result = say("the test set of {data} is {file}", data=data.name, file=data.test)
    else:
        result = say("the study names no test set for {data} yet", data=data.name)
    return Answer(
        id=TOPIC,
        kind="topic",
        result=result,
        body="\n".join(body) + "\n",
        explanation=say("a score on training or validation rows is no result: they chose the weights"),
        action="papertrain plan --help" if space is None else line("papertrain", "status", space.root),
        data={"topic": TOPIC, "test": None if data is None else data.test},
    )
