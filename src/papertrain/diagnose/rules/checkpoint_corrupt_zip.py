"""The checkpoint's archive is damaged."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR558",
    "checkpoint-corrupt-zip",
    "checkpoint-disk",
    title="The checkpoint's archive is damaged",
    why="torch.save writes a zip whose directory stands at the end; it is missing: an interrupted download, upload or save.",
    sig=(
        "failed finding central directory",
        "invalid header or archive is corrupted",
        "not a ZIP archive",
        "Invalid magic number; corrupt file",
        "Ran out of input",
        "pickle data was truncated",
        "UnpicklingError: invalid load key",
    ),
    confidence=0.93,
    yields=("safetensors-lfs-pointer", "torch-load-weights-only"),
    next_check="ls -l checkpoint-*/; unzip -t checkpoint-*/optimizer.pt | tail -1",
    fixes=(
        fix(
            "fetch it again, or resume from the checkpoint before it and delete this one",
            "ls -lt OUTPUT_DIR",
            sets={"resume_from_checkpoint": "<the checkpoint before>"},
            proof="torch.load reads the older one",
        ),
    ),
    kinds=(
        (
            "Unable to load weights from (?:pytorch )?checkpoint|(?:file|archive|checkpoint|zip|weights).{0,40}(?:corrupt|truncated|damaged|incomplete)|PytorchStreamReader|unpickling|UnpicklingError",
            "OSError: Unable to load weights from pytorch checkpoint file for './x/pytorch_model.bin' at './x/pytorch_model.bin'.",
        ),
    ),
    kind_confidence=0.45,
    fires="RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory",
    quiet="archive opened, 12 records",
)
