"""Reads the keys, types, defaults and choices of a framework out of its wheels, without importing anything.

    python -m papertrain.facts.frameworks.extract [--keep OLD.json] llamafactory-0.9.5.whl transformers-5.6.0.whl > llamafactory-0.9.5.json

The first wheel is the framework, the others hold the classes that it inherits from. Frameworks whose configuration is
a dataclass or a pydantic model are read the same way; DeepSpeed's file was converted once (see its `made_by`).
--keep: where nothing is said but `any`, what a person wrote into that file by hand stays.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SCALARS = {
    "int": "int",
    "float": "float",
    "bool": "bool",
    "str": "str",
    "Path": "str",
    "None": "null",
    "NoneType": "null",
}
CONTAINERS = {
    "list": "list",
    "List": "list",
    "tuple": "list",
    "Sequence": "list",
    "dict": "dict",
    "Dict": "dict",
    "Mapping": "dict",
}

TARGETS: dict[str, dict[str, tuple[str, ...]]] = {
    "llamafactory": {
        "model": ("ModelArguments",),
        "data": ("DataArguments",),
        "training": ("TrainingArguments",),
        "finetuning": ("FinetuningArguments",),
        "generating": ("GeneratingArguments",),
        "evaluation": ("EvaluationArguments",),
        "v1": ("v1/ModelArguments", "v1/DataArguments", "v1/TrainingArguments", "v1/SampleArguments"),
    },
    "transformers": {"training": ("TrainingArguments",)},
    "trl": {
        "sft": ("SFTConfig", "ScriptArguments", "ModelConfig", "DatasetMixtureConfig"),
        "dpo": ("DPOConfig", "ScriptArguments", "ModelConfig", "DatasetMixtureConfig"),
        "grpo": ("GRPOConfig", "GRPOScriptArguments", "ScriptArguments", "ModelConfig", "DatasetMixtureConfig"),
        "kto": ("KTOConfig", "ScriptArguments", "ModelConfig", "DatasetMixtureConfig"),
        "reward": ("RewardConfig", "ScriptArguments", "ModelConfig", "DatasetMixtureConfig"),
        "rloo": ("RLOOConfig", "RLOOScriptArguments", "ScriptArguments", "ModelConfig", "DatasetMixtureConfig"),
    },
    "axolotl": {
        "main": ("AxolotlInputConfig",),
        "dataset": (
            "SFTDataset",
            "PretrainingDataset",
            "DPODataset",
            "StepwiseSupervisedDataset",
            "KTODataset",
            "SyntheticDataset",
        ),
        "trl": ("TRLConfig",),
        "fsdp_config": ("FSDPConfig",),
    },
    "accelerate": {"main": ("ClusterConfig",), "sagemaker": ("SageMakerConfig",)},
}


class Sources:
    """The classes of some wheels, by name, each with the module it stands in (so that equal names do not mix)."""

    def __init__(self, wheels: list[Path]) -> None:
        self.classes: dict[str, list[tuple[str, ast.ClassDef]]] = {}
        self.aliases: dict[str, ast.expr] = {}
        self.renamed: dict[str, list[str]] = {}
        self.options: set[str] = set()
        for wheel in wheels:
            package = wheel.name.split("-")[0]
            with zipfile.ZipFile(wheel) as z:
                for name in z.namelist():
                    if name.endswith(".py") and _wanted(package, name):
                        self._read(name, z.read(name).decode("utf-8"))

    def _read(self, module: str, text: str) -> None:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                self.classes.setdefault(node.name, []).append((module, node))
            elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                self.aliases.setdefault(node.targets[0].id, node.value)
                if isinstance(node.value, ast.Name):
                    self.renamed.setdefault(node.targets[0].id, []).append(node.value.id)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("--"):
                self.options.add(node.value[2:])

    def stands_for(self, name: str) -> list[str]:
        """The classes that a name may stand for: `Base = A` or, under a condition, `Base = B`."""
        return [name] if name in self.classes else [n for n in self.renamed.get(name, []) if n in self.classes]

    def find(self, name: str, near: str) -> tuple[str, ast.ClassDef] | None:
        folder, _, name = name.rpartition("/")
        found = [f for f in self.classes.get(name, []) if (f"/{folder}/" in f[0] if folder else "/v1/" not in f[0])]
        if not found:
            return None
        same = [f for f in found if f[0].split("/")[0] == near.split("/")[0]]
        return (same or found)[0]


def _wanted(package: str, name: str) -> bool:
    parts = {
        "transformers": ("training_args", "trainer_utils", "debug_utils"),
        "llamafactory": ("hparams/", "extras/constants", "v1/config/"),
        "trl": ("trainer/", "scripts/utils", "scripts/grpo", "scripts/rloo"),
        "axolotl": ("utils/schemas/", "/args.py"),
        "accelerate": ("commands/config/config_args", "utils/dataclasses", "commands/launch"),
    }
    return any(p in name for p in parts[package])


def fields(sources: Sources, name: str, near: str, seen: frozenset[str] = frozenset()) -> dict[str, list[Any]]:
    """{field: [types, default, choices]} of a class and its bases, nearest definition last."""
    entry = sources.find(name, near)
    if entry is None or (name in seen and entry[0] == near):
        return {}
    module, node = entry
    out: dict[str, list[Any]] = {}
    for base in reversed(node.bases):
        base_name = ast.unparse(base).split(".")[-1]
        if base_name == name:  # class TrainingArguments(transformers.TrainingArguments)
            others = [c for c in sources.classes[name] if c[0] != module]
            out |= _own(sources, others[0][0], others[0][1]) if others else {}
            continue
        for real in sources.stands_for(base_name):
            out |= fields(sources, real, module, seen | {name})
    return out | _own(sources, module, node)


def _own(sources: Sources, module: str, node: ast.ClassDef) -> dict[str, list[Any]]:
    out = {}
    for item in node.body:
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            key = item.target.id
            call = item.value if isinstance(item.value, ast.Call) else None
            words = {k.arg: k.value for k in call.keywords} if call else {}
            if key.startswith("_") or key == "model_config" or "ClassVar" in ast.unparse(item.annotation):
                continue
            init = words.get("init")
            if isinstance(init, ast.Constant) and init.value is False:
                continue
            types, choices = _types(sources, module, item.annotation)
            if not choices and "metadata" in words:
                choices = _metadata_choices(words["metadata"])
            alias = words.get("alias")
            name = alias.value if isinstance(alias, ast.Constant) and isinstance(alias.value, str) else key
            out[name] = [types, _default(item.value, words), *([choices] if choices else [])]
    return out


def _metadata_choices(node: ast.expr) -> list[Any]:
    if isinstance(node, ast.Dict):
        for k, v in zip(node.keys, node.values):
            if isinstance(k, ast.Constant) and k.value == "choices" and isinstance(v, ast.List):
                return [e.value for e in v.elts if isinstance(e, ast.Constant)]
    return []


def _types(sources: Sources, module: str, node: ast.expr) -> tuple[str, list[Any]]:
    words: list[str] = []
    choices: list[Any] = []
    for word, extra in _walk(sources, module, node):
        if word not in words:
            words.append(word)
        choices += [c for c in extra if c not in choices]
    return "|".join(words), choices


def _walk(sources: Sources, module: str, node: ast.expr) -> Iterator[tuple[str, list[Any]]]:
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            yield from _walk(sources, module, ast.parse(node.value, mode="eval").body)
        else:
            yield ("null" if node.value is None else "any"), []
    elif isinstance(node, ast.BinOp):
        yield from _walk(sources, module, node.left)
        yield from _walk(sources, module, node.right)
    elif isinstance(node, ast.Subscript):
        head = ast.unparse(node.value).split(".")[-1]
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if head == "Literal":
            values = [e.value for e in inner if isinstance(e, ast.Constant)]
            yield _word(values[0]), values
        elif head == "Annotated":
            yield from _walk(sources, module, inner[0])
        elif head in ("Optional", "Union"):
            for part in inner:
                yield from _walk(sources, module, part)
            if head == "Optional":
                yield "null", []
        else:
            yield CONTAINERS.get(head, "any"), []
    else:
        yield from _name(sources, module, ast.unparse(node).split(".")[-1])


def _word(value: Any) -> str:
    return {bool: "bool", int: "int", float: "float", str: "str"}.get(type(value), "any")


def _name(sources: Sources, module: str, name: str) -> Iterator[tuple[str, list[Any]]]:
    if name in SCALARS or name in CONTAINERS:
        yield SCALARS.get(name) or CONTAINERS[name], []
        return
    found = sources.find(name, module)
    members = _members(found[1]) if found else []
    if members:
        yield "str", members
    elif found:
        yield "dict", []
    elif name in sources.aliases and isinstance(sources.aliases[name], ast.Subscript):
        yield from _walk(sources, module, sources.aliases[name])
    else:
        yield "any", []


def _members(node: ast.ClassDef) -> list[Any]:
    if not any("Enum" in ast.unparse(b) for b in node.bases):
        return []
    values = [i.value.value for i in node.body if isinstance(i, ast.Assign) and isinstance(i.value, ast.Constant)]
    return [v for v in values if isinstance(v, str)]


def _default(value: ast.expr | None, words: dict[str | None, ast.expr]) -> Any:
    node: ast.expr | None = words.get("default", value if not isinstance(value, ast.Call) else None)
    if node is None:
        return None
    try:
        default = ast.literal_eval(node)
    except ValueError:
        return None
    return default if isinstance(default, (str, int, float, bool)) else None


def templates(wheel: Path) -> dict[str, Any]:
    """LLaMA-Factory's chat templates, and which of them belongs to which hub repository (null: a base model)."""
    with zipfile.ZipFile(wheel) as z:
        template = ast.parse(z.read("llamafactory/data/template.py"))
        constants = ast.parse(z.read("llamafactory/extras/constants.py"))
    names, thinking = [], {}
    for call in _calls(template, "register_template"):
        words = {k.arg: k.value for k in call.keywords}
        name = ast.literal_eval(words["name"])
        names.append(name)
        thinking[name] = "template_class" in words and "Reasoning" in ast.unparse(words["template_class"])
    models: dict[str, str | None] = {}
    for call in _calls(constants, "register_model_group"):
        words = {k.arg: k.value for k in call.keywords}
        group = ast.literal_eval(words["template"]) if "template" in words else None
        multimodal = "multimodal" in words
        table = words["models"]
        assert isinstance(table, ast.Dict)
        for key, value in zip(table.keys, table.values):
            assert isinstance(key, ast.Constant) and isinstance(value, ast.Dict)
            chat = multimodal or any(s in str(key.value) for s in ("-Chat", "-Distill", "-Instruct", "-Thinking"))
            for repo in value.values:
                models[ast.literal_eval(repo)] = group if chat else None
    return {"templates": sorted(names), "reasoning": sorted(n for n, t in thinking.items() if t), "models": models}


