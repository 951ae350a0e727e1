"""The best model is asked for, and saving does not follow evaluation."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, set_to
from papertrain.configs.checking.world import World
from papertrain.configs.checks._common import unread, word
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if not document.flag("load_best_model_at_end") or document.role in ("export", "chat", "override"):
        return
    if document.kind == "axolotl" and (document.has("evals_per_epoch") or document.has("saves_per_epoch")):
        return
    evaluates, saves = word(document, "eval_strategy", "no"), word(document, "save_strategy", "steps")
    if document.has("evaluation_strategy") and not document.has("eval_strategy"):
        evaluates = word(document, "evaluation_strategy", "no")
    if document.kind == "axolotl" and not document.has("eval_strategy"):
        evaluates = "steps" if document.has("eval_steps") else saves
    if saves == "best" or any(
        unread(document.get(k)) for k in ("eval_strategy", "evaluation_strategy", "save_strategy")
    ):
        return
    if evaluates != saves:
        right = evaluates if evaluates != "no" else saves if saves != "no" else "steps"
        edits = tuple(
            set_to(key, value=right)
            for key, now in (("eval_strategy", evaluates), ("save_strategy", saves))
            if now != right
        )
        yield Wrong(
            says=say("`load_best_model_at_end` needs the same strategy to evaluate and to save: they are {evaluates} and {saves}", evaluates=evaluates, saves=saves),
            at=("load_best_model_at_end",), instead="; ".join(document.shown(str(e.path[0]), right) for e in edits), edits=edits,
        )  # fmt: skip
    elif saves == "steps":
        yield from _multiple(document)


def _multiple(document: ConfigDocument) -> Iterator[Wrong]:
    every = document.number("save_steps") or 500
    evaluates = document.number("eval_steps") or document.number("logging_steps") or 500
    if min(every, evaluates) <= 0 or (every < 1) != (evaluates < 1):
        return
    ratio = every / evaluates
    if abs(ratio - round(ratio)) < 1e-6 and ratio >= 1:
        return
    right = max(round(ratio), 1) * evaluates
    shown = int(right) if right == int(right) else right
    yield Wrong(
        says=say("`load_best_model_at_end` needs `save_steps` to be a multiple of `eval_steps`: {every:g} is not a multiple of {evaluates:g}", every=every, evaluates=evaluates),
        at=("save_steps",) if document.has("save_steps") else ("load_best_model_at_end",),
        instead=document.shown("save_steps", shown), edits=(set_to("save_steps", value=shown),),
    )  # fmt: skip


RULE = Rule(
    id="TR309",
    name="best-model-strategies",
    level="error",
    status="stable",
    check=check,
    effect="experiment",
    applies="llamafactory trl axolotl trainer",
    what="`load_best_model_at_end` with a save strategy, or an interval, that does not fit the evaluation's.",
    why="The Trainer refuses: the best model could not have been saved.",
    source=Source(
        kind="code",
        ref="transformers 5.24.0 training_args.py, __post_init__; llamafactory 0.9.5: `requires the saving steps to be a round multiple of the evaluation steps`",
    ),
    fires="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nval_size: 0.1\nload_best_model_at_end: true\neval_strategy: steps\neval_steps: 6\nsave_steps: 7\n",
    quiet="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nval_size: 0.1\nload_best_model_at_end: true\neval_strategy: steps\neval_steps: 6\nsave_steps: 12\n",
)
