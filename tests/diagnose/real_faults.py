"""Real failures of real libraries, on the CPU: what torch, transformers, peft and safetensors print today, class by class.

python real_faults.py      prints {class: text} as JSON; run in a training environment
"""

import contextlib
import io
import json
import os
import sys
import tempfile
import traceback
from importlib import import_module

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
from pathlib import Path

import peft
import torch
import torch.nn as nn
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

out = {}
REAL = sys.stdout
tmp = Path(tempfile.mkdtemp())


def fault(name):
    def deco(fn):
        err = io.StringIO()
        try:
            with contextlib.redirect_stderr(err), contextlib.redirect_stdout(err):
                fn()
            out[name] = err.getvalue()
        except BaseException:
            out[name] = err.getvalue() + traceback.format_exc()
        return fn

    return deco


cfg = LlamaConfig(
    vocab_size=100,
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=4,
    max_position_embeddings=64,
)


def model():
    return LlamaForCausalLM(cfg)


@fault("device-assert-token-range")
def _():
    model()(torch.tensor([[1, 2, 150]]))


@fault("device-assert-label-range")
def _():
    nn.CrossEntropyLoss()(torch.randn(4, 2), torch.tensor([0, 1, 2, 1]))


@fault("transformers-arg-rename")
def _():
    TrainingArguments(output_dir=str(tmp), evaluation_strategy="steps")


@fault("transformers-arg-rename#2")
def _():
    Trainer(model=model(), args=TrainingArguments(output_dir=str(tmp), use_cpu=True), tokenizer=None)


@fault("eval-save-strategy-mismatch")
def _():
    TrainingArguments(
        output_dir=str(tmp),
        use_cpu=True,
        eval_strategy="steps",
        save_strategy="epoch",
        load_best_model_at_end=True,
        eval_steps=5,
    )


@fault("eval-save-strategy-mismatch#2")
def _():
    TrainingArguments(
        output_dir=str(tmp),
        use_cpu=True,
        eval_strategy="steps",
        save_strategy="steps",
        save_steps=7,
        load_best_model_at_end=True,
        eval_steps=5,
    )


@fault("bf16-unsupported-gpu")
def _():
    TrainingArguments(output_dir=str(tmp), bf16=True)


@fault("config-value-not-in-enum")
def _():
    TrainingArguments(output_dir=str(tmp), use_cpu=True, lr_scheduler_type="cosin")


@fault("config-value-not-in-enum#2")
def _():
    TrainingArguments(output_dir=str(tmp), use_cpu=True, optim="adamw_foo")


@fault("lora-target-not-found")
def _():
    peft.get_peft_model(model(), peft.LoraConfig(target_modules=["query_key_value"]))


@fault("peft-version-mismatch-config")
def _():
    peft.LoraConfig(foo_config=1)


@fault("no-grad-checkpointing-peft")
def _():
    m = model()
    for p in m.parameters():
        p.requires_grad_(False)
    m(torch.tensor([[1, 2, 3]]), labels=torch.tensor([[1, 2, 3]])).loss.backward()


@fault("lora-no-trainable-params")
def _():
    m = model()
    for p in m.parameters():
        p.requires_grad_(False)
    torch.optim.AdamW([p for p in m.parameters() if p.requires_grad])


