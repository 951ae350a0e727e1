"""Any text log that names its numbers: `step=41 loss=2.31`, `Epoch [3/50], Step [100/600], Loss: 0.2345`, `Epoch: 3 | Train Loss: 0.4`.

The last resort: every reader that knows its program is asked first.
"""

from __future__ import annotations

import re
from math import nan
from pathlib import Path

from papertrain.core.chinese import english
from papertrain.monitor.reader import LineParser, Reader
from papertrain.monitor.readers._hf import overflow
from papertrain.monitor.readers._text import NUMBER, head_lines, number
from papertrain.monitor.table import NO_STEP, Table

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
STEP = re.compile(
    r"(?:^|[^\w])(?:global[_ ]?step|steps?|iter(?:ation)?s?|batch|update)\s{0,2}[:=#\[( ]\s{0,2}(\d{1,12})(?:\s{0,2}(?:/|of)\s{0,2}(\d{1,12}))?",
    re.I,
)
EPOCH = re.compile(
    r"(?:^|[^\w])ep(?:och)?\s{0,2}[:=#\[( ]\s{0,2}(\d{1,7}(?:\.\d{1,6})?)(?:\s{0,2}(?:/|of)\s{0,2}(\d{1,7}))?", re.I
)
WORDS = r"loss|acc(?:uracy)?|ppl|perplexity|lr|learning[ _]rate|grad[ _]?norm|gnorm|norm|f1|bpb|rewards?|kl|entropy|mfu|mAP|bleu|wer|cer|nll|auc"
NAMED = re.compile(
    rf"(?<![\w])((?:[A-Za-z][\w./-]{{0,40}} )?[A-Za-z_][\w./-]{{0,40}})\s{{0,2}}[:=]\s{{0,4}}({NUMBER})(?![\w.])"
)
SPOKEN = re.compile(
    rf"(?<![\w])((?:(?:train(?:ing)?|val(?:id(?:ation)?)?|test|eval(?:uation)?|lm|avg|mean|total)[ _/-])?(?:{WORDS}))\s{{1,4}}({NUMBER})(?![\w.])",
    re.I,
)
WORTH = re.compile(rf"(?:{WORDS})\b", re.I)
INDEX = re.compile(r"^(?:global[_ ]?)?(?:step|steps|iter|iteration|iterations|batch|epoch|ep|update)$", re.I)


def pairs_of(line: str) -> list[tuple[str, float]]:
    found = {}
    for name, text in NAMED.findall(line) + SPOKEN.findall(line):
        value = number(text)
        words = name.replace(". ", " ").split()
        name = " ".join(words)
        if len(words) == 2 and not re.match(
            r"(?i)^(train(ing)?|val(id(ation)?)?|test|eval(uation)?|lm|avg|mean|total|grad(ient)?|learning|loss|best)$",
            words[0],
        ):
            name = words[1]
        if value is not None and not INDEX.match(name) and name not in found:
            found[name] = value
    return list(found.items())


def sniff(head: bytes, path: Path) -> float:
    hits = 0
    for line in map(english, head_lines(head)):
        if len(line) < 2000 and WORTH.search(line) and (STEP.search(line) or EPOCH.search(line)):
            hits += any(WORTH.search(k) for k, _ in pairs_of(COLOUR.sub("", line)))
            if hits >= 12:
                break
    return min(0.55, 0.3 + 0.05 * hits) if hits else 0.0


def start(table: Table) -> LineParser:
    step, epoch = NO_STEP, nan
    per_epoch = 0

    def parse(line: str, n: int) -> None:
        nonlocal step, epoch, per_epoch
        if len(line) > 4000:
            return
        line = english(line)
        if "OVERFLOW" in line and overflow(table, line, n, step):
            return
        worth = WORTH.search(line)
        if not worth and "poch" not in line:
            return
        if "\x1b" in line:
            line = COLOUR.sub("", line)
        s, e = STEP.search(line), EPOCH.search(line)
        if e:
            epoch = float(e[1])
            if e[2]:
                table.facts["num_train_epochs"] = float(e[2])
        if s:
            step = int(s[1])
            if s[2]:
                per_epoch = int(s[2])
        if not worth:
            return
        pairs = [p for p in pairs_of(line) if p[1] == p[1] or WORTH.search(p[0])]
        if not any(WORTH.search(k) for k, _ in pairs) or not (s or e or step != NO_STEP or epoch == epoch):
            return
        at = step if s or step != NO_STEP else NO_STEP
        if at != NO_STEP and e and per_epoch and epoch == epoch and step <= per_epoch:
            at = int(max(epoch - 1, 0)) * per_epoch + step
        elif at == NO_STEP and epoch == epoch:
            at = int(epoch) if epoch == int(epoch) else NO_STEP
        if s and s[2] and not e:
            table.facts["max_steps"] = float(s[2])
        table.row(pairs, line=n, step=at, epoch=epoch)

    return parse


READER = Reader(id="text", sniff=sniff, start=start, what="text with named numbers")
