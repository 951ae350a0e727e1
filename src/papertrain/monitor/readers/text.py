"""Any text log that names its numbers: `step=41 loss=2.31`, `Epoch [3/50], Step [100/600], Loss: 0.2345`, `Epoch: 3 | Train Loss: 0.4`.

The last resort: every reader that knows its program is asked first.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from papertrain.core.chinese import english
from papertrain.monitor.names import EVALUATION, signal_of
from papertrain.monitor.reader import LineParser, Reader
from papertrain.monitor.readers._hf import overflow
from papertrain.monitor.readers._text import NUMBER, head_lines, number
from papertrain.monitor.readers._where import Place
from papertrain.monitor.table import NO_STEP, Table

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
WORDS = r"loss(?:_\w+)?|(?:acc|prec)@\d|acc(?:uracy)?|ppl|perplexity|lr|learning[ _]rate|grad[ _]?norm|gnorm|norm|f1|bpb|rewards?|kl|entropy|mfu|xent|cross[ _]?entropy|mAP|bleu|wer|cer|nll|auc|\bl_\w+|(?-i:\b[GD]_[A-Z]\w*)"
NAMED = re.compile(
    rf"(?<![\w])((?:[A-Za-z][\w./-]{{0,40}} )?[A-Za-z_][\w./-]{{0,40}})\s{{0,2}}[:=]\s{{0,4}}\(?({NUMBER})(?![\w.])"
)
SPOKEN = re.compile(
    rf"(?<![\w])((?:(?:train(?:ing)?|val(?:id(?:ation)?)?|test|eval(?:uation)?|lm|avg|mean|total)[ _/-])?(?:{WORDS}))(?: is)?\s{{1,4}}({NUMBER})(?!\w|\.\d)",
    re.I,
)
WORTH = re.compile(rf"(?:{WORDS})\b", re.I)
LONGEST = 12_000
NEAR = 6
"""Lines below `Epoch 3/30` that may still hold its losses."""
INDEX = re.compile(
    r"^(?:global[_ ]?)?(?:step|steps|iter|iteration|iterations|batch|batch_idx|i|it|epoch|ep|update|num_updates)$", re.I
)


KEPT = re.compile(
    r"(?i)^(train(ing)?|val(id(ation)?)?|test|eval(uation)?|lm|avg|average|mean|total|grad(ient)?|learning|loss|best)$"
)


EVALUATING = re.compile(
    r"(?:^|[\s:\]])(?:test(?:ing)?|val(?:id(?:at(?:ion|ing))?)?|eval(?:uat(?:ion|ing))?)\s{0,2}:?\s{0,3}(?:batches)?\[",
    re.I,
)
"""`Test: [240/242]  Loss 3.2 (3.8)`: batches of an evaluation, with their mean so far in brackets."""
SO_FAR = re.compile(rf"(?:{NUMBER})\s{{0,3}}\(\s{{0,8}}({NUMBER})\)")
TOP = re.compile(rf"\b((?:acc|prec)@\d)[:\s]\s{{0,4}}({NUMBER})", re.I)
SECTION = re.compile(r"^\s{0,8}(train(?:ing)?|val(?:id(?:ation)?)?|eval(?:uation)?|test(?:ing)?)\s?:\s{0,8}$", re.I)
"""A title on a line of its own; what is below it belongs to it, up to the next title or epoch."""
SAVED = "Saving dict for global step"
GROUP = re.compile(r"\[n ?= ?\d{1,12}\]\s{0,2}:")
"""`Blond_Hair = 0, Male = 1  [n = 2652]:  loss = 0.193`: one group of the examples, not the run."""
RESULTS = re.compile(r"\*{3,} (?:Eval|Test|Predict)\w* results? .{0,40}\*{3,}", re.I)
RESULT = re.compile(r"^\S{0,60}\s{1,4}[\w/@.-]{1,60} = \S{1,40}\s*$")


def of_evaluation(pairs: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """The same numbers under names that say so."""
    return [(k if signal_of(k) in ("eval_loss", "metric") else f"eval {k}", v) for k, v in pairs]


def pairs_of(line: str) -> list[tuple[str, float]]:
    found = {}
    hits = [(name.replace(". ", " ").split(), text) for name, text in NAMED.findall(line) + SPOKEN.findall(line)]
    lasts = Counter(words[-1].lower() for words, _ in hits)
    for words, text in hits:
        value = number(text)
        name = " ".join(words)
        # `INFO loss: 2.3` is the loss, `spectro loss=1.5 vocoder loss=0.1` are two.
        if (
            len(words) == 2
            and not KEPT.match(words[0])
            and words[0].lower() not in EVALUATION
            and lasts[words[1].lower()] == 1
        ):
            name = words[1]
        if value is not None and not INDEX.match(name) and name not in found:
            found[name] = value
    return list(found.items())


def sniff(head: bytes, path: Path) -> float:
    hits, since = 0, NEAR
    place = Place(Table("head", "text"))
    for line in map(english, head_lines(head)):
        if len(line) > LONGEST:
            continue
        if place.here(line):
            since = 0
        elif "%|" not in line:  # hundreds of bars of an inner loop may stand between an epoch and its losses
            since += 1
        if WORTH.search(line) and since < NEAR:
            hits += any(WORTH.search(k) for k, _ in pairs_of(COLOUR.sub("", line)))
            if hits >= 12:
                break
    return min(0.55, 0.3 + 0.05 * hits) if hits else 0.0


def start(table: Table) -> LineParser:
    place = Place(table)
    results = False
    section = ""

    def parse(line: str, n: int) -> None:
        nonlocal results, section
        if len(line) > LONGEST or ("[n" in line and GROUP.search(line)):
            return
        line = english(line)
        if "OVERFLOW" in line and overflow(table, line, n, place.step):
            return
        if "***" in line and RESULTS.search(line):
            results = True
            return
        results = results and RESULT.match(line) is not None
        if len(line) < 40 and (titled := SECTION.match(line)):
            section = titled[1].lower()
        elif "poch" in line:
            section = ""
        worth = "loss" in line or "Loss" in line or WORTH.search(line)
        if not worth and "poch" not in line:
            return
        if "\x1b" in line:
            line = COLOUR.sub("", line)
        batches = EVALUATING.search(line) is not None and "poch" not in line
        if batches:
            line = SO_FAR.sub(r"\1", line)
        said = not batches and place.here(line)
        if not worth:
            return
        pairs = [p for p in pairs_of(line) if p[1] == p[1] or signal_of(p[0]) != "other"]
        if not any(WORTH.search(k) for k, _ in pairs) or not (said or place.step != NO_STEP):
            return
        if batches or results or section in EVALUATION or SAVED in line:
            tops = [(k, v) for k, t in TOP.findall(line) if (v := number(t)) is not None]
            pairs = of_evaluation([*pairs, *tops])
        table.row(pairs, line=n, step=place.step, epoch=place.epoch)

    return parse


READER = Reader(id="text", sniff=sniff, start=start, what="text with named numbers", last=True)
