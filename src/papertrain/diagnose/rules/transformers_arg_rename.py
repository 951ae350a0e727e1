"""An argument has another name in the installed transformers."""

import re

from papertrain.core.findings import LogLine
from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix
from papertrain.diagnose.rules import _keys as keys

RENAMED: dict[str, tuple[bool, str, str]] = {
    "evaluation_strategy": (True, "eval_strategy", "transformers 4.46"),
    "eval_strategy": (False, "evaluation_strategy", "transformers 4.41"),
    "tokenizer": (True, "processing_class", "transformers 5.0"),
    "processing_class": (False, "tokenizer", "transformers 4.46"),
    "no_cuda": (True, "use_cpu", "transformers 5.0"),
    "use_cpu": (False, "no_cuda", "transformers 4.34"),
    "max_seq_length": (True, "max_length", "trl 0.20"),
    "group_by_length": (True, "train_sampling_strategy", "transformers 5.0"),
    "train_sampling_strategy": (False, "group_by_length", "transformers 5.0"),
    "warmup_ratio": (True, "warmup_steps", "transformers 5.24"),
    "logging_dir": (True, "TENSORBOARD_LOGGING_DIR (an environment variable)", "transformers 5.0"),
    "overwrite_output_dir": (True, "nothing (it is gone)", "transformers 5.0"),
    "save_safetensors": (True, "nothing (always safetensors)", "transformers 5.0"),
    "per_gpu_train_batch_size": (True, "per_device_train_batch_size", "transformers 5.0"),
    "per_gpu_eval_batch_size": (True, "per_device_eval_batch_size", "transformers 5.0"),
    "include_inputs_for_metrics": (True, "include_for_metrics", "transformers 5.0"),
    "adafactor": (True, "optim", "transformers 5.0"),
    "use_auth_token": (True, "token", "transformers 5.0"),
    "torch_dtype": (True, "dtype", "transformers 5.0"),
    "dtype": (False, "torch_dtype", "transformers 4.56"),
    "activation_checkpointing": (False, "gradient_checkpointing", "transformers 5.24"),
    "dataset_text_field": (True, "SFTConfig(dataset_text_field=…)", "trl 0.13"),
    "packing": (True, "SFTConfig(packing=…)", "trl 0.13"),
    "num_items_in_batch": (
        True,
        "compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None)",
        "transformers 4.46",
    ),
}
"""refused name → (the old name?, the other name, the release that changed it)."""


def judge(case: Case) -> Match | None:
    for line in case.find(*RULE.sig):
        m = re.search(r"unexpected keyword argument '(\w+)'", line.text) or re.search(r"\['?(\w+)'?\]", line.text)
        if m and m[1] in RENAMED:
            old_refused, new, since = RENAMED[m[1]]
            there = case.facts.get("version:transformers")
            seen = f" The log says transformers {there}." if there else ""
            if old_refused:
                says = (
                    f" The old name `{m[1]}` is refused: the library is newer than the script ({since}); write `{new}`."
                    + seen
                )
                fixes = (
                    fix(
                        f"write {new} instead of {m[1]}",
                        sets={"rename:" + m[1]: new},
                        proof="TrainingArguments is accepted",
                    ),
                    fix(
                        "or the older library",
                        f'pip install "transformers<{since.split()[-1]}"',
                        proof="the import passes",
                    ),
                )
            else:
                says = (
                    f" The new name `{m[1]}` is refused: the library is older than the script; it came with {since}."
                    + seen
                )
                fixes = (
                    fix("a newer library", "pip install -U transformers trl", proof="TrainingArguments is accepted"),
                    fix(f"or write {new}, the older name", sets={"rename:" + m[1]: new}),
                )
            return RULE.found(0.96, [line], cause=RULE.why + says, remedies=fixes)
        if found := moved(case, line) or of_model_code(line):
            return found
    return None


TRAINERS = ("SFT", "DPO", "GRPO", "PPO", "KTO", "ORPO", "CPO", "Reward", "RLOO", "OnlineDPO", "GKD", "BCO", "XPO", "NashMD", "PRM", "IterativeSFT")  # fmt: skip
_TRL = re.compile(rf"\b(({'|'.join(TRAINERS)})(Trainer|Config))(?:\.__init__\(\))? got an unexpected keyword argument '(\w+)'")  # fmt: skip
_LACKS = re.compile(r"'TrainingArguments' object has no attribute '(\w+)'")
MOVED = frozenset({
    "beta", "loss_type", "label_smoothing", "label_pad_token_id", "padding_value", "truncation_mode", "max_length", "max_prompt_length", "max_target_length",
    "max_completion_length", "is_encoder_decoder", "disable_dropout", "generate_during_eval", "precompute_ref_log_probs", "dataset_num_proc", "model_init_kwargs",
    "ref_model_init_kwargs", "model_adapter_name", "ref_adapter_name", "reference_free", "force_use_ref_model", "f_divergence_type", "sync_ref_model",
    "dataset_batch_size", "dataset_kwargs", "neftune_noise_alpha", "num_of_sequences", "chars_per_token", "eval_packing", "desirable_weight", "undesirable_weight",
})  # fmt: skip
"""What TRL's trainers took themselves before 0.13, and take through their …Config since."""


