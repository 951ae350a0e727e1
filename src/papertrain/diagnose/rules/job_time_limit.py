"""The scheduler ended the job at its time limit."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR531",
    "job-time-limit",
    "hardware",
    title="The scheduler ended the job at its time limit",
    why="The job ran longer than its limit; nothing is wrong with the training.",
    sig=(
        "DUE TO TIME LIMIT",
        "TIMEOUT ~ State=TIMEOUT",
        "walltime ~ (?i)exceeded.*walltime|walltime.*exceeded",
        "DUE TO PREEMPTION",
        "DUE TO PREEMPTED",
    ),
    confidence=0.96,
    early=True,
    next_check="sacct -j <job> --format=JobID,State,Elapsed,Timelimit",
    fixes=(
        fix(
            "a longer limit, or resume in a second job",
            "sbatch --time=<longer> job.sh",
            sets={"resume_from_checkpoint": True},
            proof="the run goes on from the last checkpoint",
        ),
    ),
    fires="slurmstepd: error: *** JOB 812 ON gpu-03 CANCELLED AT 2026-02-01T03:12:44 DUE TO TIME LIMIT ***",
    quiet="time limit: 24:00:00",
)
