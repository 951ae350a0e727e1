"""Two runs on one port, or a port that cannot be used."""

from __future__ import annotations

import socket
from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, swap
from papertrain.configs.checking.shell import Command
from papertrain.configs.checking.world import World
from papertrain.configs.checks._launch import LLAMAFACTORY, commands, number
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source

KNOWN = {
    6006: "TensorBoard",
    6379: "Ray",
    8000: "vLLM",
    8080: "HTTP",
    8265: "Ray",
    8888: "Jupyter",
    22: "ssh",
    80: "HTTP",
    443: "HTTPS",
    3306: "MySQL",
    5432: "PostgreSQL",
}


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    used: dict[int, tuple[int, Command]] = {}
    for command in commands(document):
        port, line = _port(command)
        if port is None:
            continue
        if not 0 <= port <= 65535:
            yield Wrong(
                says=say("port {port} does not exist: it must be between 1024 and 65535", port=port),
                line=line,
                instead="MASTER_PORT=29500",
                level="error",
            )
        elif 0 < port < 1024:
            yield Wrong(
                says=say("port {port} is for the system: ordinary users may not open it", port=port),
                line=line,
                instead="MASTER_PORT=29500",
                level="error",
                edits=(swap(line, str(port), "29500"),),
            )
        elif port in KNOWN:
            yield Wrong(
                says=say("port {port} is where {who} usually listens", port=port, who=KNOWN[port]),
                line=line,
                instead="MASTER_PORT=29500",
                edits=(swap(line, str(port), "29500"),),
            )
        elif port in used and _at_once(document, used[port][1], command):
            free = next(p for p in range(port + 1, 65536) if p not in used)
            yield Wrong(says=say("port {port} is used by the run on line {other} at the same time", port=port, other=used[port][0]), line=line, instead=say("another port: {free}", free=free), level="error",
                        edits=(swap(line, str(port), str(free)),))  # fmt: skip
        elif document.kind != "slurm" and not _elsewhere(command) and _taken(port):
            yield Wrong(
                says=say("port {port} is in use on this machine right now", port=port),
                line=line,
                instead=say("another port: {free}", free=next(p for p in range(port + 1, 65536) if not _taken(p))),
            )
        used.setdefault(port, (line, command))


def _taken(port: int) -> bool:
    """Somebody listens on it here and now."""
    with socket.socket() as s:
        s.settimeout(0.2)
        return s.connect_ex(("127.0.0.1", port)) == 0


def _elsewhere(command: Command) -> bool:
    """The rendezvous is on another machine, or on one that only the command's shell knows."""
    places = [command.env.get("MASTER_ADDR"), command.options.get("master_addr"), command.options.get("main_process_ip"), command.options.get("rdzv_endpoint")]  # fmt: skip
    hosts = [p[0].rpartition(":")[0] if ":" in p[0] else p[0] for p in places if p]
    return any(h not in ("", "localhost", "127.0.0.1", "0.0.0.0", "::1") for h in hosts)


def _port(command: Command) -> tuple[int | None, int]:
    if command.program in LLAMAFACTORY and "MASTER_PORT" in command.env:
        text, line = command.env["MASTER_PORT"]
        return number(text), line
    for name in ("master_port", "main_process_port"):
        if name in command.options:
            text, line = command.options[name]
            return number(text), line
    endpoint = command.options.get("rdzv_endpoint")
    return (
        (number(endpoint[0].rpartition(":")[2]), endpoint[1])
        if endpoint and ":" in endpoint[0]
        else (None, command.line)
    )


def _at_once(document: ConfigDocument, first: Command, second: Command) -> bool:
    """The first runs in the background (`&`), and the two are not the nodes of one run."""
    end = first.words[-1].end
    rest = document.text[end:].lstrip(" \t")
    background = (rest.startswith("&") and not rest.startswith("&&")) or (
        "&" in rest.split("\n")[0] and ">" in rest.split("\n")[0] and rest.split("\n")[0].rstrip().endswith("&")
    )
    rank = [c.env.get("NODE_RANK") or c.options.get("node_rank") for c in (first, second)]
    same_run = rank[0] is not None and rank[1] is not None and rank[0][0] != rank[1][0]
    return background and not same_run and "wait" not in document.text[end : second.words[0].start].split()


RULE = Rule(
    id="TR405",
    name="port-clash",
    level="warning",
    status="stable",
    check=check,
    applies="command slurm",
    what="A rendezvous port that is taken, reserved, or used by two runs of one script at once.",
    why="The second run stops with `EADDRINUSE`, or worse, joins the first one's rendezvous.",
    source=Source(kind="rule", ref="one port belongs to one listener; ports below 1024 are privileged"),
    fires="== run.sh\nMASTER_PORT=29501 llamafactory-cli train a.yaml &\nMASTER_PORT=29501 llamafactory-cli train b.yaml &\nwait\n",
    quiet="== run.sh\nMASTER_PORT=29501 llamafactory-cli train a.yaml &\nMASTER_PORT=29502 llamafactory-cli train b.yaml &\nwait\n",
)
