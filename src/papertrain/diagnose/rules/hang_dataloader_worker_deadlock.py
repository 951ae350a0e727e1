"""A data loader's workers are deadlocked."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR519",
    "hang-dataloader-worker-deadlock",
    "nccl-hang",
    title="A data loader's workers are deadlocked",
    why="The stacks wait in queue.get of the data loader: workers were forked after threads (tokenizers, OpenCV) had started, or one of them died silently.",
    sig=(
        "_try_get_data",
        "dataloader.py ~ dataloader\\.py.*(_try_get_data|_get_data|_next_data)",
        "DataLoader timed out after",
    ),
    needs=("most recent call first",),
    confidence=0.82,
    early=True,
    next_check="py-spy dump --pid <worker>   # what the workers wait for",
    fixes=(
        fix("no worker processes", sets={"dataloader_num_workers": 0}, proof="steps go on"),
        fix("no tokenizer threads before the fork", env={"TOKENIZERS_PARALLELISM": "false"}),
        fix("start workers afresh", "DataLoader(…, multiprocessing_context='spawn', timeout=300)"),
    ),
    fires='Thread 0x7f11 (most recent call first):\n  File "/usr/lib/python3.10/queue.py", line 180 in get\n  File "torch/utils/data/dataloader.py", line 1120 in _try_get_data\n  File "torch/utils/data/dataloader.py", line 1280 in _next_data',
    quiet="DataLoader with 8 workers",
)
