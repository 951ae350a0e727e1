"""Options of a launcher that stand where it does not look, and options of a script that stand where the launcher looks."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, swap
from papertrain.configs.checking.shell import Command
from papertrain.configs.checking.world import World
from papertrain.configs.checks._launch import commands
from papertrain.core.errors import nearest
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source
from papertrain.facts.frameworks.load import framework

TORCHRUN = frozenset({
    "nnodes", "nproc_per_node", "rdzv_backend", "rdzv_endpoint", "rdzv_id", "rdzv_conf", "standalone", "max_restarts", "monitor_interval", "start_method", "event_log_handler",
    "role", "module", "m", "no_python", "run_path", "log_dir", "r", "redirects", "t", "tee", "local_ranks_filter", "duplicate_stdout_filters", "duplicate_stderr_filters",
    "node_rank", "master_addr", "master_port", "local_addr", "logs_specs", "numa_binding", "signals_to_handle", "shutdown_timeout", "virtual_local_rank", "use_env",
    "help", "h", "version",
})  # fmt: skip
DEEPSPEED = frozenset({
    "H", "hostfile", "i", "include", "e", "exclude", "num_nodes", "min_elastic_nodes", "max_elastic_nodes", "num_gpus", "master_port", "master_addr", "node_rank", "launcher",
    "launcher_args", "module", "m", "no_python", "no_local_rank", "no_ssh", "no_ssh_check", "force_multi", "save_pid", "enable_each_rank_log", "autotuning", "elastic_training",
    "bind_cores_to_rank", "bind_core_list", "ssh_port", "venv_script", "log_level", "q", "quiet", "p", "help", "h",
})  # fmt: skip
# What decides how many processes there are and where they meet: of these a script has none of its own.
PLACES = {
    "torchrun": ("nproc_per_node", "nnodes", "node_rank", "master_addr", "master_port", "rdzv_backend", "rdzv_endpoint", "rdzv_id", "standalone"),
    "deepspeed": ("num_gpus", "num_nodes", "hostfile", "master_addr", "master_port"),
    "accelerate": ("num_processes", "num_machines", "machine_rank", "main_process_ip", "main_process_port", "multi_gpu", "use_deepspeed", "use_fsdp"),
}  # fmt: skip


def known(launcher: str) -> frozenset[str]:
    if launcher == "accelerate":
        return frozenset(framework("accelerate").sections["launch"]) | {"config_file", "m", "module", "help", "h", "quiet", "q"}  # fmt: skip
    return {"torchrun": TORCHRUN, "deepspeed": DEEPSPEED}.get(launcher, frozenset())


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    for command in commands(document):
        options = known(command.launcher)
        if options and command.program:
            yield from _before(command, options)
            yield from _behind(document, command)


def _before(command: Command, options: frozenset[str]) -> Iterator[Wrong]:
    for name, (_, line) in command.options.items():
        if "$" in name or not name or any(o.startswith(name) for o in options):  # argparse takes the start of a name
            continue
        near = nearest(name, options, cutoff=0.8)
        if near is not None:
            yield Wrong(
                says=say("`--{name}` is not an option of {launcher}: it stops; write `--{near}`", name=name, launcher=command.launcher, near=near),
                line=line, instead=f"--{near}", edits=(swap(line, f"--{name}", f"--{near}"),),
            )  # fmt: skip
            continue
        yield Wrong(
            says=say("`--{name}` stands before the script and is not an option of {launcher}: it stops; an option of the script stands behind it", name=name, launcher=command.launcher),
            line=line, instead=say("{launcher} [its own options] train.py --{name} …", launcher=command.launcher, name=name),
        )  # fmt: skip


def _behind(document: ConfigDocument, command: Command) -> Iterator[Wrong]:
    for argument in command.arguments:
        name = argument.name.replace("-", "_")
        if name in PLACES[command.launcher] and name not in command.options and argument.spans is not None:
            yield Wrong(
                says=say("`--{name}` stands behind the script: {launcher} does not see it, and the script gets it", name=argument.name, launcher=command.launcher),
                line=argument.line, instead=say("{launcher} --{name} … {script}", launcher=command.launcher, name=argument.name, script=command.program), level="warning",
            )  # fmt: skip


RULE = Rule(
    id="TR419",
    name="launcher-options",
    level="error",
    status="stable",
    check=check,
    effect="experiment",
    applies="command slurm",
    what="An option of the launcher behind the script, or one of the script before it.",
    why="What stands before the script is the launcher's, which stops at a word it does not know; what stands behind is the script's, and the run starts with one process.",
    known_problems="A script may have an option of the launcher's name: then it is only a warning.",
    source=Source(
        kind="code",
        ref="torch 2.x distributed/run.py and deepspeed 0.19.8 launcher/runner.py: argparse with the script's words as REMAINDER; `deepspeed --deepspeed ds.json train.py` ends with `unrecognized arguments`",
    ),
    fires="== run.sh\ndeepspeed --deepspeed ds.json --num_gpus 4 train.py --learning_rate 1e-5\n",
    quiet="== run.sh\ndeepspeed --num_gpus 4 train.py --deepspeed ds.json --learning_rate 1e-5\n",
)
