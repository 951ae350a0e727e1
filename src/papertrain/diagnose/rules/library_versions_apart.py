"""Two installed libraries are of releases that do not know each other."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR683",
    "library-versions-apart",
    "environment",
    title="Two installed libraries are of releases that do not know each other",
    why="One asks the other for a name that this release does not have yet, or no longer has.",
    confidence=0.6,
    next_check="python -m pip check",
    kinds=(
        (
            r"cannot import name '\w+' from (?!'(?:transformers|trl|huggingface_hub|datasets|tokenizers|sentence_transformers|diffusers|accelerate|peft)\b)|module '[\w.]+' has no attribute|'(?:\w*(?:Trainer|TrainingArguments|Config|Cache|TokenizerFast|Tokenizer|RotaryEmbedding|Attention\w*|DecoderLayer|Model|ForCausalLM|Processor|Scheduler|Arguments|Callback))' object has no attribute|Failed to import [\w.]+ because of the following error|has no attribute '__version__'|incompatible version|version (?:conflict|mismatch)",
            "ImportError: cannot import name 'log' from 'torch.distributed.elastic.agent.server.api'",
        ),
    ),
    kind_confidence=0.48,
    fixes=(
        fix(
            "the pair of releases that the importing library was made for (its requirements name it)",
            "python -m pip check; python -m pip install -U <the library whose file the traceback ends in>",
            proof="the import passes",
        ),
        fix(
            "or a fresh environment from the project's own requirements",
            "python -m venv .venv && .venv/bin/pip install -r requirements.txt",
            proof="the import passes",
        ),
    ),
    fires="ImportError: cannot import name 'packaging' from 'pkg_resources' (/usr/lib/python3/dist-packages/pkg_resources/__init__.py)",
    quiet="torch 2.6.0, transformers 4.51.3",
)
