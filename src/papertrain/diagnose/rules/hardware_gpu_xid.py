"""The driver reported an Xid for this card."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR528",
    "hardware-gpu-xid",
    "hardware",
    title="The driver reported an Xid for this card",
    why="The kernel log names the hardware event; 63/64/74/79/94/95 are the card or its links, 13/31 may also be the program.",
    sig=(
        "NVRM: Xid",
        "Xid ~ \\bXid\\b[^\\n]{0,40}\\b(?:48|6[1-4]|74|79|9[2-5]|119|120|13|31|43|45)\\b",
        "GPU has fallen off the bus",
    ),
    confidence=0.94,
    early=True,
    next_check="dmesg -T | grep -i xid; nvidia-smi -q",
    fixes=(
        fix(
            "drain the node and restart from the last checkpoint",
            "scontrol update nodename=<node> state=drain reason=xid",
            proof="dcgmi diag -r 3 passes before it returns",
        ),
    ),
    fires="kernel: NVRM: Xid (PCI:0000:4f:00): 79, pid=1234, GPU has fallen off the bus.",
    quiet="driver 550.54 loaded",
)
