"""A streamed data set has no length, and the scheduler needs the number of steps."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR677",
    "streaming-without-max-steps",
    "data-template",
    title="A streamed data set has no length: the number of steps must be said",
    why="Epochs cannot be counted without a length; the schedule needs the number of steps beforehand.",
    sig=(
        "max_steps has to be specified",
        "max_steps must be set ~ (?i)max_steps must be (?:set|specified|given)",
        "does not implement __len__",
    ),
    confidence=0.93,
    next_check="wc -l train.jsonl   # steps = rows * epochs / (batch * accumulation * cards)",
    fixes=(
        fix(
            "say how many steps",
            sets={"max_steps": "<rows × epochs / global batch>"},
            effect="experiment",
            proof="training starts",
        ),
        fix("or read the data whole, where it fits", "load_dataset(…, streaming=False)", proof="training starts"),
    ),
    kinds=(
        (
            "max_steps.{0,80}(?:must|require|positive|specif|set|since)|(?:requires?|set) `?max_steps|(?:IterableDataset|[Ss]treaming dataset|[Ii]terable datasets?)\\b.{0,80}(?:not support|require|does(?: not|n't)|not yet|must)",
            "ValueError: Streaming dataset does not support index access.",
        ),
    ),
    fires="ValueError: The train_dataset does not implement __len__, max_steps has to be specified.",
    quiet="streaming: true, max_steps: 2000",
)
