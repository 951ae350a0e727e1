"""The batch cannot be divided among the devices."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR552",
    "batch-not-divisible-by-world",
    "deepspeed-parallel",
    title="The batch cannot be divided among the devices",
    why="A global batch (or its accumulation) must be a multiple of the number of data-parallel ranks.",
    sig=(
        "not divisible ~ (?i)batch.{0,60}(not divisible|must be divisible|should be divisible)",
        "must be divisible ~ (?i)batch.{0,80}must be divisible|divisible by.{0,30}(world|num_process|number of (gpus|devices|processes))",
        "should be divisible ~ (?i)batch.{0,60}should be divisible",
        "evenly divisible ~ (?i)batch.{0,60}must be evenly divisible",
        "is not divisible by micro-batch-size",
        "batch size should be a round multiple of",
        "only support equal chunk",
    ),
    confidence=0.92,
    next_check="nvidia-smi -L | wc -l   # against the batch",
    fixes=(
        fix(
            "a batch that is a multiple of the number of ranks",
            sets={"global_batch_size": "<multiple of the ranks>"},
            effect="experiment",
            proof="the assertion passes",
        ),
    ),
    kinds=(
        (
            "\\bbatch\\w*\\b.{0,100}(?:divisible|multiple of|divid)|(?:divisible|multiple) (?:by|of) .{0,60}(?:batch|world|ranks|gpus|generations|num_processes)|num_generations|generations per prompt",
            "ValueError: effective batch 6 must be a multiple of num_generations (4)",
        ),
    ),
    fires="AssertionError: global batch size (100) is not divisible by micro batch size (4) times data parallel size (8)",
    quiet="global batch 128 = 4 * 8 * 4",
)
