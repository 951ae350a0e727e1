"""The installed transformers does not know this model type."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR662",
    "transformers-too-old",
    "environment",
    title="The installed transformers does not know this model type",
    why="The architecture is newer than the installed version, or the config is of another library.",
    sig=(
        "does not recognize this architecture",
        "Transformers does not recognize",
        "The checkpoint you are trying to load has model type ~ has model type",
        "Unrecognized configuration class",
        "Unrecognized model in",
        "KeyError ~ ^KeyError: '(?:qwen\\d?|llama\\d|mi[sx]tral|gemma\\d?|phi\\d?|deepseek|internlm\\d?|chatglm|glm\\d|falcon|mamba|olmo\\d?|starcoder\\d|cohere|minicpm|smollm)\\w*'",
    ),
    confidence=0.93,
    next_check="python -m pip show transformers",
    fixes=(
        fix(
            "a newer transformers in the training environment",
            "python -m pip install -U transformers",
            proof="the config loads",
        ),
    ),
    kinds=(
        (
            "(?:requires?|need|upgrade|update|newer|latest)\\b.{0,60}\\btransformers\\b|\\btransformers\\b ?[><=]=? ?v?\\d|(?:Tokenizer|Processor|Model|Config)\\w* class \\w+ does not exist|(?:class|model type|architecture|model)\\b.{0,60}(?:does not exist or is not currently imported|not (?:recogni[sz]ed|registered))",
            "ValueError: Tokenizer class Qwen2Tokenizer does not exist or is not currently imported.",
        ),
    ),
    fires="ValueError: The checkpoint you are trying to load has model type `qwen3` but Transformers does not recognize this architecture. This could be because of an issue with the checkpoint, or because your version of Transformers is out of date.",
    quiet="model type qwen3 loaded",
)
