"""`#SBATCH` lines that sbatch does not read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, swap
from papertrain.configs.checking.shell import blank_heredocs
from papertrain.configs.checking.world import World
from papertrain.core.errors import nearest
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source

OPTIONS = ("account", "array", "begin", "chdir", "cluster-constraint", "clusters", "comment", "constraint", "container", "contiguous", "core-spec", "cores-per-socket", "cpu-freq", "cpus-per-gpu", "cpus-per-task", "deadline", "delay-boot", "dependency", "distribution", "error", "exclude", "exclusive", "export", "export-file", "extra-node-info", "get-user-env", "gid", "gpu-bind", "gpu-freq", "gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task", "gres", "gres-flags", "hint", "hold", "ignore-pbs", "input", "job-name", "kill-on-invalid-dep", "licenses", "mail-type", "mail-user", "mcs-label", "mem", "mem-bind", "mem-per-cpu", "mem-per-gpu", "mincpus", "network", "nice", "no-kill", "no-requeue", "nodefile", "nodelist", "nodes", "ntasks", "ntasks-per-core", "ntasks-per-gpu", "ntasks-per-node", "ntasks-per-socket", "open-mode", "output", "overcommit", "oversubscribe", "parsable", "partition", "power", "prefer", "priority", "profile", "propagate", "qos", "quiet", "reboot", "requeue", "reservation", "signal", "sockets-per-node", "spread-job", "switches", "test-only", "thread-spec", "threads-per-core", "time", "time-min", "tmp", "uid", "usage", "use-min-nodes", "verbose", "wait", "wait-all-nodes", "wckey", "wrap")  # fmt: skip


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    begun = False
    for i, line in enumerate(blank_heredocs(document.text).splitlines(), 1):
        bare = line.strip()
        if m := re.match(r"#\s+SBATCH\s+--?\w|##\s*SBATCH\s+--?\w", bare):
            if not bare.startswith("##"):
                yield Wrong(
                    says=say("a blank after `#`: sbatch takes this line for a comment"),
                    line=i,
                    instead="#SBATCH",
                    edits=(swap(i, m[0].split("SBATCH")[0] + "SBATCH", "#SBATCH"),),
                )
        elif bare.startswith("#SBATCH"):
            if begun:
                yield Wrong(
                    says=say("this line stands after the first command: sbatch no longer reads it"),
                    line=i,
                    instead=say("move it above the first command"),
                )
            if m := re.match(r"#SBATCH\s+(?:--time[=\s]|-t\s*)\s*(\d+):(\d\d)\s*(?:#.*)?$", bare):
                yield Wrong(
                    says=say("`{given}` is {n} minutes: sbatch reads two numbers as minutes:seconds", given=f"{m[1]}:{m[2]}", n=int(m[1])),
                    line=i, instead=say("{n}:00:00 for {n} hours", n=m[1]), level="note",
                )  # fmt: skip
            name = re.match(r"#SBATCH\s+--([A-Za-z][\w-]*)", bare)
            if name and not any(o.startswith(name[1]) for o in OPTIONS):  # sbatch takes what begins like one option
                near = nearest(name[1], OPTIONS, cutoff=0.7)
                if near:
                    yield Wrong(
                        says=say("sbatch has no option `--{name}`: write `--{near}`", name=name[1], near=near),
                        line=i,
                        instead=f"#SBATCH --{near}",
                        edits=(swap(i, f"--{name[1]}", f"--{near}"),),
                    )
        elif bare and not bare.startswith("#"):
            begun = True


RULE = Rule(
    id="TR418",
    name="directive-not-read",
    level="error",
    status="stable",
    check=check,
    applies="slurm",
    what="A Slurm directive that sbatch passes over or does not know.",
    why="Directives after the first command, or with a blank after `#`, are comments: the job runs with the cluster's defaults, one card and an hour.",
    source=Source(
        kind="rule",
        ref="sbatch(1): options in the script are read before any executable command; option names of Slurm 22.05 to 24.05",
    ),
    fires="== job.sh\n#!/bin/bash\n#SBATCH --nodes=1\nmodule load cuda\n#SBATCH --gres=gpu:4\nsrun python train.py\n",
    quiet="== job.sh\n#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --gres=gpu:4\nmodule load cuda\nsrun python train.py\n",
)