@fault("checkpoint-corrupt-zip")
def _():
    torch.save({"a": torch.randn(1000)}, tmp / "a.pt")
    b = (tmp / "a.pt").read_bytes()
    (tmp / "a.pt").write_bytes(b[: len(b) // 2])
    torch.load(tmp / "a.pt")


@fault("checkpoint-truncated-disk-full")
def _():
    from safetensors.torch import load_file, save_file

    save_file({"a": torch.randn(1000)}, str(tmp / "m.safetensors"))
    b = (tmp / "m.safetensors").read_bytes()
    (tmp / "m.safetensors").write_bytes(b[: len(b) // 2])
    load_file(str(tmp / "m.safetensors"))


@fault("safetensors-lfs-pointer")
def _():
    from safetensors.torch import load_file

    (tmp / "p.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 123\n")
    load_file(str(tmp / "p.safetensors"))


@fault("safetensors-lfs-pointer#2")
def _():
    (tmp / "p.bin").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 123\n")
    torch.load(tmp / "p.bin", weights_only=False)


@fault("safetensors-shared-tensors")
def _():
    from safetensors.torch import save_file

    t = torch.randn(10)
    save_file({"a": t, "b": t}, str(tmp / "s.safetensors"))


@fault("torch-load-weights-only")
def _():
    import argparse

    torch.save({"args": argparse.Namespace(x=1), "m": nn.Linear(2, 2)}, tmp / "w.pt")
    torch.load(tmp / "w.pt")


@fault("resume-optimizer-group-mismatch")
def _():
    a = torch.optim.AdamW(nn.Linear(2, 2).parameters())
    b = torch.optim.AdamW(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)).parameters())
    b.load_state_dict(a.state_dict())


@fault("dtype-mismatch-matmul")
def _():
    torch.randn(2, 3) @ torch.randn(3, 2).half()


@fault("dtype-mismatch-matmul#2")
def _():
    nn.Linear(3, 2).bfloat16()(torch.randn(2, 3))


@fault("disk-full-checkpoint")
def _():
    torch.save({"a": torch.randn(100000)}, "/dev/full")


@fault("disk-full-checkpoint#2")
def _():
    with Path("/dev/full").open("w") as f:
        f.write("x" * 100000)
        f.flush()


@fault("port-in-use")
def _():
    import socket

    s = socket.socket()
    s.bind(("127.0.0.1", 29611))
    s.listen()
    import torch.distributed as dist

    dist.TCPStore("127.0.0.1", 29611, 1, True)


@fault("launch-env-ignored")
def _():
    import datetime

    import torch.distributed as dist

    dist.TCPStore("127.0.0.1", 29733, 2, True, timeout=datetime.timedelta(seconds=2))


@fault("dataset-columns")
def _():
    import datasets

    d = datasets.Dataset.from_dict({"txt": ["a"]})
    d.map(lambda r: {"n": r["text"]})


@fault("dataset-not-registered")
def _():
    import datasets

    datasets.load_dataset("/tmp/nowhere_xyz")


@fault("dataset-columns-removed-by-trainer")
def _():
    import datasets

    d = datasets.Dataset.from_dict({"text": ["a"] * 8, "foo": [1] * 8})
    Trainer(
        model=model(),
        args=TrainingArguments(output_dir=str(tmp / "o"), use_cpu=True, report_to="none", max_steps=1),
        train_dataset=d,
    ).train()


@fault("collator-labels-not-integers")
def _():
    from transformers import BatchEncoding

    BatchEncoding({"labels": ["pos", "neg"]}, tensor_type="pt")


@fault("collator-labels-not-truncated")
def _():
    from transformers import BatchEncoding

    BatchEncoding({"input_ids": [[1, 2], [3, 4]], "labels": [[1, 2, 3], [1]]}, tensor_type="pt")


@fault("pad-token-missing-model-config")
def _():
    from transformers import LlamaForSequenceClassification

    LlamaForSequenceClassification(cfg)(torch.tensor([[1, 2], [3, 4]]))


@fault("torch-without-cuda")
def _():
    torch.zeros(1).cuda()


@fault("checkpoint-recompute-mismatch")
def _():
    from torch.utils.checkpoint import checkpoint

    n = [0]

    def f(x):
        n[0] += 1
        return (x.sin()).cos() if n[0] == 1 else x.sin()

    checkpoint(f, torch.randn(3, requires_grad=True), use_reentrant=False).sum().backward()


@fault("ddp-inplace-buffer-broadcast")
def _():
    x = torch.randn(3, requires_grad=True)
    y = x.sigmoid()
    y.add_(1)
    y.sum().backward()


@fault("meta-tensor-offload")
def _():
    nn.Linear(2, 2, device="meta").to("cpu")


@fault("numpy-version-removed-alias")
def _():
    import numpy as np

    print(np.bool8)


@fault("package-missing")
def _():
    import_module("a_package_that_nobody_has")


@fault("model-not-found")
def _():
    from transformers import AutoModel

    AutoModel.from_pretrained("meta-llama/Nope-7B")


@fault("model-not-found#2")
def _():
    from transformers import AutoModel

    (tmp / "m").mkdir(exist_ok=True)
    cfg.save_pretrained(tmp / "m")
    AutoModel.from_pretrained(tmp / "m")


@fault("chat-template-missing")
def _():
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"))
    ).apply_chat_template([{"role": "user", "content": "a"}])


@fault("fp16-gradscaler-trainable-half")
def _():
    p = nn.Parameter(torch.randn(2).half())
    p.grad = torch.randn(2).half()
    s = torch.amp.GradScaler("cpu")
    s._lazy_init_scale_growth_tracker(torch.device("cpu"))
    s.unscale_(torch.optim.SGD([p], lr=0.1))


@fault("host-ram-oom-killer")
def _():
    torch.empty(2**46)


@fault("host-ram-oom-killer#2")
def _():
    import numpy as np

    np.ones(2**46)


@fault("dataset-message-mapping")
def _():
    import jinja2

    jinja2.Environment(undefined=jinja2.StrictUndefined).from_string("{{ m.content }}").render(m={"value": 1})


json.dump(out, REAL)
