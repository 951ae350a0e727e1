#!/usr/bin/env python3
"""A second baseline: the encoder as it is, mean-pooled, with logistic regression on top. Writes predictions.csv.

python frozen.py --model MODEL --train train.csv --test test.csv --seed 1 --out runs/frozen.reviews.1
"""

import argparse
import csv
from pathlib import Path

import torch
from sklearn.linear_model import LogisticRegression
from transformers import AutoModel, AutoTokenizer

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--model", required=True)
parser.add_argument("--train", required=True)
parser.add_argument("--test", required=True)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--out", required=True)
args = parser.parse_args()


def read(path):
    with Path(path).open(encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f))


@torch.no_grad()
def encode(rows):
    parts = []
    for i in range(0, len(rows), 64):
        batch = tokenizer(
            [r["text"] for r in rows[i : i + 64]], truncation=True, max_length=128, padding=True, return_tensors="pt"
        )
        mask = batch["attention_mask"].unsqueeze(-1)
        parts.append((encoder(**batch).last_hidden_state * mask).sum(1) / mask.sum(1))
    return torch.cat(parts).numpy()


tokenizer = AutoTokenizer.from_pretrained(args.model)
encoder = AutoModel.from_pretrained(args.model).eval()
train, test = read(args.train), read(args.test)
model = LogisticRegression(C=10, max_iter=1000, random_state=args.seed).fit(
    encode(train), [row["label"] for row in train]
)
shares = model.predict_proba(encode(test))

Path(args.out).mkdir(parents=True, exist_ok=True)
with (Path(args.out) / "predictions.csv").open("w", encoding="utf-8", newline="") as f:
    writer = csv.writer(f, lineterminator="\n")
    writer.writerow(["id", "label", "prediction", *(f"prob_{name}" for name in model.classes_)])
    for row, share in zip(test, shares, strict=True):
        writer.writerow([row["id"], row["label"], model.classes_[share.argmax()], *(f"{p:.6f}" for p in share)])
print(f"{len(train)} reviews encoded and learned, {len(test)} predicted")
