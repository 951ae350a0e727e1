#!/usr/bin/env python3
"""The baseline of the demo: TF-IDF of words and word pairs, logistic regression. Writes predictions.csv.

python tfidf.py --train train.csv --test test.csv --seed 1 --out runs/tfidf.reviews.1
"""

import argparse
import csv
from pathlib import Path

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--train", required=True)
parser.add_argument("--test", required=True)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--out", required=True)
args = parser.parse_args()


def read(path):
    with Path(path).open(encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f))


train, test = read(args.train), read(args.test)
vectors = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
model = LogisticRegression(C=10, max_iter=1000, random_state=args.seed)
model.fit(vectors.fit_transform(row["text"] for row in train), [row["label"] for row in train])
shares = model.predict_proba(vectors.transform(row["text"] for row in test))

Path(args.out).mkdir(parents=True, exist_ok=True)
with (Path(args.out) / "predictions.csv").open("w", encoding="utf-8", newline="") as f:
    writer = csv.writer(f, lineterminator="\n")
    writer.writerow(["id", "label", "prediction", *(f"prob_{name}" for name in model.classes_)])
    for row, share in zip(test, shares, strict=True):
        writer.writerow([row["id"], row["label"], model.classes_[share.argmax()], *(f"{p:.6f}" for p in share)])
print(f"{len(train)} reviews learned, {len(test)} predicted")
