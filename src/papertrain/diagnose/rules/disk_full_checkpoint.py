"""The disk filled up while saving."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR555",
    "disk-full-checkpoint",
    "checkpoint-disk",
    title="The disk filled up while saving",
    why="The path of errno 28 is a file of the run, not shared memory; quota and inodes give the same message.",
    sig=(
        "PytorchStreamWriter failed writing file",
        "No space left on device ~ No space left on device",
        "No space left ~ Errno 28",
        "Disk quota exceeded",
        "failed with Input/output error",
        "I/O error: No space left on device",
        "[Errno 28]",
        "errno: 28",
        "设备上没有空间",
        "设备空间不足",
        "磁盘空间不足",
        "磁盘已满",
        "超出磁盘限额",
        "unexpected pos ~ enforce fail at inline_container",
    ),
    confidence=0.93,
    yields=("shm-no-space-left", "dataloader-shm", "nccl-system-error-shm"),
    next_check="df -h . ; df -i . ; quota -s   # space, inodes, quota of the output folder",
    fixes=(
        fix("keep fewer checkpoints", sets={"save_total_limit": 2}, proof="df -h shows room for two more checkpoints"),
        fix("write where there is space", sets={"output_dir": "<folder with space>"}),
        fix(
            "remove the half-written newest checkpoint, then resume from the one before it", "ls -lt OUTPUT_DIR | head"
        ),
    ),
    fires="OSError: [Errno 28] No space left on device: 'out/checkpoint-1500/optimizer.pt'",
    quiet="free space on /data: 2.1 TB",
)
