"""Training, evaluation and serving that do not use the same template."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, set_to
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if document.role not in ("predict", "export", "chat", "eval"):
        return
    for other in world.documents:
        if other.kind != "llamafactory" or other.role != "train" or not _same_run(document, other):
            continue
        for key in ("template", "enable_thinking", "default_system"):
            theirs, ours = other.settings.get(key), document.settings.get(key)
            if theirs != ours and (theirs is not None or key == "template"):
                yield Wrong(
                    says=say("`{key}` is {ours} here and {theirs} in {file}, which trains: the model is asked in a form that it did not learn", key=key, ours=_word(ours), theirs=_word(theirs), file=other.file.rpartition("/")[2]),
                    at=(key,) if key in document.settings else (), instead=document.shown(key, theirs) if theirs is not None else say("remove `{key}`", key=key),
                    edits=(set_to(key, value=theirs),) if theirs is not None else (),
                )  # fmt: skip


def _word(value: object) -> str:
    return say("not given") if value is None else str(value).lower() if isinstance(value, bool) else f"{value}"


def _same_run(document: ConfigDocument, other: ConfigDocument) -> bool:
    """The adapter, or the model, that this file loads is what the other one writes."""
    out = other.settings.get("output_dir")
    named = [document.settings.get(k) for k in ("adapter_name_or_path", "model_name_or_path")]
    return isinstance(out, str) and any(isinstance(n, str) and n.rstrip("/").startswith(out.rstrip("/")) for n in named)


RULE = Rule(
    id="TR347",
    name="templates-differ",
    level="error",
    status="stable",
    check=check,
    applies="llamafactory",
    effect="experiment",
    what="The template, the reasoning switch or the system text differs between training and what comes after it.",
    why="The answers get worse for a reason that no metric shows, and the comparison in the paper is void.",
    known_problems="Only files of one check are compared, and only where one names what the other writes.",
    source=Source(kind="rule", ref="a model is evaluated in the form in which it was trained"),
    fires="== predict.yaml\nstage: sft\ndo_predict: true\npredict_with_generate: true\nfinetuning_type: lora\ntemplate: llama3\nmodel_name_or_path: /models/mine\nadapter_name_or_path: saves/a\neval_dataset: identity\noutput_dir: saves/p\n== also sft.yaml\nstage: sft\ndo_train: true\nfinetuning_type: lora\ntemplate: qwen\nmodel_name_or_path: /models/mine\ndataset: identity\noutput_dir: saves/a\n",
    quiet="== predict.yaml\nstage: sft\ndo_predict: true\npredict_with_generate: true\nfinetuning_type: lora\ntemplate: qwen\nmodel_name_or_path: /models/mine\nadapter_name_or_path: saves/a\neval_dataset: identity\noutput_dir: saves/p\n== also sft.yaml\nstage: sft\ndo_train: true\nfinetuning_type: lora\ntemplate: qwen\nmodel_name_or_path: /models/mine\ndataset: identity\noutput_dir: saves/a\n",
)
