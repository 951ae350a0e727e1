#!/usr/bin/env python3
"""Fine-tune one model on one data set. One file, meant to be read, changed and kept beside the paper.

    python train.py                                     one device, as planned
    torchrun --nproc_per_node 4 train.py                several devices (DDP); the global batch stays the same
    accelerate launch --config_file fsdp2.yaml train.py FSDP2 or DeepSpeed
    python train.py --resume                            go on from the last checkpoint in --output_dir

Two tasks. `classification`: an encoder with a new head learns a label per text. `sft`: a causal language model learns
the answers; prompts carry no loss. Training data: jsonl, json, csv, tsv (also .gz .bz2 .xz) or parquet, with a text and
a label; instruction/input/output; messages or conversations; prompt/completion; or plain text.

In --output_dir: train_log.jsonl (a header, then one object per logged step), checkpoint-<step>/, model/ (the best by
validation loss, or the last), args.json, and after training predictions and eval_results.json of the test file.
SIGTERM or Ctrl-C: the step is finished, a checkpoint saved, and the exit status is 143 or 130. Reading order: main, train,
loss_sum, schedule.
"""

import argparse
import bz2
import contextlib
import csv
import gzip
import inspect
import itertools
import json
import lzma
import math
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
import transformers
from accelerate import Accelerator, DistributedType
from accelerate.utils import set_seed
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer, get_scheduler

IGNORE = -100  # a label that carries no loss, as torch's cross entropy spells it


def parse_args(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)

    def arg(name, default, what, why="", choices=None):
        text = f"{what} (default: {default!r}{'; ' + why if why else ''})".replace("%", "%%")
        if isinstance(default, bool):
            parser.add_argument(name, default=default, help=text, action=argparse.BooleanOptionalAction)
        else:
            parser.add_argument(name, default=default, help=text, type=type(default), choices=choices)

    # The model and the data
    arg("--model", "model", "folder of the pretrained model, or its name on the hub")
    arg("--task", "classification", "what is learned", choices=["classification", "sft"])
    arg("--train_file", "train.jsonl", "training data")
    arg("--validation_file", "", "validation data; without it a part of the training data is held out")
    arg("--validation_fraction", 0.1, "part of the training data held out where there is no validation file; 0 = none")
    arg("--test_file", "", "held-out data, predicted once after training")
    arg("--prompt_column", "", "sft: column of the question; empty = recognised by its usual names, as the next four")
    arg("--query_column", "", "sft: column of what is added to the question (alpaca's input)")
    arg("--response_column", "", "sft: column of the answer")
    arg("--messages_column", "", "sft: column of a whole conversation")
    arg("--text_column", "text", "column of the text")
    arg("--label_column", "label", "column of the label (classification)")
    arg("--num_labels", 0, "number of classes where labels are 0, 1, 2, ...; 0 = the values found in the training file")
    arg("--output_dir", "run", "folder of everything that this run writes")
    # The method
    arg("--method", "full", "which weights are trained", choices=["full", "lora", "qlora", "dora"])
    arg("--lora_rank", 16, "rank of the adapters")
    arg("--lora_alpha", 32, "scale of the adapters; their output is multiplied by alpha / rank")
    arg("--lora_dropout", 0.0, "dropout in front of the adapters")
    arg("--lora_targets", "all-linear", "modules that get adapters: all-linear, or names with commas")
    arg(
        "--precision", "fp32", "arithmetic; pure_bf16 keeps no fp32 copy", choices=["fp32", "bf16", "fp16", "pure_bf16"]
    )
    arg("--attention", "sdpa", "attention kernel: eager, sdpa, flash_attention_2")
    arg(
        "--gradient_checkpointing",
        "none",
        "recompute activations to save memory",
        choices=["none", "selective", "full"],
    )
    # The batches
    arg("--sequence_length", 256, "longer examples are cut")
    arg("--micro_batch_size", 32, "sequences per device and forward pass")
    arg("--global_batch_size", 32, "sequences per optimizer step over all devices; accumulation follows from it")
    arg("--packing", False, "sft: several examples in one sequence, each blind to the others")
    arg("--group_by_length", False, "examples of similar length in one step: less padding, but the steps differ more")
    # The optimizer
    arg("--epochs", 3.0, "passes over the training data")
    arg("--max_steps", 0, "stop after so many steps, and plan the schedule for them; 0 = as --epochs says")
    arg("--learning_rate", 2e-5, "peak learning rate")
    arg("--lr_scheduler", "linear", "decay after warm-up, by the names of transformers.get_scheduler")
    arg("--warmup_steps", 0, "steps from 0 to the peak learning rate")
    arg("--weight_decay", 0.01, "decay of weight matrices; biases and norms have none")
    arg("--optimizer", "adamw", "adamw, adamw_fused, adamw_8bit, paged_adamw_8bit, adafactor, sgd")
    arg("--max_grad_norm", 1.0, "gradients are scaled down to this norm")
    # The watch
    arg("--eval_steps", 0, "validation every so many steps; 0 = at the end of every epoch")
    arg("--save_steps", 0, "checkpoint every so many steps; 0 = at the end of every epoch")
    arg("--save_total_limit", 2, "older checkpoints are removed")
    arg("--early_stopping_patience", 0, "stop after so many validations without a lower loss; 0 = never")
    arg("--logging_steps", 1, "a log line every so many steps")
    arg("--max_new_tokens", 128, "sft: longest answer when the test file is predicted")
    arg("--seed", 42, "order of the data, new weights, dropout")
    arg("--longest_first", False, "the longest examples first: shows the peak of memory in the first steps")
    arg("--resume", False, "go on from the last checkpoint in --output_dir")
    return parser.parse_args(argv)


