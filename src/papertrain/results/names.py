"""What a metric's name says: how it is written in a paper, which direction is better, which scale it lives on."""

from __future__ import annotations

import re

from papertrain.results.records import Scale

LOWER = {
    "loss", "ppl", "perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte", "wer", "cer", "ter", "mer", "mae", "mse", "rmse", "fid",
    "kl", "brier", "ece", "error", "error_rate", "err", "latency", "time", "toxicity", "edit_distance", "normalized_edit_distance", "log_loss",
    "logloss", "nll", "hallucination_rate", "abstention_rate", "regret", "eer", "cost",
}  # fmt: skip
HIGHER = {
    "acc", "accuracy", "acc_norm", "acc1", "acc5", "balanced_accuracy", "f1", "macro_f1", "micro_f1", "weighted_f1", "f1_macro", "f1_micro", "precision",
    "recall", "macro_precision", "macro_recall", "auc", "auroc", "roc_auc", "ap", "map", "mrr", "ndcg", "mcc", "matthews_correlation", "kappa", "em",
    "exact_match", "quasi_exact_match", "prefix_exact_match", "bleu", "bleu-4", "sacrebleu", "chrf", "rouge", "rouge1", "rouge2", "rougel", "rougelsum",
    "rouge-1", "rouge-2", "rouge-l", "meteor", "bertscore", "comet", "success", "success_rate", "win_rate", "length_controlled_winrate", "reward", "return",
    "score", "pearson", "spearman", "r2", "iou", "miou", "dice", "ssim", "psnr", "pass@1", "pass@10", "pass@100", "pct_stereotype_free", "mc1", "mc2",
    "main_score", "correct", "is_correct", "hit", "mean_per_class_recall", "mean_average_precision", "top1", "top5", "likert", "elo", "rewards/accuracies",
    "rewards/margins", "token_f1", "average", "avg", "normalized_similarity", "exact_match_rate", "judge_score", "ece_free", "coverage", "discrete_win_rate",
    "cosine_pearson", "cosine_spearman", "v_measure", "token_accuracy",
}  # fmt: skip
PERCENT_BY_NATURE = {"bleu", "chrf", "ter", "sacrebleu", "chrf++"}
UNBOUNDED = {
    "loss", "ppl", "perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte", "mae", "mse", "rmse", "fid", "kl", "latency", "time", "nll",
    "reward", "return", "elo", "psnr", "rewards/margins", "log_loss", "logloss", "cost", "r2", "likert", "judge_score",
}  # fmt: skip
NOT_METRICS = re.compile(
    r"(^|_)(runtime|samples_per_second|steps_per_second|total_flos|epoch|model_preparation_time|jit_compilation_time|num_input_tokens_seen|"
    r"global_step|gen_len|samples|mem_\w+|sample_len|sample_count|duration|params|flops|size|tokens_per_second)$"
)
PRETTY = {
    "acc": "Acc.", "accuracy": "Accuracy", "acc_norm": "Acc. (norm.)", "macro_f1": "Macro-F1", "micro_f1": "Micro-F1", "weighted_f1": "Weighted F1",
    "f1": "F1", "auc": "AUC", "mcc": "MCC", "em": "EM", "exact_match": "Exact match", "bleu": "BLEU", "chrf": "chrF", "ter": "TER", "wer": "WER",
    "cer": "CER", "rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougel": "ROUGE-L", "rougelsum": "ROUGE-Lsum", "perplexity": "Perplexity", "ppl": "PPL",
    "ece": "ECE", "brier": "Brier", "log_loss": "Log loss", "rmse": "RMSE", "mse": "MSE", "mae": "MAE", "r2": "$R^2$", "kappa": "Cohen's kappa",
    "token_f1": "Token F1", "precision": "Precision", "recall": "Recall", "macro_precision": "Macro precision", "macro_recall": "Macro recall",
    "pearson": "Pearson", "spearman": "Spearman", "loss": "Loss", "success": "Success", "success_rate": "Success rate", "balanced_accuracy": "Balanced acc.",
    "mrr": "MRR", "score": "Score",
}  # fmt: skip


