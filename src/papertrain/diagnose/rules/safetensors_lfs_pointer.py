"""The weights file is a Git LFS pointer, not weights."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR557",
    "safetensors-lfs-pointer",
    "checkpoint-disk",
    title="The weights file is a Git LFS pointer, not weights",
    why="The first bytes are text ('version https://git-lfs…'), which safetensors reads as an impossible header length.",
    sig=(
        "HeaderTooLarge",
        "deserializing header: header too large",
        "git-lfs.github.com/spec",
        "invalid load key, 'v'",
        "You seem to have cloned a repository without having git-lfs installed",
    ),
    confidence=0.9,
    unlike=(
        (
            "checkpoint-truncated-disk-full",
            "files of gigabytes with this message are damaged instead: look at the size",
        ),
    ),
    next_check="ls -l *.safetensors *.bin; head -c 60 model*.safetensors   # about 130 bytes of text: a pointer",
    fixes=(
        fix(
            "fetch the real file",
            "git lfs install && git lfs pull   # or: huggingface-cli download <repo>",
            proof="the files have gigabytes",
        ),
    ),
    fires="safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge",
    quiet="header of model.safetensors: 43,120 bytes",
)