# ---------------------------------------------------------------------------------------------------------- data


def read_rows(path):
    """The rows of a file as dictionaries. Compressed files are read as they are."""
    path = Path(path)
    opener = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}.get(path.suffix, open)
    kind = (path if opener is open else path.with_suffix("")).suffix.lower().lstrip(".")
    if kind == "parquet":
        from datasets import load_dataset

        return [dict(row) for row in load_dataset("parquet", data_files=str(path), split="train")]
    if kind not in ("jsonl", "json", "csv", "tsv"):
        raise SystemExit(f"{path}: .{kind} is not read; write jsonl, json, csv, tsv or parquet")
    with opener(path, "rt", encoding="utf-8-sig", newline="") as lines:
        if kind == "json":
            return json.load(lines)
        if kind == "jsonl":
            return [json.loads(line) for line in lines if line.strip()]
        csv.field_size_limit(2**31 - 1)
        return list(csv.DictReader(lines, delimiter="\t" if kind == "tsv" else ","))


def asked_and_answered(question, answer):
    return [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]


def to_messages(row, args):
    """One row as chat messages. Plain text is one answer without a question: every token of it is learned."""
    asked = args.prompt_column or args.messages_column  # a column that was named goes before all recognised ones
    if not asked and args.text_column != "text" and args.text_column in row:
        return [{"role": "assistant", "content": row[args.text_column]}]
    usual = () if asked else ("messages", "conversations")
    named = args.messages_column or next((name for name in usual if name in row), "")
    if named in row:
        names = {"human": "user", "gpt": "assistant", "model": "assistant"}
        turns = row[named]
        turns = [(m.get("role") or m.get("from"), m.get("content") or m.get("value") or "") for m in turns]
        return [{"role": names.get(role, role), "content": text} for role, text in turns]
    prompt, query = args.prompt_column or "instruction", args.query_column or "input"
    answers = [args.response_column] if args.response_column else ["output", "response"]
    answer = next((name for name in answers if name in row), "")
    if prompt in row and answer and not isinstance(row[prompt], list):
        question = "\n".join(part for part in (row[prompt], row.get(query)) if part)
        system = [{"role": "system", "content": row["system"]}] if row.get("system") else []
        turns = [*(row.get("history") or ()), (question, row[answer] or "")]
        return system + [message for q, a in turns for message in asked_and_answered(q, a)]
    for q, a in (("prompt", "completion"), ("prompt", "response"), ("question", "answer"), ("query", "response")):
        if q in row and a in row:
            if isinstance(row[q], list):
                return [*row[q], *row[a]]
            return asked_and_answered(row[q], row[a])
    if args.text_column in row:
        return [{"role": "assistant", "content": row[args.text_column]}]
    raise ValueError(f"no question and answer in a row with the columns {', '.join(row)}")


def unfit(row, args):
    """Why a row is left out of training and scoring, as the plan left it out; empty where it is used."""
    if args.task == "classification":
        label, text = row.get(args.label_column), row.get(args.text_column)
        if label is None or isinstance(label, (list, dict)) or not str(label).strip():
            return f"{args.label_column} is missing"
        return "" if isinstance(text, str) and text.strip() else f"{args.text_column} is missing"
    try:
        messages = to_messages(row, args)
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        return str(error) or "no messages"
    if not all(isinstance(m.get("content"), str) and isinstance(m.get("role"), str) for m in messages):
        return "a message without text or role"
    said = [m for m in messages if m["role"] != "system"]
    if not said or said[-1]["role"] != "assistant":
        return "it ends without an answer"
    if len(said) > 1 and not all(m["content"] for m in said if m["role"] == "user"):
        return "the prompt is empty"
    if any(a["role"] == b["role"] for a, b in itertools.pairwise(said)):
        return "roles out of order"
    return "" if any(m["content"].strip() for m in said if m["role"] == "assistant") else "the answer is empty"


