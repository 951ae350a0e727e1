"""Every class of failure, and every literal that the one pass over a log looks for."""

from __future__ import annotations

from functools import lru_cache

from papertrain.core.discover import discover
from papertrain.diagnose.rule import Cause

GENERIC = (
    "Traceback (most recent call last", "Error: ", "Error(", "Exception: ", "FATAL", "fatal error", "Segmentation fault", "core dumped", "Aborted",
    "exitcode", "exit code", "CANCELLED", "slurmstepd: error", "Killed", "Signal 9", "terminate called", "': nan", "\": NaN", ": nan", "=nan", "'nan'",
    "'loss': 0.0,", "'loss': '0'", "\"loss\": 0.0,", "DUE TO TIME LIMIT", "错误", "失败", "During handling of the above", "train_runtime",
    "ERROR", "panic", "[F ", "Floating point exception", "Bus error", "timed out", "Timeout", "Caught signal", "returned non-zero exit",
    "错误", "中止", "失败", "终止", "崩溃", "退出", "杀死", "杀掉", "段错误", "核心已转储", "已放弃",
)  # fmt: skip
"""What speaks of a failure whatever its class: kept in the pass, so that an unknown one can still be shown."""


@lru_cache
def causes() -> dict[str, Cause]:
    """Every class by its name."""
    from papertrain.diagnose import rules

    return {r.name: r for r in discover(rules, "RULE").values()}


EVERYDAY = frozenset({
    "0/", "base", "checkpoint", "container", "docker", "eos", "EOS", "eval_accuracy", "eval_f1", "flash_attn", "fsdp", "FSDP", "generat", "Generat", "global_step",
    "labels", "Map: ", "offload", "overlap_com", "overlap_comm", "predict_", "Process ", "resume_from_checkpoint", "Target", "vocab_size",
})  # fmt: skip
"""Words that healthy logs hold by the thousand: no reason to keep a line. Rules find them in the lines that are kept."""


@lru_cache
def literals() -> tuple[str, ...]:
    """What the one pass looks for."""
    every = [*(x for r in causes().values() for x in r.literals()), *GENERIC]
    return tuple(dict.fromkeys(x for x in every if x and x not in EVERYDAY))
