"""A small study with everything in it that a verb reads: two methods, configs, logs, records, predictions, results.

`salt` is text that stands in every field and file kind that a user or a program of theirs fills.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
          "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1000, "max_position_embeddings": 512}  # fmt: skip
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB"


GIVEN: dict[str, dict[str, str]] = {
    "check": {"files": "sft.yaml"},
    "compare": {"paths": "a.csv"},
    "demo": {},
    "diagnose": {"paths": "crash.log"},
    "estimate": {"cases": "cases.jsonl"},
    "evaluate": {"targets": "pred.jsonl"},
    "explain": {"id": "learning_rate"},
    "fix": {"target": "sft.yaml", "id": "D1.F1"},
    "generate": {"work": "work"},
    "launch": {"work": "work", "run": "base.toy.1", "dry_run": ""},
    "next": {"work": "work"},
    "package": {"work": "work"},
    "plan": {"target": "m", "data": "train.jsonl", "gpu": "1x A100-80GB"},
    "report": {"work": "work"},
    "skill": {"action": "install"},
    "status": {"work": "work"},
    "watch": {"paths": "train.log"},
}
"""What each verb needs besides the path that is tried."""
STAY = {"serve", "mcp"}
"""Servers wait on purpose: `tests/web/test_server.py` and `tests/mcp` ask them."""


def words(verb: str, given: dict[str, str]) -> list[str]:
    """The command line of a verb with what it needs, and with these values of its parameters."""
    from papertrain import verbs
    from papertrain.core.params import parameters

    by = {p.name: p for p in parameters(verbs.load(verb))}
    return [verb, *(w for k, v in (GIVEN[verb] | given).items() for w in (by[k].option, v) if w)]


def build(root: Path, salt: list[str] | None = None, file_salt: str = "") -> Path:
    """Write it below `root`; returns the workspace. Plans, configs and evidence are made by the verbs themselves."""
    from papertrain import verbs

    texts = salt or ["plain"]
    inputs(root, texts, file_salt)
    work = root / "work"
    work.mkdir(parents=True)
    (work / "study.toml").write_text(_study(texts))
    verbs.load("plan")(str(root / "m"), data=root / "train.jsonl", gpu="1x A100-80GB", method="lora", output=work)
    verbs.load("generate")(work)
    for method, seed, right in (("ours", 1, 45), ("ours", 2, 44), ("base", 1, 36)):
        run(work / f"runs/{method}.toy.{seed}", texts, right, seed)
    return work


def inputs(root: Path, texts: list[str], file_salt: str = "") -> None:
    """The files beside the workspace."""
    root.mkdir(parents=True, exist_ok=True)
    both = "\n".join(texts)
    flat = " ; ".join(t.replace("\n", " ") for t in texts)
    (root / "m").mkdir()
    (root / "m/config.json").write_text(
        json.dumps({**CONFIG, "_name_or_path": texts[0], "note": texts, "nested": {"hub_token": flat}})
    )
    (root / "m/tokenizer_config.json").write_text(
        json.dumps({"chat_template": "{{ messages }}" + both, "pad_token": "<pad>"})
    )
    rows = [
        {
            "instruction": f"Add {i} and 1. {texts[i % len(texts)]}",
            "input": "",
            "output": f"{i + 1} {texts[-1 - i % len(texts)]}",
        }
        for i in range(60)
    ]
    for name in ("train", "test"):
        (root / f"{name}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    (root / "rows.json").write_text(json.dumps(rows))
    (root / "rows.csv").write_text(
        "text,label\n" + "".join(f'"{t.replace(chr(34), chr(39))}",{i % 2}\n' for i, t in enumerate(texts))
    )
    (root / "dataset_info.json").write_text(json.dumps({"toy": {"file_name": "train.jsonl", "note": texts}}))
    (root / "paper-notes.txt").write_text(both)
    (root / "sft.yaml").write_text(_yaml(texts))
    (root / "ds.json").write_text(
        json.dumps(
            {
                "bf16": {"enabled": True},
                "zero_optimization": {"stage": 2, "overlap_comm": True},
                "wandb": {"api_key": flat},
                "notes": texts,
            },
            indent=1,
        )
    )
    (root / "run.sh").write_text("#!/bin/sh\n" + "".join(f"# {t}\nexport NOTE{i}={json.dumps(t)}\n" for i, t in enumerate(t.replace(chr(10), " ") for t in texts))
                                 + f"llamafactory-cli train sft.yaml --hub_token {flat.split(' ; ')[0]} --run_name {json.dumps(flat)}\n")  # fmt: skip
    (root / "train.py").write_text("from transformers import TrainingArguments\n" + "".join(f"# {t!r}\nx{i} = {t!r}\n" for i, t in enumerate(texts))
                                   + f"args = TrainingArguments(output_dir={texts[0]!r}, hub_token={texts[-1]!r}, evaluation_strategy='steps', learning_rate=1e-4)\n")  # fmt: skip
    (root / "job.sbatch").write_text(
        "#!/bin/bash\n#SBATCH --ntasks=1\n"
        + "".join(f"export V{i}={json.dumps(t.replace(chr(10), ' '))}\n" for i, t in enumerate(texts))
        + "torchrun train.py\n"
    )
    log = _log(texts)
    (root / f"train{file_salt}.log").write_text(log)
    (root / "crash.log").write_text(log + f'Traceback (most recent call last):\n  File "x.py", line 3\n{OOM} {flat}\n')
    (root / "odd.log").write_text(
        "".join(f"RuntimeError: something new {t}\n" for t in texts) + f"KeyError: {flat!r}\n"
    )
    (root / "cases.jsonl").write_text(
        "".join(
            json.dumps(
                {
                    "id": t,
                    "model": t,
                    "n_params": 7e9,
                    "method": "lora",
                    "gpu": "A100-80GB",
                    "n_gpus": 1,
                    "micro_batch_size": 1,
                    "sequence_length": 512,
                    "remark": t,
                }
            )
            + "\n"
            for t in texts
        )
    )
    (root / "base.py").write_text("import sys\nprint('trained')\n")
    for name, right in (("a", 45), ("b", 30)):
        predictions(root / f"{name}{file_salt}.csv", texts, right)
    (root / "pred.jsonl").write_text(
        "".join(
            json.dumps(
                {"id": i, "label": "pos", "prediction": "pos" if i % 3 else "neg", "note": texts[i % len(texts)]}
            )
            + "\n"
            for i in range(60)
        )
    )
    (root / "texts.jsonl").write_text(
        "".join(
            json.dumps(
                {"id": i, "reference": f"the cat {i} {texts[i % len(texts)]}", "prediction": f"a cat {texts[0]}"}
            )
            + "\n"
            for i in range(60)
        )
    )
    (root / "lm.json").write_text(
        json.dumps(
            {
                "results": {"arc_easy": {"acc,none": 0.5, "acc_stderr,none": 0.01, "alias": texts[0]}},
                "config": {"model_args": flat},
                "model_name": texts[0],
                "git_hash": "0123456",
            }
        )
    )


def predictions(path: Path, texts: list[str], right: int, n: int = 60) -> None:
    """A classifier's answers; the last classes are called as the salt says."""
    names = [t.replace("\n", " ").replace('"', "'") for t in texts]
    lines = ["id,label,prediction"]
    for i in range(n):
        gold = names[i % len(names)] if i % 2 else "pos"
        lines.append(f'{i},"{gold}","{gold if i < right else "neg"}"')
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def run(place: Path, texts: list[str], right: int, seed: int) -> None:
    """What one training leaves."""
    predictions(place / "predictions.csv", texts, right)
    record = {"exit_code": 0, "command": "python train.py " + " ".join(texts), "words": ["python", *texts], "seed": seed, "seconds": 12.5, "started_at": "2026-01-02T03:04:05+00:00",
              "environment": {f"V{i}": t for i, t in enumerate(texts)}, "versions": {"torch": "2.4.0"}, "device": "cpu", "outputs": []}  # fmt: skip
    (place / "record.json").write_text(json.dumps(record))
    (place / "stdout.log").write_text(_log(texts))
    state: dict[str, Any] = {"log_history": [{"step": i, "loss": 2.5 - i / 50, "grad_norm": 1.0, "learning_rate": 1e-4, "epoch": i / 10} for i in range(1, 31)], "global_step": 30, "best_model_checkpoint": texts[0], "trial_name": texts}  # fmt: skip
    (place / "trainer_state.json").write_text(json.dumps(state))
    (place / "train_log.jsonl").write_text(
        "".join(
            json.dumps({"step": i, "loss": 2.5 - i / 50, "note": texts[i % len(texts)]}) + "\n" for i in range(1, 31)
        )
    )


