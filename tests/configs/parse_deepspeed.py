"""Read generated JSON with DeepSpeed's own parser, and the "auto" files after the Trainer has filled them. Runs in .envs/deepspeed.

python parse_deepspeed.py FOLDER: *_standalone.json and the script's as they are, *_auto.json with the arguments in *_args.json.
"""

import contextlib
import io
import json
import os
import sys
from pathlib import Path

os.environ["DS_ACCELERATOR"] = "cpu"
from deepspeed.runtime.config import DeepSpeedConfig
from transformers import LlamaConfig, LlamaForCausalLM, TrainingArguments

MODEL = LlamaForCausalLM(
    LlamaConfig(hidden_size=64, intermediate_size=128, num_hidden_layers=1, num_attention_heads=4, vocab_size=100)
)

for path in sorted(Path(sys.argv[1]).glob("*.json")):
    if path.name.endswith("_args.json"):
        continue
    document = json.loads(path.read_text())
    line = {"file": path.name}
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            if path.name.endswith("_auto.json"):
                given = json.loads(path.with_name(path.name.replace("_auto", "_args")).read_text())
                args = TrainingArguments(
                    output_dir="/tmp/none", use_cpu=True, report_to="none", deepspeed=document, **given
                )
                args.hf_deepspeed_config.trainer_config_finalize(args, MODEL, 100)
                document = args.hf_deepspeed_config.config
                line["left_auto"] = "auto" in json.dumps(document)
            else:
                # One process reads what is meant for several: the product must be that of one.
                per_device = document["train_micro_batch_size_per_gpu"] * document["gradient_accumulation_steps"]
                document["train_batch_size"] = min(document.get("train_batch_size", per_device), per_device)
            read = DeepSpeedConfig(document)
        line |= {"stage": int(read.zero_config.stage), "micro": read.train_micro_batch_size_per_gpu, "accumulation": read.gradient_accumulation_steps,
                 "clipping": read.gradient_clipping, "bf16": bool(read.bfloat16_config.enabled), "fp16": bool(read.float16_config.enabled),
                 "offload": read.zero_config.offload_optimizer is not None, "overlap": bool(read.zero_config.overlap_comm)}  # fmt: skip
    except Exception as error:
        line["refused"] = f"{type(error).__name__}: {str(error)[:300]}"
    print(json.dumps(line), flush=True)
