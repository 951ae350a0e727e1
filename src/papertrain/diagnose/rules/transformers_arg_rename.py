"""An argument has another name in the installed transformers."""

import re

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix

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
    return None


RULE = cause(
    "TR575",
    "transformers-arg-rename",
    "environment",
    title="An argument has another name in the installed transformers",
    judge=judge,
    sig=("unexpected keyword argument", "Some keys are not used by the HfArgumentParser"),
    why="The library renamed it: the refused name tells whether the library is newer or older than the script.",
    next_check="pip show transformers trl | grep -E 'Name|Version'",
    fires="TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'evaluation_strategy'",
    quiet="TypeError: train() got an unexpected keyword argument 'colour'",
)
