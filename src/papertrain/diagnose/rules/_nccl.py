"""`unhandled system error`: shared memory, interface or container network. The message itself carries no reason."""

from __future__ import annotations

from typing import Any

from papertrain.core.findings import RuledOut
from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, unique

ERRORS = ("unhandled system error", "ncclSystemError")
SHM = ("Error while creating shared memory segment", "Call to posix_fallocate failed", "Call to shm_open", "shmOpen", "NCCL WARN ~ NCCL WARN.*(/dev/shm|shared memory|\\bshm\\b)",
       "/dev/shm/nccl-", "unable to allocate shared memory", "--ipc=host", "--shm-size", "ipc=host")  # fmt: skip
INTERFACE = ("no socket interface found", "Call to connect returned", "Call to connect to", "NCCL WARN socketStartConnect", "socketPollConnect", "NCCL WARN Net : Connect",
             "Connect to ~ NCCL WARN.*Connect to .* failed", "unable to find interface", "NCCL WARN NET/IB", "No route to host", "NCCL WARN Bootstrap : no socket",
             "socketStartConnect ~ [Cc]onnect to (?!172\\.1[789]\\.).* failed")  # fmt: skip
DOCKER = ("docker0", "172.1 ~ \\b172\\.1[789]\\.\\d+\\.\\d+<", "docker", "container")
BRIDGE = "onnect to ~ [Cc]onnect to 172\\.1[789]\\.\\d+\\.\\d+<"
"""A peer at an address of Docker's bridge: nobody outside of that host reaches it."""
SIGNATURES = (BRIDGE, *ERRORS, *SHM, *INTERFACE, *DOCKER)


def weights(case: Case) -> dict[str, float]:
    """Relative likelihood of each class; without any line of NCCL's own, shared memory leads by experience."""
    w = {"nccl-system-error-shm": 1.6, "nccl-system-error-interface": 0.7, "nccl-system-error-docker-net": 1.3}
    if case.find(*SHM):
        w["nccl-system-error-shm"] += 10
    if case.find(*INTERFACE):
        w["nccl-system-error-interface"] += 9
    if case.find(DOCKER[1]) or (case.find("docker0") and not case.find(*SHM)):
        w["nccl-system-error-docker-net"] += 6
        if case.find(BRIDGE) and not case.find(*SHM):
            w["nccl-system-error-docker-net"] += 12
    elif case.find("docker"):
        w["nccl-system-error-shm"] += 1
    if (case.facts.number("nnodes") or 1) > 1 or case.find("NNODES=2", "--nnodes"):
        w["nccl-system-error-interface"] += 2
    return w


def judge(case: Case, rule: Any) -> Match | None:
    name: str = rule.name
    error = case.find(*ERRORS)
    decisive = case.find(*(SHM[:6] if name.endswith("shm") else INTERFACE if name.endswith("interface") else ()))
    if case.find("Duplicate GPU detected") or not (error or decisive):
        return None
    share = weights(case)
    confidence = 0.97 * share[name] / sum(share.values())
    if confidence < 0.12:
        return None
    reason = decisive[:1] or (case.find(DOCKER[1])[:1] if name.endswith("net") else [])
    out = [
        RuledOut(cls=c, because="no line of NCCL's own speaks of it") for c, w in share.items() if c != name and w < 2
    ]
    return Match(
        rule=rule,
        confidence=round(confidence, 3),
        evidence=unique([*(error or decisive)[:1], *reason]),
        ruled_out=tuple(out),
    )
