"""Early stopping without an evaluation that could stop it."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, set_to
from papertrain.configs.checking.world import World
from papertrain.configs.checks._common import word
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    key = "early_stopping_steps" if document.kind == "llamafactory" else "early_stopping_patience"
    if document.settings.get(key) is None or document.role in ("override", "script", "chat", "export"):
        return
    if document.kind == "llamafactory" and word(document, "eval_strategy", "no") == "no":
        yield Wrong(says=say("`{key}` counts evaluations, and `eval_strategy` is no: the callback stops with an assertion", key=key), at=(key,), instead='eval_strategy: steps',
                    edits=(set_to("eval_strategy", value="steps"),))  # fmt: skip
    elif (
        document.kind == "llamafactory"
        and not document.flag("load_best_model_at_end")
        and document.settings.get("metric_for_best_model") is None
    ):
        yield Wrong(
            says=say("`{key}` needs `metric_for_best_model`, or `load_best_model_at_end`, which sets it: without either the callback stops with an assertion", key=key), at=(key,),
            instead="load_best_model_at_end: true", edits=(set_to("load_best_model_at_end", value=True),),
        )  # fmt: skip
    elif document.kind == "axolotl" and not (
        document.has("eval_steps") or document.has("evals_per_epoch") or document.has("eval_strategy")
    ):
        yield Wrong(
            says=say("`{key}` counts evaluations, and none is asked for", key=key),
            at=(key,),
            instead="evals_per_epoch: 4",
            level="warning",
        )


RULE = Rule(
    id="TR344",
    name="early-stopping-without-evaluation",
    level="error",
    status="stable",
    check=check,
    applies="llamafactory axolotl",
    effect="experiment",
    what="Early stopping is set, and nothing is evaluated.",
    why="`EarlyStoppingCallback requires IntervalStrategy of steps or epoch`.",
    source=Source(
        kind="code",
        ref="transformers trainer_callback.py, EarlyStoppingCallback.on_train_begin; llamafactory 0.9.5 train/tuner.py",
    ),
    fires="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nearly_stopping_steps: 3\n",
    quiet="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nearly_stopping_steps: 3\neval_strategy: steps\nval_size: 0.1\nload_best_model_at_end: true\nmetric_for_best_model: eval_loss\n",
)
