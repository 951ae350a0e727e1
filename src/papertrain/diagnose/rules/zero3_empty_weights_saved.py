"""The saved weights are ZeRO-3 placeholders of size 0."""

import re

from papertrain.core.findings import LogLine, RuledOut
from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix

_LISTED = re.compile(r"^[-rwx.@+]{10,12}\s+\d+\s+\S+\s+\S+\s+(\d+|[\d.]+[KM])\s.*\b(adapter_model|pytorch_model|model)\.(?:bin|safetensors)\s*$")  # fmt: skip
ZERO3 = ("zero_to_fp32", "Parameter Offload: Total persistent", "global_step ~ global_step\\d+", "zero3 ~ (?i)zero3|zero-3|z3_config")  # fmt: skip


def small(case: Case) -> list[LogLine]:
    """Listed weights far too small for any model (an adapter: below 100 kB), in a run under ZeRO-3."""
    if case.facts.number("zero_stage") != 3 and not case.find(*ZERO3):
        return []
    out = []
    for line in case.find("adapter_model.", "pytorch_model.", "model.safetensors"):
        if m := _LISTED.match(line.text):
            size = float(m[1].rstrip("KM")) * {"K": 2**10, "M": 2**20}.get(m[1][-1], 1)
            if size < (1e5 if m[2] == "adapter_model" else 2e6):
                out.append(line)
    return out


def judge(case: Case) -> Match | None:
    hits = case.find(
        "torch.Size([0])",
        "size mismatch ~ Size\\(\\[[01]\\]\\) from checkpoint, the shape in current model is torch\\.Size\\(\\[\\d{2,}",
    )
    missing = case.find(
        "no file named ~ (?i)global_step\\d+|zero_to_fp32",
        "global_step ~ (?i)(no|without|missing).{0,40}(pytorch_model|model\\.safetensors|model file).{0,80}global_step|global_step\\d+.{0,80}(no|without|missing).{0,40}model",
        "didn't save the model under ZeRO",
        "Please use `zero_to_fp32.py`",
        "stage3_gather_16bit_weights_on_model_save=false",
    )
    if hits:
        return RULE.found(
            0.95,
            hits[:2],
            ruled_out=(
                RuledOut(
                    cls="low-score-model-init",
                    because="the checkpoint's shape is [0]: a placeholder, not another model",
                ),
            ),
        )
    if tiny := small(case):
        return RULE.found(0.88, [*tiny[:1], *missing[:1], *case.find(*ZERO3)[:1]])
    if not missing:
        return None
    return RULE.found(0.85, missing[:2])


RULE = cause(
    "TR549",
    "zero3-empty-weights-saved",
    "deepspeed-parallel",
    title="The saved weights are ZeRO-3 placeholders of size 0",
    branch="result",
    why="Under ZeRO-3 each rank holds a piece; without gathering, the model file has empty tensors. It is not a wrong model: ignore_mismatched_sizes would load random weights.",
    judge=judge,
    sig=(
        "size mismatch ~ torch\\.Size\\(\\[[01]\\]\\) from checkpoint",
        "torch.Size([0])",
        "no file named",
        "global_step",
        "adapter_model.",
        "pytorch_model.",
        "model.safetensors",
        *ZERO3,
        "didn't save the model under ZeRO",
        "Please use `zero_to_fp32.py`",
        "stage3_gather_16bit_weights_on_model_save=false",
    ),
    next_check="ls global_step*/ zero_to_fp32.py   # in the checkpoint's folder",
    fixes=(
        fix(
            "put the pieces together (keep the global_step folder: it holds the weights)",
            "python checkpoint-500/zero_to_fp32.py checkpoint-500 checkpoint-500/gathered",
            proof="the file has the model's size; loading reports no mismatch",
        ),
        fix("gather when saving from now on", sets={"gather_16bit": True}),
    ),
    fires="RuntimeError: Error(s) in loading state_dict for LlamaForCausalLM:\n\tsize mismatch for model.embed_tokens.weight: copying a param with shape torch.Size([0]) from checkpoint, the shape in current model is torch.Size([32000, 4096]).\n\tYou may consider adding `ignore_mismatched_sizes=True` in the model `from_pretrained` method.",
    quiet="size mismatch for lm_head.weight: copying a param with shape torch.Size([32001, 4096]) from checkpoint, the shape in current model is torch.Size([32000, 4096]).",
)
