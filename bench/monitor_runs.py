"""A seeded training run as rows, for `monitor.py`: `monitor_healthy.py` shapes it, `monitor_faults.py` spoils it.

The thresholds of the rules were chosen with these at hand, so that the figures say how well the rules do what they
were meant to do; how well that fits the world, real logs must say.
"""

from __future__ import annotations

import math
import random

Row = dict[str, float]


class Run:
    """A healthy run of random size, as rows. Shapes change it; faults spoil it."""

    def __init__(self, r: random.Random) -> None:
        self.r = r
        self.every = r.choice((1, 1, 5, 7, 10, 10, 25, 50, 64, 100, 500, 1000))
        self.points = r.choice((60, 100, 150, 250, 400, 800, 1500))
        self.epochs = r.choice((1, 2, 3, 3, 5))
        self.start = r.uniform(1.2, 4.0)
        self.floor = self.start * r.uniform(0.25, 0.6)
        self.speed = r.uniform(0.03, 0.2)
        self.noise = self.floor * r.choice((0.01, 0.02, 0.05, 0.08))
        self.peak = 10 ** r.uniform(-5.3, -3.5)
        self.warm = r.choice((0.0, 0.03, 0.05, 0.1))
        self.decay = r.choice(("linear", "cosine", "constant", "cosine"))
        self.eval_every = max(1, self.points // r.choice((4, 6, 10, 20)))
        self.norm = 10 ** r.uniform(-1, 1.5)
        self.reader = "llamafactory"

    def loss(self, x: float) -> float:
        return self.floor * (1 + 0.12 * (1 - x)) + (self.start - self.floor) * math.exp(-x / self.speed)

    def rate(self, x: float) -> float:
        if x < self.warm:
            return self.peak * x / self.warm
        y = (x - self.warm) / (1 - self.warm)
        return self.peak * {"linear": 1 - y, "cosine": 0.5 + 0.5 * math.cos(math.pi * y), "constant": 1.0}[self.decay]

    def rows(self) -> list[Row]:
        r, n = self.r, self.points
        eval_noise = self.noise * 0.2
        found: list[Row] = []
        for i in range(1, n + 1):
            x = i / n
            loss = self.loss(x)
            row = {"step": i * self.every, "epoch": self.epochs * x, "loss": loss + r.gauss(0, self.noise), "lr": self.rate(x),
                   "grad_norm": self.norm * (1 + 2 * math.exp(-x / 0.03)) * math.exp(r.gauss(0, 0.2))}  # fmt: skip
            if i % self.eval_every == 0:
                row["eval_loss"] = loss * 1.06 + r.gauss(0, eval_noise)
            found.append(row)
        return found
