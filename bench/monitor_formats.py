"""The same curve as some fifty programs print it: the line formats of frameworks and of hand-written loops.

Each writer takes a function from the row's number to the loss and gives the text of a log of N rows. Shapes were taken from the
programs' own print statements and from public logs; the numbers are made here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable

N = 200
Loss = Callable[[int], float]
FORMATS: dict[str, Callable[[Loss], str]] = {}


def form(writer: Callable[[Loss], str]) -> Callable[[Loss], str]:
    FORMATS[writer.__name__] = writer
    return writer


@form
def mnist(loss: Loss) -> str:
    return "\n".join(
        [
            f"Train Epoch: {1 + i // 20} [{(i % 20) * 640}/{60000 // 5} ({5 * (i % 20)}%)]\tLoss: {loss(i):.6f}"
            + (
                f"\n\nTest set: Average loss: {loss(i) * 1.1:.4f}, Accuracy: {9000 + i * 10}/10000 ({90 + i // 10}%)\n"
                if i % 20 == 19
                else ""
            )
            for i in range(N)
        ]
    )


@form
def i_of(loss: Loss) -> str:
    return "\n".join(f"epoch={i // 20} i={i % 20}/20 total loss={loss(i):.5f} spectro loss=1.0" for i in range(N))


@form
def bracket(loss: Loss) -> str:
    return "\n".join(
        f"Epoch [{1 + i // 20}/3], Step [{(i % 20 + 1) * 100}/2000], Loss: {loss(i):.4f}" for i in range(N)
    )


@form
def wordlm(loss: Loss) -> str:
    return "\n".join(
        f"| epoch {1 + i // 20:3d} | {(i % 20 + 1) * 200:5d}/ 4000 batches | lr 20.00 | ms/batch 12.30 | loss {loss(i):5.2f} | ppl {math.exp(min(loss(i), 20)) if loss(i) == loss(i) else math.nan:8.2f}"
        + (
            f"\n{'-' * 89}\n| end of epoch {1 + i // 20:3d} | time: 10.00s | valid loss {loss(i) + 0.1:5.2f} | valid ppl  100.00\n{'-' * 89}"
            if i % 20 == 19
            else ""
        )
        for i in range(N)
    )


@form
def fairseq_old(loss: Loss) -> str:
    return "\n".join(
        f"| epoch {1 + i // 20:03d}:   {(i % 20 + 1) * 100} / 2000 loss={loss(i):.3f}, nll_loss={loss(i) * 0.9:.3f}, ppl=200.1, wps=30000, ups=2, wpb=3000, bsz=100, num_updates={(i + 1) * 100}, lr=0.0001, gnorm=1.2, clip=0, loss_scale=128, train_wall=50, wall=100"
        for i in range(N)
    )


@form
def fairseq_log(loss: Loss) -> str:
    return "\n".join(
        f"2021-01-01 00:{i:02d}:00 | INFO | train_inner | epoch {1 + i // 20:03d}:   {(i % 20 + 1) * 100} / 2000 loss={loss(i):.3f}, nll_loss=1.1, ppl=200.1, wps=30000, num_updates={(i + 1) * 100}, lr=0.0001, gnorm=1.2, loss_scale=128, train_wall=50"
        + (
            f"\n2021-01-01 00:{i:02d}:01 | INFO | valid | epoch {1 + i // 20:03d} | valid on 'valid' subset | loss {loss(i) + 0.1:.3f} | nll_loss 1.2 | ppl 30.1 | num_updates {(i + 1) * 100}"
            if i % 20 == 19
            else ""
        )
        for i in range(N)
    )


@form
def detectron(loss: Loss) -> str:
    return "\n".join(
        f"[01/01 00:{i:02d}:00 d2.utils.events]:  eta: 0:10:00  iter: {20 * i + 19}  total_loss: {loss(i):.4f}  loss_cls: 0.7  loss_box_reg: 0.3  time: 0.4512  data_time: 0.0121  lr: 0.00049953  max_mem: 2345M"
        for i in range(N)
    )


@form
def mmdet(loss: Loss) -> str:
    return "\n".join(
        f"2021-01-01 00:{i:02d}:00,000 - mmdet - INFO - Epoch [{1 + i // 20}][{(i % 20 + 1) * 50}/1000]\tlr: 1.000e-03, eta: 5:00:00, time: 0.532, data_time: 0.051, memory: 3500, loss_cls: 0.51, loss_bbox: 0.33, loss: {loss(i):.4f}, grad_norm: 3.41"
        for i in range(N)
    )


@form
def mmengine(loss: Loss) -> str:
    return "\n".join(
        f"2023/01/01 00:{i:02d}:00 - mmengine - INFO - Epoch(train)  [{1 + i // 20}][{(i % 20 + 1) * 50:5d}/1000]  lr: 1.0000e-03  eta: 5:00:00  time: 0.5320  data_time: 0.0510  memory: 3500  grad_norm: 3.4100  loss: {loss(i):.4f}  loss_cls: 0.5100"
        + (
            f"\n2023/01/01 00:{i:02d}:30 - mmengine - INFO - Epoch(val) [{1 + i // 20}][100/100]    coco/bbox_mAP: {0.1 + i / 200:.4f}  data_time: 0.0100  time: 0.2000"
            if i % 20 == 19
            else ""
        )
        for i in range(N)
    )


@form
def xtuner(loss: Loss) -> str:
    return "\n".join(
        f"01/01 00:{i:02d}:00 - mmengine - INFO - Iter(train) [{(i + 1) * 10:4d}/600]  lr: 2.0000e-05  eta: 1:00:00  time: 3.2000  data_time: 0.0100  memory: 20000  loss: {loss(i):.4f}"
        for i in range(N)
    )


@form
def timm(loss: Loss) -> str:
    return "\n".join(
        f"Train: {i // 20} [{(i % 20) * 50:4d}/1000 ({5 * (i % 20):3d}%)]  Loss: {loss(i):.3f} ({loss(i) + 0.1:.2f})  Time: 0.320s,  800.00/s  (0.330s,  780.00/s)  LR: 1.000e-06  Data: 0.010 (0.020)"
        for i in range(N)
    )


@form
def imagenet(loss: Loss) -> str:
    return "\n".join(
        f"Epoch: [{i // 20}][{(i % 20) * 10:4d}/200]\tTime  0.320 (  1.000)\tData  0.010 (  0.500)\tLoss {loss(i):.4e} ({loss(i) + 0.1:.4e})\tAcc@1   {i / 2:.2f} (  0.10)\tAcc@5   1.00 (  0.50)"
        for i in range(N)
    )


@form
def opennmt(loss: Loss) -> str:
    return "\n".join(
        f"[2021-01-01 00:{i:02d}:00,000 INFO] Step {(i + 1) * 50}/100000; acc: {10 + i / 2:.2f}; ppl: 500.00; xent: {loss(i):.2f}; lr: 0.00010; sents: 3000; bsz: 3000/3000/100; 20000/20000 tok/s; {i * 10} sec;"
        for i in range(N)
    )


@form
def espnet(loss: Loss) -> str:
    return "\n".join(
        f"[host] 2021-01-01 00:{i:02d}:00,000 (trainer:732) INFO: {1 + i // 20}epoch:train:{(i % 20) * 50 + 1}-{(i % 20 + 1) * 50}batch: iter_time=1e-04, forward_time=0.1, loss_ctc=100.1, loss_att=50.2, acc=0.3, loss={loss(i):.3f}, backward_time=0.1, grad_norm=3.1, optim0_lr0=1.000e-05, train_time=1.2"
        for i in range(N)
    )


@form
def paddle(loss: Loss) -> str:
    return "\n".join(
        f"[2023-01-01 00:{i:02d}:00,000] [    INFO] - loss: {loss(i):.6f}, learning_rate: 3e-05, global_step: {(i + 1) * 10}, current_memory_allocated: 10.1, interval_runtime: 5.1, interval_samples_per_second: 12.1, interval_steps_per_second: 1.9, ppl: 3.2, progress_or_epoch: {i / 20:.4f}"
        for i in range(N)
    )


@form
def paddle2(loss: Loss) -> str:
    return "\n".join(
        f"global step {(i + 1) * 100}, epoch: {1 + i // 20}, batch: {(i % 20 + 1) * 100}, loss: {loss(i):.5f}, accu: 0.81, speed: 3.41 step/s"
        for i in range(N)
    )


@form
def flair(loss: Loss) -> str:
    return "\n".join(
        f"2021-01-01 00:{i:02d}:00,000 epoch {1 + i // 20} - iter {(i % 20 + 1) * 10}/200 - loss {loss(i):.8f} - samples/sec: 30.10 - lr: 0.100000"
        for i in range(N)
    )


@form
def neox(loss: Loss) -> str:
    return "\n".join(
        f" samples/sec: 51.234 | iteration {(i + 1) * 10:8d}/     600 | elapsed time per iteration (ms): 1998.6 | learning rate: 1.234E-04 | approx flops per GPU: 150.3TFLOPS | "
        + (f"lm_loss: {loss(i):.6E} | " if loss(i) == loss(i) else "")
        + "loss scale: 65536.0 | number of skipped iterations:   0 | number of nan iterations:   0 |"
        for i in range(N)
    )


@form
def primus(loss: Loss) -> str:
    return "\n".join(
        f"[2025-01-01 00:{i:02d}:00] iteration {(i + 1):8d}/     600 | consumed samples: {(i + 1) * 64} | elapsed time per iteration (ms): 6046.6/6100.1 | throughput per GPU (TFLOP/s/GPU): 11.9/11.5 | tokens per GPU (tokens/s/GPU): 246.7/238.1 | learning rate: 1.000000E-05 | global batch size:   64 | "
        + (f"lm loss: {loss(i):.6E} | " if loss(i) == loss(i) else "")
        + "loss scale: 1.0 | grad norm: 6.142 | num zeros: 9.0 | number of skipped iterations:   0 | number of nan iterations:   0 |"
        for i in range(N)
    )


@form
def verl(loss: Loss) -> str:
    return "\n".join(
        f"(TaskRunner pid=123) step:{i + 1} - global_seqlen/min:1000.000 - actor/entropy:{0.5 - i / 1500:.3f} - actor/kl_loss:{i / 2000:.4f} - actor/pg_loss:0.001 - actor/ppo_kl:0.000 - actor/grad_norm:0.3 - actor/lr:0.000001 - critic/score/mean:{0.2 + i / 200:.3f} - critic/rewards/mean:{0.2 + i / 200:.3f} - response_length/mean:300.1 - response_length/clip_ratio:0.05 - perf/throughput:1234.5 - timing_s/step:30.1"
        for i in range(N)
    )


@form
def nemo2(loss: Loss) -> str:
    return "\n".join(
        f"Training epoch 0, iteration {i}/599 | lr: 1e-06 | global_batch_size: 512 | global_step: {i} | reduced_train_loss: {loss(i):.4g} | train_step_timing in s: 2.1 | consumed_samples: {512 * (i + 1)}"
        for i in range(N)
    )


@form
def lightning_bar(loss: Loss) -> str:
    return "\r".join(
        f"Epoch {i // 20}: {5 * (i % 20):3d}%|###       | {i % 20}/20 [00:10<01:00,  1.20it/s, v_num=0, train_loss={loss(i):.3f}, lr=1e-5]"
        for i in range(N)
    )


@form
def mindformers(loss: Loss) -> str:
    return "\n".join(
        f"2024-01-01 00:{i:02d}:00,000 - mindformers[callback.py:420] - INFO - {{ Epoch:[{1 + i // 20:3d}/  3], step:[{(i % 20 + 1) * 2:5d}/   40], loss: {loss(i):.3f}, per_step_time: 500ms, lr: 1.0e-07, overflow cond: False, loss_scale: 65536.0, global_norm: [1.2"
        for i in range(N)
    )


@form
def litgpt(loss: Loss) -> str:
    return "\n".join(
        f"Epoch {1 + i // 20} | iter {(i + 1) * 10} step {i + 1} | loss train: {loss(i):.3f}, val: n/a | iter time: 200.11 ms (step) remaining time: 0:10:00"
        for i in range(N)
    )


@form
def maxtext(loss: Loss) -> str:
    return "\n".join(
        f"completed step: {i}, seconds: 1.234, TFLOP/s/device: 100.123, Tokens/s/device: 1234.567, total_weights: 65536, loss: {loss(i):.3f}"
        for i in range(N)
    )


@form
def notebook(loss: Loss) -> str:
    return "Step\tTraining Loss\tValidation Loss\n" + "\n".join(
        f"{(i + 1) * 500}\t{loss(i):.6f}\t{loss(i) + 0.1:.6f}" for i in range(N)
    )


@form
def swift(loss: Loss) -> str:
    return "\n".join(
        f"{{'loss': {loss(i):.4f}, 'token_acc': 0.61, 'grad_norm': 1.2, 'learning_rate': 1e-05, 'memory(GiB)': 20.1, 'train_speed(iter/s)': 0.51, 'epoch': {i / 20:.2f}, 'global_step/max_steps': '{(i + 1) * 5}/1000', 'percentage': '5.00%', 'elapsed_time': '1m 2s', 'remaining_time': '20m 1s'}}"
        for i in range(N)
    )


@form
def swift_jsonl(loss: Loss) -> str:
    return "\n".join(
        f'{{"loss": {loss(i):.4f}, "token_acc": 0.61, "grad_norm": 1.2, "learning_rate": 1e-05, "memory(GiB)": 20.1, "train_speed(iter/s)": 0.51, "epoch": {i / 20:.2f}, "global_step/max_steps": "{(i + 1) * 5}/1000", "percentage": "5.00%", "elapsed_time": "1m 2s", "remaining_time": "20m 1s"}}'.replace(
            "nan", "NaN"
        )
        for i in range(N)
    )


@form
def plain_words(loss: Loss) -> str:
    return "\n".join(f"step {i * 10}: loss {loss(i):.4f} lr 1.0e-04 time 12.3s" for i in range(N))


@form
def logger_epoch(loss: Loss) -> str:
    return "\n".join(
        f"INFO:root:Epoch {i + 1}/60 - train_loss: {loss(i):.4f} - val_loss: {loss(i) + 0.1:.4f} - val_acc: 0.81"
        for i in range(N)
    )


@form
def pipes(loss: Loss) -> str:
    return "\n".join(
        f"Epoch {i + 1:03d} | Train Loss {loss(i):.4f} | Val Loss {loss(i) + 0.1:.4f} | LR 5.00e-05" for i in range(N)
    )


@form
def two_lines(loss: Loss) -> str:
    return "\n".join(
        f"Epoch: {i + 1}/60\nTime Taken: 30s - LR: 1e-4\nTrain Loss: {loss(i):.4f} - Train Perplexity: 70.1\nValid Loss: {loss(i) + 0.1:.4f} - Valid Perplexity: 90.1\n{'-' * 40}"
        for i in range(N)
    )


@form
def json_prefix(loss: Loss) -> str:
    return "\n".join(
        f'2024-01-01 00:00:{i:02d} INFO {{"step": {i * 10}, "train/loss": {loss(i):.4f}, "train/lr": 1e-5}}'.replace(
            "nan", "NaN"
        )
        for i in range(N)
    )


@form
def hf_dict(loss: Loss) -> str:
    return f"***** Running training *****\n  Num Epochs = 3\n  Total optimization steps = {N * 10}\n" + "\n".join(
        f"{100 * i // N:3d}%|##  | {(i + 1) * 10}/{N * 10} [00:10<01:00,  1.20s/it]\r{{'loss': {loss(i) if loss(i) == loss(i) else 0.0:.4f}, 'grad_norm': {1.2 if loss(i) == loss(i) else math.nan}, 'learning_rate': {2e-5 * (1 - i / N):.3e}, 'epoch': {3 * i / N:.2f}}}"
        for i in range(N)
    )


@form
def hf_dict5(loss: Loss) -> str:
    return "\n".join(
        f"{{'loss': '{loss(i) if loss(i) == loss(i) else 0:.4g}', 'grad_norm': '{1.2 if loss(i) == loss(i) else math.nan}', 'learning_rate': '{2e-5 * (1 - i / N):.4g}', 'epoch': '{3 * i / N:.4g}'}}"
        for i in range(N)
    )


@form
def axolotl(loss: Loss) -> str:
    return "\n".join(
        f"{{'loss': {loss(i) if loss(i) == loss(i) else 0.0:.4f}, 'grad_norm': {1.2 if loss(i) == loss(i) else math.nan}, 'learning_rate': {2e-5 * (1 - i / N):.3e}, 'ppl': 3.1, 'memory/max_active (GiB)': 20.1, 'memory/max_allocated (GiB)': 20.1, 'memory/device_reserved (GiB)': 22.1, 'tokens/train_per_sec_per_gpu': 1234.5, 'epoch': {3 * i / N:.2f}}}"
        for i in range(N)
    )


@form
def lf(loss: Loss) -> str:
    return "\n".join(
        json.dumps(
            {
                "current_steps": (i + 1) * 10,
                "total_steps": N * 10,
                "loss": round(loss(i), 4),
                "lr": 2e-5 * (1 - i / N),
                "epoch": round(3 * i / N, 2),
                "percentage": round(100 * i / N, 2),
                "elapsed_time": f"0:{i // 60:02d}:{i % 60:02d}",
                "remaining_time": "0:10:00",
            }
        )
        for i in range(N)
    )


@form
def megatron(loss: Loss) -> str:
    return "\n".join(
        f" [2024-01-01 00:00:{i % 60:02d}] iteration {i + 1:8d}/{N:8d} | consumed samples: {(i + 1) * 64:12d} | elapsed time per iteration (ms): 512.3 | throughput per GPU (TFLOP/s/GPU): 120.4 | learning rate: 1.000000E-04 | global batch size:    64 | "
        + (f"lm loss: {loss(i):.6E} | " if loss(i) == loss(i) else "")
        + "loss scale: 1.0 | grad norm: 0.912 | num zeros: 0 | params norm: 812.1 | number of skipped iterations:   0 | number of nan iterations:   0 |"
        for i in range(N)
    )


@form
def megatron_ranked(loss: Loss) -> str:
    return "\n".join("[default7]:" + x for x in megatron(loss).split("\n"))


@form
def torchtune(loss: Loss) -> str:
    return "\n".join(
        f"Step {i + 1} | loss:{loss(i)} lr:2e-05 tokens_per_second_per_gpu:912.3 peak_memory_active:21.4 grad_norm:1.2 "
        for i in range(N)
    )


@form
def torchtitan(loss: Loss) -> str:
    return "\n".join(
        f"[titan] 2025-01-01 00:00:{i % 60:02d},000 - root - INFO - \x1b[31mstep: {i + 1:2}  \x1b[32mloss: {loss(i):7.4f}  \x1b[33mgrad_norm:  1.2345  \x1b[34mmemory: 33.10GiB(41.80%)  \x1b[36mtps: 7,123  \x1b[32mtflops: 300.12  \x1b[35mmfu: 40.10%\x1b[39m"
        for i in range(N)
    )


@form
def nanogpt(loss: Loss) -> str:
    return "\n".join(
        f"iter {i}: loss {loss(i):.4f}, time 460.33ms, mfu 48.08%"
        + (f"\nstep {i}: train loss {loss(i):.4f}, val loss {loss(i) + 0.05:.4f}" if i % 50 == 0 else "")
        for i in range(N)
    )


@form
def nanochat(loss: Loss) -> str:
    return "\n".join(
        f"step {i:05d}/{N:05d} ({100 * i / N:.2f}%) | loss: {loss(i):.6f} | lrm: 1.00 | dt: 320.12ms | tok/sec: 1,234,567 | bf16_mfu: 41.20 | epoch: 1 | total time: 0.30m"
        for i in range(N)
    )


@form
def llmc(loss: Loss) -> str:
    return "\n".join(
        f"step {i + 1:4d}/{N} | loss {loss(i):7.6f} (+nanz)| norm 1.2000 (+nanz)| lr 6.00e-04 | 100.10 ms | 50.1% bf16 MFU | 1000 tok/s"
        for i in range(N)
    )


@form
def llmc_main(loss: Loss) -> str:
    return "\n".join(f"s:{i} trl:{loss(i):.4f} lr:0.000600 norm:1.24" for i in range(N))


@form
def modded(loss: Loss) -> str:
    return (
        "import torch\nfor step in range(10):\n    print(f'step:{step}')\n"
        + "=" * 100
        + "\n"
        + "\n".join(
            f"step:{i + 1}/{N} train_loss:{loss(i):.4f} train_time:{i * 100}ms step_avg:{'nan' if i < 10 else '100.1'}ms"
            for i in range(N)
        )
    )


@form
def olmo(loss: Loss) -> str:
    return "\n".join(
        f"2025-01-01T00:00:00Z INFO [step={i + 1}/{N},epoch=1,eta=1:00:00]\n    train/CE loss={loss(i):.4f}\n    train/PPL=20.1\n    optim/total grad norm=0.91\n    throughput/device/TPS=1,234"
        for i in range(N)
    )


@form
def keras(loss: Loss) -> str:
    return "\n".join(
        f"Epoch {i + 1}/{N}\n120/120 ━━━━━━━━━━━━━━━━━━━━ 2s 15ms/step - accuracy: {min(0.99, 0.5 + i / 500):.4f} - loss: {loss(i):.4f} - val_accuracy: {min(0.95, 0.5 + i / 600):.4f} - val_loss: {loss(i) + 0.05:.4f}"
        for i in range(N)
    )


@form
def lightning_csv(loss: Loss) -> str:
    return "epoch,step,train_loss_epoch,train_loss_step,val_loss\n" + "\n".join(
        (
            f"{i // 40},{50 * i + 49},,{loss(i)},"
            + (
                f"\n{i // 40},{50 * i + 49},,,{loss(i) + 0.05}\n{i // 40},{50 * i + 49},{loss(i)},,"
                if i % 40 == 39
                else ""
            )
        )
        for i in range(N)
    )


@form
def ds_engine(loss: Loss) -> str:
    return "\n".join(
        f"[2024-01-01 00:00:{i % 60:02d},000] [INFO] [logging.py:96:log_dist] [Rank 0] step={(i + 1) * 10}, skipped=0, lr=[9.65e-06, 9.65e-06], mom=[(0.9, 0.95), (0.9, 0.95)]\n[2024-01-01 00:00:{i % 60:02d},001] [INFO] [timer.py:199:stop] epoch=0/micro_step={(i + 1) * 10}/global_step={(i + 1) * 10}, RunningAvgSamplesPerSec=171.9, CurrSamplesPerSec=171.5, MemAllocated=3.96GB, MaxMemAllocated=22.95GB\nstep: {(i + 1) * 10} loss: {loss(i):.4f}"
        for i in range(N)
    )


@form
def plain_jsonl(loss: Loss) -> str:
    return "\n".join(json.dumps({"step": i * 10, "train/loss": loss(i), "train/lr": 1e-5}) for i in range(N))


@form
def detr(loss: Loss) -> str:
    return "\n".join(
        json.dumps(
            {
                "train_lr": 1e-4,
                "train_loss": loss(i),
                "train_loss_ce": 0.5,
                "test_loss": loss(i) + 0.1,
                "test_coco_eval_bbox": [0.1 + i / 1000] * 12,
                "epoch": i,
                "n_parameters": 41302368,
            }
        )
        for i in range(N)
    )


@form
def basicsr(loss: Loss) -> str:
    """BasicSR, KAIR and their ports: thousands with commas, the rate in brackets, losses called `l_…`."""
    return "\n".join(
        f"23-05-05 21:{i % 60:02d}:38.402 - INFO: [epoch:{i // 20:3d}, iter:{(i + 1) * 100:8,d}, lr:(1.993e-04,)] l_pix: {loss(i):.4e} "
        for i in range(N)
    )


@form
def transformer_xl_tf(loss: Loss) -> str:
    """Each line twice (TensorFlow's logger and absl's), means over the window, and batches of an evaluation."""
    return "\n".join(
        f"INFO:tensorflow:[{(i + 1) * 5000:6d}] | gnorm  0.52 lr  0.000170 | loss {loss(i):5.2f}\n"
        f"I1212 15:47:38.401946 128529813321536 train.py:298] [{(i + 1) * 5000:6d}] | gnorm  0.52 lr  0.000170 | loss {loss(i):5.2f}\n"
        "INFO:tensorflow:Eval  batches[  100]                | loss  5.55"
        for i in range(N)
    )


@form
def imagenet_with_test(loss: Loss) -> str:
    """The batches of the test pass have losses of their own."""
    rows = []
    for i in range(N):
        rows.append(
            f"Epoch: [{i // 20}][{(i % 20) * 10:4d}/200]\tTime  0.320 (  1.000)\tLoss {loss(i):.4e} ({loss(i) + 0.1:.4e})\tAcc@1   {i / 2:.2f} (  0.10)"
        )
        if i % 20 == 19:
            rows += [
                f"Test: [{b:3d}/50]\tTime  0.2 (0.3)\tLoss 9.5 ({3 - i / 200:.4f})\tAcc@1  10.0 ({i / 3:.2f})"
                for b in (0, 25, 49)
            ]
    return "\n".join(rows)


@form
def bert_estimator(loss: Loss) -> str:
    """TensorFlow's Estimator: the evaluation's loss is called `loss` too."""
    rows = [f"INFO:tensorflow:loss = {loss(i):.7f}, step = {(i + 1) * 100} (20.123 sec)" for i in range(N)]
    end = loss(N - 1)
    return "\n".join(
        [
            *rows,
            f"INFO:tensorflow:Saving dict for global step {N * 100}: eval_accuracy = 0.85, eval_loss = {end + 9}, global_step = {N * 100}, loss = {end + 9}",
            "INFO:tensorflow:***** Eval results *****",
            "INFO:tensorflow:  eval_accuracy = 0.85",
            f"INFO:tensorflow:  global_step = {N * 100}",
            f"INFO:tensorflow:  loss = {end + 9}",
        ]
    )


@form
def yolo_console(loss: Loss) -> str:
    """YOLOv5 and later: a bar that is redrawn for every batch, its means so far in the columns."""
    rows = []
    for i in range(N):
        rows.append("      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size")
        for batch, share in ((1, "3%"), (19, "50%"), (38, "100%")):
            v = loss(i) + (38 - batch) / 100
            rows.append(
                f"{i + 1:9d}/{N}      2.31G {v / 2:10.4g} {v / 4:10.4g} {v / 4:10.4g}        142        640: {share}|###| {batch}/38 [00:13<00:17,  1.23it/s]"
            )
        rows.append(
            "                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|##| 7/7 [00:03<00:00,  2.0it/s]"
        )
        rows.append(f"                   all        195        882      0.5      0.4     {0.3 + i / 400:.3f}      0.2")
    return "\n".join(rows)
