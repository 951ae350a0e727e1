"""The model's files cannot be found or fetched."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR590",
    "model-not-found",
    "environment",
    yields=("zero3-empty-weights-saved",),
    title="The model's files cannot be found or fetched",
    why="The name is neither a local folder nor reachable on the hub: no network, no access, or a typing error.",
    sig=(
        "is not a local folder and is not a valid model identifier",
        "is not a valid model identifier listed on",
        "couldn't connect to 'https://huggingface.co'",
        "We couldn't connect to",
        "You are trying to access a gated repo",
        "Repository Not Found for url",
        "does not appear to have a file named",
        "401 Client Error",
        "403 Client Error",
        "Can't load tokenizer for",
        "Incorrect path_or_model_id",
        "Repo id must be in the form",
        "Cannot find the requested files in the disk cache",
        "no file named ~ Error no file named .*(?:safetensors|bin)",
    ),
    confidence=0.92,
    next_check="ls <model folder>; hf auth whoami",
    fixes=(
        fix(
            "the right name, a local copy, or a login",
            "huggingface-cli download <repo> --local-dir <folder>",
            sets={"model": "<local folder>"},
            proof="the config loads",
        ),
        fix("offline, with a filled cache", env={"HF_HUB_OFFLINE": "1"}),
    ),
    fires="OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached files.",
    quiet="loading configuration file config.json from cache",
)
