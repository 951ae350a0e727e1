"""Faults put into real training on the CPU: is each seen, named, and mended, and is a healthy run left alone?

    make faults        or: python bench/faults.py [--seed N] [--healthy N] [--only NAME] [-v]

Every fault is made from outside, in data, config, files, limits or processes, of a training that works: the Hugging Face Trainer, DDP over
gloo, both on tiny random models (bench/faults_train.py, faults_ddp.py; torch is loaded once, each run is a fork), and some under
`papertrain launch --supervise` with the generated script. Printed per fault: at which step after its onset it was seen, whether the class is
right, whether the first two fixes hold the right one, how it was mended (tool: `papertrain fix` wrote the change; supervised: by the launcher
itself; told: the fix is an act outside the files, done here as it says), and whether the run then finished without a finding.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from papertrain.core.errors import PapertrainError
from papertrain.verbs.diagnose import diagnose
from papertrain.verbs.fix import fix

HERE = Path(__file__).resolve().parent
VERBOSE = "-v" in sys.argv
TRAIN = HERE.parent / ".envs" / "train" / "bin" / "python"
CONFIG = {
    "train_file": "train.jsonl", "eval_file": "eval.jsonl", "num_labels": 3, "output_dir": "out", "per_device_train_batch_size": 8, "learning_rate": 0.003,
    "num_train_epochs": 4, "logging_steps": 1, "eval_strategy": "epoch", "save_strategy": "epoch", "disable_tqdm": True, "report_to": "none", "use_cpu": True,
}  # fmt: skip


class Folder:
    """One run's folder: data, config, and what the fault needs. `job` is how it is started."""

    def __init__(self, path: Path, models: Path, seed: int) -> None:
        self.path, self.models, self.seed = path, models, seed
        self.r = random.Random(seed)
        self.config: dict[str, Any] = {"model_name_or_path": str(models / "bert"), **CONFIG, "seed": seed}
        self.job: dict[str, Any] = {"words": [str(HERE / "faults_train.py"), "train.yaml"]}
        self.train, self.eval = [self.row() for _ in range(96)], [self.row() for _ in range(32)]
        self.onset: int | None = None
        self.configured = True
        self.server: Server | None = None

    def row(self) -> dict[str, Any]:
        y = self.r.randrange(3)
        return {
            "text": " ".join(f"w{self.r.randrange(60) + 60 * y}" for _ in range(self.r.randrange(6, 14))),
            "label": y,
        }

    def chat(self, longest: int = 8) -> None:
        """Questions and answers for the causal model."""
        self.config |= {"model_name_or_path": str(self.models / "llama"), "task": "sft"}
        for rows in (self.train, self.eval):
            for i in range(len(rows)):
                a = self.r.randrange(50)
                question = " ".join(f"w{a}" for _ in range(self.r.randrange(2, longest)))
                rows[i] = {"instruction": question, "output": " ".join(f"w{(a + k) % 200}" for k in range(1, 5))}

    def write(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        for name, rows in (("train.jsonl", self.train), ("eval.jsonl", self.eval)):
            (self.path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        (self.path / "train.yaml").write_text(yaml.safe_dump(self.config, sort_keys=False))

    def run(self, log: str) -> dict[str, Any]:
        assert self.server is not None
        return self.server.run({**self.job, "folder": str(self.path), "log": str(self.path / log)})


class Fault(NamedTuple):
    """right: classes that name it. fix: words of the right fix. mend: what is done besides `papertrain fix`, as the fix says."""

    name: str
    right: tuple[str, ...]
    fix: str
    make: Callable[[Folder], None]
    mend: Callable[[Folder], None] | None = None
    possible: bool = True
    how: str = "tool"


class Server:
    """The process that forks the runs."""

    def __init__(self) -> None:
        self.process = subprocess.Popen([str(TRAIN), str(HERE / "faults_server.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # fmt: skip
        self._read()

    def run(self, job: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("the training environment could not be started: make train")
        found: dict[str, Any] = json.loads(line)
        return found

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=30)


class Outcome(NamedTuple):
    name: str
    detected: str
    cls: str
    right: bool
    fixed: bool
    how: str
    finished: bool | None
    seen: bool


def configs(folder: Folder) -> list[Path]:
    """What a person would name beside the log: the config, and the script where it is the run's own."""
    own = [folder.path / w for w in folder.job["words"] if "/" not in w and (folder.path / w).is_file()]
    return [*own, folder.path / "train.jsonl"] if folder.configured else []


def worst(log: Path, folder: Folder) -> tuple[str, dict[str, Any] | None, str]:
    """(class, diagnosis, what else is said) of a log beside its config."""
    try:
        found = diagnose([log], config=configs(folder)).data
    except PapertrainError as error:
        return "", None, error.one_line()
    real = [d for d in found["diagnoses"] if not d["benign"]]
    if real:
        return real[0]["class"], real[0], ""
    return "", None, found["unexplained"]


STEP = re.compile(rb"'loss':|\"loss\":")


def detected_at(log: Path, folder: Folder) -> int:
    """The number of logged steps after which the log, as far as it had come, was first called a failure."""
    lines = log.read_bytes().splitlines(keepends=True)
    at = [i for i, line in enumerate(lines) if STEP.search(line)]
    with tempfile.TemporaryDirectory() as place:
        for n, i in enumerate(at, 1):
            part = Path(place) / "train.log"
            part.write_bytes(b"".join(lines[: i + 1]))
            if worst(part, folder)[0]:
                return n
    return len(at)


def mended_by_tool(f: Folder, found: dict[str, Any], log: Path) -> bool:
    """The first change that `papertrain fix` can write."""
    for one in found["fixes"]:
        if not one["patch"]:
            continue
        target = Path(one["applies_to"][0]["file"]) if one["applies_to"] else f.path / "train.yaml"
        try:
            done = fix(target, one["id"], log=[log], config=configs(f), yes=True)
        except PapertrainError:
            continue
        if done.data.get("applied"):
            return True
    return False


def told(found: dict[str, Any] | None, words: str) -> bool:
    if found is None:
        return False
    text = json.dumps(
        [{k: one[k] for k in ("title", "patch", "edits", "commands")} for one in found["fixes"][:2]], ensure_ascii=False
    )
    return re.search(words, text, re.IGNORECASE) is not None


ROUNDS = 3


def mended(fault: Fault, f: Folder, found: dict[str, Any] | None, fixed: bool) -> tuple[str, bool]:
    """What the tool writes, at most three times, each after a diagnosis of the run before; then what its fix tells to do."""
    log = f.path / "train.log"
    by = ""
    for n in range(1, ROUNDS + 1):
        if found is None or not mended_by_tool(f, found, log):
            break
        by = "tool" if n == 1 else f"tool x{n}"
        log = f.path / f"again{n}.log"
        if good(f, log):
            return by, True
        found = worst(log, f)[1]
        if found is not None and found["class"] not in fault.right:
            found = None
    if fault.mend is None or not fixed:
        return by or "-", False
    fault.mend(f)
    return "told", good(f, f.path / "told.log")


def good(f: Folder, log: Path) -> bool:
    """A run to its end, about which nothing is said."""
    end = f.run(log.name)
    cls, _, unexplained = worst(log, f)
    if VERBOSE and (end["exit_code"] or cls or unexplained):
        print(f"      {f.path.name} {log.name}: exit {end['exit_code']} {cls or unexplained[:200]}")
    return end["exit_code"] == 0 and not cls and not unexplained


def tried(fault: Fault, f: Folder) -> Outcome:
    fault.make(f)
    f.write()
    if "before" in f.job:
        f.job.pop("before")(f)
    end = f.run("train.log")
    log = f.path / "train.log"
    cls, found, unexplained = worst(log, f)
    seen = bool(cls or unexplained) or end["exit_code"] != 0
    crashed = end["exit_code"] != 0
    if not seen:
        when = "no"
    elif crashed or f.onset is None:
        when = "at the end" if not crashed else "at once"
    else:
        when = f"+{max(0, detected_at(log, f) - f.onset)}"
    right, fixed = cls in fault.right, told(found, fault.fix)
    finished: bool | None = None
    how = "-"
    if fault.possible:
        how, finished = mended(fault, f, found if right else None, fixed)
    return Outcome(
        fault.name,
        when,
        cls or ("unknown" if unexplained else "none"),
        right,
        fixed,
        how,
        finished,
        bool(cls or unexplained),
    )


def healthy(n: int, models: Path, server: Server, root: Path) -> list[str]:
    """Seeds on which something is said although nothing is wrong."""
    alarms = []
    for seed in range(1, n + 1):
        f = Folder(root / f"healthy-{seed}", models, seed)
        f.server = server
        if seed % 3 == 0:
            f.chat()
        if seed % 3 == 1:
            f.config |= {"per_device_train_batch_size": 4, "lr_scheduler_type": "cosine", "warmup_steps": 4}
        f.write()
        end = f.run("train.log")
        cls, _, unexplained = worst(f.path / "train.log", f)
        if end["exit_code"] or cls or unexplained:
            alarms.append(f"seed {seed}: exit {end['exit_code']} {cls or unexplained}")
    return alarms


def main() -> int:
    from faults_list import FAULTS
    from faults_supervised import SUPERVISED

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--healthy", type=int, default=30)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", type=Path, default=None)
    parser.add_argument("-v", action="store_true")
    args = parser.parse_args()
    if not TRAIN.exists():
        print("no .envs/train: make train sets it up")
        return 2
    began = time.monotonic()
    place = tempfile.TemporaryDirectory()
    root = args.keep or Path(place.name)
    models = root / "models"
    subprocess.run([str(TRAIN), str(HERE / "faults_model.py"), str(models)], check=True, capture_output=True)
    server = Server()
    outcomes: list[Outcome] = []
    print(f"{'fault':34} {'seen':11} {'class':34} {'class':6} {'fix':4} {'mended by':11} finished")
    for i, fault in enumerate(x for x in FAULTS if re.search(args.only, x.name)):
        f = Folder(root / fault.name.replace(" ", "-").replace("/", "-"), models, args.seed + i)
        f.server = server
        show(tried(fault, f), outcomes)
    for name, run in SUPERVISED.items():
        if re.search(args.only, name):
            try:
                show(run(root / name.replace(" ", "-"), models, args.seed), outcomes)
            except (PapertrainError, OSError) as error:
                print(f"{name}: could not be run: {error}")
    summary(outcomes)
    if args.healthy:
        alarms = healthy(args.healthy, models, server, root)
        print(f"healthy seeds: {args.healthy}, of which alarmed: {len(alarms)}" + "".join(f"\n  {a}" for a in alarms))
    server.close()
    print(f"it took {time.monotonic() - began:.0f} s")
    for out in root.glob("*/out"):
        if out.is_mount():
            subprocess.run(["umount", "--lazy", str(out)], check=False)
    place.cleanup()
    return 0


def show(o: Outcome, outcomes: list[Outcome]) -> None:
    outcomes.append(o)
    end = "-" if o.finished is None else "yes" if o.finished else "no"
    print(
        f"{o.name:34} {o.detected:11} {o.cls:34} {'right' if o.right else 'wrong':6} {'yes' if o.fixed else 'no':4} {o.how:11} {end}",
        flush=True,
    )


def summary(outcomes: list[Outcome]) -> None:
    n = len(outcomes)
    if not n:
        return
    mendable = [o for o in outcomes if o.finished is not None]
    for what, k, of in (
        ("seen", sum(o.seen for o in outcomes), n), ("class right", sum(o.right for o in outcomes), n), ("fix right", sum(o.fixed for o in outcomes), n),
        ("finished after it, where that is possible", sum(bool(o.finished) for o in mendable), len(mendable)),
    ):  # fmt: skip
        print(f"{what}: {k} of {of} ({100 * k / max(1, of):.1f} %)")


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    sys.exit(main())
