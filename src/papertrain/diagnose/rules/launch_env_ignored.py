"""The nodes never met: a variable that the launcher does not read."""

import re

from papertrain.core.findings import RuledOut
from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix


def judge(case: Case) -> Match | None:
    waits = case.find(*RULE.sig)
    both = case.find("NODE_RANK ~ (?:NODE_RANK|node_rank|NNODES|nnodes|MASTER_ADDR|--rdzv)")
    wrong = case.find("RANK= ~ (?<![A-Z_])RANK=\\d", "WORLD_SIZE= ~ (?<![A-Z_])WORLD_SIZE=\\d")
    wrong = [w for w in wrong if "NODE_RANK" not in w.text or re.search(r"(?<![A-Z_])RANK=\d", w.text)]
    if not waits:
        return None
    zero = case.find("rank 0 ~ (?i)both.{0,30}rank 0|all nodes.{0,30}rank 0")
    confidence = 0.9 if wrong else 0.72 if zero or len(case.logs) > 1 else 0.55 if both else 0.45
    says = (
        " Here RANK or WORLD_SIZE was set by hand; llamafactory-cli and torchrun read NODE_RANK and NNODES."
        if wrong
        else ""
    )
    return RULE.found(
        confidence,
        [waits[0], *wrong[:1], *zero[:1]],
        cause=RULE.why + says,
        ruled_out=(
            RuledOut(cls="port-in-use", because="nobody says that the address is in use; the peers simply never come"),
        ),
    )


RULE = cause(
    "TR526",
    "launch-env-ignored",
    "result",
    title="The nodes never met: a variable that the launcher does not read",
    why="Every node believes to be rank 0 or waits for the others; the variable that was set is not the one this launcher reads (RANK instead of NODE_RANK, for example).",
    judge=judge,
    sig=(
        "waiting for clients",
        "DistStoreError",
        "Timed out after ~ Timed out after \\d+ seconds",
        "RendezvousTimeoutError",
        "rendezvous ~ (?i)rendezvous.{0,60}time[d ]?-?out",
        "client socket has timed out",
        "The client socket has failed to connect",
    ),
    next_check="env | grep -E 'RANK|WORLD|NODE|MASTER'   # on each node, against the launcher's own names",
    fixes=(
        fix(
            "the launcher's own names",
            "NNODES=2 NODE_RANK=0 MASTER_ADDR=<first node> MASTER_PORT=29500 llamafactory-cli train …   # NODE_RANK=1 on the second",
            "torchrun --nnodes=2 --node_rank=0 --master_addr=<first node> --master_port=29500 …",
            sets={"rename:RANK": "NODE_RANK"},
            proof="each node prints another node rank",
        ),
    ),
    fires="RANK=1 MASTER_ADDR=10.0.0.1 FORCE_TORCHRUN=1 NNODES=2 llamafactory-cli train sft.yaml\ntorch.distributed.DistStoreError: Timed out after 901 seconds waiting for clients. 1/2 clients joined.",
    quiet="NNODES=2 NODE_RANK=1 MASTER_ADDR=10.0.0.1 llamafactory-cli train sft.yaml",
)
