"""The custom script with its model sharded by torch's own `fully_shard` over a mesh of processors: what FSDP2 does on cards.

torchrun --nproc_per_node 2 fully_shard_on_cpu.py train.py …      accelerate itself falls back to plain DDP on a processor.
"""

import importlib.util
import json
import os
import sys
from pathlib import Path

import torch
from accelerate import Accelerator
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor


def prepare(self, model, optimizer):
    """As accelerate prepares for FSDP2: every layer is a unit, the optimizer holds the shards."""
    names = {id(p): name for name, p in model.named_parameters()}
    groups = [[names[id(p)] for p in group["params"]] for group in optimizer.param_groups]
    mesh = init_device_mesh("cpu", (self.num_processes,))
    for layer in [m for m in model.modules() if type(m).__name__.endswith("DecoderLayer")]:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    sharded = dict(model.named_parameters())
    for group, kept in zip(optimizer.param_groups, groups):
        group["params"] = [sharded[name] for name in kept]
    whole, here = sum(p.numel() for p in sharded.values()), sum(p.to_local().numel() for p in sharded.values())
    all_sharded = all(isinstance(p, DTensor) for p in sharded.values())
    print(json.dumps({"rank": self.process_index, "whole": whole, "here": here, "all": all_sharded}), flush=True)
    return model, self.prepare_optimizer(optimizer)


def clip(self, parameters, most):
    norm = torch.nn.utils.clip_grad_norm_(list(parameters), most)
    return norm.full_tensor() if isinstance(norm, DTensor) else norm


Accelerator.prepare, Accelerator.clip_grad_norm_ = prepare, clip
script = Path(sys.argv[1])
spec = importlib.util.spec_from_file_location("train", script)
train = importlib.util.module_from_spec(spec)
spec.loader.exec_module(train)
# What is saved is the business of accelerate's own FSDP; here the steps are looked at.
train.save_checkpoint = train.save_model = lambda *words: None
train.main(sys.argv[2:])
# What was trained and written is whole here; gloo's threads are not always joined when an interpreter is taken down on a busy machine.
sys.stdout.flush()
sys.stderr.flush()
os._exit(0)
