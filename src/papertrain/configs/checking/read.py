"""A file → the documents in it, recognised by content."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from papertrain.configs.checking import python_calls, shell
from papertrain.configs.checking.document import ConfigDocument, Kind, Place
from papertrain.configs.checking.recognise import SIGNS, recognise
from papertrain.configs.checking.trees import keep
from papertrain.core import yaml
from papertrain.core.errors import PapertrainError
from papertrain.core.files import read_text, regular_file
from papertrain.facts.frameworks.load import framework, versions

CONFIG_LIMIT = 2 * 2**20
DATA = (".jsonl", ".csv", ".tsv", ".parquet", ".arrow", ".zst", ".gz")
SHELL = (".sh", ".bash", ".zsh", ".slurm", ".sbatch", ".job", ".env")
TEXTS = (".log", ".txt", ".out", ".err", ".md", ".rst", ".tex")


def read_file(path: Path, shown: str | None = None) -> list[ConfigDocument]:
    """The documents of one file. Raises PapertrainError: missing, binary, too large, or not the language it claims to be."""
    name = shown or str(path)
    suffix = path.suffix.lower()
    if suffix in DATA:
        regular_file(path)
        return [ConfigDocument(file=name, path=path, kind="data", format="rows", text="")]
    if suffix == ".json" and _starts_as_list(path):
        return [ConfigDocument(file=name, path=path, kind="data", format="rows", text="")]
    text = read_text(path, limit=CONFIG_LIMIT if suffix in (".yaml", ".yml", ".json", ".py", *SHELL) else 64 * 2**20)
    return read_source(text, name, path)


def _starts_as_list(path: Path) -> bool:
    try:
        if not path.is_file():
            return False
        with path.open("rb") as f:
            return f.read(256).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"["
    except OSError:
        return False


def read_source(text: str, name: str, path: Path | None = None) -> list[ConfigDocument]:
    """The documents of a text. The name's ending decides the language; without one, the text does."""
    suffix = Path(name).suffix.lower()
    if suffix in (".yaml", ".yml"):
        return _tree(yaml.load(text, name), name, path)
    if suffix in (".json", ".jsonc"):
        return _tree(yaml.load_json(text, name), name, path)
    if suffix == ".py":
        calls = python_calls.read(text, name, path)
        return calls or [ConfigDocument(file=name, path=path, kind="python", format="python", text=text)]
    if suffix == ".toml":
        return _toml(text, name, path)
    if suffix in SHELL or (text.startswith("#!") and "python" not in text.partition("\n")[0]):
        return _script(text, name, path)
    if suffix not in TEXTS and len(text) < CONFIG_LIMIT and (found := _guess(text, name, path)):
        return found
    if _looks_like_commands(text):
        return _script(text, name, path)
    return [ConfigDocument(file=name, path=path, kind="text", format="text", text=text)]


def _guess(text: str, name: str, path: Path | None) -> list[ConfigDocument]:
    for reader in (yaml.load_json, yaml.load) if text.lstrip()[:1] == "{" else (yaml.load,):
        try:
            documents = _tree(reader(text, name), name, path)
        except PapertrainError:
            continue
        if documents[0].kind != "text":
            return documents
    return []


def _looks_like_commands(text: str) -> bool:
    lines = [s for line in text.splitlines()[:200] if (s := line.strip()) and not s.startswith("#")]
    if not lines or len(lines) > 60:
        return "#SBATCH" in text
    starters = re.compile(
        rf"(?:[A-Za-z_]\w*=\S*\s+)*(?:{'|'.join(map(re.escape, shell.LAUNCHERS))}|srun|export)\b|[A-Za-z_]\w*=\S*(?:\s|$)|-"
    )
    return sum(bool(starters.match(line)) for line in lines) >= 0.6 * len(lines) or "#SBATCH" in text


def _tree(tree: yaml.Document, name: str, path: Path | None) -> list[ConfigDocument]:
    keep(tree)
    kind = recognise(tree.value, name)
    base: dict[str, Any] = {
        "file": name,
        "path": path,
        "format": tree.kind,
        "text": tree.text,
        "oddities": tuple(tree.problems),
        "raw": tree.plain,
        "lines": tree.lines,
    }
    if kind is None:
        return [ConfigDocument(kind="text", **base)]
    if kind == "data":
        return [ConfigDocument(**base | {"kind": "data", "format": "rows"})]
    settings = {str(k): v for k, v in tree.value.items()}
    return [ConfigDocument(kind=kind, settings=settings, role=_role(kind, settings), strict=kind != "axolotl", **base)]  # type: ignore[arg-type]


