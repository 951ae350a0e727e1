"""Replicated parameters differ between ranks."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR603",
    "silent-tp-parameter-desync",
    "not-learning",
    title="Replicated parameters differ between ranks",
    branch="training",
    why="A parameter that should be equal on all tensor-parallel ranks drifted apart; no error is raised.",
    sig=(
        "parameters are not in sync",
        "desync ~ (?i)param\\w*.{0,40}desync",
        "inconsistent across ranks",
        "not equal across ranks",
        "Params are not consistent across",
    ),
    confidence=0.8,
    early=True,
    next_check="all-gather a checksum of each replicated parameter and compare",
    fixes=(
        fix(
            "a framework in which it is fixed; synchronise from rank 0, and go back to the last checkpoint in which ranks agree",
            "torch.distributed.broadcast(p.data, src=0)",
            effect="execution",
            proof="the checksums agree after 100 steps",
        ),
    ),
    kinds=(
        (
            "expects same model across all ranks|appears not to match sizes of the same param|(?:different|inconsistent).{0,30}(?:param\\w*|shapes?).{0,30}(?:rank|process)",
            "RuntimeError: DDP expects same model across all ranks, but Rank 1 has 291 params, while rank 0 has inconsistent 290 params.",
        ),
    ),
    fires="WARNING layernorm weights not equal across ranks: max difference 3.1e-3",
    quiet="parameters equal on all ranks",
)
