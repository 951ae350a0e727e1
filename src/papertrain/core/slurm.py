"""The sbatch script of a run: one task per node, torchrun's c10d rendezvous, no ssh."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence

from papertrain.core.program import Program, Variable, shell_line, torchrun


def sbatch(
    name: str,
    program: Program,
    *,
    hours: float | None,
    gpus: bool,
    notes: Sequence[str] = (),
    extra: Sequence[str] = (),
    log: str = "",
) -> str:
    """The script. hours: predicted time; twice as much is asked for. extra: `#SBATCH` words of the site (account, partition)."""
    wall = max(1, math.ceil(2 * hours)) if hours else 24
    out = [
        "#!/bin/bash",
        *notes,
        f"#SBATCH --job-name={name}",
        f"#SBATCH --nodes={program.nodes}",
        "#SBATCH --ntasks-per-node=1",
        *([f"#SBATCH --gpus-per-node={program.devices}"] if gpus else []),
        f"#SBATCH --cpus-per-task={8 * program.devices if gpus else 2}",
        f"#SBATCH --time={wall}:00:00",
        f"#SBATCH --output={log or f'slurm-{name}-%j.log'}",
        "#SBATCH --signal=TERM@120",
        "#SBATCH --requeue",
        *(f"#SBATCH {word}" for word in extra),
        "# --signal: two minutes before the limit the script is told to save a checkpoint and stop.",
        "# Account, partition and modules are your site's: add them above, or with sbatch's own options.",
        "set -euo pipefail",
        'cd "$SLURM_SUBMIT_DIR"',
        'export MASTER_ADDR="$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)"',
        "# A port of this job's own, so that two jobs on one node do not meet.",
        'export MASTER_PORT="$((20000 + SLURM_JOB_ID % 20000))"',
    ]
    variables: list[Variable] = list(program.environment)
    if program.kind == "tool":
        words, added = torchrun(program)
        variables += [v for v in added if v.name not in ("NODE_RANK", "MASTER_ADDR", "MASTER_PORT")]
        run = f'srun bash -c \'export NODE_RANK="$SLURM_NODEID"; exec "$@"\' _ {shell_line(words)}'
    elif program.kind == "accelerate":
        words, _ = torchrun(program, node_rank="RANK_HERE", address="ADDRESS_HERE", port="PORT_HERE")
        line = (
            shell_line(words)
            .replace("RANK_HERE", '"$SLURM_NODEID"')
            .replace("ADDRESS_HERE", '"$MASTER_ADDR"')
            .replace("PORT_HERE", '"$MASTER_PORT"')
        )
        run = f"srun bash -c {shlex.quote('exec ' + line)}"
    elif program.kind == "python":
        place = f'--nnodes {program.nodes} --nproc_per_node {program.devices} --rdzv_backend c10d --rdzv_id "$SLURM_JOB_ID" --rdzv_endpoint "$MASTER_ADDR:$MASTER_PORT"'
        run = f"srun torchrun {place} {shell_line(program.words)}"
        if program.words[0].endswith("/train.py"):
            # A job that Slurm starts again goes on from the last checkpoint.
            out.append('more=""; if [ "${SLURM_RESTART_COUNT:-0}" -gt 0 ]; then more="--resume"; fi')
            run += " $more"
    else:
        run = f"srun {shell_line(program.words)}"
    out += [f"export {v.name}={shlex.quote(v.value)}" for v in variables]
    return "\n".join([*out, run]) + "\n"
