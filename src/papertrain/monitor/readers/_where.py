"""Where in the run a line of text stands: `Epoch [3/50], Step [100/600]`, `Train Epoch: 1 [640/60000 (1%)]`, `iter 10/200`,
a progress bar, or `Epoch 3/30` on a line of its own above the losses."""

from __future__ import annotations

import re
from math import nan

from papertrain.monitor.table import NO_STEP, Table

GAP = r"\s{0,2}[:=#\[( ]{1,3}\s{0,8}"
OF = r"(?:\s{0,8}(?:/|of)\s{0,8}(\d{1,12}))?"
STEP = re.compile(
    rf"(?:^|[^\w])(?:num_updates|global[_ ]?step|steps?|iter(?:ation)?s?|i|it|batch(?:_idx)?|update)(?:\(train\))?{GAP}(\d{{1,3}}(?:,\d{{3}})+|\d{{1,12}})(?![\w.]){OF}"
    rf"|\b\d{{1,9}}-(\d{{1,9}})batch:|(?:^|[\s:\]])\[\s{{0,8}}(\d{{1,9}})\] \| ",
    re.I,
)
UPDATES = re.compile(r"\bnum_updates[=: ]{1,3}(\d{1,12})")
EPOCH = re.compile(
    rf"(?<!best)(?:^|[^\w])ep(?:och)?(\((?:val|test|eval)\w{{0,8}}\))?(?:\(\w{{1,8}}\))?{GAP}(\d{{1,7}}(?:\.\d{{1,6}})?)(?:\s{{0,2}}(?:/|of)\s{{0,8}}(\d{{1,7}}))?"
    rf"|\b(\d{{1,7}})epoch:|\bTrain: (\d{{1,7}}) \[",
    re.I,
)
FRACTION = re.compile(r"(?<![\d/.:-])(\d{1,9})\s{0,2}/\s{0,8}(\d{1,9})(?![\d/.:-])(?!\s{1,2}\d\d:\d\d)")
LEADING = re.compile(r"^\W{0,4}(?=\d)")
BAR = re.compile(r"^\s{0,4}\d{1,3}%\|[^|]{0,200}\|\s{0,3}(?=\d{1,9}/\d{1,9} \[[^\]]{0,80}\]\s{0,2}[A-Za-z])")
"""`1%|    | 1/100 [00:43<1:11:46, 43.50s/it]Train Loss: 1.82`: a line was printed while the bar stood there."""


class Place:
    """The counters of a log that is read line by line. `here` takes a line; `step` and `epoch` are then where it stands."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.step, self.epoch = NO_STEP, nan
        self.inside = NO_STEP
        self.per_epoch = self.longest = 0
        self.base = 1.0
        self.epochs = 0.0
        self.offset = 0
        self.counted = self.turned = self.again = False

    def here(self, line: str) -> bool:
        """Whether the line says where it stands."""
        updates = UPDATES.search(line) if "num_updates" in line else None
        e = EPOCH.search(line)
        s = STEP.search(line)
        if e:
            self.at_epoch(float(e[2] or e[4] or e[5]), float(e[3] or 0))
        if updates:
            self.counted, self.step = True, int(updates[1])
        elif s:
            self.at_step(int((s[1] or s[3] or s[4]).replace(",", "")), int(s[2] or 0), line)
        elif not (e and e[1]) and (f := self.fraction(line, e)):
            self.at_step(int(f[1]), int(f[2]), line)
        elif e and not self.counted and self.epoch == int(self.epoch):
            self.step = int(self.epoch)
            if self.epochs:
                self.table.facts["max_steps"] = self.epochs
        elif not e:
            return False
        return True

    def fraction(self, line: str, e: re.Match[str] | None) -> re.Match[str] | None:
        """`[640/60000 (1%)]` after an epoch, or at the head of a line."""
        if e is not None:
            f = FRACTION.search(line, e.end() - (e[5] is not None))
        else:
            m = LEADING.match(line)
            if "%|" in line and self.epoch != self.epoch:
                m = BAR.match(line) or m
            f = FRACTION.match(line, m.end()) if m else None
        return f if f and int(f[2]) > 1 and int(f[1]) <= int(f[2]) else None

    def at_epoch(self, epoch: float, of: float) -> None:
        if of:
            self.epochs = self.table.facts["num_train_epochs"] = of
        if self.counted and epoch != self.epoch and self.epoch == self.epoch and self.inside != NO_STEP:
            self.turned = True
            self.again = epoch < self.epoch
        self.epoch = epoch

    def at_step(self, inside: int, of: int, line: str) -> None:
        """A counter that begins again with each epoch is continued; one that goes on is taken as it is."""
        first = not self.counted
        self.counted = True
        whole = self.epoch == self.epoch
        if first and whole:
            self.base = min(1.0, self.epoch)
        if first and whole and of and self.epoch > 1:
            self.offset = int(self.epoch - 1) * of  # the log of a run that was resumed
        elif self.again and inside <= self.inside:
            # The epochs go back too: another training in the same file, or the epoch at which one was resumed.
            self.offset = max(0, int(self.epoch - self.base)) * (of or self.per_epoch or self.longest)
        elif self.turned and inside <= self.inside:
            self.offset += of or self.per_epoch or self.inside + 1
        self.turned = self.again = False
        self.inside, self.per_epoch = inside, of or self.per_epoch
        self.longest = max(self.longest, inside + 1)
        self.step = self.offset + inside
        if not of:
            return
        if not whole:
            self.table.facts["max_steps"] = float(of)
        elif self.epochs and self.offset:
            self.table.facts["max_steps"] = self.epochs * of