def _role(kind: str, settings: dict[str, Any]) -> str:
    if kind == "llamafactory":
        return _llamafactory_role(settings)
    if kind == "trl":
        for role, signs in (
            ("grpo", ("num_generations", "max_completion_length", "reward_funcs", "use_vllm")),
            ("dpo", ("beta", "loss_type", "max_prompt_length")),
        ):
            if any(s in settings for s in signs):
                return role
        return "sft"
    return "train" if kind in ("trainer", "axolotl") else ""


def _llamafactory_role(settings: dict[str, Any]) -> str:
    """What the file is for, as its verbs would read it."""
    if set(settings) & {"train_dataset", "kernel_config", "dist_config", "peft_config", "model_class"}:
        return "v1"
    if set(settings) & {"tensor_model_parallel_size", "pipeline_model_parallel_size", "expert_model_parallel_size"}:
        return "megatron"
    if "task" in settings or ("n_shot" in settings and "do_train" not in settings):
        return "evaluate"
    if "export_dir" in settings:
        return "export"
    if settings.get("do_train") is True:
        return "train"
    if settings.get("do_predict") is True:
        return "predict"
    if settings.get("do_eval") is True:
        return "eval"
    training = set(framework("llamafactory").sections["training"]) - {"hub_token"}
    if "infer_backend" in settings or not (set(settings) & (training | {"stage", "dataset", "eval_dataset"})):
        return "chat"
    return "train"


def _toml(text: str, name: str, path: Path | None) -> list[ConfigDocument]:
    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        raise PapertrainError(
            f"not valid TOML: {error}", code="not-toml", file=name, line=int(found[1]) if found else 0
        ) from None
    except RecursionError:
        raise PapertrainError("nested too deeply", code="too-deep", file=name) from None
    kind: Kind = "study" if Path(name).name == "study.toml" else "text"
    lines: dict[Place, int] = {}
    for i, line in enumerate(text.splitlines(), 1):
        if m := re.match(r"\s*(?:\[+\s*)?([\w.-]+)", line):
            lines.setdefault((m[1],), i)
    return [ConfigDocument(file=name, path=path, kind=kind, format="toml", text=text, settings=value, lines=lines)]


def _script(text: str, name: str, path: Path | None) -> list[ConfigDocument]:
    """A shell script: one document for its commands, and one more for each command whose options are a trainer's."""
    commands, variables, _exported = shell.read(text)
    slurm = shell.directives(text)
    kind: Kind = "slurm" if slurm else "command" if commands else "environment"
    settings: dict[str, Any] = (
        {k: v for k, (v, _) in (slurm or {}).items()} if slurm else {k: v for k, (v, _) in variables.items()}
    )
    lines: dict[Place, int] = {(k,): line for k, (_, line) in (slurm or variables).items()}
    first = ConfigDocument(
        file=name,
        path=path,
        kind=kind,
        format="shell",
        text=text,
        settings=settings,
        lines=lines,
        commands=tuple(commands),
    )
    return [first, *(d for c in commands if (d := _arguments(c, text, name, path)))]


# Names that a script has of the Trainer's arguments; `--seed` or `--activation_checkpointing` many a script has of its own.
_TRAINERS_OWN = frozenset({
    "per_device_train_batch_size", "per_device_eval_batch_size", "num_train_epochs", "gradient_accumulation_steps", "lr_scheduler_type", "save_strategy", "eval_strategy",
    "evaluation_strategy", "logging_steps", "deepspeed", "fsdp", "do_train", "load_best_model_at_end", "report_to", "save_total_limit", "model_name_or_path",
})  # fmt: skip


def _arguments(command: shell.Command, text: str, name: str, path: Path | None) -> ConfigDocument | None:
    arguments = {a.name.replace("-", "_"): a for a in command.arguments}
    if not arguments:
        return None
    base: dict[str, Any] = {
        "file": name, "path": path, "format": "shell", "text": text, "start": command.line, "part": command.program,
        "settings": {k: a.value for k, a in arguments.items()},
        "lines": {(k,): a.line for k, a in arguments.items()},
        "spans": {k: a.spans for k, a in arguments.items()},
    }  # fmt: skip
    # Options of a command line add to the file that it names: only what they say themselves is checked here.
    if command.program in ("llamafactory-cli", "llamafactory", "lmf"):
        return ConfigDocument(kind="llamafactory", role="override", **base)
    if command.program == "trl" and command.verb in framework("trl").sections:
        return ConfigDocument(kind="trl", role=command.verb, **base)
    if command.program == "axolotl":
        return ConfigDocument(kind="axolotl", role="override", strict=False, **base)
    known = {k for v in versions("transformers") for k in framework("transformers", v).known()}
    if len(set(arguments) & known) >= 2 and set(arguments) & _TRAINERS_OWN and command.launcher:
        strict_to = SIGNS["llamafactory"] & set(arguments)
        return ConfigDocument(
            kind="llamafactory" if len(strict_to) >= 3 else "trainer", role="script", strict=False, **base
        )
    return None
