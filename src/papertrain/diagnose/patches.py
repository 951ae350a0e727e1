"""A remedy meets the user's own files: exact edits, a unified diff, or the line to write and where."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from papertrain.core import yaml
from papertrain.core.commands import quoted
from papertrain.core.errors import PapertrainError
from papertrain.core.findings import Change, Fix
from papertrain.core.values import AppliesTo
from papertrain.diagnose import finite, labels, present, scripts
from papertrain.diagnose.case import Case
from papertrain.diagnose.configs import Config
from papertrain.diagnose.knobs import (
    DEEPSPEED,
    DEFAULTS,
    HF,
    LAUNCHER,
    ON_BY_DEFAULT,
    ONLY_WHERE_WRITTEN,
    PLAN,
    addable,
    keys_of,
    spelled,
)
from papertrain.diagnose.rule import Remedy


class Impossible(Exception):
    """The change cannot be made here: a batch of 1 has no half."""


def build(remedy: Remedy, id: str, case: Case, work: str = "") -> Fix | None:
    """The fix as the user will see it; None where it makes no sense for this setup."""
    if remedy.data:
        return _on_data(remedy, id, case)
    try:
        if case.plan is not None and work:
            edits, commands, patch, applies = _on_plan(remedy, case, work)
        elif "=derived" in dict(remedy.sets).values():
            return None
        else:
            edits, patch, applies = _on_files(remedy, case)
            commands = ()
    except Impossible:
        return None
    written = {e.knob for e in edits}
    env = () if any(k in written for k, _ in remedy.env) else tuple(f"export {k}={v}" for k, v in remedy.env)
    told = () if edits else tuple(said(remedy, case))
    return Fix(id=id, title=remedy.title, effect=remedy.effect, edits=tuple(edits), patch=patch or None,
               commands=(*commands, *told, *env, *remedy.commands), proof=remedy.proof, applies_to=applies)  # fmt: skip


def _on_data(remedy: Remedy, id: str, case: Case) -> Fix | None:
    """Rows of the training data to drop; None where the file or the bound is not known."""
    bad = finite.find(case) if remedy.data == "finite" else labels.find(case)
    if bad is None:
        return None
    old = next(text for name, text in case.data if name == bad.file)
    return Fix(
        id=id, title=f"{remedy.title}: {bad.says()}", effect="experiment", patch=yaml.unified(old, bad.after, Path(bad.file).name),
        edits=(Change(knob=f"{len(bad.lines)} rows", old=list(bad.lines[:20]), new=None, file=bad.file),),
        commands=(f"papertrain check {quoted(bad.file)}",), proof=remedy.proof,
        applies_to=(AppliesTo(file=bad.file, sha256=hashlib.sha256(old.encode()).hexdigest()),),
    )  # fmt: skip


WORDS = {
    "/2": "half of the present value",
    "/10": "a tenth of the present value",
    "*2": "twice the present value",
    "*5": "five times the present value",
    "+1": "one more than now",
}


def said(remedy: Remedy, case: Case) -> Iterator[str]:
    """Without a file: what to write, under which name, and where."""
    for knob, value in remedy.sets:
        if knob.startswith("rename:"):
            yield f"in the script or config: write {value} instead of {knob.removeprefix('rename:')}"
            continue
        if knob == "method" and value == "lora":
            yield "in the script: model = get_peft_model(model, LoraConfig(task_type='CAUSAL_LM'))   # LLaMA-Factory: finetuning_type: lora; TRL: peft_config="
            continue
        if knob.startswith("number:"):
            yield f"in the config: {knob.removeprefix('number:')}: {value}"
            continue
        deepspeed = HF.get(knob, knob) == "" and knob in DEEPSPEED
        name = DEEPSPEED[knob] if deepspeed else HF.get(knob, knob) or knob
        place = (
            "in the DeepSpeed JSON"
            if deepspeed
            else "for the launcher"
            if knob in LAUNCHER
            else "in the training arguments"
        )
        if value is None:
            yield f"{place}: remove {name}"
        elif isinstance(value, str) and value[:1] in "*/+=" and len(value) > 1:
            try:
                new = resolve(value, present.value(case, knob, None), case)
                yield f"{place}: {name}: {yaml.dump_scalar(new)}"
            except Impossible:
                default = (
                    f" (the default is {DEFAULTS[knob]})" if knob in DEFAULTS and knob not in case.facts.found else ""
                )
                word = WORDS.get(
                    value, f"the value of {value[1:]}" if value[0] == "=" else f"the present value {value}"
                )
                yield f"{place}: {name}: {word}{default}"
        else:
            yield f"{place}: {name}: {value if isinstance(value, str) else yaml.dump_scalar(value)}"


def resolve(value: Any, old: Any, case: Case) -> Any:
    """The new value: `/2`, `*2`, `+1` relative to the old one, `=name` another setting's. Raises Impossible."""
    if not isinstance(value, str) or value[:1] not in "*/+=" or len(value) < 2:
        return value
    if value[0] == "=":
        other = case.facts.get(value[1:])
        if other is None:
            raise Impossible
        return other
    if isinstance(old, bool) or not isinstance(old, (int, float)):
        raise Impossible
    if old == 0 and value[0] in "*/":
        # The first line of a warm-up prints a rate of 0: not what the setting is.
        raise Impossible
    by = float(value[1:])
    new = {"*": old * by, "/": old / by, "+": old + by}[value[0]]
    if isinstance(old, int):
        if new != int(new) or new < 1:
            raise Impossible
        return int(new)
    return float(f"{new:.6g}")


