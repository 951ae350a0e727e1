"""A tiny classifier in the real Trainer with the callback, run in the training environment: KIND STOP_ON OUT → JSON on stdout.

KIND: healthy, or nan: from step 12 on the loss is NaN, as a division by an empty mask makes it.
"""

from __future__ import annotations

import json
import sys
import time

import torch
from transformers import Trainer, TrainerCallback, TrainingArguments

from papertrain.monitor.callback import trainer_callback

kind, stop_on, out = sys.argv[1:4]
torch.manual_seed(1)
STEPS = 60


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.line = torch.nn.Linear(8, 2)
        self.calls = 0

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        self.calls += self.training
        logits = self.line(x)
        loss = torch.nn.functional.cross_entropy(logits, labels)
        if kind == "nan" and self.calls >= 12:
            loss = loss * torch.tensor(float("nan"))
        return {"loss": loss, "logits": logits}


class Rows(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return STEPS * 8

    def __getitem__(self, i: int) -> dict[str, torch.Tensor]:
        g = torch.Generator().manual_seed(i)
        x = torch.randn(8, generator=g)
        return {"x": x, "labels": (x[0] > 0).long()}


class Clock(TrainerCallback):
    """How long the callback took, beside the whole."""

    spent = 0.0


told: list[str] = []
callback = trainer_callback(stop_on=stop_on, tell=told.append)  # type: ignore[arg-type]
log = callback.on_log


def timed(*args: object, **kwargs: object) -> object:
    begin = time.perf_counter()
    try:
        return log(*args, **kwargs)
    finally:
        Clock.spent += time.perf_counter() - begin


callback.on_log = timed
args = TrainingArguments(
    out, per_device_train_batch_size=8, max_steps=STEPS, learning_rate=0.05, logging_steps=1, report_to=[], save_strategy="no",
    disable_tqdm=True, use_cpu=True, lr_scheduler_type="linear", warmup_steps=3, seed=1, logging_nan_inf_filter=True,
)  # fmt: skip
trainer = Trainer(model=Net(), args=args, train_dataset=Rows(), callbacks=[callback])
trainer.train()
print(
    json.dumps(
        {"steps": trainer.state.global_step, "told": told, "level": callback.watch.level, "seconds": Clock.spent}
    )
)
