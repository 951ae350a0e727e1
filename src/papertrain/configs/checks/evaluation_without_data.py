"""An evaluation is asked for, and there is nothing to evaluate on."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, set_to
from papertrain.configs.checking.world import World
from papertrain.configs.checks._common import word
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if document.role in ("chat", "export", "evaluate", "override", "script"):
        return
    if document.settings.get("eval_dataset") is not None or (document.number("val_size") or 0) > 1e-6:
        return
    asked = next(
        (k for k in ("do_eval", "do_predict", "predict_with_generate") if document.settings.get(k) is True), None
    )
    if asked is None and word(document, "eval_strategy", "no") not in ("no",):
        asked = "eval_strategy"
    if asked:
        yield Wrong(
            says=say("`{key}` asks for an evaluation, and neither `eval_dataset` nor `val_size` says on what", key=asked), at=(asked,),
            instead="val_size: 0.1", edits=(set_to("val_size", value=0.1),) if asked in ("do_eval", "eval_strategy") and document.role == "train" else (),
        )  # fmt: skip


RULE = Rule(
    id="TR323",
    name="evaluation-without-data",
    level="error",
    status="stable",
    check=check,
    applies="llamafactory",
    effect="experiment",
    what="The file evaluates or predicts, and names no data for it.",
    why="LLaMA-Factory stops: `Please make sure eval_dataset be provided or val_size >1e-6`.",
    source=Source(
        kind="measured", ref="llamafactory 0.9.5 get_train_args: do_eval with val_size 0 and no eval_dataset raises"
    ),
    fires="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\neval_strategy: steps\n",
    quiet="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\neval_strategy: steps\nval_size: 0.1\n",
)
