"""The data gives no full batch: zero optimizer steps."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR568",
    "dataset-too-small-zero-steps",
    "data-template",
    title="The data gives no full batch: zero optimizer steps",
    why="Rows divided by batch, ranks and accumulation is below one.",
    sig=(
        'total_steps": 0',
        "split is too small for sample_packing",
        "There seems to be not a single sample in your epoch_iterator",
        "There seems not to be a single sample in your epoch_iterator",
        "Total optimization steps = 0",
    ),
    confidence=0.94,
    early=True,
    next_check="wc -l train.jsonl",
    fixes=(
        fix(
            "less accumulation",
            sets={"gradient_accumulation_steps": 1},
            effect="experiment",
            proof="Total optimization steps is above 0",
        ),
        fix("keep the last incomplete batch", sets={"dataloader_drop_last": False}),
        fix("no packing where the rows do not fill one pack", "eval_sample_packing: false   # axolotl"),
    ),
    kinds=(
        (
            "(?:data ?set|dataloader|data|samples?|examples?|sequence|corpus|files?) .{0,24}(?:is|are|was|were|seems) empty|(?:empty|zero[- ](?:length|sized?)) (?:data ?set|dataloader|sequence|file|batch)|(?:no|not enough|zero) (?:\\w+ )?(?:samples?|examples?|data ?points?|rows|images|labels|training data)\\b|(?:size|length|number) (?:of .{0,30})?(?:is )?(?:0|zero)\\b.{0,40}(?:data|sample)|smaller than (?:the )?batch|数据集(?:过小|太小|为空|太少)|ZeroDivisionError: .{0,60}@ .{0,200}(?:len\\(|loader|steps|epoch|samples|batch|count|total)",
            "ValueError: Not enough samples (3) to fill 2 groups",
        ),
    ),
    fires="***** Running training *****\n  Num examples = 12\n  Total optimization steps = 0",
    quiet="  Total optimization steps = 1,926",
)
