"""The model has no modules of the names in target_modules."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR598",
    "lora-target-not-found",
    "not-learning",
    title="The model has no modules of the names in target_modules",
    why="Each architecture names its projections differently (query_key_value, c_attn, W_pack, q_proj).",
    sig=(
        "not found in the base model",
        "Please specify `target_modules` in `peft_config`",
        "No `modules_to_save` found",
        "No modules were targeted for adaptation",
        "only the following modules are supported ~ Target module",
        "Target modules ~ Target modules? .*not (?:found|supported)",
    ),
    confidence=0.96,
    next_check="python -c \"import torch; print({n.split('.')[-1] for n, m in model.named_modules() if isinstance(m, torch.nn.Linear)})\"",
    fixes=(
        fix(
            "all linear layers",
            sets={"lora_targets": "all-linear"},
            effect="experiment",
            proof="the printed 'trainable params' is above 0",
        ),
    ),
    kinds=(
        (
            "(?:target|trainable|lora|adapter|peft).{0,20}modules?\\b.{0,120}(?:not found|no match|does(?: not|n't) (?:contain|exist|match)|not (?:exist|supported|in the)|is empty|cannot be found)",
            "ValueError: lora_target_modules ['query'] do not match: the module does not exist",
        ),
        (
            "no parameters matched|no (?:linear|lora|target) (?:layers?|modules?) (?:were |was )?found|Module \\S+ (?:is )?not found, please choose",
            "ValueError: Module attn.qkv is not found, please choose from mlp, self_attn",
        ),
    ),
    fires="ValueError: Target modules {'q_proj', 'v_proj'} not found in the base model. Please check the target modules and try again.",
    quiet="target modules: q_proj, v_proj",
)
