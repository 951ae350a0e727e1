"""A chat template that is not the model's."""

from __future__ import annotations

import re
from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, set_to
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source
from papertrain.facts.frameworks.load import chat_template, framework

# Template families whose members differ in how they treat reasoning, tools or pictures, not in their special tokens.
_KIN = (
    {"qwen", "chatml"}, {"qwen3", "qwen3_nothink"}, {"qwen3_5", "qwen3_5_nothink", "qwen3_6"}, {"qwen3_vl", "qwen3_vl_nothink"},
    {"qwen3_omni", "qwen3_omni_nothink"}, {"ernie", "ernie_nothink"}, {"gemma", "gemma2"}, {"smollm", "smollm2", "chatml"},
    {"deepseek3", "deepseekr1"}, {"mistral", "ministral", "mistral_small"}, {"yi", "chatml"}, {"glm4_moe", "glm4_7"}, {"llama3", "mllama"},
)  # fmt: skip
# A template for raw text belongs to every model; `default` is a format of its own, which a chat model was not trained on.
_ANY = {"default", "empty", "fewshot"}
# Models that are not in the registry under this very name (a local folder, a fine-tune), by what their names begin with.
_FAMILIES = (
    (r"qwen3[-_.]?vl", "qwen3_vl"), (r"qwen2(\.5)?[-_.]?vl", "qwen2_vl"), (r"qwen3\.5", "qwen3_5"), (r"qwen3(?![.\d])", "qwen3"), (r"qwen(1\.5|2|2\.5)(?![-_.]?(vl|omni|audio))", "qwen"),
    (r"(meta-)?llama-?3", "llama3"), (r"(meta-)?llama-?2", "llama2"), (r"gemma-?3", "gemma3"), (r"gemma-?2", "gemma2"), (r"mistral-7b", "mistral"),
    (r"deepseek-r1", "deepseekr1"), (r"phi-?4(?!-mini)", "phi4"), (r"smollm2", "smollm2"), (r"yi-1\.5|yi-(6|34)b", "yi"),
)  # fmt: skip


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    model = document.get("model_name_or_path") or world.model
    used = document.settings.get("template")
    if (
        not isinstance(model, str)
        or not isinstance(used, str)
        or (used in _ANY and (used != "default" or document.settings.get("stage") == "pt"))
        or used not in framework("llamafactory").more["templates"]
    ):
        return
    right = template_of(model)
    if right is None or used == right or any(used in kin and right in kin for kin in _KIN):
        return
    reasoning = right in framework("llamafactory").more["reasoning"]
    silent = (
        reasoning
        and document.settings.get("enable_thinking") is not False
        and document.role in ("chat", "export", "train", "eval")
    )
    instead = f"template: {right}" + (
        say(" (and `enable_thinking: false` where no answer holds reasoning)") if silent else ""
    )
    yield Wrong(
        says=say(
            "template `{used}` is not that of {model}: write `template: {right}`",
            used=used,
            model=model.rstrip("/").rpartition("/")[2],
            right=right,
        )
        + (say(" with `enable_thinking: false` unless the answers hold reasoning") if silent else ""),
        at=("template",),
        instead=instead,
        edits=(set_to("template", value=right),),
        level="warning" if used in _ANY else None,
    )


def template_of(model: str) -> str | None:
    """The template of a model by the registry, else by the beginning of its name; None for a base model or a stranger."""
    if found := chat_template(model):
        return found
    name = model.rstrip("/\\").replace("\\", "/").rpartition("/")[2].lower()
    if name in _known() or re.search(r"(^|[-_.])base($|[-_.])", name):
        return None
    if not re.search(r"instruct|chat|[-_.]it($|[-_.])|qwen3|r1", name):
        return None
    return next((template for pattern, template in _FAMILIES if re.match(pattern, name)), None)


def known_model(model: str) -> bool:
    """Whether the registry has the model, with a template or as a base model."""
    return model.rstrip("/\\").replace("\\", "/").rpartition("/")[2].lower() in _known()


def _known() -> set[str]:
    return {repo.rpartition("/")[2].lower() for repo in framework("llamafactory").more["models"]}


RULE = Rule(
    id="TR304",
    name="wrong-template",
    level="error",
    status="stable",
    check=check,
    applies="llamafactory",
    effect="experiment",
    what="The chat template belongs to another model family.",
    why="The special tokens are unknown to the tokenizer: the model trains on text it has never seen, and does not stop when it answers.",
    known_problems="A base model may take any template: the rule is quiet for it, and for models that nobody knows.",
    source=Source(
        kind="code", ref="llamafactory 0.9.5 extras/constants.py: register_model_group(…, template=…), 917 repositories"
    ),
    fires="== infer.yaml\nmodel_name_or_path: Qwen/Qwen3-8B\ntemplate: llama3\ninfer_backend: vllm\n",
    quiet="== infer.yaml\nmodel_name_or_path: Qwen/Qwen3-8B\ntemplate: qwen3\ninfer_backend: vllm\n",
)
