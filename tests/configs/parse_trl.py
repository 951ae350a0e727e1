"""Read generated YAML with TRL's and accelerate's own parsers. Runs in .envs/trl and .envs/hf4: FOLDER → JSON lines.

*.trl.<verb>.yaml through the parser of `trl <verb>`, unknown keys refused; *.accelerate.yaml through that of `accelerate launch`.
Each has a *.processes beside it: how many would read it at once.
"""

import contextlib
import io
import json
import os
import sys
from pathlib import Path

os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error", "ACCELERATE_USE_CPU": "true"}
import accelerate
import transformers
import trl
import yaml

HELD = ("learning_rate", "per_device_train_batch_size", "gradient_accumulation_steps", "num_train_epochs", "warmup_steps", "weight_decay", "max_grad_norm", "seed", "bf16",
        "fp16", "gradient_checkpointing", "max_length", "max_completion_length", "packing", "beta", "eval_steps", "save_steps", "lora_r", "lora_alpha", "lora_dropout",
        "lora_target_modules", "use_peft", "use_dora", "use_rslora", "load_in_4bit", "attn_implementation", "num_generations", "model_name_or_path", "output_dir")  # fmt: skip


def parser(verb):
    """The parser that `trl VERB` builds, so that no data class of it is retyped here. A new one: it keeps a file's values as its defaults."""
    return __import__(f"trl.scripts.{verb}", fromlist=["make_parser"]).make_parser()


def as_if(processes):
    """A training of so many processes, seen by the arguments of one."""
    for one in [*transformers.TrainingArguments.__subclasses__(), transformers.TrainingArguments]:
        one.world_size = property(lambda self: processes)


def by_trl(path, verb, processes):
    values = yaml.safe_load(path.read_text())
    # The DeepSpeed file is read by DeepSpeed (parse_deepspeed.py), and a processor has no bf16 until it is told to be one.
    values = {k: v for k, v in values.items() if k != "deepspeed"} | {"use_cpu": True}
    copy = path.with_suffix(".copy")
    copy.write_text(yaml.safe_dump(values))
    chosen = parser(verb)
    as_if(processes)
    groups = chosen.parse_args_and_config(args=["--config", str(copy)], fail_with_unknown_args=True)
    held = {}
    for group in groups:
        held |= {k: getattr(group, k) for k in HELD if hasattr(group, k)}
        if hasattr(group, "lr_scheduler_type"):
            held |= {
                "lr_scheduler_type": str(getattr(group.lr_scheduler_type, "value", group.lr_scheduler_type)),
                "optim": str(getattr(group.optim, "value", group.optim)),
            }
        if hasattr(group, "datasets"):
            held["data_files"] = [d.data_files for d in group.datasets]
    return held


def by_accelerate(path):
    from accelerate.commands.config.config_args import load_config_from_file
    from accelerate.commands.launch import _validate_launch_command, launch_command_parser

    config = load_config_from_file(str(path))
    args = launch_command_parser().parse_args(["--config_file", str(path), "train.py"])
    args, *_ = _validate_launch_command(args)
    return {"distributed_type": str(getattr(config.distributed_type, "value", config.distributed_type)), "processes": args.num_processes, "machines": args.num_machines,
            "mixed_precision": args.mixed_precision, "fsdp_version": config.fsdp_config.get("fsdp_version"), "use_fsdp": bool(args.use_fsdp),
            "use_deepspeed": bool(args.use_deepspeed), "deepspeed_file": args.deepspeed_config_file if args.use_deepspeed else None}  # fmt: skip


print(
    json.dumps(
        {"trl": trl.__version__, "transformers": transformers.__version__, "accelerate": accelerate.__version__}
    ),
    flush=True,
)
for path in sorted(Path(sys.argv[1]).glob("*.yaml")):
    number, kind, *verb = path.name.removesuffix(".yaml").split(".")
    line = {"file": path.name}
    errors = io.StringIO()
    # Arguments leave their precision in the environment, where the next ones would find it.
    kept = dict(os.environ)
    try:
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
            processes = int(path.with_name(f"{number}.processes").read_text())
            line["held"] = by_trl(path, verb[0], processes) if kind == "trl" else by_accelerate(path)
    except (Exception, SystemExit) as error:
        line["refused"] = f"{type(error).__name__}: {str(error)[:300]} {errors.getvalue()[-300:]}"
    os.environ.clear()
    os.environ.update(kept)
    print(json.dumps(line, default=str), flush=True)
