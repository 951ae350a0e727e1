"""Peer-to-peer copies between the cards fail in the driver."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR516",
    "nccl-hang-p2p-driver",
    "nccl-hang",
    title="Peer-to-peer copies between the cards fail in the driver",
    why="The driver offers peer access that the boards do not have; collectives hang or abort until it is switched off or updated.",
    sig=(
        "peer access is not supported between these two devices",
        "cudaErrorPeerAccess",
        "Could not enable P2P",
        "peer mapping resources exhausted",
        "ncclUnhandledCudaError: Call to CUDA function failed",
        "unhandled cuda error",
    ),
    confidence=0.72,
    next_check="nvidia-smi topo -p2p r   # and once with NCCL_P2P_DISABLE=1",
    fixes=(
        fix("without peer-to-peer", env={"NCCL_P2P_DISABLE": "1"}, proof="the first all-reduce passes"),
        fix("a current driver", "nvidia-smi   # compare with the driver's release notes"),
    ),
    kinds=(
        (
            "unhandled cuda error|ncclUnhandledCudaError|NCCL error.{0,160}cuda",
            "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1333, unhandled cuda error, NCCL version 2.18.1",
        ),
    ),
    fires="ncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\nCuda failure 'peer access is not supported between these two devices'",
    quiet="NCCL INFO P2P Chunksize set to 524288",
)
