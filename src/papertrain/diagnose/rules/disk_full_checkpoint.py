"""The disk filled up while saving."""

import re

from msgspec.structs import replace

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, by_signature, cause, fix

_DEVICE = re.compile(r"Input/output error|Stale file handle|Read-only file system")


def judge(case: Case) -> Match | None:
    """Full, or (errno 5, 116, 30) a device or mount that does not answer any more."""
    found = by_signature(RULE, case)
    if found is None or not _DEVICE.search(found.evidence[0].text):
        return found
    return replace(
        found,
        confidence=0.8,
        title="The storage under a file of the run failed",
        cause="The system call itself failed: a network mount that went away, a disk with errors, or a device without room that says it so.",
        next_check="df -h . ; mount | grep -E 'nfs|lustre|fuse' ; dmesg | tail -50   # the mount, its room, errors of the disk",
        remedies=(
            fix(
                "write to local storage with space, and copy from there",
                sets={"output_dir": "<local folder with space>"},
                proof="the next checkpoint is written",
            ),
            fix("mount the file system again, or have it looked at, before the run is resumed", "df -h . ; touch OUTPUT_DIR/probe"),
            RULE.fixes[-1],
        ),
    )  # fmt: skip


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
        "Input/output error ~ \\[?Errno 5\\]? ?Input/output error|OSError.*Input/output error",
        "Stale file handle",
        "Read-only file system ~ Errno 30|OSError",
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
    judge=judge,
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
