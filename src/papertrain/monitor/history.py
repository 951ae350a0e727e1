"""One run as the rules see it: its curves by signal, its task, its planned length, where its warm-up ends."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import isfinite, isnan
from pathlib import Path

from papertrain.core.training import TrainingPlan
from papertrain.monitor.curve import Curve, curve
from papertrain.monitor.names import ADVERSARIAL, BETTER_DOWN, preference, signal_of, tidy
from papertrain.monitor.places import Unit, densest, word
from papertrain.monitor.ranks import Ranks
from papertrain.monitor.stats import median
from papertrain.monitor.table import NO_STEP, Column, Table

NOT_A_LOSS = frozenset(("grpo", "ppo", "rl", "gan"))
"""Tasks in which the training loss may rise or stand at zero in good health: their own signals decide."""


class History:
    """Curves are made when a rule asks for them: a row may hold 1,500 names."""

    def __init__(
        self, name: str, tables: Sequence[Table], plan: TrainingPlan | None = None, now: float | None = None
    ) -> None:
        self.name = name
        self.tables = tuple(tables)
        self.plan = plan
        self.now = now
        self.ranks: Ranks | None = None
        self.columns: dict[str, list[tuple[str, Table, Column]]] = {}
        for table in self.tables:
            for raw, column in table.columns.items():
                if len(column):
                    self.columns.setdefault(signal_of(raw), []).append((raw, table, column))
        self._made: dict[tuple[str, str], Curve] = {}
        self._dense: dict[str, Column | None] = {}
        self._sum_parts("loss_part", "train_loss", "train")
        self._sum_parts("eval_loss_part", "eval_loss", "val")

    def _sum_parts(self, part: str, whole: str, prefix: str) -> None:
        """Some detectors log the terms of their loss (`train/box_loss`, `train/cls_loss`) and never the sum."""
        if whole in self.columns:
            return
        terms = [x for x in self.columns.get(part, ()) if x[0].lower().startswith(prefix + "/")]
        if len(terms) < 2 or len({(len(x[2]), tuple(x[2].steps[:3])) for x in terms}) != 1:
            return
        first = terms[0][2]
        total = Column()
        for i in range(len(first)):
            total.add(
                first.steps[i], sum(x[2].values[i] for x in terms), first.lines[i], first.epochs[i], first.times[i]
            )
        self.columns[whole] = [(" + ".join(x[0] for x in terms), terms[0][1], total)]

    def make(self, signal: str, raw: str, table: Table, column: Column) -> Curve:
        key = (raw, table.file)
        if key not in self._made:
            if table.file not in self._dense:
                self._dense[table.file] = densest(table.columns)
            self._made[key] = curve(signal, raw, table.file, column, self._dense[table.file])
        return self._made[key]

    def every(self, signal: str) -> list[Curve]:
        """All curves of a signal: several evaluation sets, several parameter groups. One per name, the fullest."""
        best: dict[str, tuple[str, Table, Column]] = {}
        for raw, table, column in self.columns.get(signal, ()):
            old = best.get(raw)
            if old is None or self._rank(column) > self._rank(old[2]):
                best[raw] = (raw, table, column)
        ordered = sorted(best.values(), key=lambda x: (preference(x[0]), -len(x[2])))
        return [self.make(signal, *x) for x in ordered]

    @staticmethod
    def _rank(column: Column) -> tuple[bool, int]:
        return (column.steps[0] != NO_STEP, len(column))

    def one(self, signal: str) -> Curve | None:
        """The curve of a signal: the best known name, unless another has ten times its points."""
        found = self.every(signal)
        if not found:
            return None
        fullest = max(found, key=len)
        return fullest if len(fullest) > 10 * len(found[0]) else found[0]

    @cached_property
    def facts(self) -> dict[str, object]:
        merged: dict[str, object] = {}
        for t in self.tables:
            merged |= t.facts
        return merged

    def fact(self, name: str) -> float | None:
        value = self.facts.get(name)
        return value if isinstance(value, float) and isfinite(value) else None

    @cached_property
    def raw_names(self) -> frozenset[str]:
        return frozenset(raw.lower() for t in self.tables for raw in t.columns)

    @cached_property
    def task(self) -> str:
        """sft, dpo, grpo, ppo, rl, gan, or train where nothing says more."""
        names = self.raw_names
        text = " ".join(sorted(names))
        if self.plan is not None and self.plan.task in ("dpo", "grpo", "ppo", "kto", "orpo"):
            return self.plan.task
        if "objective/kl" in text or "act_loss" in names or "policy/approxkl_avg" in text or "critic/vf_loss" in names:
            return "ppo"
        if (
            "frac_reward_zero_std" in text
            or "reward_std" in text
            or "completions/" in text
            or "completion_length" in text
            or "response_length/clip_ratio" in text
        ):
            return "grpo"
        if (
            "rewards/margins" in text
            or "rewards/chosen" in text
            or "chosen_last_scores" in text
            or "reward_margin" in text
        ):
            return "dpo"
        if (
            "rollout/ep_rew_mean" in text
            or "ep_rew" in text
            or ("value_loss" in text and "policy" in text)
            or "actor_loss" in text
            or "episode_reward" in text
        ):
            return "rl"
        words = set(text.replace("/", " ").replace("_", " ").split())
        if {"actor", "critic"} <= words:
            return "rl"
        adversarial = (
            words & {"discriminator", "generator", "disc"}
            or {"loss_g", "loss_d"} <= names
            or {"g_loss", "d_loss"} <= names
        )
        networks = {
            c.lower()
            for t in self.tables
            for raw in t.columns
            if ADVERSARIAL.match(raw)
            for c in raw[:3]
            if c in "GDgd"
        }
        if adversarial or networks == {"g", "d"} or {"d_loss", "g_loss"} & {n.rpartition("/")[2] for n in names}:
            return "gan"
        if (
            names & {"reward", "mean_reward", "train/reward", "total_reward", "totalreward", "avg_reward"}
            and "accuracy" not in names
        ):
            return "rl"
        if "accuracy" in names and any(t.reader == "llamafactory" for t in self.tables):
            return "dpo"
        return "sft" if "mean_token_accuracy" in text else "train"

    @property
    def loss_counts(self) -> bool:
        """Whether a rising or zero training loss means anything in this task."""
        return self.task not in NOT_A_LOSS

    @cached_property
    def total_steps(self) -> int | None:
        """How long the run was meant to be: its own log says so, else the plan."""
        if self.unit == "epoch":
            epochs = self.fact("num_train_epochs")
            return int(epochs) if epochs is not None and 0 < epochs < 1e12 and self.last_step <= epochs + 1 else None
        steps, total = self.fact("max_steps"), None
        if steps is not None and 0 < steps < 1e12 and self.last_step <= 1.02 * steps + 1:
            total = int(steps)  # a total that the steps have passed counts something else: epochs, batches of one
        elif self.plan is not None and self.plan.total_steps.value:
            total = int(self.plan.total_steps.value)
        # Rows are no steps; as many of them as there are steps are one each.
        return total if self.unit == "step" or total == self.last_step else None

    @cached_property
    def last_step(self) -> int:
        loss = self.one("train_loss")
        begun = loss.lines[0] if loss is not None and len(loss) and loss.runs > 1 else 0
        tops = [
            column.steps[-1] if begun else max(column.steps)
            for t in self.tables
            if t.reader not in TELEMETRY
            for column in t.columns.values()
            if len(column) and column.lines[-1] >= begun  # of several runs in one file the last counts
        ]
        return max([0, *tops, *([loss.steps[-1]] if loss and len(loss) else [])])

    @cached_property
    def unit(self) -> Unit:
        """What `last_step` counts: rows where the log names no step."""
        loss = self.one("train_loss")
        return loss.unit if loss is not None and len(loss) and loss.steps[-1] == self.last_step else "step"

    @property
    def word(self) -> str:
        return word(self.unit)

    @cached_property
    def progress(self) -> float | None:
        """Share of the planned steps that is done; None where nobody said how many there are."""
        total = self.total_steps
        return None if not total else min(1.0, self.last_step / total)

    def far_enough(self, share: float) -> bool:
        """At least this share of the plan is done; where the plan is unknown, half an epoch, or epochs are unknown too."""
        if self.progress is not None:
            return self.progress >= share
        return self.counted_from_zero or self.epochs_done is None or self.epochs_done >= 0.5

    @cached_property
    def epochs_done(self) -> float | None:
        """The epoch of the last loss, or None."""
        c = self.raw_loss
        return None if c is None or not len(c) or isnan(c.epochs[-1]) else c.epochs[-1]

    @cached_property
    def counted_from_zero(self) -> bool:
        """Lightning writes `epoch` as a whole number: 0 throughout the first, which says nothing about how far it is.
        Sixty rows are taken to be far enough then."""
        c = self.raw_loss
        return c is not None and len(c) >= 60 and self.epochs_done == 0 and not any(c.epochs)

    @property
    def one_epoch(self) -> bool:
        """A whole epoch, or half of the plan, is done: what a staircase does inside an epoch is behind."""
        if self.epochs_done is None or self.counted_from_zero:
            return True
        if self.progress is None:
            return self.epochs_done >= 0.99
        return self.epochs_done >= 1.2 or self.progress >= 0.5

    @property
    def single_epoch(self) -> bool:
        """The whole plan is one pass over the data: nothing repeats, and no staircase is to be expected."""
        return bool(self.epochs_done and self.progress) and self.epochs_done / self.progress <= 1.05  # type: ignore[operator]

    @cached_property
    def ended(self) -> bool:
        return any(t.ended for t in self.tables) or (self.progress is not None and self.progress >= 1)

    @cached_property
    def rate(self) -> Curve | None:
        c = self.one("learning_rate")
        return c.finite() if c is not None and len(c) else None

    def rate_at(self, step: int) -> float | None:
        """The learning rate in force at a step, or None."""
        c = self.rate
        if c is None or not len(c):
            return None
        low, high = 0, len(c.steps) - 1
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if c.steps[middle] <= step else (low, middle - 1)
        return c.values[low]

    @cached_property
    def peak_rate(self) -> float | None:
        return max(self.rate.values) if self.rate is not None and len(self.rate) else None

    @cached_property
    def warm_until(self) -> int:
        """The step at which warm-up is over."""
        if self.plan is not None and self.plan.warmup_steps.value and self.unit == "step":
            return int(self.plan.warmup_steps.value)
        c, peak = self.rate, self.peak_rate
        if c is not None and peak and peak > 0:
            at = next(i for i, v in enumerate(c.values) if v >= 0.95 * peak)
            if c.steps[at] < 0.5 * max(c.steps[-1], self.total_steps or 0):
                return c.steps[at]
        return int(0.05 * (self.total_steps or self.last_step))

    @cached_property
    def raw_loss(self) -> Curve | None:
        """The training loss as it was printed."""
        return self.one("train_loss")

    @cached_property
    def hidden(self) -> list[int]:
        """Points of the raw loss at which a NaN is hidden: 0.0 printed where the gradient norm is not finite, or where
        an ordinary loss falls to exactly 0.0 for good. The Trainer replaces non-finite losses by a running mean of zero."""
        c = self.raw_loss
        if c is None or not self.loss_counts:
            return []
        zeros = [i for i, v in enumerate(c.values) if v == 0.0]
        if not zeros:
            return []
        norm = self.one("grad_norm")
        norms = dict(zip(norm.steps, norm.values)) if norm is not None else {}
        found = [i for i in zeros if c.steps[i] in norms and not isfinite(norms[c.steps[i]])]
        if found:
            first = found[0]
            return [i for i in zeros if i in set(found) or (i > first and c.steps[i] not in norms)]
        run = self._zero_run(c.values)
        if run is None:
            return []
        begin, end = run
        before = [v for v in c.values[max(0, begin - 5) : begin] if isfinite(v)]
        silent = all(norms.get(c.steps[i], 0.0) == 0.0 for i in range(begin, end))
        sudden = bool(before) and median(before) > 0.05
        if silent and (sudden or begin <= 1) and end - begin >= 3 and not self._measured_since(c.steps[begin]):
            return list(range(begin, end))
        return []

    def _measured_since(self, step: int) -> bool:
        """Whether another error on the training examples is finite and still moves: the zero is a small number, rounded."""
        for c in self.every("other")[:50]:
            if BETTER_DOWN.search(tidy(c.raw)):
                late = [v for s, v in zip(c.steps, c.values) if s >= step]
                if len(set(late)) >= 5 and all(isfinite(v) and v > 0 for v in late):
                    return True
        return False

    @staticmethod
    def _zero_run(values: list[float]) -> tuple[int, int] | None:
        """The zeros that end the log."""
        end = len(values)
        begin = end
        while begin > 0 and values[begin - 1] == 0.0:
            begin -= 1
        return (begin, end) if end - begin >= 2 else None

    @cached_property
    def loss(self) -> Curve | None:
        """The training loss without what is not finite, shown or hidden."""
        c = self.raw_loss
        if c is None or not len(c):
            return None
        bad = set(self.hidden)
        keep = [i for i, v in enumerate(c.values) if isfinite(v) and i not in bad]
        return c.take(keep) if keep else None

    @cached_property
    def evaluations(self) -> list[Curve]:
        """The evaluation losses, at least one finite point each."""
        found = [f for c in self.every("eval_loss") if len(f := c.finite())]
        names = [c.raw for c in found]
        return [c for c in found if not any(c.raw.startswith(n + "_") for n in names)]

    def from_scratch(self, c: Curve) -> bool:
        """Whether the curve begins where the training began."""
        if not len(c):
            return False
        gap = median([b - a for a, b in zip(c.steps, c.steps[1:])]) if len(c) > 1 else 1
        span = self.total_steps or c.steps[-1]
        return c.steps[0] <= max(3 * gap, 0.05 * span, 1)

    def boundaries(self, c: Curve) -> list[int]:
        """Points at which a new epoch, a resumed segment or a restarted learning rate begins."""
        found = {i for i, s in enumerate(c.steps) if s in set(c.resumed)}
        for i in range(1, len(c)):
            a, b = c.epochs[i - 1], c.epochs[i]
            if not isnan(a) and not isnan(b) and int(b) != int(a) and b - a < 1:
                found.add(i)
        found |= self._restarts(c)
        return sorted(found)

    def restarted(self, step: int) -> bool:
        """Whether the learning rate began a new cycle after that step: what follows rises for a while, as it should."""
        c = self.loss
        return c is not None and any(c.steps[i] > step for i in self._restarts(c))

    def _restarts(self, c: Curve) -> set[int]:
        r, peak = self.rate, self.peak_rate
        if r is None or not peak or len(r) < 8:
            return set()
        steps = [
            r.steps[i]
            for i in range(1, len(r))
            if r.steps[i] > self.warm_until and r.values[i] > 2 * r.values[i - 1] and r.values[i] > 0.05 * peak
        ]
        found = set()
        for s in steps[:50]:
            i = next((k for k, x in enumerate(c.steps) if x >= s), None)
            if i is not None:
                found.add(i)
        return found

    @cached_property
    def files(self) -> list[str]:
        return [t.file for t in self.tables]

    @cached_property
    def folder(self) -> Path:
        return Path(self.files[0]).parent if self.files else Path()


TELEMETRY = frozenset(("nvml", "nvidia_smi", "nvidia_dmon", "npu_smi", "rocm_smi", "dcgmi"))
"""Readers of counters: their rows are no steps of the run."""
