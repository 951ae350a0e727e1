"""Two ranks use the same GPU."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR514",
    "nccl-duplicate-gpu",
    "nccl-hang",
    title="Two ranks use the same GPU",
    why="Each rank must set its own device; here two of them name the same one: set_device is missing, or there are more processes than cards.",
    sig=("Duplicate GPU detected",),
    confidence=0.96,
    next_check="nvidia-smi -L | wc -l   # cards on this node, against the number of processes started",
    fixes=(
        fix(
            "one process per device",
            "torch.cuda.set_device(int(os.environ['LOCAL_RANK']))   # first statement after reading the environment",
            "torchrun --nproc_per_node=$(nvidia-smi -L | wc -l) …",
            sets={"gpus": "<number of devices>"},
            proof="every rank prints another device",
        ),
    ),
    kinds=(
        (
            "NCCL error.{0,160}invalid (?:usage|argument)|ncclInvalid(?:Usage|Argument)",
            "torch.distributed.DistBackendError: NCCL error in: ../ProcessGroupNCCL.cpp:1333, invalid usage (run with NCCL_DEBUG=WARN for details), NCCL version 2.18.1",
        ),
    ),
    kind_confidence=0.45,
    fires="torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1275, invalid usage\nDuplicate GPU detected : rank 0 and rank 1 both on CUDA device 4f000",
    quiet="rank 0 on CUDA device 4f000, rank 1 on CUDA device 52000",
)
