"""Whatever a program calls its numbers, which signal is it?"""

from __future__ import annotations

import re
from functools import lru_cache

EVALUATION = frozenset(
    ("eval", "val", "valid", "validation", "test", "dev", "evaluation", "heldout", "testing", "evaluating")
)
TRAINING = frozenset(("train", "training", "tr"))
LOSS = frozenset(("loss", "losses", "nll", "ce", "trl", "tel", "xent"))
PART = frozenset(("aux", "router", "balancing", "kl", "policy", "value", "cri", "critic", "unsuper", "reg", "regularization", "z",
                  "l1", "l2", "commit", "commitment", "perceptual", "d", "g", "disc", "discriminator", "gen", "generator", "adv",
                  "gan", "entropy", "contrastive", "box", "cls", "dfl", "obj", "bbox", "giou", "mask", "unscaled", "ctc", "att",
                  "aligned", "best", "min", "max", "std", "surrogate", "vf", "pg", "pi", "q", "actor", "act"))  # fmt: skip

EXACT = {
    "trl": "train_loss", "tel": "eval_loss", "lm_loss": "train_loss", "validation_lm_loss_value": "eval_loss", "validation_lm_loss_ppl": "other", "eval_on_train_loss": "other", "loss": "train_loss", "l_pix": "train_loss", "l_total": "train_loss", "train/ce_loss": "train_loss",
    "lr": "learning_rate", "learning_rate": "learning_rate", "optim/lr": "learning_rate", "lr_multiplier": "lr_multiplier",
    "grad_norm": "grad_norm", "norm": "grad_norm", "gnorm": "grad_norm", "grad_norm_unclipped": "grad_norm",
    "optim/total_grad_norm": "grad_norm", "gradient_norm": "grad_norm", "total_norm": "grad_norm", "global_grad_norm": "grad_norm",
    "loss_scale": "loss_scale", "scale": "loss_scale", "amp_scale": "loss_scale", "fp16_loss_scale": "loss_scale",
    "skipped_steps": "skipped_steps", "number_of_skipped_iterations": "skipped_iterations",
    "number_of_nan_iterations": "nan_iterations",
    "mean_token_accuracy": "token_accuracy", "token_acc": "token_accuracy", "train_speed(s/it)": "step_seconds", "token_accuracy": "token_accuracy",
    "rewards/margins": "reward_margin", "rewards/accuracies": "reward_accuracy", "rewards/chosen": "reward_chosen",
    "rewards/rejected": "reward_rejected", "margin": "reward_margin", "reward_margin": "reward_margin",
    "kl": "kl", "objective/kl": "kl_sum", "mean_kl": "kl", "approx_kl": "approx_kl", "policy/approxkl_avg": "approx_kl",
    "train/approx_kl": "approx_kl", "entropy": "entropy", "objective/entropy": "entropy_sum", "policy/entropy_avg": "entropy",
    "reward": "reward", "reward_std": "reward_std", "objective/rlhf_reward": "reward", "objective/scores": "reward_scores",
    "average_reward_score": "reward", "episode_reward": "reward", "running_reward": "reward", "mean_reward": "reward", "avg_reward": "reward", "mean_episode_reward": "reward", "episode_return": "reward", "total_reward": "reward", "totalreward": "reward", "rollout/ep_rew_mean": "reward", "frac_reward_zero_std": "zero_std",
    "zero_std_ratio": "zero_std", "completions/clipped_ratio": "clipped_ratio", "completions/mean_length": "completion_length",
    "completion_length": "completion_length", "val/ratio": "ppo_ratio", "policy/clipfrac_avg": "clip_fraction",
    "clip_ratio": "clip_fraction", "clip_ratio/region_mean": "clip_fraction", "num_tokens": "tokens_seen", "total_tokens": "tokens_seen",
    "consumed_tokens": "tokens_seen", "tokens/total": "tokens_seen", "global_batch_size": "batch",
    "checkpoint": "checkpoint", "saved_checkpoint": "checkpoint",
    "act_loss": "rl_loss", "loss/policy_avg": "rl_loss", "actor/pg_loss": "rl_loss",
    "actor/entropy": "entropy", "actor/entropy_loss": "entropy", "actor/grad_norm": "grad_norm", "actor/lr": "learning_rate",
    "actor/kl_loss": "kl", "actor/ppo_kl": "approx_kl", "actor/pg_clipfrac": "clip_fraction", "critic/rewards/mean": "reward",
    "critic/score/mean": "reward_scores", "response_length/mean": "completion_length", "response_length/clip_ratio": "clipped_ratio",
    "perf/throughput": "throughput", "timing_s/step": "step_seconds", "perf/max_memory_reserved_gb": "gpu_memory",
}  # fmt: skip