def _log(texts: list[str]) -> str:
    lines = [f"config: {t} num_tokens=40961 pad_token=<pad>\n" for t in texts]
    lines += [
        f"{{'loss': {2.5 - i / 50:.4f}, 'grad_norm': 1.0, 'learning_rate': 1e-04, 'epoch': {i / 10}}}\n"
        for i in range(1, 31)
    ]
    return "".join(lines) + "commit 0123456789abcdef0123456789abcdef01234567 macro_f1=0.8125\n"


def _yaml(texts: list[str]) -> str:
    flat = [t.replace("\n", " ") for t in texts]
    lines = ["model_name_or_path: m", "stage: sft", "do_train: true", "finetuning_type: lora", "dataset: toy", "template: llama3", "lora_rnak: 8", "evaluation_strategy: steps",
             "output_dir: out", f"run_name: {json.dumps(flat[0])}", f"hub_token: {json.dumps(flat[-1])}"]  # fmt: skip
    lines += [f"# {t}\nnote_{i}: {json.dumps(t)}" for i, t in enumerate(flat)]
    lines += [f"{json.dumps('k' + t)}: 1" for t in flat]
    return "\n".join(lines) + "\n"


def _study(texts: list[str]) -> str:
    quoted = [json.dumps(t) for t in texts]
    return f"""[study]
ours = "ours"
baselines = ["base"]
seeds = [1, 2]
venue = {quoted[0]}
[methods.ours]
label = {json.dumps(" ".join(texts[:3]))}
[methods.base]
kind = "command"
command = "{{python}} base.py"
label = {json.dumps(" ".join(texts[3:6]) or "base")}
seeds = [1]
[datasets.toy]
train = "../train.jsonl"
test = "../test.jsonl"
label = {json.dumps(" ".join(texts[6:9]) or "toy")}
"""
