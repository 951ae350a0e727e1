"""NCCL found no usable network interface, or the wrong one."""

from papertrain.diagnose.rule import cause, fix
from papertrain.diagnose.rules import _nccl as nccl

RULE = cause(
    "TR512",
    "nccl-system-error-interface",
    "nccl-hang",
    title="NCCL found no usable network interface, or the wrong one",
    why="NCCL binds to the first interface it likes; with several (docker0, virbr0, an unplugged port) the peers cannot reach it.",
    share=nccl.judge,
    sig=nccl.SIGNATURES,
    next_check="NCCL_DEBUG=INFO torchrun …   # the line 'NET/Socket : Using' names the interface; ip -br addr lists what is there",
    fixes=(
        fix(
            "name the interface that the nodes share",
            "ip -br addr",
            env={"NCCL_SOCKET_IFNAME": "<interface>", "GLOO_SOCKET_IFNAME": "<interface>"},
            proof="NCCL_DEBUG=INFO prints 'NET/Socket : Using [0]<interface>'",
        ),
    ),
    kinds=(
        (
            "connectFullMesh|NCCL error.{0,160}(?:internal error|system error|remote)|ncclInternalError|no (?:usable|suitable) (?:network )?(?:interface|device)|connection to the C10d store|makeDeviceFor(?:Hostname|Interface)|Unable to (?:resolve hostname|find address)",
            "RuntimeError: Gloo connectFullMesh failed with [../third_party/gloo/gloo/transport/tcp/pair.cc:144] no error",
        ),
    ),
    kind_confidence=0.42,
    fires="node2:311:377 [0] bootstrap.cc:45 NCCL WARN Bootstrap : no socket interface found\nNCCL error in: ProcessGroupNCCL.cpp:1331, internal error",
    quiet="NCCL INFO NET/Socket : Using [0]eth0:10.0.0.2<0>",
)