def usable(rows, args, name):
    """The rows that can be learned or scored, with their places; what is left out is told once."""
    reasons = [unfit(row, args) for row in rows]
    kept = [(i, row) for i, (row, why) in enumerate(zip(rows, reasons)) if not why]
    if len(kept) < len(rows):
        why = next(filter(None, reasons))
        print(f"{name}: {len(rows) - len(kept)} of {len(rows)} rows left out ({why})", file=sys.stderr)
    if not kept:
        raise SystemExit(f"{name}: nothing to learn in {len(rows)} rows" + (f": {why}" if rows else ""))
    return kept


def split(rows, fraction):
    """(rows to train on, rows held out). Drawn with a fixed seed of its own: runs with other seeds are validated on the same rows."""
    chosen = set(random.Random(0).sample(range(len(rows)), int(len(rows) * fraction + 1e-9)))
    return [row for i, row in enumerate(rows) if i not in chosen], [rows[i] for i in sorted(chosen)]


def render(tokenizer, messages, ask=False):
    """The messages as the model's own template writes them; models without one get a plain form."""
    if tokenizer.chat_template and messages[0]["role"] != "assistant":
        return tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=ask)
    text = "".join(m["content"] + (tokenizer.eos_token if m["role"] == "assistant" else "\n") for m in messages)
    return text if tokenizer.chat_template else (tokenizer.bos_token or "") + text


def chat_example(tokenizer, messages, length):
    """Token ids and labels. Each answer is what the template adds after its question; the rest is masked."""
    ids, labels, done = [], [], ""
    for i, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        before = render(tokenizer, messages[:i], ask=True) if i else ""
        whole = render(tokenizer, messages[: i + 1])
        if not whole.startswith(before) or not before.startswith(done):
            # Some templates rewrite earlier turns (reasoning is dropped): then only the last answer is learned.
            ids, labels, done = [], [], ""
        if not whole.startswith(before):
            before = whole[: next(i for i, (a, b) in enumerate(zip(before + "\0", whole + "\1")) if a != b)]
        for text, learned in ((before[len(done) :], False), (whole[len(before) :], True)):
            tokens = tokenizer(text, add_special_tokens=False)["input_ids"]
            ids += tokens
            labels += tokens if learned else [IGNORE] * len(tokens)
        done = whole
    return {"input_ids": ids[:length], "labels": labels[:length], "cut": len(ids) > length}


def make_examples(rows, tokenizer, args, labels):
    """Rows → token ids and labels. An example without anything to learn is left out and counted."""
    if args.task == "classification":
        texts = [row[args.text_column] for row in rows]
        given = [str(row[args.label_column]) for row in rows]
        if not args.num_labels and set(given) - set(labels):
            raise SystemExit(f"labels that the training file does not have: {sorted(set(given) - set(labels))[:5]}")
        numbers = [int(name) if args.num_labels else labels.index(name) for name in given]
        ids = tokenizer(texts, truncation=True, max_length=args.sequence_length)["input_ids"]
        return [{"input_ids": i, "labels": n, "cut": len(i) >= args.sequence_length} for i, n in zip(ids, numbers)]
    examples = [chat_example(tokenizer, to_messages(row, args), args.sequence_length) for row in rows]
    return [e for e in examples if any(label != IGNORE for label in e["labels"][1:])]


def pack(examples, length):
    """Examples side by side in sequences of at most `length` tokens. Positions start at 0 in each of them, by which the
    model tells them apart; the first label of each is masked, since nothing in its own text comes before it."""
    packs, open_packs = [], []
    for e in examples:
        room = [p for p in open_packs if len(p["input_ids"]) + len(e["input_ids"]) <= length]
        if not room:
            packs.append({"input_ids": [], "labels": [], "position_ids": [], "cut": False})
            open_packs = [*open_packs[-63:], packs[-1]]
        p = max(room, key=lambda p: len(p["input_ids"])) if room else packs[-1]
        p["input_ids"] += e["input_ids"]
        p["labels"] += [IGNORE, *e["labels"][1:]]
        p["position_ids"] += range(len(e["input_ids"]))
    return packs


