"""NCCL system error, probably from inside a container's own network."""

from papertrain.diagnose.rule import cause, fix
from papertrain.diagnose.rules import _nccl as nccl

RULE = cause(
    "TR513",
    "nccl-system-error-docker-net",
    "nccl-hang",
    title="NCCL system error, probably from inside a container's own network (docker bridge)",
    why="The message carries no reason; between containers the bridge network hides the peers, and one line of NCCL_DEBUG=INFO tells.",
    share=nccl.judge,
    sig=nccl.SIGNATURES,
    next_check="NCCL_DEBUG=INFO torchrun …   # read the line above the error: shm, interface, or connect",
    fixes=(
        fix(
            "containers on the host's network and with its shared memory",
            "docker run --network=host --ipc=host …",
            proof="the first all-reduce passes",
        ),
        fix("name the interface", env={"NCCL_SOCKET_IFNAME": "<interface>"}),
    ),
    fires="4f0c2a11:93:93 [0] NCCL INFO Bootstrap : Using eth0:172.17.0.3<0>\ntorch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1275, unhandled system error, NCCL version 2.14.3\nncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.",
    quiet="NCCL version 2.14.3+cuda11.7",
)
