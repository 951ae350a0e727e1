"""Config files that lie beside a log: what kind each is, and what it says."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any, Literal

from papertrain.core import yaml
from papertrain.core.errors import PapertrainError
from papertrain.diagnose import facts as facts_of

Kind = Literal["llamafactory", "deepspeed", "accelerate", "hf", "python", "shell", "plan", "other"]


class Config:
    """One file. `value` is its tree for YAML and JSON, None for scripts."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self.text = name, text
        self.sha256 = hashlib.sha256(text.encode()).hexdigest()
        suffix = Path(name).suffix.lower()
        self.doc: Any = None
        self.value: Any = None
        if suffix in (".yaml", ".yml"):
            self.doc = yaml.load(text, name)
        elif suffix == ".json":
            self.doc = yaml.load_json(text, name)
        if self.doc is not None:
            self.value = self.doc.value
        self.kind: Kind = kind_of(suffix, self.value, text)

    def tell(self, facts: facts_of.Facts) -> None:
        if self.kind == "plan":
            return
        lines = self.text.splitlines()
        if isinstance(self.value, dict):
            facts_of.from_tree(facts, self.value, self.doc.line, lines, self.name)
        else:
            facts_of.from_text(
                facts, ((i, t) for i, t in enumerate(lines[:5000], 1) if not t.lstrip().startswith("#")), self.name, 2
            )


def kind_of(suffix: str, value: Any, text: str) -> Kind:
    if isinstance(value, dict):
        keys = {str(k) for k in value}
        if str(value.get("schema", "")).startswith("papertrain-plan"):
            return "plan"
        if keys & {
            "zero_optimization",
            "train_micro_batch_size_per_gpu",
            "train_batch_size",
            "zero_allow_untested_optimizer",
        }:
            return "deepspeed"
        if keys & {"finetuning_type", "dataset_dir", "lora_target", "cutoff_len"}:
            return "llamafactory"
        if keys & {"distributed_type", "compute_environment", "num_processes", "machine_rank"}:
            return "accelerate"
        if keys & {"per_device_train_batch_size", "learning_rate", "output_dir", "micro_batch_size", "sequence_len"}:
            return "hf"
        return "deepspeed" if keys & {"bf16", "fp16", "optimizer", "scheduler"} and suffix == ".json" else "other"
    if suffix == ".py" or re.search(r"^\s*(import|from) \w+", text, re.M):
        return "python"
    if suffix in (".sh", ".slurm", ".sbatch") or text.startswith("#!") or "--" in text:
        return "shell"
    return "other"


def read(path: Path, text: str) -> Config:
    """A config named by the user. Raises PapertrainError with file and line where it cannot be parsed."""
    return Config(str(path), text)


def try_read(path: Path, text: str) -> Config | None:
    """A config that merely lies in the folder: silently skipped where it cannot be parsed."""
    try:
        return Config(str(path), text)
    except PapertrainError:
        return None