JUDGED = re.compile(r"judge_score(_|$)")
"""What a judge gave, 1-10 mostly: neither a fraction nor a percentage."""
DURATION = re.compile(
    r"(^|_)(latency|time|elapsed|wall_?clock)(_per_\w+)?(_(ns|us|ms|s|sec|secs|seconds|min|minutes|h|hours))?$"
)
COSTS = re.compile(
    r"(^|_)(wer|cer|ter|loss|perplexity|ppl|mae|mse|rmse|nll|err|error|error_rate|toxicity|edit_distance)(_(pct|percent))?$"
    rf"|{DURATION.pattern}"
)
"""Lower is better. A time and its unit in one name (`latency_ms`) is still a time."""


def key(metric: str) -> str:
    """The name without prefix, filter and case: `eval_Accuracy`, `acc,none` → `accuracy`, `acc`."""
    m = metric.strip().lower().split(",")[0].replace(" ", "_")
    return re.sub(r"^(eval|test|predict|valid|val|dev)[_/](?=.)", "", m)


def higher_is_better(metric: str) -> bool | None:
    """None where the name does not say: it is asked for, not guessed."""
    k = key(metric)
    if k in LOWER or COSTS.search(k):
        return False
    if k in HIGHER or re.match(
        r"(pass|ndcg|recall|precision|map|mrr|hit|hits|acc|rouge|bleu|f1)[@_\-]?(at_)?[\d_k]*$", k
    ):
        return True
    if JUDGED.match(k) or re.search(r"(^|[_-])(g-?pass|pass|maj|avg)@", k):
        return True
    if re.search(
        r"(^|_)(acc|accuracy|f1|auc|auroc|bleu|rouge\w*|recall|precision|exact_match|extractive_match|set_match|math_equiv\w*|correctness|score_rescaled|em|score|success|mrr|similarity|correlation)(@\d+)?$",
        k,
    ):
        return True
    return None


def scale(metric: str, values: list[float], hint: Scale = "unknown") -> Scale:
    """Fraction or percent, decided over a whole column: one cell cannot say."""
    k = key(metric)
    if hint != "unknown":
        return hint
    if (
        k in UNBOUNDED
        or JUDGED.match(k)
        or DURATION.search(k)
        or re.search(r"(^|_)(loss|perplexity|ppl|mae|mse|rmse)$", k)
    ):
        return "number"
    if k in PERCENT_BY_NATURE:
        return "percent" if any(abs(v) > 1 for v in values) else "unknown"
    if higher_is_better(metric) is None:
        return "number"
    if not values:
        return "unknown"
    top = max(abs(v) for v in values)
    if re.search(r"(^|_)(wer|cer|mer|ter)$", k):
        # more errors than words is possible: 104 beside 2.1 is a percentage, 1.04 beside 0.2 a fraction
        return "percent" if sorted(abs(v) for v in values)[len(values) // 2] > 1.5 else "fraction"
    return "fraction" if top <= 1 else "percent" if top <= 100 else "number"


JUMP = 10
"""A fraction written as a percentage is a hundred times larger. Where a column leaps by less, it is one scale."""


def mixed(values: list[float]) -> bool:
    """Whether some numbers look like fractions and the others like percentages, with nothing in between."""
    low = [abs(v) for v in values if 0 < abs(v) <= 1]
    high = [abs(v) for v in values if abs(v) > 1]
    return bool(low and high) and min(high) / max(low) > JUMP


def bounded(metric: str) -> bool:
    """Cannot exceed 1, or 100 in percent."""
    k = key(metric)
    return (
        k not in UNBOUNDED
        and higher_is_better(metric) is True
        and k not in {"score", "success", "main_score", "average", "avg"}
    )


def pretty(metric: str) -> str:
    """As a column heading; the file's own word where there is no better one."""
    return PRETTY.get(key(metric), metric.split(",")[0] if metric.endswith(",none") else metric)


def is_metric(name: str) -> bool:
    return not NOT_METRICS.search(name.lower()) and not name.lower().endswith(("_stderr", " stderr", "_count"))