def collate(examples, pad, masked=False):
    """One batch of tensors, padded on the right. `masked`: nothing in it is learned (it only keeps devices in step)."""
    width = max(len(e["input_ids"]) for e in examples)

    def rows(key, fill):
        return torch.tensor([list(e[key]) + [fill] * (width - len(e[key])) for e in examples])

    batch = {"input_ids": rows("input_ids", pad)}
    sizes = [len(e["input_ids"]) for e in examples]
    if "position_ids" in examples[0]:
        batch["position_ids"] = torch.tensor([[*e["position_ids"], *range(width - n)] for e, n in zip(examples, sizes)])
    else:
        batch["attention_mask"] = torch.tensor([[1] * n + [0] * (width - n) for n in sizes])
    one_label = isinstance(examples[0]["labels"], int)
    batch["labels"] = torch.tensor([e["labels"] for e in examples]) if one_label else rows("labels", IGNORE)
    if masked:
        batch["labels"] = torch.full_like(batch["labels"], IGNORE)
    return batch


def schedule(lengths, args, epoch):
    """The optimizer steps of one epoch, each a list of example numbers: a pure function of seed and epoch, so that a
    resumed run sees the same data without saving the sampler. The last step may be short; no example is dropped."""
    order = list(range(len(lengths)))
    size = args.global_batch_size
    if args.longest_first:
        order.sort(key=lambda i: -lengths[i])
        return [order[i : i + size] for i in range(0, len(order), size)]
    rng = random.Random(f"{args.seed}/{epoch}")
    rng.shuffle(order)
    steps, block = [], size * (16 if args.group_by_length else 1)
    for start in range(0, len(order), block):
        group = order[start : start + block]
        if args.group_by_length:
            group.sort(key=lambda i: lengths[i])
        steps += [group[i : i + size] for i in range(0, len(group), size)]
    short = [steps.pop()] if len(steps) > 1 and len(order) % size else []
    rng.shuffle(steps)
    return steps + short


def micro_batches(indices, examples, args, accelerator, pad):
    """This device's share of the examples. Every device gets equally many batches, as collectives require; where
    examples run out, a batch without labels stands in."""
    world, rank, size = accelerator.num_processes, accelerator.process_index, args.micro_batch_size
    indices = sorted(indices, key=lambda i: -len(examples[i]["input_ids"]))
    mine = indices[rank::world]
    for start in range(0, math.ceil(len(indices) / world), size):
        part = mine[start : start + size]
        batch = collate([examples[i] for i in part or indices[-1:]], pad, masked=not part)
        yield part, {key: value.to(accelerator.device) for key, value in batch.items()}


# --------------------------------------------------------------------------------------------------------- model


def load_model(args, labels, tokenizer, checkpoint=None):
    """The pretrained model, ready to train; or the same from a checkpoint or model folder of this script."""
    half = {"fp32": torch.float32, "fp16": torch.float16}.get(args.precision, torch.bfloat16)
    # Weights that are trained stay in fp32 and are cast where they are used; frozen ones are kept in half precision.
    dtype = torch.float32 if args.method == "full" and args.precision != "pure_bf16" else half
    offline = os.environ.get("HF_HUB_OFFLINE") == "1"
    options = {"dtype": dtype, "attn_implementation": args.attention, "local_files_only": offline}
    if args.method == "qlora":
        options["quantization_config"] = transformers.BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True, bnb_4bit_compute_dtype=half
        )
    kind = AutoModelForCausalLM
    if args.task == "classification":
        kind = AutoModelForSequenceClassification
        options |= {"id2label": dict(enumerate(labels)), "label2id": {name: i for i, name in enumerate(labels)}}
    adapters = args.method != "full"
    model = kind.from_pretrained(args.model if adapters or not checkpoint else checkpoint, **options)
    model.config.pad_token_id = tokenizer.pad_token_id
    if args.gradient_checkpointing != "none":
        model.gradient_checkpointing_enable({"use_reentrant": False})
    if adapters:
        from peft import LoraConfig, PeftModel, get_peft_model, prepare_model_for_kbit_training

        if args.method == "qlora":
            model = prepare_model_for_kbit_training(model, args.gradient_checkpointing != "none")
        if checkpoint:
            return PeftModel.from_pretrained(model, str(checkpoint), is_trainable=True)
        targets = args.lora_targets if args.lora_targets == "all-linear" else args.lora_targets.split(",")
        config = LoraConfig(
            r=args.lora_rank, lora_alpha=args.lora_alpha, lora_dropout=args.lora_dropout, target_modules=targets,
            use_dora=args.method == "dora", task_type="SEQ_CLS" if args.task == "classification" else "CAUSAL_LM",
        )  # fmt: skip
        model = get_peft_model(model, config)
    return model


