"""The evaluated model is not the trained one: weights are newly initialised or the adapter is missing."""

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix


def judge(case: Case) -> Match | None:
    fresh = case.find("newly initialized ~ newly initialized", "newly initialized")
    keys = case.find(
        "Found missing adapter keys",
        "missing adapter keys while loading",
        "unexpected keys ~ (?i)adapter|lora",
        "Some weights of the model checkpoint ~ not used when initializing.*(score|classifier|lora)",
        "checkpoint keys ~ (?i)lora",
    )
    evaluating = case.find("Running Evaluation", "Running Prediction", "eval_accuracy", "eval_f1", "predict_")
    if case.curve or not (fresh or keys) or not (evaluating or keys):
        return None
    return RULE.found(0.85 if fresh and evaluating else 0.7, [*(fresh[:1] or keys[:1]), *evaluating[:1]])


RULE = cause(
    "TR610",
    "low-score-model-init",
    "result",
    title="The evaluated model is not the trained one: weights are newly initialised or the adapter is missing",
    branch="result",
    level="warning",
    why="The loader says which weights it did not find; they hold random numbers.",
    judge=judge,
    sig=(
        "newly initialized",
        "Found missing adapter keys",
        "missing adapter keys while loading",
        "unexpected keys",
        "Some weights of the model checkpoint",
        "checkpoint keys",
        "Running Evaluation",
        "Running Prediction",
        "eval_accuracy",
        "eval_f1",
        "predict_",
    ),
    next_check="grep -n 'newly initialized' eval.log   # a classification head before training is normal, at evaluation it is not",
    fixes=(
        fix(
            "load the trained head or adapter: the folder of the run, not of the base model",
            "PeftModel.from_pretrained(base, '<run folder>')",
            sets={"adapter": "<run folder>"},
            effect="execution",
            proof="no 'newly initialized' at evaluation",
        ),
    ),
    fires="Some weights of BertForSequenceClassification were not initialized from the model checkpoint at out/checkpoint-500 and are newly initialized: ['classifier.bias', 'classifier.weight']\n***** Running Evaluation *****\n{'eval_accuracy': 0.251, 'eval_loss': 1.39}",
    quiet="Some weights of BertForSequenceClassification were not initialized from the model checkpoint at bert-base-uncased and are newly initialized: ['classifier.bias', 'classifier.weight']\n{'loss': 0.9, 'grad_norm': 1.2, 'learning_rate': 2e-05, 'epoch': 0.1}\n{'eval_accuracy': 0.91, 'eval_loss': 0.3, 'epoch': 1.0}",
)
