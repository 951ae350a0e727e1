"""An earlier process still holds the NPU."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR518",
    "npu-hccl-stale-process",
    "nccl-hang",
    title="An earlier process still holds the NPU",
    why="HCCL cannot reach its device daemon because a process of an earlier run is alive on the device.",
    sig=(
        "tsd client wait response fail",
        "HCCL error ~ (?i)hccl.*(wait response|bind|already|occupied|in use|stale)",
        "EI0006",
        "EJ0001",
        "HCCL function error ~ error code is (?:4|7|9)",
    ),
    confidence=0.82,
    next_check="npu-smi info; ps aux | grep python",
    fixes=(
        fix(
            "end it and reset the device",
            "npu-smi info   # process list",
            "npu-smi set -t reset -i <device> -c 0",
            proof="npu-smi info shows no process before the start",
        ),
    ),
    kinds=(
        (
            "HCCL error|hccl\\w*.{0,60}(?:fail|error)|E[IJ]\\d{4}",
            "RuntimeError: HCCL error in: torch_npu/csrc/distributed/ProcessGroupHCCL.cpp:64",
        ),
    ),
    fires="RuntimeError: HCCL error in: torch_npu/csrc/distributed/ProcessGroupHCCL.cpp:64.\n[Error]: tsd client wait response fail, device response code[1]. unknown device error.",
    quiet="HCCL communicator created",
)