def _on_files(remedy: Remedy, case: Case) -> tuple[list[Change], str, tuple[AppliesTo, ...]]:
    texts = {c.name: c.text for c in case.configs}
    edits: list[Change] = []
    for knob, value in remedy.sets:
        if isinstance(value, str) and value.startswith("<"):
            continue
        edits += _one(knob, value, case, texts)
    if remedy.env:
        edits += _environment(remedy, case, texts)
    changed = [c for c in case.configs if texts[c.name] != c.text]
    patch = "".join(yaml.unified(c.text, texts[c.name], Path(c.name).name) for c in changed)
    applies = tuple(AppliesTo(file=c.name, sha256=c.sha256) for c in changed)
    return [e for e in edits if e.file in {c.name for c in changed}], patch, applies


def _one(knob: str, value: Any, case: Case, texts: dict[str, str]) -> Iterator[Change]:
    """The knob in every file that has it; else added to the first file where it belongs."""
    files = [c for c in case.configs if c.kind in ("llamafactory", "deepspeed", "hf", "python", "shell")]
    if knob.startswith("rename:"):
        yield from _rename(knob.removeprefix("rename:"), str(value), files, texts)
        return
    if knob.startswith("number:"):
        yield from _as_number(knob.removeprefix("number:"), str(value), files, texts)
        return
    done = False
    for config in files:
        key = keys_of(config).get(knob, "" if config.kind == "deepspeed" else knob)
        if key and (old := current(config, texts[config.name], key)) is not scripts.ABSENT:
            done = True
            if old in ("auto", None) and isinstance(value, str) and value[:1] in "*/+":
                continue
            new = spelled(config, knob, resolve(value, _start(case, knob, old), case))
            if new != old:
                texts[config.name] = write(config, texts[config.name], key, new)
                yield Change(knob=key, old=old, new=new, file=config.name)
    if (
        done
        or value is None
        or (value is False and knob not in ON_BY_DEFAULT)
        or knob in ONLY_WHERE_WRITTEN
        or knob == "train_batch_size"
    ):
        return
    for config in files:
        key = keys_of(config).get(knob, "" if config.kind == "deepspeed" else knob)
        if not key or (config.kind == "deepspeed") != (HF.get(knob, knob) == ""):
            continue
        if not addable(config, key, case):
            continue
        new = spelled(config, knob, resolve(value, _start(case, knob, DEFAULTS.get(knob)), case))
        after = write(config, texts[config.name], key, new)
        if after != texts[config.name]:
            texts[config.name] = after
            yield Change(knob=key, old=None, new=new, file=config.name)
            return


def _start(case: Case, knob: str, written: Any) -> Any:
    """What `/10` starts from: the run's own learning rate where the log shows another one than the file."""
    return written if written is None else present.value(case, knob, written)


