"""A weights file was cut off while it was written."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR556",
    "checkpoint-truncated-disk-full",
    "checkpoint-disk",
    title="A weights file was cut off while it was written",
    why="The header promises more bytes than the file has: the save was interrupted, most often by a full disk.",
    sig=(
        "MetadataIncompleteBuffer",
        "incomplete metadata, file not fully covered",
        "invalid header length",
        "HeaderTooSmall",
        "deserializing header: header too small",
        "deserializing header: invalid",
        "unexpected EOF, expected",
        "unexpected EOF. The file might be corrupted",
        "PytorchStreamReader failed reading file",
        "InvalidHeaderDeserialization",
        "InvalidHeaderLength",
    ),
    confidence=0.9,
    unlike=(("safetensors-lfs-pointer", "a pointer file has about 130 bytes; look at the size"),),
    next_check="ls -l checkpoint-*/model*.safetensors; df -h .",
    fixes=(
        fix(
            "resume from the checkpoint before this one and delete the cut one",
            "ls -lt OUTPUT_DIR",
            sets={"resume_from_checkpoint": "<the checkpoint before>"},
            proof="the older checkpoint loads",
        ),
        fix("keep fewer checkpoints", sets={"save_total_limit": 2}),
    ),
    fires="safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer",
    quiet="loaded model-00001-of-00004.safetensors",
)
