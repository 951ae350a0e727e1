"""The best model can only be kept if saving follows evaluation."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR578",
    "eval-save-strategy-mismatch",
    "environment",
    title="The best model can only be kept if saving follows evaluation",
    why="load_best_model_at_end compares evaluations at the steps of checkpoints: same strategy, and save steps a multiple of evaluation steps.",
    sig=(
        "requires the save and eval strategy to match",
        "requires the saving steps to be a round multiple of the evaluation steps",
        "EarlyStoppingCallback requires",
        "requires load_best_model_at_end",
    ),
    confidence=0.97,
    next_check="grep -nE 'eval_strategy|evaluation_strategy|save_strategy|eval_steps|save_steps' *.yaml *.py *.sh",
    fixes=(
        fix(
            "equal strategies, save steps a multiple of eval steps",
            sets={"save_strategy": "=eval_strategy", "save_steps": "=eval_steps"},
            proof="TrainingArguments is accepted",
        ),
        fix("do not keep the best model", sets={"load_best_model_at_end": False}, effect="experiment"),
    ),
    kinds=(
        (
            "(?:requires?|passed|needs?|without) (?:an? )?(?:eval\\w*|validation)[_ ]?(?:data ?set|strategy|split)?|didn't pass an .?eval_dataset|(?:eval|evaluation)[_ ]strategy.{0,120}(?:require|but|must|match|mismatch)|(?:save|saving)[_ ](?:steps|strategy).{0,120}(?:eval|multiple|match|require)|load_best_model_at_end",
            "ValueError: You have set `args.eval_strategy` to steps but you didn't pass an `eval_dataset` to `Trainer`.",
        ),
    ),
    kind_confidence=0.45,
    fires="ValueError: --load_best_model_at_end requires the save and eval strategy to match, but found\n- Evaluation strategy: steps\n- Save strategy: epoch",
    quiet="save strategy: steps, eval strategy: steps",
)
