"""A fine-tuning script as people write it: one YAML file, a model folder, rows of JSON, the Hugging Face Trainer.

python faults_train.py train.yaml
"""

# ruff: noqa: PTH112, PTH118, PTH123

import json
import os
import sys

import torch
import yaml
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    Trainer,
    TrainingArguments,
)

OWN = ("model_name_or_path", "train_file", "eval_file", "task", "max_length", "num_labels", "text_column", "label_column", "peft", "target_modules",
       "lora_r", "torch_dtype", "resume_from_checkpoint", "pad", "weights", "chat", "use_reentrant")  # fmt: skip


def rows(path):
    with open(path) as f:
        return [json.loads(line) for line in f if line.strip()]


def examples(path, own, tokenizer):
    """Token ids and labels of each row; prompts carry no loss."""
    out = []
    for row in rows(path):
        if own["task"] == "classification":
            ids = tokenizer(row[own["text_column"]], truncation=True, max_length=own["max_length"])["input_ids"]
            one = {"input_ids": ids, "labels": row[own["label_column"]]}
        else:
            if own["chat"]:
                messages = [{"role": "user", "content": row["instruction"]}]
                prompt = tokenizer.apply_chat_template(
                    messages, tokenize=True, add_generation_prompt=True, return_dict=False
                )
            else:
                prompt = row.get("prompt_ids") or tokenizer(row["instruction"])["input_ids"]
            answer = tokenizer(row["output"])["input_ids"]
            one = {
                "input_ids": (prompt + answer)[: own["max_length"]],
                "labels": ([-100] * len(prompt) + answer)[: own["max_length"]],
            }
        if "weight" in row:
            one["weight"] = float(row["weight"])
        out.append(one)
    return out


class Collator:
    def __init__(self, pad):
        self.pad = pad

    def __call__(self, batch):
        width = max(len(b["input_ids"]) for b in batch)
        ids = torch.tensor([b["input_ids"] + [self.pad] * (width - len(b["input_ids"])) for b in batch])
        mask = torch.tensor([[1] * len(b["input_ids"]) + [0] * (width - len(b["input_ids"])) for b in batch])
        if isinstance(batch[0]["labels"], list):
            labels = torch.tensor([b["labels"] + [-100] * (width - len(b["labels"])) for b in batch])
        else:
            labels = torch.tensor([b["labels"] for b in batch])
        found = {"input_ids": ids, "attention_mask": mask, "labels": labels}
        if "weight" in batch[0]:
            found["weight"] = torch.tensor([b["weight"] for b in batch])
        return found


class Weighted(Trainer):
    """Rows with a weight of their own."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        weight = inputs.pop("weight")
        out = model(**inputs)
        loss = torch.nn.functional.cross_entropy(out.logits, inputs["labels"], reduction="none")
        loss = (loss * weight).mean()
        return (loss, out) if return_outputs else loss


def main(path):
    with open(path) as f:
        c = yaml.safe_load(f)
    own = {
        "task": "classification",
        "max_length": 32,
        "num_labels": 3,
        "text_column": "text",
        "label_column": "label",
        "chat": False,
        "pad": True,
    }
    own |= {k: c.pop(k) for k in OWN if k in c}
    args = TrainingArguments(**c)
    print(
        own | {"per_device_train_batch_size": args.per_device_train_batch_size, "learning_rate": args.learning_rate},
        flush=True,
    )
    tokenizer = AutoTokenizer.from_pretrained(own["model_name_or_path"])
    dtype = getattr(torch, own.get("torch_dtype", "float32"))
    if own["task"] == "classification":
        model = AutoModelForSequenceClassification.from_pretrained(
            own["model_name_or_path"], num_labels=own["num_labels"], dtype=dtype
        )
    else:
        model = AutoModelForCausalLM.from_pretrained(own["model_name_or_path"], dtype=dtype)
    if own["pad"]:
        model.config.pad_token_id = tokenizer.pad_token_id
    if own.get("peft") == "lora":
        from peft import LoraConfig, get_peft_model

        targets = own.get("target_modules", "q_proj,v_proj")
        targets = "all-linear" if targets in ("all", "all-linear") else targets.split(",")
        kind = "SEQ_CLS" if own["task"] == "classification" else "CAUSAL_LM"
        model = get_peft_model(model, LoraConfig(r=own.get("lora_r", 4), target_modules=targets, task_type=kind))
        model.print_trainable_parameters()
    train_set = examples(own["train_file"], own, tokenizer)
    eval_set = examples(own["eval_file"], own, tokenizer) if own.get("eval_file") else None
    kind = Weighted if "weight" in (train_set or [{}])[0] else Trainer
    trainer = kind(
        model=model, args=args, train_dataset=train_set, eval_dataset=eval_set, data_collator=Collator(tokenizer.pad_token_id or 0),
    )  # fmt: skip
    resume = own.get("resume_from_checkpoint")
    if resume == "auto":
        from transformers.trainer_utils import get_last_checkpoint

        resume = get_last_checkpoint(args.output_dir) if os.path.isdir(args.output_dir) else None
    trainer.train(resume_from_checkpoint=resume)
    trainer.save_model(os.path.join(args.output_dir, "final"))
    print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
