"""DeepSpeed is configured, but the run was not started by a launcher."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR547",
    "deepspeed-single-gpu-launch",
    "deepspeed-parallel",
    title="DeepSpeed is configured, but the run was not started by a launcher",
    why="A plain `python` start leaves DeepSpeed without its world: a dummy optimizer, or a search for MPI.",
    sig=(
        "'DummyOptim' object has no attribute",
        "No module named 'mpi4py'",
        "Please use FORCE_TORCHRUN=1 to launch DeepSpeed",
        "DummyScheduler' object has no attribute",
        "using `DeepSpeed` requires ~ launch",
    ),
    confidence=0.94,
    yields=(),
    next_check="env | grep -E 'LOCAL_RANK|WORLD_SIZE'   # empty: no launcher",
    fixes=(
        fix(
            "start it with a launcher",
            "FORCE_TORCHRUN=1 llamafactory-cli train sft.yaml",
            "deepspeed --num_gpus 1 train.py …",
            "torchrun --nproc_per_node 1 train.py …",
            proof="DeepSpeed prints its world size",
        ),
        fix("or leave DeepSpeed out on one card", sets={"deepspeed": None}),
    ),
    fires="AttributeError: 'DummyOptim' object has no attribute 'step'",
    quiet="DeepSpeed info: version=0.16.3, world size 4",
)
