"""Checkpoints are many times larger than the model."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR559",
    "checkpoint-size-bloat",
    "checkpoint-disk",
    title="Checkpoints are many times larger than the model",
    branch="result",
    level="warning",
    why="A saved view keeps its whole storage, or full optimizer states are saved for a small adapter.",
    sig=(
        "checkpoint ~ (?i)checkpoint.{0,80}(larger than (expected|the model)|is \\d+x|size.{0,20}(bloat|huge|10x))",
        "storage is larger",
    ),
    confidence=0.75,
    early=True,
    next_check='du -sh checkpoint-*; python -c "print(t.numel()*t.element_size(), t.untyped_storage().nbytes())"',
    fixes=(
        fix(
            "save copies, not views",
            "torch.save({k: v.clone() for k, v in state.items()}, path)",
            proof="the file has the size of its tensors",
        ),
        fix("weights only, where the run is not resumed", sets={"save_only_model": True}),
    ),
    fires="WARNING checkpoint-500 is 10x larger than the model: tensor storage is larger than its view",
    quiet="checkpoint-500 saved in 3.1 s",
)
