"""A peer of the communication went away, or the network to it."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR671",
    "nccl-remote-lost",
    "nccl-hang",
    title="A peer of the communication went away, or the network to it",
    why="The connection to another rank was closed: that rank died first and its own output says why, or the link between the nodes broke.",
    sig=(
        "ncclRemoteError",
        "remote process exited or there was a network error",
        "Connection closed by remote peer",
        "Connection closed by peer ~ (?:gloo|c10d|tcp).*Connection closed by peer",
        "Connection reset by peer ~ (?i)(?:nccl|gloo|socket|c10d|recv|recvValue|TCPStore).*Connection reset by peer",
        "NCCL communicator was aborted",
        "Remote Rank did not send the data in time",
        "Broken pipe ~ (?:TCPStore|c10d|socket).*Broken pipe",
        "recvValue failed",
        "transport retry counter exceeded",
        "NET/IB ~ Got completion .* with (?:error|status)",
    ),
    confidence=0.7,
    last_resort=True,
    next_check="papertrain diagnose RUN_FOLDER   # all ranks' logs: the rank that ended first names the cause",
    fixes=(
        fix(
            "read the rank that ended first; where none ended, leave out the node whose link broke and start again",
            "sbatch --exclude=<node> job.sh   # or papertrain launch WORK --supervise --requeue --yes",
            proof="the same step passes on other nodes",
        ),
        fix("look at the link", "ibstat; dmesg -T | grep -iE 'mlx5|link down'; NCCL_DEBUG=INFO torchrun …"),
    ),
    kinds=(
        (
            "^(?:RuntimeError|ConnectionResetError|DistNetworkError)\\b.{0,80}Connection (?:reset|closed) by peer|lost connection|node(?:s)? (?:died|lost)",
            "RuntimeError: Connection reset by peer",
        ),
    ),
    fires="torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1691, remote process exited or there was a network error, NCCL version 2.19.3\nncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.",
    quiet="NCCL INFO comm 0x5581 rank 0 nranks 2 - Init COMPLETE",
)
