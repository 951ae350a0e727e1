"""A well-known environment variable with a letter too many, too few or wrong."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, swap
from papertrain.configs.checking.world import World
from papertrain.configs.checks._launch import commands
from papertrain.core.errors import nearest
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source

KNOWN = frozenset({
    "CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_LAUNCH_BLOCKING", "CUDA_DEVICE_ORDER", "CUDA_DEVICE_MAX_CONNECTIONS",
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "TOKENIZERS_PARALLELISM", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "TORCH_DISTRIBUTED_DEBUG", "TORCH_NCCL_ASYNC_ERROR_HANDLING",
    "TORCH_NCCL_BLOCKING_WAIT", "NCCL_ASYNC_ERROR_HANDLING", "NCCL_BLOCKING_WAIT", "NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_SOCKET_IFNAME", "NCCL_IB_DISABLE", "NCCL_IB_HCA",
    "NCCL_IB_TIMEOUT", "NCCL_IB_GID_INDEX", "NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_SHM_DISABLE", "NCCL_TIMEOUT", "GLOO_SOCKET_IFNAME", "HF_HOME", "HF_TOKEN", "HF_ENDPOINT",
    "HF_HUB_OFFLINE", "HF_HUB_CACHE", "HF_DATASETS_OFFLINE", "HF_DATASETS_CACHE", "TRANSFORMERS_OFFLINE", "TRANSFORMERS_CACHE", "HUGGINGFACE_HUB_CACHE", "WANDB_PROJECT",
    "WANDB_DISABLED", "WANDB_API_KEY", "WANDB_ENTITY", "WANDB_RUN_ID", "WANDB_BASE_URL", "MASTER_ADDR", "MASTER_PORT", "LOCAL_RANK", "WORLD_SIZE", "LD_LIBRARY_PATH", "PYTHONPATH",
})  # fmt: skip
MEANT_CARDS = ("CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
SHORTEST = 10


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    seen: set[str] = set()
    for name, value, line in _given(document):
        if name in KNOWN or name in seen or len(name) < SHORTEST or (meant := _meant(name)) is None:
            continue
        seen.add(name)
        if meant in document.text or f"${name}" in document.text or f"${{{name}" in document.text:
            continue
        cards = meant in MEANT_CARDS
        yield Wrong(
            says=say("`{name}` is read by nobody: write `{meant}`", name=name, meant=meant), line=line, instead=f"{meant}={value}",
            edits=(swap(line, f"{name}=", f"{meant}="),), level="error" if cards else "warning", effect="experiment" if cards else None,
        )  # fmt: skip


def _given(document: ConfigDocument) -> Iterator[tuple[str, str, int]]:
    """What is set in front of a command or exported before it; in a file of variables, all of them."""
    if document.kind == "environment":
        yield from ((name, str(value), document.line(name)) for name, value in document.settings.items())
    for command in commands(document):
        yield from ((name, value, line) for name, (value, line) in command.env.items())


def _meant(name: str) -> str | None:
    found = nearest(name, KNOWN, cutoff=0.92)
    # `MUSA_VISIBLE_DEVICES`, `PYTORCH_NPU_ALLOC_CONF`: the same thing of another maker.
    return None if found is None or _makers(name, found) else found


def _makers(name: str, found: str) -> bool:
    """Whether only one part differs, and wholly: another maker's word, no slip of the finger."""
    a, b = name.split("_"), found.split("_")
    if len(a) != len(b):
        return False
    parts = [(x, y) for x, y in zip(a, b) if x != y]
    return len(parts) == 1 and nearest(parts[0][0], [parts[0][1]], cutoff=0.7) is None


RULE = Rule(
    id="TR420",
    name="misspelt-variable",
    level="error",
    status="stable",
    check=check,
    applies="command slurm environment",
    what="An environment variable that is hardly a letter away from one that is read.",
    why="A variable that nobody reads is no mistake to the shell: the run takes all cards, the wrong network or the network that was to stay off.",
    known_problems="A program of your own may read the name; where the script itself uses it, nothing is said.",
    source=Source(
        kind="rule",
        ref="names as CUDA, NCCL, PyTorch, huggingface_hub, transformers and wandb document them",
    ),
    fires="== run.sh\nCUDA_VISIBLE_DEVICE=0,1 torchrun --nproc_per_node 2 train.py\n",
    quiet="== run.sh\nCUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node 2 train.py\n",
)
