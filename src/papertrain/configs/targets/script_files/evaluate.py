#!/usr/bin/env python3
"""Predict a test file with a run of train.py, and score it.

    python evaluate.py RUN TEST_FILE                    RUN is train.py's --output_dir

Classification: predictions.csv with id, label, prediction and one probability per class. Text: predictions.jsonl with
prompt, predict and label. A row without text or label is left out, as in training. Scores of this file go to eval_results.json; `id` is the row of the test file, from 0, or its
own `id` column.
"""

import argparse
import csv
import json
import time
from pathlib import Path

import torch
from train import load_model, read_rows, render, to_messages, usable
from transformers import AutoTokenizer


def parse_args(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", help="folder that train.py wrote")
    parser.add_argument("test_file", help="rows of the same form as the training file")
    parser.add_argument("--output_dir", default="", help="where to write (default: the run)")
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--max_new_tokens", type=int, default=0, help="longest answer (default: as train.py was told)")
    parser.add_argument("--limit", type=int, default=0, help="only the first rows (default: all)")
    return parser.parse_args(argv)


@torch.inference_mode()
def class_probabilities(model, tokenizer, texts, run, batch_size):
    """One row of probabilities per text. Texts are sorted by length for speed and put back in order."""
    order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
    found = [None] * len(texts)
    for start in range(0, len(order), batch_size):
        part = order[start : start + batch_size]
        batch = tokenizer(
            [texts[i] for i in part], truncation=True, max_length=run.sequence_length, padding=True, return_tensors="pt"
        )
        for i, row in zip(part, model(**batch.to(model.device)).logits.float().softmax(-1).tolist()):
            found[i] = row
    return found


@torch.inference_mode()
def answers(model, tokenizer, prompts, run, batch_size, max_new_tokens):
    """The greedy answer to each prompt: the likeliest token at every place, so that it can be repeated."""
    tokenizer.padding_side = "left"
    order = sorted(range(len(prompts)), key=lambda i: -len(prompts[i]))
    found = [None] * len(prompts)
    for start in range(0, len(order), batch_size):
        part = order[start : start + batch_size]
        texts = [prompts[i] for i in part]
        batch = tokenizer(texts, add_special_tokens=False, padding=True, return_tensors="pt").to(model.device)
        out = model.generate(
            **batch, do_sample=False, max_new_tokens=max_new_tokens, pad_token_id=tokenizer.pad_token_id, use_cache=True
        )
        for i, text in zip(
            part, tokenizer.batch_decode(out[:, batch["input_ids"].shape[1] :], skip_special_tokens=True)
        ):
            found[i] = text
    return found


def class_scores(labels, gold, predicted):
    """Accuracy and macro-F1 (the mean of F1 over the classes that occur in the test file or in the predictions)."""
    f1 = []
    for name in labels:
        hit = sum(g == p == name for g, p in zip(gold, predicted))
        said, there = predicted.count(name), gold.count(name)
        if said or there:
            f1.append(2 * hit / (said + there))
    return {"accuracy": sum(g == p for g, p in zip(gold, predicted)) / len(gold), "macro_f1": sum(f1) / len(f1)}


def main(argv=None):
    args = parse_args(argv)
    run = argparse.Namespace(**json.loads((Path(args.run) / "args.json").read_text()))
    out = Path(args.output_dir or args.run)
    out.mkdir(parents=True, exist_ok=True)
    places, rows = zip(*usable(read_rows(args.test_file)[: args.limit or None], run, args.test_file))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    folder = Path(args.run) / "model"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    model = load_model(run, run.labels, tokenizer, checkpoint=folder).to(device).eval()
    began = time.perf_counter()
    if run.task == "classification":
        gold = [str(row[run.label_column]) for row in rows]
        table = class_probabilities(model, tokenizer, [row[run.text_column] for row in rows], run, args.batch_size)
        predicted = [run.labels[max(range(len(p)), key=p.__getitem__)] for p in table]
        with (out / "predictions.csv").open("w", encoding="utf-8", newline="") as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerow(["id", "label", "prediction", *(f"prob_{name}" for name in run.labels)])
            for i, row, g, p, probabilities in zip(places, rows, gold, predicted, table):
                lines.writerow([row.get("id", i), g, p, *(f"{x:.6f}" for x in probabilities)])
        scores = class_scores(run.labels, gold, predicted)
    else:
        messages = [to_messages(row, run) for row in rows]
        prompts = [render(tokenizer, m[:-1], ask=True) if len(m) > 1 else "" for m in messages]
        gold = [m[-1]["content"] for m in messages]
        found = answers(model, tokenizer, prompts, run, args.batch_size, args.max_new_tokens or run.max_new_tokens)
        with (out / "predictions.jsonl").open("w", encoding="utf-8") as file:
            for row, prompt, text, label in zip(rows, prompts, found, gold):
                line = {"id": row["id"]} if "id" in row else {}
                file.write(
                    json.dumps({**line, "prompt": prompt, "predict": text, "label": label}, ensure_ascii=False) + "\n"
                )
        scores = {"exact_match": sum(a.strip() == b.strip() for a, b in zip(found, gold)) / len(gold)}
    scores |= {"examples": len(rows), "test_file": args.test_file, "seconds": round(time.perf_counter() - began, 3)}
    (out / "eval_results.json").write_text(json.dumps(scores, indent=2) + "\n")
    print(scores)
    return scores


if __name__ == "__main__":
    main()