def current(config: Config, text: str, key: str) -> Any:
    """The value that a file gives to a key, or ABSENT."""
    if config.kind in ("python", "shell"):
        return scripts.value(text, key, config.kind)
    here: Any = config.value
    for part in key.split("."):
        if not isinstance(here, dict) or part not in here:
            return scripts.ABSENT
        here = here[part]
    return here


def write(config: Config, text: str, key: str, new: Any) -> str:
    if config.kind in ("python", "shell"):
        return scripts.write(text, key, new, config.kind)
    try:
        return yaml.edit(text, [(tuple(key.split(".")), yaml.DELETE if new is None else new)], config.name)
    except PapertrainError as error:  # an anchor that others rest on, a place that is no table
        raise Impossible from error


def _rename(old: str, new: str, files: Sequence[Config], texts: dict[str, str]) -> Iterator[Change]:
    if not new.isidentifier():
        return
    for config in files:
        after = scripts.rename(texts[config.name], old, new)
        if after != texts[config.name]:
            texts[config.name] = after
            yield Change(knob=old, old=old, new=new, file=config.name)


def _as_number(key: str, value: str, files: Sequence[Config], texts: dict[str, str]) -> Iterator[Change]:
    """A value that stands there as a text, or as what YAML 1.1 takes for one, written as a number: the value stays."""
    for config in files:
        pattern = re.compile(
            rf"""(?m)^([ \t]*["']?{re.escape(key)}["']?[ \t]*:[ \t]*)(["']?[-+]?\d[\d.eE+-]*["']?)(?=[ \t]*(?:,|#|$))"""
        )
        after = pattern.sub(lambda m: m[1] + value, texts[config.name], count=1)
        if after != texts[config.name]:
            old = m[2] if (m := pattern.search(texts[config.name])) else None
            texts[config.name] = after
            yield Change(knob=key, old=old, new=value, file=config.name)


def _environment(remedy: Remedy, case: Case, texts: dict[str, str]) -> Iterator[Change]:
    """Variables go into the first shell script, before its first command."""
    shell = next((c for c in case.configs if c.kind == "shell"), None)
    if shell is None or any("<" in v for _, v in remedy.env):
        return
    for name, value in remedy.env:
        if f"{name}={value}" not in texts[shell.name]:
            texts[shell.name] = scripts.export(texts[shell.name], name, value)
            yield Change(knob=name, old=None, new=value, file=shell.name)


def _on_plan(remedy: Remedy, case: Case, work: str) -> tuple[list[Change], tuple[str, ...], str, tuple[AppliesTo, ...]]:
    """In a workspace the plan is the source of every file: the change is a knob of the plan."""
    values, name = case.plan.values(), next((c.name for c in case.configs if c.kind == "plan"), "plan.json")
    edits = []
    for knob, value in dict(remedy.sets).items():
        knob, value = _planned(knob, value)
        if knob not in PLAN or knob not in values or (isinstance(value, str) and value.startswith("<")):
            continue
        new = case.derived(knob) if value == "=derived" else resolve(value, _start(case, knob, values[knob]), case)
        if value == "=derived" and new in (None, values[knob]):
            raise Impossible
        if new != values[knob]:
            edits.append(Change(knob=knob, old=values[knob], new=new, file=name))
    if not edits:
        return [], (), "", ()
    sets = " ".join(f"--set {quoted(f'{e.knob}={_plain(e.new)}')}" for e in edits)
    applies = tuple(AppliesTo(file=c.name, sha256=c.sha256) for c in case.configs if c.kind == "plan")
    return edits, (f"papertrain plan {quoted(work)} {sets}", f"papertrain generate {quoted(work)}"), "", applies


def _plain(value: Any) -> str:
    return yaml.dump_scalar(value, "json") if isinstance(value, list) else yaml.dump_scalar(value)


def _planned(knob: str, value: Any) -> tuple[str, Any]:
    if knob in ("bf16", "fp16"):
        return ("precision", knob) if value else ("", None)
    if knob == "gradient_checkpointing":
        return knob, "full" if value is True else value
    if knob == "offload_optimizer":
        return "offload", {"cpu": "optimizer"}.get(value, value)
    return knob, value