def moved(case: Case, line: LogLine) -> Match | None:
    """An argument of TRL that is in another place, or in another release."""
    if m := _LACKS.search(line.text):
        files = {x[1].replace("_", "") for e in case.exceptions for f in e.frames if (x := re.search(r"trl/trainer/(\w+?)_trainer", f))}  # fmt: skip
        config = next((f"{t}Config" for t in TRAINERS if t.lower() in files), "")
        name = config or "DPOConfig"
        says = f" This trainer reads `{m[1]}` from its own config, and was given transformers' TrainingArguments."
        return RULE.found(0.9, [line], title="TRL's trainer wants its own config, not TrainingArguments", cause=RULE.why + says, remedies=(
            fix(f"{config or 'the config of this trainer (SFTConfig, DPOConfig, …)'} in place of TrainingArguments", f"args = {name}(output_dir=…, …)   # from trl import {name}; the same fields and the trainer's own", proof="the trainer is built"),
            PINNED,
        ))  # fmt: skip
    m = _TRL.search(line.text)
    if m is None or (m[3] == "Config" and keys.meant(m[4], "trl", "transformers")):
        return None
    version = case.facts.get("version:trl")
    seen = f" The log says trl {version}." if version else ""
    if m[3] == "Trainer" and m[4] in MOVED:
        config = f"{m[2]}Config"
        says = f" `{m[4]}` belongs into `{config}` since trl 0.13; before, only some releases had it." + seen
        there = fix(f"give it to {config}", f"args = {config}({m[4]}=…, output_dir=…); {m[1]}(args=args, …)", proof="the trainer is built")  # fmt: skip
        return RULE.found(0.93, [line], title=f"{m[1]} takes `{m[4]}` through its config", cause=RULE.why + says, remedies=(there, PINNED))  # fmt: skip
    says = f" `{m[4]}` is no argument of {m[1]} in this trl: gone, or of another release, or of a changed copy." + seen
    return RULE.found(0.75, [line], title=f"This trl's {m[1]} does not know `{m[4]}`", cause=RULE.why + says, remedies=(
        PINNED, fix(f"or leave {m[4]} out", f"python -c 'import trl, inspect; print(inspect.signature(trl.{m[1]}))'", proof="the trainer is built"),
    ))  # fmt: skip


_MODEL_CODE = re.compile(r"\b\w+(?:Model|ForCausalLM|ForConditionalGeneration|PreTrainedModel|LMHeadModel|Tokenizer)\.(\w+)\(\) got an unexpected keyword argument '(\w+)'")  # fmt: skip
CALLS = {"_set_gradient_checkpointing": "4.35", "_pad": "4.45"}
"""Methods that transformers calls with more arguments since that release, and that code beside old weights still overrides."""


def of_model_code(line: LogLine) -> Match | None:
    """Code that came with the model's weights (trust_remote_code), called as a newer transformers calls it."""
    m = _MODEL_CODE.search(line.text)
    if m is None or m[1] not in CALLS:
        return None
    since = CALLS[m[1]]
    says = f" The code beside the model's weights overrides `{m[1]}` as it was before transformers {since}, which calls it with `{m[2]}`."  # fmt: skip
    return RULE.found(0.9, [line], title="The model's own code is older than this transformers", cause=RULE.why + says, remedies=(
        fix("the transformers that the model's code was written for (its README or config.json says it)", f'pip install "transformers<{since}"', "grep transformers_version config.json", proof="the model is built"),
        fix("or a newer revision of the model's code, where there is one", "from_pretrained(…, revision=<newest>, trust_remote_code=True)", proof="the model is built"),
    ))  # fmt: skip


PINNED = fix(
    "the trl that the script was written for (its requirements name it), or the newest with the script changed",
    'pip install "trl==<version>"   # pip index versions trl; or: pip install -U trl',
    proof="the trainer is built",
)


RULE = cause(
    "TR575",
    "transformers-arg-rename",
    "environment",
    title="An argument has another name in the installed transformers",
    judge=judge,
    sig=(
        "unexpected keyword argument",
        "'TrainingArguments' object has no attribute",
        "Some keys are not used by the HfArgumentParser",
    ),
    why="The library renamed it: the refused name tells whether the library is newer or older than the script.",
    next_check="pip show transformers trl | grep -E 'Name|Version'",
    kinds=(
        (
            "cannot import name '\\w+' from '(?:transformers|trl|huggingface_hub|datasets|tokenizers|sentence_transformers|diffusers)\\b|module '(?:transformers|trl|datasets|diffusers)[\\w.]*' has no attribute",
            "ImportError: cannot import name 'top_k_top_p_filtering' from 'transformers'",
        ),
        (
            "\\b(?:load_adapter|from_pretrained|forward|compute_loss|training_step|save_model|prediction_step|evaluate|log|(?!__init__)_\\w+)\\(\\) got an unexpected keyword argument|(?:Trainer|Arguments|For\\w+|Model|Collator\\w*)\\.__init__\\(\\) got an unexpected|TypeError: __init__\\(\\) got an unexpected keyword argument '(?:\\w*_strategy|\\w*_steps|\\w*loss\\w*|tokenizer|processing_class|\\w*callback\\w*|max_\\w+|\\w*dataset\\w*|\\w*eval\\w*|[fb]f?p?16|\\w*ratio|\\w*batch\\w*|optim\\w*|lr_\\w+|learning_rate|use_\\w+|torch_\\w+|device_map|attn_\\w+|load_in_\\w+|trust_remote_code|token)'",
            "TypeError: save_model() got an unexpected keyword argument '_internal_call'",
        ),
        (
            "missing \\d+ required positional arguments?: .{0,160}@ .{0,200}(?:transformers|trl|peft)/",
            "TypeError: _prepare_inputs() missing 1 required positional arguments: 'num_items' @ site-packages/transformers/trainer.py:training_step",
        ),
    ),
    kind_confidence=0.45,
    fires="TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'evaluation_strategy'",
    quiet="TypeError: train() got an unexpected keyword argument 'colour'",
)
