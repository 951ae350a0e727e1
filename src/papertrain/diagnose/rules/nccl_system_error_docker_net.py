"""NCCL system error, probably from inside a container's own network."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR513",
    "nccl-system-error-docker-net",
    "nccl-hang",
    title="NCCL system error, probably from inside a container's own network",
    why="The message carries no reason; between containers the bridge network hides the peers, and one line of NCCL_DEBUG=INFO tells.",
    sig=("unhandled system error", "ncclSystemError"),
    confidence=0.5,
    never=("posix_fallocate", "creating shared memory", "no socket interface found", "Duplicate GPU detected"),
    more=("docker",),
    yields=(
        "nccl-system-error-shm",
        "nccl-system-error-interface",
        "nccl-duplicate-gpu",
        "exit-7-sigbus-shm",
        "nccl-hang-p2p-driver",
    ),
    next_check="NCCL_DEBUG=INFO torchrun …   # read the line above the error: shm, interface, or connect",
    fixes=(
        fix(
            "containers on the host's network and with its shared memory",
            "docker run --network=host --ipc=host …",
            proof="the first all-reduce passes",
        ),
        fix("name the interface", env={"NCCL_SOCKET_IFNAME": "<interface>"}),
    ),
    fires="torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1275, unhandled system error, NCCL version 2.14.3\nncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.",
    quiet="NCCL version 2.14.3+cuda11.7",
)
