"""One thing that can be checked: a config file, one call in a script, one command of a shell script, a data file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from papertrain.core.values import Effect, Level, Value

Kind = Literal[
    "llamafactory", "trl", "axolotl", "trainer", "deepspeed", "accelerate", "dataset_info",
    "command", "slurm", "environment", "study", "data", "python", "text",
]  # fmt: skip

KINDS: dict[str, str] = {
    "llamafactory": "LLaMA-Factory YAML",
    "trl": "TRL config",
    "axolotl": "Axolotl YAML",
    "trainer": "TrainingArguments",
    "deepspeed": "DeepSpeed JSON",
    "accelerate": "accelerate or FSDP YAML",
    "dataset_info": "dataset_info.json",
    "command": "command line",
    "slurm": "Slurm script",
    "environment": "environment block",
    "study": "study.toml",
    "data": "data set",
}
"""What can be recognised, in the words of a person. `python` and `text` are searched for secrets only."""

TRAINERS = ("llamafactory", "trl", "trainer", "axolotl")

Place = tuple[str | int, ...]

# What the rules call a setting (the Trainer's or LLaMA-Factory's name) → what another framework calls it.
ALIASES: dict[str, dict[str, str]] = {
    "axolotl": {
        "model_name_or_path": "base_model",
        "per_device_train_batch_size": "micro_batch_size",
        "per_device_eval_batch_size": "eval_batch_size",
        "num_train_epochs": "num_epochs",
        "lr_scheduler_type": "lr_scheduler",
        "optim": "optimizer",
        "lora_rank": "lora_r",
        "cutoff_len": "sequence_len",
        "packing": "sample_packing",
        "val_size": "val_set_size",
        "template": "chat_template",
        "attn_implementation": "attn_implementation",
    },
    "trl": {"lora_rank": "lora_r", "cutoff_len": "max_length", "template": "chat_template_path"},
}


class Edit(Value, frozen=True, kw_only=True):
    """One change of a document: set or drop the value at `path`, give its key another name, or swap words on a line."""

    op: Literal["set", "drop", "rename", "swap"]
    path: Place = ()
    value: Any = None
    line: int = 0
    old: str = ""
    new: str = ""


class Wrong(Value, frozen=True, kw_only=True):
    """What a rule saw. `at` or `line` say where; `edits` mend it; `level` differs from the rule's only where stated."""

    says: str
    at: Place = ()
    line: int = 0
    instead: str = ""
    edits: tuple[Edit, ...] = ()
    effect: Effect | None = None
    level: Level | None = None
    within: ConfigDocument | None = None


class Spans(Value, frozen=True, kw_only=True):
    """Where an argument of a call or a command stands in the text: its name, its value, and all of it with the comma."""

    key: tuple[int, int]
    value: tuple[int, int]
    whole: tuple[int, int]


class ConfigDocument(Value, frozen=True, kw_only=True):
    """A file, or the part of one, in which all rules of its kind look.

    settings: the values by key, nested as in the file; lines: line of each path; raw: unquoted scalars as written.
    strict: the reader refuses unknown keys. role: what the file is for (train, predict, export, chat, evaluate, sft, dpo…).
    command: the words of a command (`shell.Command`), where this is one.
    """

    file: str
    path: Path | None
    kind: Kind
    format: Literal["yaml", "json", "toml", "python", "shell", "rows", "text"]
    text: str
    settings: dict[str, Any] = {}
    lines: dict[Place, int] = {}
    raw: dict[Place, str] = {}
    oddities: tuple[Any, ...] = ()
    spans: dict[str, Spans] = {}
    strict: bool = True
    role: str = ""
    start: int = 1
    commands: tuple[Any, ...] = ()
    part: str = ""

    def line(self, *path: str | int) -> int:
        """The line of the value at that path, or of the nearest part of it that exists."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, self.start)

    def name(self, canonical: str) -> str:
        """What this framework calls a setting."""
        return ALIASES.get(self.kind, {}).get(canonical, canonical)

    def get(self, canonical: str, default: Any = None) -> Any:
        """The value of a setting by the Trainer's name for it, or the default. A null counts as not given."""
        value = self.settings.get(self.name(canonical))
        return default if value is None else value

    def at(self, *path: str) -> Any:
        """A nested value, or None."""
        here: Any = self.settings
        for part in path:
            if not isinstance(here, dict):
                return None
            here = here.get(part)
        return here

    def has(self, canonical: str) -> bool:
        return self.name(canonical) in self.settings

    def flag(self, canonical: str) -> bool:
        """Whether a switch is on; `"true"` of a command line too."""
        value = self.get(canonical)
        return value is True or (isinstance(value, str) and value.strip().lower() in ("true", "yes", "on", "1"))

    def number(self, canonical: str) -> float | None:
        """A setting as a number where it is one (`"4"` and `"1e-5"` too), else None."""
        return number(self.get(canonical))

    def integer(self, canonical: str) -> int | None:
        value = self.number(canonical)
        return int(value) if value is not None and value == int(value) else None

    def shown(self, canonical: str, value: Any) -> str:
        """A setting as this file writes it: `key: value`, `--key value` or `key=value`."""
        return show_setting(self.format, self.name(canonical), value)

    @property
    def trains(self) -> bool:
        """A training run, as far as the file says."""
        return self.kind in TRAINERS and self.role not in ("export", "chat", "evaluate", "predict")


def number(value: Any) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return result if result == result and abs(result) != float("inf") else None


def show_setting(format: str, key: str, value: Any) -> str:
    from papertrain.core.yaml import dump_scalar

    if format == "python":
        return f"{key}={value!r}"
    if format == "shell":
        return f"--{key} {str(value).lower() if isinstance(value, bool) else value}"
    if format == "json":
        return f'"{key}": {dump_scalar(value, "json")}'
    return f"{key}: {dump_scalar(value)}"


def set_to(*path: str | int, value: Any) -> Edit:
    return Edit(op="set", path=path, value=value)


def drop(*path: str | int) -> Edit:
    return Edit(op="drop", path=path)


def rename(*path: str | int, new: str) -> Edit:
    return Edit(op="rename", path=path, new=new)


def swap(line: int, old: str, new: str) -> Edit:
    return Edit(op="swap", line=line, old=old, new=new)
