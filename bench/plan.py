"""How long the planner takes, as whole processes, beside what it is measured against: `make bench-plan`.

- `papertrain plan` on a local config and a file of 1 MB, and a process that does what `accelerate estimate-memory` does after its
  call of the hub (the model from the same config without weights, then `calculate_maximum_sizes`), in turn: A B A B …
- `papertrain --version` beside `python -c pass`
- `papertrain estimate --cases` on 20,000 rows, less the start of the program
- the whole search of ways to run, inside the process

Processor seconds of the process tree are what is compared; wall seconds stand beside them. Goals: 15 times, 120 ms where a bare
Python takes 15, 1.5 s, 0.5 s.

    python bench/plan.py [--runs 5] [--train PYTHON]        PYTHON: of an environment with torch, transformers and accelerate
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RUNS = ROOT / "src/papertrain/facts/runs"
QWEN = {
    "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
    "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064, "tie_word_embeddings": False, "max_position_embeddings": 32768,
    "torch_dtype": "bfloat16",
}  # fmt: skip
ACCELERATE = """
import sys
from accelerate import init_empty_weights
from accelerate.utils import calculate_maximum_sizes
from transformers import AutoConfig, AutoModelForCausalLM
config = AutoConfig.from_pretrained(sys.argv[1])
with init_empty_weights():
    model = AutoModelForCausalLM.from_config(config)
print(calculate_maximum_sizes(model))
"""


def spent(command: list[str]) -> tuple[float, float]:
    """(processor seconds, wall seconds) of one process; an exit other than 0 ends the bench."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, capture_output=True, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{command[0]} ended with {done.returncode}: {done.stderr.decode()[-300:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def in_turn(a: list[str], b: list[str] | None, runs: int) -> list[tuple[float, float]]:
    """Medians of both, run alternately after one run of each that does not count."""
    commands = [a] if b is None else [a, b]
    seen: list[list[tuple[float, float]]] = [[] for _ in commands]
    for turn in range(runs + 1):
        for which, command in enumerate(commands):
            found = spent(command)
            if turn:
                seen[which].append(found)
    return [(statistics.median(x for x, _ in s), statistics.median(y for _, y in s)) for s in seen]


def megabyte(file: Path) -> None:
    words = (ROOT / "README.md").read_text("utf-8").split()
    with file.open("w", encoding="utf-8") as out:
        written = n = 0
        while written < 1_000_000:
            at = n * 37 % max(1, len(words) - 100)
            row = {
                "instruction": " ".join(words[at : at + 40]),
                "input": "",
                "output": " ".join(words[at + 40 : at + 100]),
            }
            written += out.write(json.dumps(row) + "\n")
            n += 1


def cases(file: Path, n: int) -> None:
    rows: list[dict[str, Any]] = [json.loads(x) for x in (RUNS / "memory.jsonl").read_text("utf-8").splitlines() if x]
    rows = [r for r in rows if r["use"] == "score"]
    with file.open("w", encoding="utf-8") as out:
        for i in range(n):
            row = rows[i % len(rows)]
            out.write(
                json.dumps({**row, "id": f"x{i}", "sequence_length": row["sequence_length"] + i // len(rows)}) + "\n"
            )


def search_seconds() -> float:
    """Processor seconds of one whole search, alternatives included."""
    sys.path.insert(0, str(ROOT / "src"))
    from papertrain.facts.hardware import parse_compute
    from papertrain.facts.models import find_model
    from papertrain.plan.derive import derive
    from papertrain.plan.derive_question import Question

    question = Question(
        model=find_model("Qwen/Qwen2.5-32B"),
        compute=parse_compute("8x A100-80GB"),
        dataset=None,
        task="sft",
        method="full",
    )
    derive(question)
    start = time.process_time()
    derive(question)
    return time.process_time() - start


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--runs", type=int, default=5)
    ap.add_argument("--train", type=Path, default=ROOT / ".envs/train/bin/python")
    args = ap.parse_args()
    program = str(ROOT / ".venv/bin/papertrain")
    with tempfile.TemporaryDirectory() as folder:
        model, data = Path(folder) / "model", Path(folder) / "data.jsonl"
        model.mkdir()
        (model / "config.json").write_text(json.dumps(QWEN))
        megabyte(data)
        plan = [program, "plan", str(model), "--data", str(data), "--gpu", "A100-80GB"]
        peer = [str(args.train), "-c", ACCELERATE, str(model)] if args.train.exists() else None
        ours, *other = in_turn(plan, peer, args.runs)
        print(f"plan, 1 MB of data              {ours[0]:7.3f} s processor  {ours[1]:7.3f} s wall")
        if other:
            theirs = other[0]
            print(f"accelerate's sizes              {theirs[0]:7.3f} s processor  {theirs[1]:7.3f} s wall")
            print(
                f"  times faster                  {theirs[0] / ours[0]:7.1f}              {theirs[1] / ours[1]:7.1f}          goal 15"
            )
        else:
            print(f"accelerate's sizes: no environment at {args.train} (make train)")
        version, bare = in_turn([program, "--version"], [sys.executable, "-c", "pass"], args.runs)
        print(
            f"--version                       {1e3 * version[0]:7.0f} ms processor {1e3 * version[1]:7.0f} ms wall     goal 120 ms where Python is 15"
        )
        print(f"python -c pass                  {1e3 * bare[0]:7.0f} ms processor {1e3 * bare[1]:7.0f} ms wall")
        few, many = Path(folder) / "few.jsonl", Path(folder) / "many.jsonl"
        cases(few, 10)
        cases(many, 20_010)
        ask = [program, "estimate", "--json", "--cases"]
        more, start = in_turn([*ask, str(many)], [*ask, str(few)], args.runs)
        print(
            f"20,000 further estimates        {more[0] - start[0]:7.2f} s processor  {more[1] - start[1]:7.2f} s wall       goal 1.5 s"
        )
    print(f"whole search, 32 B on 8 cards   {search_seconds():7.3f} s processor                     goal 0.5 s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
