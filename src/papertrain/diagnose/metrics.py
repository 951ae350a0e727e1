"""Metric rows of a log, whatever program printed them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from papertrain.core.chinese import english
from papertrain.core.findings import LogLine, Signal
from papertrain.diagnose.clean import quote
from papertrain.diagnose.log import LogFile

NUMBER = r"[-+]?(?:\d++(?:,\d++)*(?:\.\d*+)?(?:[eE][-+]?\d++)?|\.\d+(?:[eE][-+]?\d+)?|nan|NaN|NAN|inf|Infinity|Inf)"
_PAIR = re.compile(rf"""['"]([\w/ .()-]{{1,60}})['"]\s*:\s*['"]?({NUMBER})['"]?\s*(?=[,}}\]])""")
_KEYED = re.compile(
    rf"(?:^|[\s|,;\[(])([A-Za-z][\w/.-]*(?: (?:loss|norm|rate|scale|batch size))?)\s?[:=]\s*\[?({NUMBER})(?![\w.])"
)
_SPACED = re.compile(rf"\b(step|iter|loss|norm|lr|grad_norm|epoch|train loss|val loss)\s+({NUMBER})(?![\w.])", re.I)
_SAID = re.compile(r"^\W*(?:\w+(?:Error|Exception)\s?: |(?:WARNING|ERROR|FATAL)\W+)?(?:the )?(?:training |train |classification )?(?:loss|scores) (?:is|was|became|become|becomes|turned) (?:-?inf(?:inite)?|nan)\b", re.I)  # fmt: skip
"""What programs print when they stop at a loss that is not a number, without a row of it."""
_ITERATION = re.compile(r"iteration\s+(\d+)/\s*(\d+)")
BAR = re.compile(r"\b(\d+)/(\d+) \[[\d:]+<[\d:?]+")
"""A progress bar of tqdm: at and of."""
_TQDM = re.compile(r"\b(\d+)/(\d+) \[")
_STEP_OF = re.compile(r"\b(?:step|iter)[ :=]\s*(\d+)(?:/(\d+))?", re.I)
_WORDS = re.compile(
    r"loss|grad[_ ]norm|reward|skipped=|\btrl:|\btel:|learning_rate|perplexity|损失|infinite or NaN", re.I
)

NAMES = {
    "lm loss": "loss", "total_loss": "loss", "actor/pg_loss": "act_loss", "actor/lr": "learning_rate", "actor/grad_norm": "grad_norm", "train/loss": "loss", "training_loss": "loss", "tr_loss": "loss", "train loss": "loss", "trl": "loss",
    "val loss": "eval_loss", "val_loss": "eval_loss", "valid_loss": "eval_loss", "test_loss": "eval_loss", "eval/loss": "eval_loss",
    "tel": "eval_loss", "validation_loss": "eval_loss", "lr": "learning_rate", "learning rate": "learning_rate",
    "train/learning_rate": "learning_rate", "train_lr": "learning_rate", "grad norm": "grad_norm", "norm": "grad_norm",
    "train/grad_norm": "grad_norm", "gnorm": "grad_norm", "loss scale": "loss_scale", "current_steps": "step", "global_step": "step",
    "iter": "step", "iteration": "step", "training loss": "loss", "validation loss": "eval_loss", "reward std": "reward_std", "train/global_step": "step", "s": "step", "total_steps": "total_steps", "actor_loss": "act_loss",
}  # fmt: skip


class Row(NamedTuple):
    """One logged row. `step` is the program's own counter, or None; `ended` marks the summary at the end of a run."""

    file: str
    line: int
    text: str
    values: dict[str, float]
    step: float | None = None

    def get(self, name: str) -> float | None:
        return self.values.get(name)

    def quote(self) -> LogLine:
        return LogLine(file=self.file, line=self.line, text=quote(self.text))


def number(text: str) -> float:
    return float(text.replace(",", ""))


def rows(log: LogFile) -> list[Row]:
    """Every row of a log, in order."""
    if (
        (log.scan.whole and "log_history" in "".join(x.text for x in log.lines[:40]))
        or log.name.endswith("trainer_state.json")
    ) and (found := list(state_rows(log))):
        return found
    return list(_rows(log))


def _rows(log: LogFile) -> Iterator[Row]:
    header: list[str] | None = None
    table: list[str] = []
    for i, line in enumerate(log.lines):
        text = line.text
        if (cells := _cells(text)) and (values := _table(table, cells)) is not None:
            table = [c.lower() for c in cells] if not values else table
            if values:
                yield Row(log.name, line.no, text, values, values.get("step"))
            continue
        if i == 0 and log.name.endswith(".csv"):
            header = [h.strip() for h in text.split(",")]
            continue
        if header:
            values = dict(_csv(header, text))
        elif not _WORDS.search(text):
            continue
        else:
            values = parse(english(text))
        if values:
            step = values.get("step")
            if step is None and (m := _TQDM.search(text)) and "{" in text:
                step = float(m[1])
            yield Row(log.name, line.no, text, values, step)


def _cells(text: str) -> list[str]:
    """The cells of a line of a table, as a notebook shows the Trainer's rows and people paste them."""
    mark = "|" if text.count("|") >= 2 else "\t" if text.count("\t") >= 1 else ""
    cells = [c.strip() for c in text.strip().strip("|").split(mark)] if mark and len(text) < 600 and ":" not in text else []  # fmt: skip
    return cells if len(cells) >= 2 else []


def _table(header: list[str], cells: list[str]) -> dict[str, float] | None:
    """The values of a table's row; {} for its header; None where the line is neither."""
    if cells[0].lower() in ("step", "epoch") and any("loss" in c.lower() for c in cells[1:]):
        return {}
    if len(header) != len(cells):
        return None
    values = {}
    for name, cell in zip(header, cells):
        try:
            values[NAMES.get(name, name)] = number(cell)
        except ValueError:
            if cell.lower() not in ("no log", "-", ""):
                return None
    return values or None


def _csv(header: list[str], text: str) -> Iterator[tuple[str, float]]:
    for name, cell in zip(header, text.split(",")):
        try:
            yield NAMES.get(name, name), float(cell)
        except ValueError:
            continue


def parse(text: str) -> dict[str, float]:
    """The numbers of one printed row; empty where the line is no row."""
    if "{" in text:
        pairs = _PAIR.findall(text[text.index("{") :])
        if pairs:
            return named(pairs)
        if len(text) > 400:
            return {}
    if "iteration" in text and "|" in text and (m := _ITERATION.search(text)):
        return _megatron(text, m)
    if text[:1] in ("#", "[") and "step=" not in text and "loss" not in text[:120]:
        return {}
    if _SAID.match(text):
        return {"loss": math.nan}
    found = named(_KEYED.findall(text)) or {}
    found |= {k: v for k, v in named(_SPACED.findall(text)).items() if k not in found}
    if m := _STEP_OF.search(text):
        found.setdefault("step", float(m[1]))
    if not ({"loss", "eval_loss", "skipped", "act_loss"} & found.keys()) or len(found) < 2:
        return {}
    return found


def named(pairs: Iterable[tuple[str, str]]) -> dict[str, float]:
    out: dict[str, float] = {}
    for name, value in pairs:
        name = name.strip()
        plain = name.lower()
        name = plain if plain in ("loss", "step", "epoch") else NAMES.get(name, NAMES.get(plain, name))
        out.setdefault(name, number(value))
    if "train_loss" in out and "train_runtime" not in out and "loss" not in out:
        out["loss"] = out.pop("train_loss")
    return out


def _megatron(text: str, m: re.Match[str]) -> dict[str, float]:
    """Megatron leaves `lm loss` out where the value is not a number."""
    out = {"step": float(m[1]), "total_steps": float(m[2])}
    for part in text.split("|")[1:]:
        name, _, value = part.rpartition(":")
        try:
            out[NAMES.get(name.strip(), name.strip())] = float(value.split()[0])
        except (ValueError, IndexError):
            continue
    if "grad_norm" in out and "loss" not in out:
        out["loss"] = math.nan
        out["loss_absent"] = 1.0
    return out


def state_rows(log: LogFile) -> Iterator[Row]:
    """`trainer_state.json`: written with bare NaN, and often the only thing that is left of a run."""
    try:
        state: Any = json.loads(b"".join(s.data for s in log.scan.segments).decode("utf-8", "replace"))
        history = state["log_history"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return
    lines = [x.no for x in log.lines if '"step":' in x.text]
    for i, entry in enumerate(history if isinstance(history, list) else ()):
        if not isinstance(entry, dict):
            continue
        values = {  # by its text: a whole number that is larger than any float is infinite then
            NAMES.get(str(k), str(k)): float(str(v))
            for k, v in entry.items()
            if isinstance(v, (int, float, str)) and not isinstance(v, bool) and _is_number(str(v))
        }
        if values:
            no = lines[i] if i < len(lines) else 0
            yield Row(log.name, no, json.dumps(entry), values, values.get("step"))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def signal_rows(signals: Iterable[Signal]) -> list[Row]:
    """Rows from what a reader of another room found (TensorBoard, W&B)."""
    out: dict[tuple[str, float | None], Row] = {}
    for s in signals:
        key = (s.file, s.step)
        row = out.setdefault(key, Row(s.file, s.line, "", {}, s.step))
        row.values[NAMES.get(s.name, s.name)] = s.value
    return [r._replace(text=" ".join(f"{k}={v:g}" for k, v in r.values.items())) for r in out.values()]