PATTERNS: tuple[tuple[str, str], ...] = (
    (r"^(tokens?_per_sec(ond)?|tokens?/s(ec)?|tok/s(ec)?|tps|wps|throughput|train_tokens_per_second|tokens_per_second_per_gpu|tokens/train_per_sec_per_gpu|samples?_per_sec(ond)?|train_speed\(iter/s\)|ex/s|it/s|throughput/device/tokens_per_sec|throughput/total_tokens|train_samples_per_second)$", "throughput"),
    (r"^throughput_per_gpu.*$", "tflops"),
    (r"^(step_time|step_seconds|time_per_step|elapsed_time_per_iteration_\(s\)|sec_per_step|step_time_s|iter_time|train/step_time|batch_time)$", "step_seconds"),
    (r"^(step_time_ms|elapsed_time_per_iteration_\(ms\)|step_avg|time_ms|dt_ms)$", "step_ms"),
    (r"^(system/)?gpu\.\d+\.gpu$|^(gpu_util(ization)?|utilization\.gpu|gpu_utilization|gpu_use|sm_util)([/_][\w-]+)?$", "gpu_utilization"),
    (r"^(peak_memory_(reserved|active|alloc(ated)?)|memory_gib|memory\(gib\)|memory_mib|vram_(reserved|allocated)|memory/(device_reserved|max_(active|allocated)).*|memory_allocated_gb|max_memory_allocated_gb|gpu_memory.*|max_mem.*)$", "gpu_memory"),
    (r"^lr[-_/].*$|^learning_rate[/_-].*$|^lr/pg\d+$|^train/lr$|^train_lr$|^optimizer/lr.*$|^params/lr.*$", "learning_rate"),
    (r"^(train[/_])?(grad(ient)?[_/]?norm|total_grad_norm|gradients?/norm|global_norm|grad_2\.0_norm_total|grad_norm/total)$", "grad_norm"),
)  # fmt: skip

ADVERSARIAL = re.compile(r"^(?:[GD]_|l_[gd]_)|^(?:cycle|idt)_[AB]$")
"""`D_A`, `G_GAN`, `l_d_real`, `cycle_A`: terms of networks that work against each other (pix2pix, CycleGAN, BasicSR)."""
CROSS = re.compile(r"cross[_ -]?entropy", re.I)
"""The usual loss of a language model, while `entropy` alone is a term of one."""
WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+(?![a-z])")
COMPILED = tuple((re.compile(p), s) for p, s in PATTERNS)
BETTER_UP = re.compile(
    r"(^|[_/ .-])(acc(uracy)?|(acc|prec)@\d|f1|fscore|map|map50|map50_95|ap|auc|bleu|rouge\w*|em|exact_match|mcc|matthews_correlation|pearson\w*|spearman\w*|r2|precision|recall|iou|miou|dice|top1|top5|acc1|acc5|coco_eval_bbox|score|reward|win_rate|pass@\d+|hits@\d+|mrr|ndcg\w*)($|[_/ .-]|\d|\()",
    re.I,
)
BETTER_DOWN = re.compile(r"(^|[_/ .-])(wer|cer|ppl|perplexity|bpb|mae|mse|rmse|error|err|ter|fid)($|[_/ .-])", re.I)


def tidy(raw: str) -> str:
    """Lower case, words joined by underscores, without the prefixes that say nothing."""
    name = re.sub(r"[\s]+", "_", raw.strip().lower())
    return re.sub(r"^(metrics|scalars|logs)/", "", name)


def bare(name: str) -> str:
    """Without a leading `train/` or `train_`."""
    return re.sub(r"^(train|training)[/_]", "", name)


@lru_cache(maxsize=8192)
def signal_of(raw: str) -> str:
    """The signal's name; `metric` for other evaluation numbers, `loss_part` for terms of a loss, `other` for the rest."""
    name = tidy(raw)
    if name in EXACT:
        return EXACT[name]
    if bare(name) in EXACT and EXACT[bare(name)] != "train_loss":
        return EXACT[bare(name)]
    if ADVERSARIAL.match(raw):
        return "loss_part"
    for pattern, signal in COMPILED:
        if pattern.search(name) or pattern.search(bare(name)):
            return signal
    words = [w.lower() for w in WORD.findall(CROSS.sub("ce", raw))]
    bag = set(words)
    if bag & LOSS or any(w.endswith("loss") and w != "loss" for w in words):
        if bag & EVALUATION:
            return "eval_loss" if not bag & PART else "eval_loss_part"
        if bag & PART or re.search(r"loss_\d", name):
            return "loss_part"
        return "train_loss"
    if bag & EVALUATION:
        if BETTER_DOWN.search(name) and "bpb" in bag:
            return "eval_loss"
        if not bag & {"runtime", "second", "seconds", "per", "time", "samples", "steps", "step"}:
            return "metric"
        return "other"
    if BETTER_UP.search(name) and not bag & TRAINING:
        return "metric_plain"
    return "other"


def direction(raw: str) -> int:
    """1 where higher is better, -1 where lower is, 0 where nobody knows."""
    name = tidy(raw)
    if BETTER_DOWN.search(name):
        return -1
    return 1 if BETTER_UP.search(name) else 0


def preference(raw: str) -> tuple[int, int]:
    """Which of several train losses is the run's loss: smaller is better."""
    name = tidy(raw)
    order = ("loss", "train_loss", "train/loss", "training_loss", "lm_loss", "trl", "train/ce_loss", "loss/train", "train_loss_step", "loss_step",
             "train/loss_step", "train_loss_epoch", "train/loss_epoch", "total_loss", "train/total_loss")  # fmt: skip
    return (order.index(name) if name in order else len(order), len(name))
