"""Read generated YAML with LLaMA-Factory's own parsers, both of them. Runs in .envs/llamafactory: FOLDER of *.yaml → JSON lines.

The dictionary path finds unknown keys, the argument path types and choices; each lets pass what the other finds.
"""

import contextlib
import io
import json
import os
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
# A deepspeed file may be named only under a distributed launcher; here it is read on its own.
from llamafactory.hparams import get_train_args
from omegaconf import OmegaConf

KEPT = ("learning_rate", "per_device_train_batch_size", "gradient_accumulation_steps", "num_train_epochs", "warmup_steps", "weight_decay", "max_grad_norm",
        "seed", "cutoff_len", "lora_rank", "lora_alpha", "lora_dropout", "template", "stage", "finetuning_type", "packing", "neat_packing", "pref_beta", "pref_loss",
        "eval_steps", "save_steps", "early_stopping_steps", "use_dora", "use_rslora", "quantization_bit", "flash_attn")  # fmt: skip


def words(values):
    out = []
    for key, value in values.items():
        out += [f"--{key}", json.dumps(value) if isinstance(value, dict) else str(value)]
    return out


def held(groups):
    found = {}
    for group in groups:
        found |= {k: getattr(group, k) for k in KEPT if hasattr(group, k)}
        if hasattr(group, "lr_scheduler_type"):
            found |= {"lr_scheduler_type": str(getattr(group.lr_scheduler_type, "value", group.lr_scheduler_type)), "optim": str(getattr(group.optim, "value", group.optim)),
                      "bf16": group.bf16, "fp16": group.fp16}  # fmt: skip
    return found


for path in sorted(Path(sys.argv[1]).glob("*.yaml")):
    values = OmegaConf.to_container(OmegaConf.load(path))
    changed = {"use_cpu": True, "output_dir": f"/tmp/none-{path.stem}", "report_to": "none"}
    values = {k: v for k, v in values.items() if k not in ("deepspeed", "pure_bf16", "reward_model")} | changed
    if "reward_model" in OmegaConf.load(path):
        values["reward_model"] = "model"
    line = {"file": path.name}
    for name, given in (("dict", dict(values)), ("argv", words(values))):
        errors = io.StringIO()
        try:
            with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
                line[name] = held(get_train_args(given))
        except (Exception, SystemExit) as error:
            line[name] = f"{type(error).__name__}: {error} {errors.getvalue()[-300:]}"
    print(json.dumps(line), flush=True)
