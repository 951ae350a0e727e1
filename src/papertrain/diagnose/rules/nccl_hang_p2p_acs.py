"""The first collective never returns: peer-to-peer traffic is lost on this board."""

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix
from papertrain.diagnose.rules import _hang as hangs


def judge(case: Case) -> Match | None:
    hang = hangs.timeout(case)
    cured = case.find("NCCL_P2P_DISABLE=1 ~ (?i)NCCL_P2P_DISABLE=1.{0,80}(work|fix|solve|cure|help|run)")
    if cured and hang is None:
        return RULE.found(0.6, cured[:1])
    if (
        hang is None
        or hang.rows
        or hang.differ
        or 100 < hang.first_seq < 10**9
        or case.find("Running tokenizer", "Map: ", "Tokenizing", "Converting format")
    ):
        return None
    return RULE.found(
        0.85 if cured or case.find("IOMMU", "ACS ~ \\bACS\\b") else 0.55 if hang.first_seq <= 5 else 0.4,
        [hang.line, *hang.lines[1:2], *cured[:1]],
        ruled_out=hang.against("nccl-timeout-uneven-data", "it is the first collective of the run"),
    )


RULE = cause(
    "TR522",
    "nccl-hang-p2p-acs",
    "nccl-hang",
    title="The first collective never returns: peer-to-peer traffic is lost on this board",
    why="PCIe access control (ACS, IOMMU) redirects peer traffic and NCCL waits forever at the first collective with the cards at 100 %.",
    judge=judge,
    sig=(
        *hangs.WATCHDOG,
        "NCCL_P2P_DISABLE=1",
        "IOMMU",
        "ACS",
        "Running tokenizer",
        "Map: ",
        "Tokenizing",
        "Converting format",
    ),
    next_check="NCCL_P2P_DISABLE=1 torchrun …   # if it runs now, it is peer-to-peer",
    fixes=(
        fix("without peer-to-peer", env={"NCCL_P2P_DISABLE": "1"}, proof="the first step is printed"),
        fix("ACS off on the switches, or IOMMU off in the BIOS", "sudo setpci -s <bridge> ECAP_ACS+0x6.w=0000"),
    ),
    fires="NCCL INFO Channel 00/02 : 0 1\n[rank1]:[E ProcessGroupNCCL.cpp:474] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=BROADCAST, NumelIn=1, NumelOut=1, Timeout(ms)=1800000) ran for 1800127 milliseconds before timing out.\n[rank0]:[E ProcessGroupNCCL.cpp:474] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=BROADCAST, NumelIn=1, NumelOut=1, Timeout(ms)=1800000) ran for 1800131 milliseconds before timing out.",
    quiet="NCCL INFO comm 0x5581 rank 0 nranks 2 - Init COMPLETE",
)
