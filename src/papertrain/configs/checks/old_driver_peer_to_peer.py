"""RTX 40 cards and NCCL's peer-to-peer path."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.world import World
from papertrain.configs.checks._launch import commands, trains
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source

DRIVER = "550.40.07"


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    compute = world.compute
    if (
        compute is None
        or compute.gpus < 2
        or compute.gpu.vendor != "nvidia"
        or "RTX 40" not in " ".join(compute.gpu.names)
    ):
        return
    for command in commands(document):
        if (
            trains(command)
            and command.launcher != "accelerate"
            and not {"NCCL_P2P_DISABLE", "NCCL_IB_DISABLE"} <= set(command.env)
        ):
            yield Wrong(says=say("{card} with a driver before {driver}: accelerate stops unless P2P and IB are switched off", card=compute.gpu.label, driver=DRIVER), line=command.line,
                        instead="NCCL_P2P_DISABLE=1 NCCL_IB_DISABLE=1")  # fmt: skip


RULE = Rule(
    id="TR415",
    name="old-driver-peer-to-peer",
    level="note",
    status="stable",
    check=check,
    applies="command slurm",
    what="Several RTX 40 cards, started without switching NCCL's peer-to-peer path off.",
    why="With an old driver: `Using RTX 4000 series doesn't support faster communication broadband via P2P or IB`.",
    known_problems="The driver is not known here; with a newer one nothing has to be set.",
    source=Source(kind="code", ref="accelerate 1.15.0 state.py and utils/environment.py, check_cuda_p2p_ib_support"),
    fires="== with gpu=2x RTX 4090\n== run.sh\ntorchrun --nproc_per_node 2 train.py\n",
    quiet="== with gpu=2x RTX 4090\n== run.sh\nNCCL_P2P_DISABLE=1 NCCL_IB_DISABLE=1 torchrun --nproc_per_node 2 train.py\n",
)
