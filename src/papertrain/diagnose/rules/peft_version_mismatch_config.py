"""The adapter's config was written by a newer peft."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR577",
    "peft-version-mismatch-config",
    "environment",
    title="The adapter's config was written by a newer peft",
    why="adapter_config.json holds a key that the installed peft does not know.",
    sig=(
        "LoraConfig.__init__() got an unexpected keyword argument",
        "Config.__init__() got an unexpected keyword argument ~ (?:Lora|AdaLora|Peft|IA3|LoHa|LoKr|PromptTuning)\\w*Config\\.__init__\\(\\)",
        "unexpected keyword argument 'corda_config'",
        "unexpected keyword argument 'eva_config'",
        "unexpected keyword argument 'exclude_modules'",
        "unexpected keyword argument 'lora_bias'",
        "unexpected keyword argument 'trainable_token_indices'",
        "unexpected keyword argument 'layer_replication'",
    ),
    confidence=0.95,
    next_check="pip show peft | grep Version; grep peft_version adapter_config.json",
    fixes=(
        fix(
            "a peft at least as new as the one that wrote the adapter", "pip install -U peft", proof="the adapter loads"
        ),
        fix(
            "or remove the unknown keys from adapter_config.json",
            "cp adapter_config.json adapter_config.json.bak   # then delete the key that the message names",
        ),
    ),
    kinds=(
        (
            "version of PEFT|peft ?[><=]=? ?\\d|(?:upgrade|update|install|requires?) .{0,24}\\bpeft\\b|from 'peft",
            "ValueError: The version of PEFT you are using is not compatible, please use a version that is greater than 0.6.1",
        ),
    ),
    fires="TypeError: LoraConfig.__init__() got an unexpected keyword argument 'corda_config'",
    quiet="peft 0.18.1, adapter saved by 0.18.1",
)
