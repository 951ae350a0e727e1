"""The custom script beside LLaMA-Factory on one small job: same plan, model, rows, template and machine, one after the other, six seeds.

    python bench/script.py [--steps 40] [--hidden 192] [--rounds 6]      needs .envs/llamafactory (make frameworks)

Both run in LLaMA-Factory's environment, so that only their code differs. Prints tokens per second of the fastest round without the
first ten steps, the mean loss on the same held-out rows after the last step, and the peak resident size. Fails where the script is
slower, or where the mean losses lie further apart than the seeds of one program do.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/configs"))
from plans import make_job  # noqa: E402

from papertrain.configs.generating import generate  # noqa: E402

ENV = ROOT / ".envs/llamafactory/bin"
MODEL = """
import sys
sys.argv = [{tiny!r}, {root!r}]
exec(compile(open({tiny!r}).read(), {tiny!r}, "exec"))
from pathlib import Path
from transformers import AutoConfig, LlamaForCausalLM, set_seed
set_seed(0)
config = AutoConfig.from_pretrained(Path({root!r}) / "model")
config.hidden_size, config.intermediate_size, config.num_hidden_layers, config.head_dim = {hidden}, {hidden} * 3, 6, {hidden} // 4
LlamaForCausalLM(config).save_pretrained(Path({root!r}) / "model")
"""
SKIPPED = 10


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--hidden", type=int, default=192)
    parser.add_argument("--rounds", type=int, default=6)
    asked = parser.parse_args()
    if not (ENV / "llamafactory-cli").exists():
        print("no .envs/llamafactory: `make frameworks` makes it")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        prepare(root, asked.steps, asked.hidden)
        rounds = [(by_script(root, f"ours{i}"), by_llamafactory(root, f"theirs{i}")) for i in range(asked.rounds)]
    print(
        f"{asked.steps} steps of LoRA SFT, hidden {asked.hidden}, 6 layers, 4 examples a step, {os.cpu_count()} cores"
    )
    print(f"{'':<15} {'tokens/s':>10} {'per CPU s':>10} {'loss':>8} {'peak MB':>9} {'seconds':>9}")
    for name, runs in zip(("custom script", "LLaMA-Factory"), zip(*rounds)):
        best = max(runs, key=lambda r: r["tokens_per_second"])
        loss = statistics.mean(r["loss"] for r in runs)
        print(f"{name:<15} {best['tokens_per_second']:>10,.0f} {best['tokens_per_cpu_second']:>10,.0f} {loss:>8.3f} {best['peak'] / 2**20:>9,.0f} {best['seconds']:>9.1f}")  # fmt: skip
    ours, theirs = ({k: max(r[i][k] for r in rounds) for k in ("tokens_per_second", "tokens_per_cpu_second")} for i in (0, 1))  # fmt: skip
    wall, cpu = (ours[k] / theirs[k] for k in ("tokens_per_second", "tokens_per_cpu_second"))
    losses = [[r[i]["loss"] for r in rounds] for i in (0, 1)]
    gap = abs(statistics.mean(losses[0]) - statistics.mean(losses[1]))
    noise = max(max(x) - min(x) for x in losses)
    print(f"{wall:.2f} times its tokens per second, {cpu:.2f} times per processor second; the losses differ by {gap:.3f}, {noise:.3f} between seeds; tokens {rounds[0][0]['tokens']:,} and {rounds[0][1]['tokens']:,}")  # fmt: skip
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores" + (": the first ratio says little" if os.getloadavg()[0] > 1.5 * (os.cpu_count() or 1) else ""))  # fmt: skip
    return 0 if max(wall, cpu) >= 1 and gap <= noise else 1


def prepare(root: Path, steps: int, hidden: int) -> None:
    """A random model large enough that steps and not set-up are timed, and the files of one plan for both."""
    tiny = str(ROOT / "tests/configs/tiny_model.py")
    code = MODEL.format(tiny=tiny, root=str(root), hidden=hidden)
    subprocess.run([str(ENV / "python"), "-c", code], check=True, capture_output=True)
    rows = (root / "train.jsonl").read_text().splitlines()
    (root / "train.jsonl").write_text("\n".join((rows * (4 * steps // len(rows) + 1))[: 4 * steps]) + "\n")
    job = make_job(model="smollm", card="cpu", cards=1, method="lora", precision="fp32", model_path="./model", train="train.jsonl", micro_batch_size=4,
                   gradient_accumulation_steps=1, learning_rate=2e-3, epochs=1.0, total_steps=steps, warmup_steps=5, eval_steps=steps, save_steps=steps, validation="test.jsonl", sequence_length=128,
                   early_stopping_patience=0, gradient_checkpointing="none", lora_dropout=0.0, template="chatml", optimizer="adamw", seed=1)  # fmt: skip
    for name, text in generate([job], ["script", "llamafactory"]).files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def timed(root: Path, words: list[str]) -> tuple[float, int]:
    """(seconds, peak resident bytes of the largest process)."""
    env = os.environ | {
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": "1",
    }
    began = time.monotonic()
    with (root / "output.log").open("wb") as log:
        process = subprocess.Popen(words, cwd=root, env=env, stdout=log, stderr=log)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit((root / "output.log").read_text(errors="replace")[-2000:])
    return time.monotonic() - began, used.ru_maxrss * 1024


def by_script(root: Path, run: str) -> dict[str, Any]:
    (root / "clock.py").write_text(CLOCK + OURS)
    words = ["--output_dir", run, "--logging_steps", "1", "--seed", run[-1]]
    seconds, peak = timed(root, [str(ENV / "python"), "clock.py", *words])
    lines = [json.loads(line) for line in (root / run / "train_log.jsonl").read_text().splitlines()]
    return result(root, lines[0]["tokens"], lines, seconds, peak)


def by_llamafactory(root: Path, run: str) -> dict[str, Any]:
    (root / "clock.py").write_text(CLOCK + THEIRS)
    more = [
        f"output_dir={run}",
        f"seed={run[-1]}",
        "logging_steps=1",
        "include_num_input_tokens_seen=non_padding",
        "plot_loss=false",
    ]
    seconds, peak = timed(root, [str(ENV / "python"), "clock.py", "train", "configs/ours/llamafactory/train.yaml", *more])  # fmt: skip
    state = json.loads((root / run / "trainer_state.json").read_text())
    return result(root, state["num_input_tokens_seen"], state["log_history"], seconds, peak)


def result(root: Path, tokens: int, steps: list[dict[str, Any]], seconds: float, peak: int) -> dict[str, Any]:
    """From the stamps at the end of every step: wall time, and processor time, which other programs do not lengthen."""
    stamps = [json.loads(line) for line in (root / "stamps.jsonl").read_text().splitlines()]
    share = tokens * (len(stamps) - SKIPPED) / len(stamps)
    wall, cpu = (stamps[-1][i] - stamps[SKIPPED - 1][i] for i in (0, 1))
    return {"tokens_per_second": share / wall, "tokens_per_cpu_second": share / cpu, "loss": [x["eval_loss"] for x in steps if "eval_loss" in x][-1], "peak": peak, "seconds": seconds, "tokens": tokens}  # fmt: skip


CLOCK = """
import json, sys, time
open("stamps.jsonl", "w").close()
def stamp():
    with open("stamps.jsonl", "a") as f:
        f.write(json.dumps([time.perf_counter(), time.process_time()]) + "\\n")
"""
OURS = """
import importlib.util
spec = importlib.util.spec_from_file_location("train", "configs/ours/script/train.py")
train = importlib.util.module_from_spec(spec)
spec.loader.exec_module(train)
step = train.optimizer_step
def stamped(*a):
    found = step(*a)
    stamp()
    return found
train.optimizer_step = stamped
train.main(sys.argv[1:])
"""
THEIRS = """
from transformers import TrainerCallback, Trainer
class Clock(TrainerCallback):
    def on_step_end(self, args, state, control, **words):
        stamp()
made = Trainer.__init__
def init(self, *a, **k):
    made(self, *a, **k)
    self.add_callback(Clock())
Trainer.__init__ = init
from llamafactory.cli import main
main()
"""


if __name__ == "__main__":
    sys.exit(main())
