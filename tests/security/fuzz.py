"""A mutational fuzzer over everything that reads what others wrote: small files, cut, spliced, doubled and filled with odd words.

python tests/security/fuzz.py [INPUTS_PER_READER] [SEED]      `make fuzz` runs it with 50,000
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sys
import tempfile
import time
import traceback
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from types import FrameType

import msgspec

LIMIT = 2.0
"""Processor seconds that one input may take."""

MEMORY = 500 * 10**6
"""Bytes that a reader may add to what the process holds."""

CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
          "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1000, "max_position_embeddings": 512}  # fmt: skip
YAML = "model_name_or_path: m\nlearning_rate: 1e-4\nlist: [1, {a: b}, 'x']\nnested:\n  - &a {k: v}\n  - *a\ntext: |\n  one\n  two\nlora_target: q_proj,v_proj  # note\n"
JSON = '{"train_batch_size": "auto", "zero_optimization": {"stage": 2, "a": [1, 2.5, null, true]}, "fp16": {"enabled": false}}'
LOG = "{'loss': 1.7, 'grad_norm': 8.5, 'learning_rate': 1e-07, 'epoch': 0.01}\n{'loss': nan, 'grad_norm': inf, 'learning_rate': 2e-07, 'epoch': 0.02}\nstep 3 loss 1.5 lr 1e-4\nTraceback (most recent call last):\n  File \"x.py\", line 3, in f\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB\n"
SHELL = '#!/bin/sh\nexport A="b c" HF_HOME=/x\nFORCE_TORCHRUN=1 torchrun --nproc_per_node 8 train.py --lr 1e-4 \\\n  --bf16 true <<EOF\nx\nEOF\nllamafactory-cli train sft.yaml && echo $A | tee log\n'
PY = "from transformers import TrainingArguments\nargs = TrainingArguments(output_dir='o', learning_rate=1e-4, lr_scheduler_type=\"cosine\", **{'bf16': True})\n"
ROWS = "".join(
    json.dumps(r) + "\n"
    for r in [
        {"instruction": "a", "input": "", "output": "b"},
        {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]},
        {"prompt": "a", "chosen": "b", "rejected": "c"},
    ]
)
CSV = 'id,label,prediction,score\n1,a,a,0.5\n2,b,"a,""x",0.25\n3,a,b,nan\n'
LM = json.dumps(
    {
        "results": {"arc": {"acc,none": 0.5, "acc_stderr,none": 0.01, "alias": "arc"}},
        "config": {"model": "hf", "model_args": "pretrained=x"},
        "n-samples": {"arc": {"original": 10, "effective": 10}},
    }
)
STUDY = '[study]\nours = "a"\nseeds = [1, 2]\nmode = "quick"\n[methods.a]\nlabel = "A"\n[methods.b]\nkind = "command"\ncommand = "x {out}"\n[datasets.d]\ntrain = "t"\nmetrics = ["accuracy"]\n'
EVIDENCE = (
    json.dumps(
        {
            "id": "E1",
            "claim": "a: accuracy on d",
            "value": 0.5,
            "file": "x.json",
            "sha256": "00",
            "pointer": "/a/0",
            "status": "verified",
        }
    )
    + "\n"
)
STATE = json.dumps(
    {
        "log_history": [{"step": 1, "loss": 2.0, "learning_rate": 1e-4, "epoch": 0.1}, {"step": 2, "eval_loss": 1.0}],
        "global_step": 2,
        "max_steps": 10,
    }
)
SECRET = "export WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567 hub_token: 'hf_abcdefghijklmnopqrstuvwxyz0123' url https://u:pw@h/x?sig=abc eyJhbGciOi.JIUzI1NiJ9.abc -----BEGIN RSA PRIVATE KEY-----\nabc /home/ann/x a@b.org 10.0.0.1 num_tokens=5\n"
PATCH = "--- a/x.yaml\n+++ b/x.yaml\n@@ -1,2 +1,2 @@\n-a: 1\n+a: 2\n b: 3\n"
PROJECT = "# ours\ntitle: A study\nvenue: ACL\nseeds: [1, 2]\nauthors:\n  - name: Ada\n"
RECORD = json.dumps({"exit_code": 1, "command": "python x.py", "words": ["python"], "seed": 1, "seconds": 1.5, "pid": 1, "started_at": "2026-01-02T03:04:05+00:00", "environment": {"USER": "ann"}, "versions": {"torch": "2.4"}, "target": "script", "plan_digest": "0", "last": {"total_steps": 5}, "git_remote": "git@h:a/b.git"})  # fmt: skip
DEBUG = json.dumps({"diagnoses": [{"id": "D1", "fixes": [{"id": "D1.F1", "patch": "x", "edits": []}]}]})
PEOPLE = "authors: [{first: Ada, last: Byron, email: a@b.org}, 'C D <c@d.org>']\naffiliations: [X Y]\nacknowledgements: Funded by The Z Fund W-1\n"
CHECKED = "model_name_or_path: m\nstage: sft\ndo_train: true\nfinetuning_type: lora\ntemplate: qwen\ndataset: identity\noutput_dir: o\nper_device_train_batch_size: 1\nfp16: true\ndeepspeed: ds.json\nevaluation_strategy: steps\n"
NAN = "{'loss': 1.677, 'grad_norm': 8.53, 'learning_rate': 1e-07, 'epoch': 0.01}\n{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 2e-07, 'epoch': 0.02}\n{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 3e-07, 'epoch': 0.03}\n"
WORDS = ["{", "}", "[", "]", '"', "'", ",", ":", "\n", "\r", "\t", "\x00", "\x1b[31m", "\u202e", "\ud7ff", "nan", "1e999", "-1", "9" * 40, "null", "true", "<<", "&a", "*a", "!!python/name:os.system", "---", "|", ">", "#", "$(x)", "`x`", "\\", "{{", "%s",
         "../..", "=", " ", "  ", "é", "😀", "\ufeff", "key", "token=", "://", "@", "0x", "inf"]  # fmt: skip


class Slow(BaseException):
    """One input took too long."""


def _alarm(signum: int, frame: FrameType | None) -> None:
    raise Slow


def readers(folder: Path) -> dict[str, tuple[list[bytes], Callable[[bytes], object]]]:
    """Each reader by name: samples to start from, and what reads one input."""
    from papertrain import verbs
    from papertrain.configs.checking.read import read_source
    from papertrain.core import yaml
    from papertrain.core.evidence import read_evidence, stale
    from papertrain.core.project import read_project
    from papertrain.core.redact import redact, redact_json
    from papertrain.core.training import read_plan, write_plan
    from papertrain.core.workspace import Workspace
    from papertrain.data.reading import open_rows
    from papertrain.evidence.bundle import Archive
    from papertrain.evidence.checklist import done_when, next_step
    from papertrain.evidence.cleaning import cleaned
    from papertrain.evidence.people import _project, patterns_of, who
    from papertrain.evidence.verify import verify
    from papertrain.facts.models import model_at
    from papertrain.monitor.run import examine, examine_text
    from papertrain.results.collect import read_file

    def text(data: bytes) -> str:
        return data.decode("utf-8", "replace")

    def placed(name: str, act: Callable[[Path], object]) -> Callable[[bytes], object]:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)

        def read(data: bytes) -> object:
            file.write_bytes(data)
            return act(file)

        return read

    def rows(file: Path) -> int:
        return sum(1 for _ in open_rows(file).rows)

    def evidence(file: Path) -> object:
        return stale(file.parent, read_evidence(file.parent))

    def edited(data: bytes) -> object:
        doc = yaml.load(text(data), "x.yaml")
        return yaml.edit(text(data), [(("learning_rate",), 2e-4)], "x.yaml") if isinstance(doc.value, dict) else None

    def named(file: Path) -> object:
        # Without asking git, which is no reader of ours and takes most of the time.
        return [p.sub("", file.read_text("utf-8", "replace")) for p in patterns_of(who([*_project(file.parent)]))]

    def recorded(file: Path) -> object:
        space = Workspace(folder / "recorded")
        return next_step(space), done_when(space)

    (folder / "recorded").mkdir(exist_ok=True)
    (folder / "recorded/study.toml").write_text(
        '[study]\nseeds = [1, 2]\n[methods.a]\nkind = "command"\ncommand = "x"\n[datasets.d]\n'
    )

    def plan(data: bytes) -> object:
        try:
            return read_plan(text(data))
        except msgspec.MsgspecError:  # what a workspace turns into one clear line
            return None

    (folder / "model").mkdir(parents=True, exist_ok=True)
    samples = {
        "yaml": [YAML.encode()],
        "json": [JSON.encode()],
        "log": [LOG.encode(), (LOG * 3).replace("\n", "\r").encode()],
        "plan": [_plan(write_plan)],
    }
    return {
        "yaml": (samples["yaml"], lambda d: yaml.load(text(d), "x.yaml")),
        "yaml-edit": (samples["yaml"], edited),
        "json": (samples["json"], lambda d: yaml.load_json(text(d), "x.json")),
        "config-yaml": (samples["yaml"], lambda d: read_source(text(d), "x.yaml")),
        "config-json": (samples["json"], lambda d: read_source(text(d), "x.json")),
        "shell": ([SHELL.encode()], lambda d: read_source(text(d), "x.sh")),
        "python": ([PY.encode()], lambda d: read_source(text(d), "x.py")),
        "log": (samples["log"], lambda d: examine_text(text(d))),
        "log-file": ([*samples["log"], STATE.encode(), _events(), ROWS.encode()], placed("logs/train.log", lambda f: examine([f]))),
        "trainer-state": ([STATE.encode()], placed("state/trainer_state.json", lambda f: examine([f]))),
        "tfevents": ([_events()], placed("events/events.out.tfevents.1.x", lambda f: examine([f]))),
        "rows-jsonl": ([ROWS.encode()], placed("rows/x.jsonl", rows)),
        "rows-json": ([b"[" + ROWS.strip().replace("\n", ",").encode() + b"]"], placed("rows/x.json", rows)),
        "rows-csv": ([CSV.encode()], placed("rows/x.csv", rows)),
        "scores-csv": ([CSV.encode()], placed("scores/x.csv", lambda f: read_file(f, {}))),
        "scores-json": ([LM.encode(), JSON.encode()], placed("scores/x.json", lambda f: read_file(f, {}))),
        "scores-jsonl": ([ROWS.encode(), b'{"id": 1, "label": "a", "prediction": "b"}\n' * 3], placed("scores/x.jsonl", lambda f: read_file(f, {}))),
        "model-config": ([json.dumps(CONFIG).encode()], placed("model/config.json", lambda f: model_at(f.parent))),
        "study": ([STUDY.encode()], placed("work/study.toml", lambda f: Workspace(f.parent).grid())),
        "plan": (samples["plan"], plan),
        "evidence": ([EVIDENCE.encode() * 3], placed("evidence/evidence.jsonl", evidence)),
        "project": ([PROJECT.encode()], placed("project/paper-project.yaml", lambda f: read_project(f.parent))),
        "zip": ([_zip()], placed("zips/b.zip", lambda f: verify(Archive(f), lambda n, d: {}))),
        "record": ([RECORD.encode()], placed("recorded/runs/a.d.1/record.json", recorded)),
        "debug-log": ([DEBUG.encode()], placed("recorded/runs/a.d.2/debug/1.json", recorded)),
        "people": ([PROJECT.encode(), PEOPLE.encode()], placed("people/paper-project.yaml", named)),
        "picture": ([_png(), _jpeg(), b"%PDF-1.4\nstream\n" + zlib.compress(b"x" * 99) + b"\nendstream\n"], lambda d: (cleaned("x.png", d, ()), cleaned("x.log.gz", d, ()), cleaned("x", d, ()))),
        "check": ([YAML.encode(), CHECKED.encode()], placed("checked/sft.yaml", lambda f: verbs.load("check")([f]))),
        "check-script": ([SHELL.encode()], placed("checked/run.sh", lambda f: verbs.load("check")([f]))),
        "diagnose": ([LOG.encode(), NAN.encode()], placed("diagnosed/train.log", lambda f: verbs.load("diagnose")([f]))),
        "redactor": ([SECRET.encode()], lambda d: (redact(text(d)), redact_json(json.dumps({"hub_token": text(d), text(d)[:60]: 1}).encode()))),
    }  # fmt: skip


def _plan(write_plan: Callable[[object], str]) -> bytes:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "configs"))
    from plans import make_plan

    return write_plan(make_plan()).encode()


def _events() -> bytes:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "monitor"))
    from writers import record

    return b"".join(
        record(
            bytes([0x09])
            + b"\x00" * 8
            + bytes([0x10, i, 0x2A, 0x0C, 0x0A, 0x0A, 0x0A, 0x04])
            + b"loss"
            + bytes([0x15])
            + b"\x00\x00\x80?"
        )
        for i in range(1, 5)
    )


def _png() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")

    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", b"\0" * 13) + chunk(b"tEXt", b"a\0b") + chunk(b"IDAT", b"x") + chunk(b"IEND", b"")  # fmt: skip


def _jpeg() -> bytes:
    return b"\xff\xd8" + b"\xff\xe0\x00\x04ab" + b"\xff\xe1\x00\x08Exif!!" + b"\xff\xda\x00\x02rest"


def _zip() -> bytes:
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("MANIFEST.json", json.dumps({"files": {"evidence.jsonl": {"sha256": "0", "bytes": 1}}}))
        z.writestr("evidence.jsonl", EVIDENCE)
    return out.getvalue()


def mutated(data: bytes, rng: random.Random) -> bytes:
    """The input with one to six changes."""
    b = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 3, 6])):
        at = rng.randrange(len(b) + 1)
        to = min(len(b), at + rng.choice([1, 2, 8, 40, 200]))
        what = rng.randrange(11)
        if what == 0:
            del b[at:to]
        elif what == 1:
            b[at:at] = b[at:to] * rng.choice([1, 2, 30])
        elif what == 2 and b:
            b[at % len(b)] = rng.randrange(256)
        elif what == 3:
            b[at:at] = rng.choice(WORDS).encode("utf-8", "surrogatepass") * rng.choice([1, 1, 1, 2, 300])
        elif what == 4:
            b[at:to] = rng.choice(WORDS).encode("utf-8", "surrogatepass")
        elif what == 5:
            del b[at:]
        elif what == 6:
            other = rng.randrange(len(b) + 1)
            b[at:at] = b[other : other + 60]
        elif what in (8, 9):
            b = bytearray(reworded(bytes(b), rng) if what == 8 else retyped(bytes(b), rng))
        else:
            b[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice([1, 4, 60])))
    return bytes(b)


TOKEN = re.compile(rb"[\w.+-]+")
ODD: list[object] = [None, True, False, 0, -1, 1, 2**63, 10**400, -0.0, 1e308, 5e-324, float("nan"), float("inf"), "", " ", "x" * 3000, "1e5", "nan", "../..", "\x00", "\ud7ff", [], {}, [[]], [None], {"": None}, [{}], {"a": {"a": []}}, "2026-01-02", "E1"]  # fmt: skip


def reworded(data: bytes, rng: random.Random) -> bytes:
    """One word of it is another: what stands around it stays well formed."""
    words = list(TOKEN.finditer(data))
    if not words:
        return data
    m, odd = rng.choice(words), rng.choice(ODD)
    new = rng.choice(words)[0] if rng.random() < 0.3 else (odd if isinstance(odd, str) else json.dumps(odd)).encode()
    return data[: m.start()] + new + data[m.end() :]


def retyped(data: bytes, rng: random.Random) -> bytes:
    """One value of a JSON document, or of one line of JSON, is of another kind, or gone, or doubled; everything else stands."""
    lines = data.split(b"\n") if data.count(b"\n{") else [data]
    at = rng.randrange(len(lines))
    try:
        document = json.loads(lines[at])
    except (ValueError, RecursionError):
        return data
    places: list[tuple[object, object]] = []

    def walk(node: object, depth: int = 0) -> None:
        if depth < 40 and len(places) < 5000:
            for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():  # fmt: skip
                places.append((node, key))
                walk(value, depth + 1)

    walk(document)
    if not places:
        return data
    holder, key = rng.choice(places)
    act = rng.randrange(4)
    if act == 0:
        del holder[key]  # type: ignore[attr-defined]
    elif act == 1 and isinstance(holder, dict):
        holder[rng.choice(["", "x", str(key) * 2])] = holder.pop(key)
    elif act == 2:
        other, name = rng.choice(places)
        try:
            holder[key] = json.loads(json.dumps(other[name]))  # type: ignore[index]
        except (KeyError, IndexError):
            return data
    else:
        holder[key] = rng.choice(ODD)  # type: ignore[index]
    lines[at] = json.dumps(document).encode()
    return b"\n".join(lines)


def fuzz(
    name: str, samples: list[bytes], read: Callable[[bytes], object], inputs: int, seed: int
) -> list[tuple[bytes, str]]:
    """(input, what went wrong): anything but an answer or a PapertrainError within the time."""
    from papertrain.core.errors import PapertrainError

    rng = random.Random(f"{name} {seed}")
    wrong: list[tuple[bytes, str]] = []
    pool = list(samples)
    signal.signal(signal.SIGVTALRM, _alarm)
    for _ in range(inputs):
        data = mutated(rng.choice(pool), rng)
        if len(pool) < 64 and rng.random() < 0.05 and len(data) < 20_000:
            pool.append(data)
        signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
        try:
            read(data)
        except PapertrainError:
            pass
        except Slow:
            wrong.append((data, f"more than {LIMIT} s"))
        except RecursionError as error:
            wrong.append((data, f"RecursionError: {str(error)[:60]}"))
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            wrong.append(
                (data, f"{type(error).__name__}: {str(error)[:120]} ({Path(where.filename).name}:{where.lineno})")
            )
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return wrong


@contextmanager
def place() -> Iterator[Path]:
    """A folder in memory where there is one: the fuzzer tests readers, not disks."""
    shm = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="papertrain-fuzz-", dir=shm if os.access(shm, os.W_OK) else None) as folder:
        yield Path(folder)


def memory(*, reset: bool = False) -> int:
    """The most this process held since the last reset (now, with `reset`); 0 where the system does not tell."""
    try:
        if reset:
            Path("/proc/self/clear_refs").write_text("5")
        status = Path("/proc/self/status").read_text()
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return 0


def main() -> int:
    inputs, seed = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000, int(sys.argv[2]) if len(sys.argv) > 2 else 0
    only = sys.argv[3:]
    bad = total = largest = 0
    with place() as folder:
        for name, (samples, read) in readers(folder).items():
            if only and name not in only:
                continue
            began, before = time.monotonic(), memory(reset=True)
            wrong = fuzz(name, samples, read, inputs, seed)
            grown = memory() - before
            bad, total, largest = bad + len(wrong) + (grown > MEMORY), total + inputs, max(largest, grown)
            print(
                f"  {name:<14} {inputs:,} inputs in {time.monotonic() - began:.0f} s, {grown / 1e6:.0f} MB more at its peak, {len(wrong)} wrong",
                flush=True,
            )
            shown: set[str] = set()
            for data, says in wrong:
                kind = says.split("(")[-1]
                if kind not in shown and len(shown) < 5:
                    shown.add(kind)
                    print(f"      {says}\n      {data[:160]!r}", flush=True)
    print(f"fuzz: {total:,} inputs, {largest / 1e6:.0f} MB, {bad} wrong")
    return int(bad > 0)


if __name__ == "__main__":
    raise SystemExit(main())
