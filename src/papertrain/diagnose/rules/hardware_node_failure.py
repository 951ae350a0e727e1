"""A node failed under the job."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR530",
    "hardware-node-failure",
    "hardware",
    title="A node failed under the job",
    why="The scheduler lost the node; the program itself did nothing wrong.",
    sig=(
        "Node failure on",
        "NODE_FAIL",
        "NODE FAILURE",
        "CANCELLED AT ~ DUE TO NODE FAILURE",
        "node health check failed",
    ),
    confidence=0.96,
    early=True,
    next_check="sacct -j <job> --format=JobID,State,NodeList; sinfo -R",
    fixes=(
        fix(
            "exclude the node and restart from the last checkpoint",
            "sbatch --exclude=<node> --requeue job.sh",
            sets={"resume_from_checkpoint": True},
            proof="the job passes the step at which it stopped",
        ),
    ),
    fires="srun: error: Node failure on gpu-17\nslurmstepd: error: *** JOB 81234 ON gpu-03 CANCELLED AT 2026-02-01T03:12:44 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***",
    quiet="nodes: gpu-[03-18] all idle",
)
