"""The faults that are put into a training of bench/faults_train.py or faults_ddp.py, each from outside."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

from faults import HERE, Fault, Folder
from papertrain.run.checkpoints import checkpoints, keep_good

KEPT: list[socket.socket] = []


def sets(**values: Any) -> Any:
    def make(f: Folder) -> None:
        f.config |= values

    return make


def lora(f: Folder, **values: Any) -> None:
    f.chat()
    f.config |= {
        "peft": "lora",
        "target_modules": "q_proj,v_proj,lm_head",
        "lora_r": 8,
        "learning_rate": 0.009,
        **values,
    }


def rows_with(n: int, change: Any) -> Any:
    def make(f: Folder) -> None:
        for row in f.r.sample(f.train, n):
            change(row)

    return make


def nan_weight(f: Folder) -> None:
    for row in (*f.train, *f.eval):
        row["weight"] = 1.0
    f.train[f.r.randrange(len(f.train))]["weight"] = float("nan")
    f.config |= {"remove_unused_columns": False, "logging_nan_inf_filter": False}
    f.onset = 1


def weight_removed(f: Folder) -> None:
    for row in (*f.train, *f.eval):
        row["weight"] = 1.0


def rate_times_100(f: Folder) -> None:
    f.config["learning_rate"] = 0.3
    f.config["max_grad_norm"] = 0.0
    f.onset = 1


def all_masked(f: Folder) -> None:
    f.chat(longest=40)
    for row in f.train:
        row["instruction"] = " ".join([row["instruction"]] * 12)
    f.config["max_length"] = 16
    f.onset = 1


def adapters_frozen(f: Folder) -> None:
    lora(f)
    change_script(
        f,
        "model.print_trainable_parameters()",
        "[p.requires_grad_(False) for n, p in model.named_parameters() if 'lora_' in n]; model.print_trainable_parameters()",
    )


def change_script(f: Folder, old: str, new: str) -> None:
    """A mistake in the user's own script."""
    text = (HERE / "faults_train.py").read_text()
    assert old in text, old
    f.path.mkdir(parents=True, exist_ok=True)
    (f.path / "train.py").write_text(text.replace(old, new))
    f.job["words"] = ["train.py", "train.yaml"]


def right_script(f: Folder) -> None:
    f.job["words"] = [str(HERE / "faults_train.py"), "train.yaml"]


def rename_key(old: str, new: str) -> Any:
    def make(f: Folder) -> None:
        f.config = {new if k == old else k: v for k, v in f.config.items()}

    return make


def newest(f: Folder) -> Path:
    return checkpoints(f.path / "out")[-1].path


def resumed(damage: Any, first: int = 2, **config: Any) -> Any:
    """Two epochs, something happens to the last checkpoint, then the run goes on from it."""

    def make(f: Folder) -> None:
        f.config |= {"num_train_epochs": first, **config}

        def before(f: Folder) -> None:
            end = f.run("first.log")
            assert end["exit_code"] == 0, (f.path / "first.log").read_text()[-2000:]
            last = newest(f)
            f.config |= {"num_train_epochs": 4, "resume_from_checkpoint": "auto"}
            damage(f, last)
            f.write()

        f.job["before"] = before

    return make


def cut(name: str, keep: float = 0.6) -> Any:
    def damage(f: Folder, last: Path) -> None:
        content = (last / name).read_bytes()
        (last / name).write_bytes(content[: int(len(content) * keep)])

    return damage


def use_the_one_before(f: Folder) -> None:
    _, told = keep_good(f.path / "out")
    if not told:
        last = newest(f)
        shutil.rmtree(last)


def freeze_more(f: Folder, last: Path) -> None:
    change_script(
        f, "    train_set = examples", "    model.bert.embeddings.requires_grad_(False)\n    train_set = examples"
    )


def scheduler_lost(f: Folder) -> None:
    """Stopped half way, as by a pre-emption; the folder that is resumed from lacks the scheduler's state."""
    change_script(
        f,
        "    trainer.train(resume",
        "    from transformers import TrainerCallback\n\n    class Half(TrainerCallback):\n        def on_epoch_end(self, args, state, control, **kw):\n            control.should_save = True\n            control.should_training_stop = os.path.exists('stop') and state.epoch >= 2\n\n    trainer.add_callback(Half())\n    trainer.train(resume",
    )
    (f.path / "stop").write_text("")

    def before(f: Folder) -> None:
        f.run("train.log")
        (f.path / "stop").unlink()
        last = newest(f)
        (last / "scheduler.pt").unlink()
        f.config |= {"resume_from_checkpoint": "auto"}
        f.write()

    f.job["before"] = before


