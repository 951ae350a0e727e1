"""Read generated YAML with Axolotl's own schema and its cross checks, as on a machine with such cards. Runs in .envs/axolotl: FOLDER → JSON lines.

*.yaml with a *.card beside it: compute capability and number of cards.
"""

import contextlib
import io
import json
import os
import sys
from pathlib import Path

os.environ |= {"HF_HUB_OFFLINE": "1", "AXOLOTL_DO_NOT_TRACK": "1"}
import importlib.metadata

import torch
import transformers
import yaml
from axolotl.utils.config import validate_config
from axolotl.utils.dict import DictDefault

HELD = ("adapter", "micro_batch_size", "gradient_accumulation_steps", "num_epochs", "learning_rate", "lr_scheduler", "warmup_steps", "weight_decay", "optimizer",
        "max_grad_norm", "bf16", "fp16", "gradient_checkpointing", "seed", "eval_steps", "save_steps", "lora_r", "lora_alpha", "lora_dropout", "sequence_len",
        "sample_packing", "peft_use_dora", "peft_use_rslora", "load_in_4bit", "early_stopping_patience", "deepspeed", "attn_implementation")  # fmt: skip

print(
    json.dumps({"axolotl": importlib.metadata.version("axolotl"), "transformers": transformers.__version__}), flush=True
)
for path in sorted(Path(sys.argv[1]).glob("*.yaml")):
    line = {"file": path.name}
    capability, cards = path.with_suffix(".card").read_text().split()
    values = DictDefault(yaml.safe_load(path.read_text()))
    major = int(capability.partition("_")[2] or 0)
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
            read = validate_config(
                values,
                capabilities={
                    "bf16": major >= 80,
                    "tf32": major >= 80,
                    "n_gpu": int(cards),
                    "compute_capability": capability,
                },
                env_capabilities={"torch_version": torch.__version__.split("+")[0]},
            )
        known = set(type(read)(read))
        line["held"] = {k: read.get(k) for k in HELD if read.get(k) is not None}
        line["lost"] = sorted(k for k, v in values.items() if v is not None and k not in known)
    except Exception as error:
        line["refused"] = f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"
    print(json.dumps(line, default=str), flush=True)
