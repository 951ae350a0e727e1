"""The rendezvous port is taken."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR517",
    "port-in-use",
    "nccl-hang",
    title="The rendezvous port is taken",
    why="Another run, or a leftover of this one, listens on the port; where the message still names 29500 after a change, the variable is not read by this launcher.",
    sig=(
        "Address already in use",
        "EADDRINUSE",
        "address already in use",
        "errno: 98",
        "Errno 98",
        "The server socket has failed to listen on any local network address",
        "port is already in use",
        "Tried to launch distributed communication on port",
    ),
    confidence=0.95,
    next_check="ss -ltnp | grep 29500   # which process listens there",
    fixes=(
        fix(
            "another port, in the launcher's own option",
            "torchrun --master_port=29511 …",
            "accelerate launch --main_process_port 29511 …",
            "deepspeed --master_port 29511 …",
            sets={"master_port": 29511},
            proof="the ranks meet",
        ),
        fix("end the leftover process", "ss -ltnp | grep 29500"),
    ),
    fires="[W socket.cpp:426] [c10d] The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).\nRuntimeError: The server socket has failed to listen on any local network address.",
    quiet="store listens on port 29500",
)
