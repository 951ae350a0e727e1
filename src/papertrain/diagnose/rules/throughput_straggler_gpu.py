"""One device is slower than the others and holds all of them up."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR525",
    "throughput-straggler-gpu",
    "nccl-hang",
    title="One device is slower than the others and holds all of them up",
    branch="training",
    level="warning",
    why="Steps take longer while the loss is normal; per-node timing shows one rank behind.",
    sig=("straggler ~ (?i)straggler\\w*.{0,40}(detected|is slow|rank \\d)|slow\\w*.{0,40}straggler",),
    confidence=0.75,
    early=True,
    next_check="nvidia-smi -q -d CLOCK,TEMPERATURE,PERFORMANCE   # on the node of the slow rank: throttling",
    fixes=(fix("leave the node out", "sbatch --exclude=<node> job.sh", proof="step time is back at its median"),),
    fires="[2026-03-01 10:00:00] WARNING straggler detected: rank 5 is 31% slower than the median over 200 steps",
    quiet="step time 1.21 s, median 1.20 s",
)
