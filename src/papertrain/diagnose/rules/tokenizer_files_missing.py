"""The folder holds no tokenizer, or a package that it needs is missing."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR666",
    "tokenizer-files-missing",
    "environment",
    title="The folder holds no tokenizer, or a package that it needs is missing",
    why="The tokenizer is built from files beside the model: a folder with only weights or only an adapter has none; slow formats need sentencepiece or tiktoken.",
    sig=(
        "Couldn't instantiate the backend tokenizer",
        "Can't load tokenizer for ~ Can't load tokenizer for '(?:\\.|/|[^']*checkpoint-\\d|[^'/]*/[^'/]*/)",
        "Converting from SentencePiece and Tiktoken failed",
        "requires the SentencePiece library",
    ),
    confidence=0.93,
    yields=("model-not-found",),
    next_check="ls tokenizer.json tokenizer.model tokenizer_config.json",
    fixes=(
        fix(
            "save the tokenizer beside the model",
            "tokenizer.save_pretrained(output_dir)   # or copy tokenizer* from the base model",
            proof="AutoTokenizer.from_pretrained passes",
        ),
        fix("the packages of slow tokenizers", "python -m pip install sentencepiece tiktoken protobuf"),
    ),
    fires="ValueError: Couldn't instantiate the backend tokenizer from one of: (1) a `tokenizers` library serialization file, (2) a slow tokenizer instance to convert or (3) an equivalent slow tokenizer class to instantiate and convert.",
    quiet="tokenizer loaded from tokenizer.json",
)
