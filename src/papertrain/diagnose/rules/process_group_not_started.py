"""Code for several processes was started as one."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR680",
    "process-group-not-started",
    "environment",
    title="Code for several processes was started without its launcher",
    why="Ranks and their number come from variables that torchrun, accelerate or Slurm set; a plain python sets none, so no group can be made.",
    sig=(
        "Default process group has not been initialized",
        "environment variable RANK expected",
        "environment variable WORLD_SIZE expected",
        "environment variable MASTER_ADDR expected",
        "environment variable MASTER_PORT expected",
        "KeyError: 'LOCAL_RANK'",
        "KeyError: 'RANK'",
        "KeyError: 'WORLD_SIZE'",
        "Using fsdp only works in distributed training",
    ),
    confidence=0.85,
    next_check="env | grep -E '^(RANK|LOCAL_RANK|WORLD_SIZE|MASTER_ADDR|MASTER_PORT)='",
    fixes=(
        fix(
            "start it with its launcher, also on one GPU",
            "torchrun --nproc_per_node=1 train.py …   # or: accelerate launch train.py …",
            proof="every rank prints its number",
        ),
        fix(
            "or make the group before the first use of it",
            "torch.distributed.init_process_group('nccl')   # before the model, the sampler and every barrier",
            proof="torch.distributed.is_initialized() is True",
        ),
    ),
    kinds=(
        (
            r"(?:process|parallel|data parallel) group (?:is|has|was) not|not (?:currently )?(?:using|in) distributed|only works? in distributed|requires? distributed|does not support .?nn\.DataParallel",
            "AssertionError: data parallel group is not initialized",
        ),
    ),
    fires="ValueError: Error initializing torch.distributed using env:// rendezvous: environment variable RANK expected, but not set",
    quiet="init_process_group: rank 0 of 8, backend nccl",
)
