"""Data-parallel training on the CPU as people write it: gloo, DistributedDataParallel, a small network.

RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 python faults_ddp.py steps=8 unused=0 uneven=0
"""

import os
import sys
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel


class Net(nn.Module):
    def __init__(self, unused):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 3))
        self.head = nn.Linear(32, 1) if unused else None

    def forward(self, x):
        return self.body(x)


def main():
    options = dict(w.split("=", 1) for w in sys.argv[1:])
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    seconds = float(options.get("timeout", 30))
    dist.init_process_group("gloo", timeout=timedelta(seconds=seconds))
    torch.manual_seed(int(options.get("seed", 0)))
    find = options.get("find_unused_parameters", "0") == "1"
    model = DistributedDataParallel(Net(options.get("unused", "0") == "1"), find_unused_parameters=find)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    steps = int(options.get("steps", 8)) - (3 if options.get("uneven") == "1" and rank == 1 else 0)
    for step in range(1, steps + 1):
        x = torch.randn(8, 16)
        loss = nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long())
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if rank == 0:
            print(
                {
                    "step": step,
                    "loss": round(loss.item(), 4),
                    "grad_norm": round(norm.item(), 4),
                    "learning_rate": 0.01,
                    "world_size": world,
                },
                flush=True,
            )
    dist.barrier()
    dist.destroy_process_group()
    print(f"rank {rank} done", flush=True)


if __name__ == "__main__":
    main()