def all_trained(f: Folder, last: Path) -> None:
    f.config["num_train_epochs"] = 3


def full_disk(f: Folder) -> None:
    out = f.path / "out"

    def before(f: Folder) -> None:
        out.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(out)], check=True)

    f.job["before"] = before


def more_disk(f: Folder) -> None:
    subprocess.run(["mount", "-o", "remount,size=64m", str(f.path / "out")], check=True)
    f.config["resume_from_checkpoint"] = "auto"
    keep_good(f.path / "out")
    f.write()


def mounts() -> bool:
    return os.geteuid() == 0


def ddp(*words: str, ranks: int = 2, **more: Any) -> Any:
    def make(f: Folder) -> None:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        f.configured = False
        f.job = {
            "words": [str(HERE / "faults_ddp.py"), f"seed={f.seed}", *words], "seconds": 150,
            "env": {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"} | more, "ranks": [{"RANK": str(k), "LOCAL_RANK": str(k)} for k in range(ranks)],
        }  # fmt: skip

    return make


def port_taken(f: Folder) -> None:
    ddp()(f)
    s = socket.socket()
    s.bind(("0.0.0.0", 0))
    s.listen()
    KEPT.append(s)
    f.job["env"]["MASTER_PORT"] = str(s.getsockname()[1])


def other_port(f: Folder) -> None:
    KEPT.pop().close()


def rank_missing(f: Folder) -> None:
    ddp("timeout=3", ranks=1)(f)


def all_ranks(f: Folder) -> None:
    f.job["ranks"] = [{"RANK": str(k), "LOCAL_RANK": str(k)} for k in range(2)]


def with_words(*words: str) -> Any:
    def mend(f: Folder) -> None:
        f.job["words"] = [
            *[w for w in f.job["words"] if w.partition("=")[0] not in {x.partition("=")[0] for x in words}],
            *words,
        ]

    return mend


def env(**values: str) -> Any:
    def mend(f: Folder) -> None:
        f.job.setdefault("env", {}).update(values)

    return mend


def limits(**values: int) -> Any:
    def make(f: Folder) -> None:
        f.job["limits"] = values

    return make


def memory_limit(f: Folder) -> None:
    f.chat(longest=40)
    f.config |= {
        "per_device_train_batch_size": 96,
        "gradient_accumulation_steps": 1,
        "max_length": 64,
        "save_strategy": "no",
        "eval_strategy": "no",
    }
    for row in f.train:
        row["output"] = " ".join(f"w{f.r.randrange(200)}" for _ in range(60))
    f.job["limits"] = {"RLIMIT_AS": 24 * 2**20}


def worker_killed(f: Folder) -> None:
    f.config["dataloader_num_workers"] = 1
    change_script(f, "    def __call__(self, batch):", "    def __call__(self, batch):\n        if torch.utils.data.get_worker_info() is not None and os.path.exists('kill'):\n            os.kill(os.getpid(), 9)")  # fmt: skip
    (f.path / "kill").write_text("")


def no_workers(f: Folder) -> None:
    f.config["dataloader_num_workers"] = 0
    f.write()


def scaled_loss(f: Folder) -> None:
    f.chat()
    f.config |= {"gradient_accumulation_steps": 4, "per_device_train_batch_size": 2, "num_train_epochs": 8}
    change_script(f, "class Weighted(Trainer):", """class Summed(Trainer):
    def __init__(self, *a, **k):
        super().__init__(*a, **k)
        self.model_accepts_loss_kwargs = True

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        out = model(**inputs)
        return (out.loss, out) if return_outputs else out.loss


class Weighted(Trainer):""")  # fmt: skip
    text = (f.path / "train.py").read_text()
    (f.path / "train.py").write_text(text.replace("else Trainer\n", "else Summed\n"))
    f.onset = 1


def overfit(f: Folder) -> None:
    f.train = f.train[:12]
    for row in f.train:
        row["label"] = f.r.randrange(3)
    f.config |= {"num_train_epochs": 25, "learning_rate": 0.01, "save_strategy": "no"}


def yaml_text_rate(f: Folder) -> None:
    f.config["learning_rate"] = "3e-3"


FAULTS = [
    Fault("nan in a batch", ("nan-bad-data",), r"row|filter|drop|find", nan_weight, lambda f: drop_nan(f)),
    Fault("label out of range", ("device-assert-label-range",), r"label", rows_with(2, lambda r: r.update(label=7))),
    Fault("label below zero", ("device-assert-label-range",), r"label", rows_with(1, lambda r: r.update(label=-1))),
    Fault("column removed by the Trainer", ("dataset-columns-removed-by-trainer",), r"remove_unused_columns", weight_removed),
    Fault("learning rate x100", ("divergence-lr-too-high", "nan-lr-too-high"), r"learning_rate", rate_times_100),
    Fault("all labels masked", ("nan-all-labels-masked", "loss-zero-all-labels-masked"), r"cutoff|length|template", all_masked, lambda f: (f.config.update(max_length=64 * 16), f.write())),
    Fault("adapters frozen", ("lora-no-trainable-params", "no-grad-checkpointing-peft"), r"trainable|adapter|freez|frozen", adapters_frozen, right_script),
    Fault("label column missing", ("dataset-columns",), r"column", lambda f: [r.pop("label") for r in f.train[40:41]], lambda f: (f.train.pop(40), f.write())),
    Fault("text column empty", ("dataset-row-without-text",), r"row|text", lambda f: f.train[7].update(text=None), lambda f: (f.train.pop(7), f.write())),
    Fault("data file cut in a row", ("dataset-file-broken",), r"file|row|line", lambda f: f.job.update(before=lambda f: (f.path / "train.jsonl").write_text((f.path / "train.jsonl").read_text()[:-20])), lambda f: f.write()),
    Fault("no rows", ("dataset-columns-removed-by-trainer", "dataset-too-small-zero-steps", "dataset-too-long-all-dropped", "dataset-file-broken", "dataset-format-no-valid-samples"), r"row|example|data", lambda f: f.train.clear(), lambda f: (f.train.extend(f.row() for _ in range(48)), f.write())),
    Fault("labels are words", ("collator-labels-not-integers",), r"label", lambda f: [r.update(label="abc"[r["label"]]) for r in f.train], lambda f: ([r.update(label="abc".index(r["label"])) for r in f.train], f.write())),
    Fault("labels not padded", ("collator-labels-not-truncated",), r"DataCollatorForSeq2Seq|pad", lambda f: (f.chat(), change_script(f, "[b[\"labels\"] + [-100] * (width - len(b[\"labels\"])) for b in batch]", "[b[\"labels\"] for b in batch]"), [r.update(output=r["output"] + " w1" * (i % 5)) for i, r in enumerate(f.train)]), right_script),
    Fault("token beyond the vocabulary", ("device-assert-token-range",), r"embed|vocab|token", lambda f: (f.chat(), f.train[5].update(prompt_ids=[3, 7000, 4])), lambda f: (f.train.pop(5), f.write())),
    Fault("token beyond the positions", ("device-assert-token-range",), r"max_position|length|cutoff|embed|vocab", lambda f: (f.config.update(max_length=512), f.train[5].update(text=" ".join(["w1"] * 200))), lambda f: (f.config.update(max_length=32), f.write())),
    Fault("no pad token", ("pad-token-missing-model-config",), r"pad", lambda f: f.config.update(model_name_or_path=str(f.models / "gpt2"), pad=False), lambda f: (f.config.update(pad=True), f.write())),
    Fault("no chat template", ("chat-template-missing",), r"template", lambda f: (f.chat(), f.config.update(model_name_or_path=str(f.models / "base"), chat=True)), lambda f: (f.config.update(model_name_or_path=str(f.models / "llama")), f.write())),
    Fault("adapter target not in the model", ("lora-target-not-found",), r"target|all-linear|module", lambda f: lora(f, target_modules="query_key_value"), lambda f: (f.config.update(target_modules="q_proj,v_proj,lm_head"), f.write())),
    Fault("head in another dtype", ("dtype-mismatch-matmul", "dtype-mismatch-half-float"), r"cast|dtype|autocast|precision", lambda f: (f.config.update(torch_dtype="bfloat16"), change_script(f, "    train_set = examples", "    model.classifier.float()\n    train_set = examples")), right_script),
    Fault("strategies differ", ("eval-save-strategy-mismatch",), r"strategy", sets(eval_strategy="no", load_best_model_at_end=True)),
    Fault("argument renamed", ("transformers-arg-rename",), r"eval_strategy", rename_key("eval_strategy", "evaluation_strategy")),
    Fault("unknown key", ("unexpected-config-key", "transformers-arg-rename"), r"learning_rat", rename_key("learning_rate", "learning_rat")),
    Fault("value not in the list", ("config-value-not-in-enum",), r"cosine|scheduler", sets(lr_scheduler_type="cosin")),
    Fault("rate written as text", ("config-number-is-text",), r"3e-3|3\.0e-3|0\.003|number", yaml_text_rate),
    Fault("bf16 and fp16 at once", ("config-options-conflict",), r"fp16|bf16", sets(fp16=True, bf16=True)),
    Fault("model folder missing", ("model-not-found",), r"path|model|name", sets(model_name_or_path="/nowhere/bert-tiny"), lambda f: (f.config.update(model_name_or_path=str(f.models / "bert")), f.write())),
    Fault("package missing", ("package-missing",), r"install", lambda f: change_script(f, "import torch\n", "import torch\nimport flash_linear_attn_not_here\n"), right_script),
    Fault("weights cut", ("checkpoint-truncated-disk-full", "safetensors-lfs-pointer", "checkpoint-corrupt-zip"), r"again|delete|newest|earlier|previous|before", resumed(cut("model.safetensors")), use_the_one_before),
    Fault("optimizer state cut", ("checkpoint-corrupt-zip", "checkpoint-truncated-disk-full"), r"again|delete|newest|earlier|previous|before", resumed(cut("optimizer.pt")), use_the_one_before),
    Fault("optimizer of other groups", ("resume-optimizer-group-mismatch",), r"freez|optimizer|frozen", resumed(freeze_more), right_script),
    Fault("scheduler reset on resume", ("resume-lr-scheduler-reset",), r"schedul", scheduler_lost, possible=False),
    Fault("resumed without anything left", ("resume-trained-nothing",), r"epoch|max_steps|weights", resumed(all_trained, 4)),
    Fault("port taken", ("port-in-use",), r"port", port_taken, other_port),
    Fault("rank missing", ("launch-env-ignored", "nccl-timeout-preprocessing", "nccl-timeout-uneven-data", "rank-missing"), r"rank|node|start", rank_missing, all_ranks),
    Fault("unused parameters under DDP", ("ddp-unused-parameters",), r"find_unused_parameters", ddp("unused=1"), with_words("find_unused_parameters=1")),
    Fault("ranks with unequal batches", ("nccl-timeout-uneven-data", "rank-lost"), r"batch|join|drop_last|rank", ddp("uneven=1", "timeout=4", "steps=8"), with_words("uneven=0")),
    Fault("memory limit", ("host-ram-oom-killer", "oom-activations"), r"batch", memory_limit, lambda f: (f.config.update(per_device_train_batch_size=4, gradient_accumulation_steps=24), f.write())),
    Fault("worker killed", ("dataloader-worker-killed-ram",), r"worker", worker_killed, no_workers),
    Fault("too many open files", ("too-many-open-files",), r"ulimit|file_system", lambda f: (f.config.update(dataloader_num_workers=2), limits(RLIMIT_NOFILE=16)(f)), lambda f: f.job.pop("limits")),
    Fault("too many epochs", ("overfit-too-many-epochs",), r"epoch|early", overfit, possible=False),
    Fault("loss scaled by accumulation", ("loss-scaled-by-grad-accum",), r"num_items|transformers|version|upgrade", scaled_loss, right_script),
    *([Fault("disk full while saving", ("disk-full-checkpoint",), r"space|save_total_limit", full_disk, more_disk)] if mounts() else []),
]  # fmt: skip


def drop_nan(f: Folder) -> None:
    f.train = [r for r in f.train if r["weight"] == r["weight"]]
    f.write()