def schedule_arguments(name, total_steps):
    """What transformers asks of a schedule beside its name: a floor, or how long the decay at the end is."""
    return {"cosine_with_min_lr": {"min_lr_rate": 0.1}, "warmup_stable_decay": {"num_decay_steps": max(1, total_steps // 10)}}.get(name)  # fmt: skip


def make_optimizer(args, model):
    """Weight matrices decay, vectors (biases, norms) do not."""
    trained = [p for p in model.parameters() if p.requires_grad]
    groups = [{"params": [p for p in trained if p.ndim >= 2], "weight_decay": args.weight_decay},
              {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0}]  # fmt: skip
    groups = [g for g in groups if g["params"]]
    if args.optimizer in ("adamw", "adamw_fused"):
        return torch.optim.AdamW(groups, lr=args.learning_rate, fused=True if args.optimizer == "adamw_fused" else None)
    if args.optimizer in ("adamw_8bit", "paged_adamw_8bit"):
        import bitsandbytes

        kind = bitsandbytes.optim.AdamW8bit if args.optimizer == "adamw_8bit" else bitsandbytes.optim.PagedAdamW8bit
        return kind(groups, lr=args.learning_rate)
    if args.optimizer == "adafactor":
        return transformers.Adafactor(groups, lr=args.learning_rate, scale_parameter=False, relative_step=False)
    if args.optimizer == "sgd":
        return torch.optim.SGD(groups, lr=args.learning_rate, momentum=0.9)
    raise SystemExit(f"--optimizer {args.optimizer} is not known here")


def loss_sum(model, batch, keeps_logits):
    """The loss summed over what is learned in a batch, and how many of it were right. Divided by the count of the whole
    global batch, every token weighs the same, however the batch is cut into devices and micro-batches."""
    labels = batch["labels"]
    inputs = {key: value for key, value in batch.items() if key != "labels"}
    if labels.ndim == 1:
        logits = model(**inputs).logits.float()
    else:
        labels, inputs["use_cache"] = labels[:, 1:], False
        # The head is the widest matrix: only positions where some answer is learned pass through it.
        learned = (labels != IGNORE).any(0).nonzero().flatten()
        learned = learned if len(learned) else torch.zeros(1, dtype=torch.long, device=labels.device)
        if keeps_logits:
            logits = model(**inputs, logits_to_keep=learned).logits.float()
        else:
            logits = model(**inputs).logits[:, learned].float()
        labels = labels[:, learned].flatten()
        logits = logits.flatten(0, 1)
    loss = F.cross_entropy(logits, labels, ignore_index=IGNORE, reduction="sum")
    right = ((logits.argmax(-1) == labels) & (labels != IGNORE)).sum()
    return loss, right


def learned_of(batch):
    """How many labels of a batch carry loss."""
    labels = batch["labels"] if batch["labels"].ndim == 1 else batch["labels"][:, 1:]
    return labels.ne(IGNORE).sum().item()


def learned_in(example):
    return 1 if isinstance(example["labels"], int) else sum(label != IGNORE for label in example["labels"][1:])


@torch.no_grad()
def validate(model, examples, args, accelerator, pad, keeps_logits):
    """Mean loss per learned token (or example) and accuracy over all examples, on all devices."""
    model.eval()
    total = torch.zeros(3, dtype=torch.float64)
    for _, batch in micro_batches(range(len(examples)), examples, args, accelerator, pad):
        with accelerator.autocast():
            loss, right = loss_sum(model, batch, keeps_logits)
        total += torch.tensor([loss.item(), right.item(), learned_of(batch)], dtype=torch.float64)
    model.train()
    loss, right, count = accelerator.reduce(total.to(accelerator.device, torch.float32)).tolist()
    return {"eval_loss": loss / count, "eval_accuracy": right / count}


# --------------------------------------------------------------------------------------------------- checkpoints


def save_model(model, tokenizer, folder, accelerator):
    """The model as `from_pretrained` reads it. With shards on several devices all of them must come here."""
    state = accelerator.get_state_dict(model) if sharded(accelerator) else None
    if accelerator.is_main_process:
        accelerator.unwrap_model(model).save_pretrained(folder, state_dict=state)
        tokenizer.save_pretrained(folder)


def sharded(accelerator):
    return accelerator.distributed_type in (DistributedType.FSDP, DistributedType.DEEPSPEED)


def rng_state():
    cuda = torch.cuda.get_rng_state() if torch.cuda.is_available() else None
    return {"torch": torch.get_rng_state(), "cuda": cuda, "numpy": np.random.get_state(), "python": random.getstate()}


def save_checkpoint(out, progress, model, tokenizer, optimizer, scheduler, accelerator, limit):
    """checkpoint-<step>: written beside, then renamed. A process killed while saving leaves the last one whole."""
    final, beside = out / f"checkpoint-{progress['step']}", out / "checkpoint-unfinished"
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir(parents=True)
    accelerator.wait_for_everyone()
    if sharded(accelerator):
        accelerator.save_state(str(beside / "shards"))
    save_model(model, tokenizer, beside, accelerator)
    torch.save(rng_state(), beside / f"rng_{accelerator.process_index}.pt")
    if accelerator.is_main_process:
        parts = {"scheduler": scheduler.state_dict(), "scaler": accelerator.scaler and accelerator.scaler.state_dict()}
        parts |= {} if sharded(accelerator) else {"optimizer": optimizer.state_dict()}
        torch.save(parts, beside / "optimizer.pt")
        (beside / "progress.json").write_text(json.dumps(progress))
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        shutil.rmtree(final, ignore_errors=True)
        beside.rename(final)
        for old in checkpoints(out)[:-limit] if limit else ():
            shutil.rmtree(old)


def checkpoints(out):
    """Finished checkpoints, oldest first."""
    found = [p for p in out.glob("checkpoint-*[0-9]") if (p / "progress.json").is_file()]
    return sorted(found, key=lambda p: int(p.name.rpartition("-")[2]))


def restore(checkpoint, optimizer, scheduler, accelerator):
    """Everything but the weights, which `load_model` has read: optimizer, schedule, random numbers, progress."""
    parts = torch.load(checkpoint / "optimizer.pt", map_location="cpu", weights_only=False)
    if sharded(accelerator):
        accelerator.load_state(str(checkpoint / "shards"))
    else:
        optimizer.load_state_dict(parts["optimizer"])
    scheduler.load_state_dict(parts["scheduler"])
    if parts["scaler"]:
        accelerator.scaler.load_state_dict(parts["scaler"])
    file = checkpoint / f"rng_{accelerator.process_index}.pt"
    if file.is_file():  # more devices than before: the new ones keep their own
        state = torch.load(file, weights_only=False)
        torch.set_rng_state(state["torch"])
        np.random.set_state(state["numpy"])
        random.setstate(state["python"])
        if state["cuda"] is not None and torch.cuda.is_available():
            torch.cuda.set_rng_state(state["cuda"])
    return json.loads((checkpoint / "progress.json").read_text())


# ------------------------------------------------------------------------------------------------------ training


class Log:
    """train_log.jsonl: one JSON object a line, flushed at once, so that a watcher sees it live. Main process only."""

    def __init__(self, path, is_main):
        self.file = path.open("a", encoding="utf-8") if is_main else None

    def __call__(self, **values):
        if self.file:
            self.file.write(json.dumps(values) + "\n")
            self.file.flush()
            shown = {key: float(f"{v:.4g}") if isinstance(v, float) else v for key, v in values.items()}
            print({key: v for key, v in shown.items() if not isinstance(v, dict)}, flush=True)


class Stop:
    """Remembers that someone asked us to stop; the loop looks once per step. A second Ctrl-C, some seconds later, does not wait.

    One wish arrives more than once: Slurm and a terminal tell every process, and torchrun hands on what it was told.
    """

    def __init__(self):
        self.signal, self.since = 0, 0.0
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self)

    def __call__(self, number, frame):
        if not self.signal:
            self.signal, self.since = number, time.monotonic()
        elif number == signal.SIGINT and time.monotonic() - self.since > 5:
            raise SystemExit(128 + number)


def memory(accelerator):
    """Peak bytes so far, the largest of all devices: torch's live tensors, what its allocator holds, what the driver sees in use;
    and the resident size of this machine's processes together. With several processes also each by its rank."""
    import resource

    unit = 1 if sys.platform == "darwin" else 1024  # Linux counts in KiB
    mine = {"host_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit}
    if accelerator.device.type == "cuda":
        free, total = torch.cuda.mem_get_info()
        mine |= {
            "allocated_bytes": torch.cuda.max_memory_allocated(),
            "reserved_bytes": torch.cuda.max_memory_reserved(),
            "device_bytes": total - free,
        }
    if accelerator.num_processes == 1:
        return mine
    rows = accelerator.gather(torch.tensor([list(mine.values())], device=accelerator.device)).tolist()
    ranks = [dict(zip(mine, row)) for row in rows]
    here = ranks[: int(os.environ.get("LOCAL_WORLD_SIZE", 1))]
    return {key: max(r[key] for r in ranks) for key in mine} | {
        "host_bytes": sum(r["host_bytes"] for r in here),
        "ranks": ranks,
    }


def optimizer_step(model, optimizer, batches, count, args, accelerator, keeps_logits):
    """Forward and backward over the micro-batches, then one step. Returns the summed loss of this device and the norm."""
    total = torch.zeros((), device=accelerator.device)
    for i, batch in enumerate(batches):
        last = i == len(batches) - 1
        accelerator.sync_gradients = last
        with contextlib.nullcontext() if last else accelerator.no_sync(model):
            with accelerator.autocast():
                loss, _ = loss_sum(model, batch, keeps_logits)
            # Devices average their gradients; times their number, this is the sum over all tokens by the count of all tokens.
            accelerator.backward(loss * accelerator.num_processes / count)
        total += loss.detach()
    norm = accelerator.clip_grad_norm_(model.parameters(), args.max_grad_norm or math.inf)
    optimizer.step()
    optimizer.zero_grad()
    return total, norm


def train(args, accelerator, tokenizer, labels, train_set, validation_set, log, stop):
    """The loop. Returns why it ended: finished, early stopping, or stopped (by a signal)."""
    out, pad = Path(args.output_dir), tokenizer.pad_token_id
    lengths = [len(e["input_ids"]) for e in train_set]
    steps_per_epoch = math.ceil(len(train_set) / args.global_batch_size)
    total_steps = args.max_steps or math.ceil(args.epochs * steps_per_epoch)
    eval_steps, save_steps = args.eval_steps or steps_per_epoch, args.save_steps or steps_per_epoch

    checkpoint = (checkpoints(out) or [None])[-1] if args.resume else None
    model = load_model(args, labels, tokenizer, checkpoint)
    inner = model if args.method == "full" else model.get_base_model()
    keeps_logits = "logits_to_keep" in inspect.signature(inner.forward).parameters
    sizes = {"parameters": sum(p.numel() for p in model.parameters()),
             "trainable_parameters": sum(p.numel() for p in model.parameters() if p.requires_grad)}  # fmt: skip
    optimizer = make_optimizer(args, model)
    scheduler = get_scheduler(
        args.lr_scheduler, optimizer, args.warmup_steps, total_steps, schedule_arguments(args.lr_scheduler, total_steps)
    )
    model, optimizer = accelerator.prepare(model, optimizer)
    progress = {"step": 0, "best_loss": None, "best_step": 0, "without_gain": 0}
    set_seed(args.seed, device_specific=True)  # weights start alike on all devices, dropout does not
    if checkpoint:
        progress = restore(checkpoint, optimizer, scheduler, accelerator)
    log(event="resume" if checkpoint else "start", from_step=progress["step"], total_steps=total_steps, steps_per_epoch=steps_per_epoch,
        devices=accelerator.num_processes, device=accelerator.device.type, distributed=accelerator.distributed_type.value, **sizes, examples=len(train_set), tokens=sum(lengths),
        trainable_tokens=sum(learned_in(e) for e in train_set), cut_examples=sum(e["cut"] for e in train_set),
        validation_examples=len(validation_set), versions={m.__name__: m.__version__ for m in (torch, transformers)},
        arguments=vars(args))  # fmt: skip

    def save():
        save_checkpoint(out, progress, model, tokenizer, optimizer, scheduler, accelerator, args.save_total_limit)

    def look_at_validation():
        found = validate(model, validation_set, args, accelerator, pad, keeps_logits)
        log(step=progress["step"], total_steps=total_steps, epoch=progress["step"] / steps_per_epoch, **found)
        better = progress["best_loss"] is None or found["eval_loss"] < progress["best_loss"]
        progress["without_gain"] = 0 if better else progress["without_gain"] + 1
        if better:
            progress.update(best_loss=found["eval_loss"], best_step=progress["step"])
            save_model(model, tokenizer, out / "model", accelerator)

    model.train()
    window = dict.fromkeys(("loss", "learned", "tokens", "steps", "seconds"), 0.0)
    while progress["step"] < total_steps:
        epoch, done = divmod(progress["step"], steps_per_epoch)
        for indices in schedule(lengths, args, epoch)[done:]:
            began = time.perf_counter()
            batches = [batch for _, batch in micro_batches(indices, train_set, args, accelerator, pad)]
            # One small sum over all devices: how much is learned in this step, and whether anyone was told to stop.
            sums = torch.tensor([sum(map(learned_of, batches)), bool(stop.signal)], dtype=torch.float32)
            count, told = accelerator.reduce(sums.to(accelerator.device)).tolist()
            if told:
                save()
                return "stopped"
            learning_rate = scheduler.get_last_lr()[0]
            loss, norm = optimizer_step(model, optimizer, batches, count, args, accelerator, keeps_logits)
            if not accelerator.optimizer_step_was_skipped:  # fp16 skips a step whose gradients overflowed
                scheduler.step()
            progress["step"] = step = progress["step"] + 1
            here = (loss, count, sum(lengths[i] for i in indices), 1, time.perf_counter() - began)
            window = {key: window[key] + value for key, value in zip(window, here)}
            if step % args.logging_steps == 0 or step == total_steps:
                mean = accelerator.reduce(window["loss"]).item() / window["learned"]
                log(step=step, total_steps=total_steps, epoch=step / steps_per_epoch, loss=mean, grad_norm=float(norm),
                    learning_rate=learning_rate, step_seconds=window["seconds"] / window["steps"],
                    tokens_per_second=window["tokens"] / window["seconds"], **memory(accelerator))  # fmt: skip
                window = dict.fromkeys(window, 0.0)
            if validation_set and (step % eval_steps == 0 or step == total_steps):
                look_at_validation()
            if step % save_steps == 0 or step == total_steps:
                save()
            if step == total_steps or 0 < args.early_stopping_patience <= progress["without_gain"]:
                break
        if 0 < args.early_stopping_patience <= progress["without_gain"]:
            return "early stopping"
    if not validation_set:
        save_model(model, tokenizer, out / "model", accelerator)
    return "finished"


def main(argv=None):
    args = parse_args(argv)
    half = {"bf16": "bf16", "fp16": "fp16"}.get(args.precision, "no")
    # Told that it is on a processor, accelerate passes DeepSpeed over in silence.
    on_cpu = not torch.accelerator.is_available() and os.environ.get("ACCELERATE_USE_DEEPSPEED") != "true"
    accelerator = Accelerator(mixed_precision=half, cpu=on_cpu)
    set_seed(args.seed)
    out = Path(args.output_dir)
    out.mkdir(parents=True, exist_ok=True)
    if not args.resume and checkpoints(out):
        raise SystemExit(f"{out} holds checkpoints of an earlier run: add --resume, or name another --output_dir")

    offline = os.environ.get("HF_HUB_OFFLINE") == "1"
    tokenizer = AutoTokenizer.from_pretrained(args.model, local_files_only=offline)
    tokenizer.padding_side = "right"
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    rows = [row for _, row in usable(read_rows(args.train_file), args, args.train_file)]
    labels = []
    if args.task == "classification":
        labels = [str(i) for i in range(args.num_labels)] or sorted({str(r.get(args.label_column)) for r in rows})
    if args.validation_file:
        held_out = [row for _, row in usable(read_rows(args.validation_file), args, args.validation_file)]
    else:
        rows, held_out = split(rows, args.validation_fraction)
    train_set = make_examples(rows, tokenizer, args, labels)
    validation_set = make_examples(held_out, tokenizer, args, labels)
    if args.packing:
        if args.task != "sft":
            raise SystemExit("--packing is for --task sft: a classifier reads one text per sequence")
        random.Random(args.seed).shuffle(train_set)
        train_set = pack(train_set, args.sequence_length)
    if not train_set:
        raise SystemExit(f"{args.train_file}: nothing to learn in {len(rows)} rows")
    if accelerator.is_main_process:
        (out / "args.json").write_text(json.dumps(vars(args) | {"labels": labels}, indent=2) + "\n")

    log, stop = Log(out / "train_log.jsonl", accelerator.is_main_process), Stop()
    reason = train(args, accelerator, tokenizer, labels, train_set, validation_set, log, stop)
    log(event="end", reason=reason)
    if reason == "stopped":
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)  # a late copy of the wish must not change the exit status
        raise SystemExit(128 + (stop.signal or signal.SIGTERM))
    accelerator.wait_for_everyone()
    accelerator.end_training()
    if args.test_file and accelerator.is_main_process:
        import evaluate  # the file beside this one

        evaluate.main([str(out), args.test_file])


if __name__ == "__main__":
    main()