def _calls(tree: ast.AST, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield node


def extract(wheels: list[Path]) -> dict[str, Any]:
    name, version = wheels[0].name.split("-")[:2]
    sources = Sources(wheels)
    sections: dict[str, dict[str, Any]] = {}
    for section, classes in TARGETS[name].items():
        keys: dict[str, Any] = {}
        for cls in reversed(classes):
            keys |= fields(sources, cls, name)
        if keys:
            sections[section] = keys
    out: dict[str, Any] = {
        "framework": name,
        "version": version,
        "made_by": "python -m papertrain.facts.frameworks.extract " + " ".join(w.name for w in wheels),
        "built_on": {w.name.split("-")[0]: w.name.split("-")[1] for w in wheels[1:]},
        "sections": sections,
    }
    if name == "axolotl":
        args = [c for c, found in sources.classes.items() if any("/integrations/" in module for module, _ in found)]
        sections["plugins"] = {k: v for c in sorted(args) for k, v in fields(sources, c, name).items()}
    if name == "accelerate":
        sections["fsdp_config"] = {o: ["any|null", None] for o in sorted(sources.options) if o.startswith("fsdp_")}
        sections["launch"] = {
            o: ["any|null", None] for o in sorted(sources.options) if re.fullmatch(r"[a-z][a-z0-9_]+", o)
        }
        sections["deepspeed_config"] = {
            o: ["any|null", None] for o in sorted(sources.options) if re.match(r"zero|offload_|deepspeed_|gradient_", o)
        }
    if name == "llamafactory":
        out |= templates(wheels[0])
    return out


def show(document: dict[str, Any]) -> str:
    """One line per key, so that a new version shows as a readable diff."""
    lines = ["{"]
    rest = [(k, v) for k, v in document.items() if k not in ("sections", "models")]
    lines += [f" {json.dumps(k)}: {json.dumps(v)}," for k, v in rest]
    blocks = [
        (f'"sections": {{{json.dumps(s)}: {{' if i == 0 else f"{json.dumps(s)}: {{", keys)
        for i, (s, keys) in enumerate(document["sections"].items())
    ]
    for i, (head, keys) in enumerate(blocks):
        lines.append(f" {head}")
        lines.append(",\n".join(f"  {json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in keys.items()))
        lines.append(" }" + ("," if i + 1 < len(blocks) else "}"))
    if "models" in document:
        lines[-1] += ","
        lines.append(' "models": {')
        lines.append(",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in document["models"].items()))
        lines.append(" }")
    return "\n".join([*lines, "}"]) + "\n"


def _as_known(found: dict[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
    for section, keys in found.get("sections", {}).items():
        old = kept.get("sections", {}).get(section, {})
        for key, value in keys.items():
            if str(value[0]).startswith("any") and key in old:
                keys[key] = old[key]
    return found


if __name__ == "__main__":
    words = sys.argv[1:]
    kept = json.loads(Path(words[1]).read_text("utf-8")) if words[0] == "--keep" else {}
    found = extract([Path(a) for a in (words[2:] if kept else words)])
    sys.stdout.write(show(_as_known(found, kept)))
