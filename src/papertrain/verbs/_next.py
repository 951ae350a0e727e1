"""The one next command of an answer: with the names that are known, and only where it works as it is typed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from papertrain.core.commands import quoted

TOOLS = frozenset(("papertrain", "python", "df", "grep", "nvidia-smi", "npu-smi", "dmesg", "ss", "pip", "env", "ulimit", "hf", "wandb", "nvcc", "ps",
                   "ds_report", "ls", "head", "wc", "accelerate"))  # fmt: skip
DATA = (".jsonl", ".csv", ".tsv", ".parquet")
CONFIGS = (".yaml", ".yml", ".json", ".py", ".sh", ".sbatch", ".slurm")
_OPEN = re.compile(
    r"<[A-Za-z][^>]*>|…|\.\.\.|\b(?:LOG|CONFIG|DATA|EVAL_DATA|RUN_FOLDER|OUTPUT_DIR|TRAIN\.yaml|DS\.json)\b|\btrain\.(?:jsonl|log|py)\b|\*|run\.sh|\beval\.log|"
    r"\bmodel\.|\btokenizer\b|\b(?:adapter_)?config\.json|data/dataset_info|\bof (?:the|both)\b"
)


def filled(text: str, logs: Sequence[Path], configs: Sequence[Path] = (), data: Sequence[str] = ()) -> str:
    """LOG, CONFIG, DATA and their kin as the files of this call; what is not known stays as it is."""
    log = next((p for p in logs if str(p) != "-"), None)
    rows = next((d for d in (*data, *map(str, configs)) if d.endswith(DATA)), None)
    config = next((c for c in configs if str(c).endswith(CONFIGS)), None)
    names: list[tuple[str, object]] = []
    if log is not None:
        names += [(r"\bLOG\b|(?<![\w./])train\.log\b", log), (r"\bRUN_FOLDER\b", log if log.is_dir() else log.parent)]
    if config is not None:
        names += [
            (r"\bCONFIG\b", config),
            (r"\*\.py \*\.yaml|\*\.yaml \*\.py(?: \*\.sh)?|\*\.py \*\.sh|\*\.py(?![\w*])", config),
        ]
    if rows is not None:
        names.append((r"\b(?:EVAL_)?DATA\b|(?<![\w./])train\.jsonl\b", Path(rows)))
    for pattern, value in names:
        word = quoted(value).replace("\\", r"\\")
        text = re.sub(pattern, word, text)
    return text


def runnable(text: str, paths: Sequence[Path] = ()) -> str | None:
    """The command without its remark, or None where a person would have to put something in. Never the call that was just made."""
    command = re.split(r"\s{2,}#|\s#\s", text)[0].strip().rstrip(";")
    if not command.startswith("python -c"):
        command = command.split("; ")[0].strip()
    word = command.split(" ")[0]
    if word not in TOOLS or _OPEN.search(command) or command in ("papertrain estimate", "env", "ls", "grep"):
        return None
    again = {f"papertrain {verb} {quoted(p)}" for verb in ("diagnose", "watch") for p in paths}
    return None if command in again else command


def fallback(cls: str) -> str:
    """What always works: the words on a class."""
    return f"papertrain explain {quoted(cls)}"


def look_closer(paths: Sequence[Path]) -> str | None:
    """After an unknown: the lines around everything that speaks of an error, or the check of a file that is no log."""
    path = next((p for p in paths if str(p) != "-"), None)
    if path is None:
        return None
    if path.is_dir():
        return f"grep -rniE 'error|exception|killed|traceback' {quoted(path)}"
    return f"grep -niE -B 5 'error|exception|killed|traceback|fatal' {quoted(path)}"


def judge_otherwise(paths: Sequence[Path]) -> str | None:
    """After something that is no log: the verb that judges such a file."""
    path = next((p for p in paths if str(p) != "-"), None)
    if path is None:
        return None
    if path.suffix.lower() in (*CONFIGS, *DATA):
        return f"papertrain check {quoted(path)}"
    return f"ls -l {quoted(path)}" if path.is_dir() else f"head -n 20 {quoted(path)}"
