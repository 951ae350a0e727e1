"""How often watch is right: seeded healthy curves of many shapes, and curves with one planted fault each.

    python bench/monitor.py [--curves 1000] [--seed 1] [--logs ../shared/data/logs]

Prints recall, false alarms and delay per fault, and the same for labelled real logs where they are at hand.
Goals: recall 97 %, false critical 0.1 %, false warning 2 %.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from math import nan
from pathlib import Path
from typing import Any

from monitor_faults import FAULTS
from monitor_healthy import HEALTHY
from monitor_runs import Row, Run
from papertrain.monitor.history import History
from papertrain.monitor.run import Examination, examine, judge
from papertrain.monitor.table import Table

# ---------------------------------------------------------------- measuring


def history(rows: list[Row], total: int | None) -> History:
    table = Table("curve", "llamafactory")
    for line, row in enumerate(rows, 1):
        values = [(k, v) for k, v in row.items() if k not in ("step", "epoch")]
        table.row(values, line=line, step=int(row["step"]), epoch=row.get("epoch", nan))
    if total:
        table.facts["max_steps"] = float(total)
    table.finish()
    return History("curve", [table])


def look(rows: list[Row], total: int | None) -> Examination:
    return judge(history(rows, total))


RANK = {"unknown": 0, "normal": 0, "warning": 1, "critical": 2}


def delay(rows: list[Row], k: int, level: str, total: int | None) -> float | None:
    """Points after the onset until the level was first reached, replayed in 20 looks; None where it never was."""
    n = len(rows)
    for share in range(1, 21):
        at = min(n, k + max(1, (n - k) * share // 20))
        if RANK[look(rows[:at], total).level] >= RANK[level]:
            return (at - k) / n
    return None


def healthy(count: int, seed: int) -> tuple[Counter[str], list[str]]:
    levels: Counter[str] = Counter()
    wrong = []
    for i in range(count):
        shape = HEALTHY[i % len(HEALTHY)]
        run = Run(random.Random(f"{seed}/{shape.__name__}/{i}"))
        rows = shape(run)
        total = run.points * run.every if i % 3 else None
        e = look(rows, total)
        levels[e.level] += 1
        if RANK[e.level]:
            wrong.append(
                f"{e.level} {shape.__name__} #{i}: " + "; ".join(f"{v.rule} {v.says}" for v in e.verdicts)[:160]
            )
    return levels, wrong


def off(e: Examination, signal: str, level: str, rows: list[Row], k: int) -> float | None:
    """How far from the planted onset the alarm dates it, as a share of the run; None where nothing was said."""
    states = [
        s for s in e.signals if RANK[s.level] >= RANK[level] and signal in ("", s.name) and s.since_step is not None
    ]
    span = max(1.0, rows[-1]["step"] - rows[0]["step"])
    return min((abs((s.since_step or 0) - rows[k]["step"]) / span for s in states), default=None)


def faulty(
    count: int, seed: int, replay: bool
) -> Iterator[tuple[str, str, bool, bool, float | None, float | None, str]]:
    for i in range(count):
        make, level, signal = FAULTS[i % len(FAULTS)]
        run = Run(random.Random(f"{seed}/{make.__name__}/{i}"))
        rows, k = make(run)
        total = run.points * run.every if i % 3 else None
        e = look(rows, total)
        seen = RANK[e.level] >= RANK[level]
        named = not signal or any(s.name == signal and RANK[s.level] >= RANK[level] for s in e.signals)
        late = delay(rows, k, level, total) if replay and i < 10 * len(FAULTS) else None
        yield (
            make.__name__,
            level,
            seen,
            named,
            late,
            off(e, signal, level, rows, k),
            f"#{i} {e.level}: " + "; ".join(f"{v.rule} {v.says}" for v in e.verdicts)[:120],
        )


def real(folder: Path) -> None:
    wrong: list[str] = []
    tally: Counter[str] = Counter()
    for line in (folder / "index.jsonl").read_text("utf-8").splitlines():
        x: dict[str, Any] = json.loads(line)
        e = examine([folder / x["file"].removeprefix("logs/")])[0]
        tally[f"{x['label']} → {e.level}"] += 1
        if x["label"] == "healthy" and RANK[e.level] and not x["allowed"]:
            wrong.append(f"{x['id']}: {e.level}")
    print("real logs:", dict(sorted(tally.items())), "wrong:", wrong)


def main() -> int:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--curves", type=int, default=1000)
    ask.add_argument("--seed", type=int, default=1)
    ask.add_argument("--logs", type=Path)
    ask.add_argument("--no-delay", action="store_true")
    ask.add_argument("-v", action="store_true")
    args = ask.parse_args()
    began = time.perf_counter()
    levels, wrong = healthy(args.curves, args.seed)
    n = sum(levels.values())
    print(f"healthy: {n} curves of {len(HEALTHY)} shapes: {dict(levels)}")
    print(
        f"  false critical {100 * levels['critical'] / n:.2f} % (goal 0.1), false warning {100 * levels['warning'] / n:.2f} % (goal 2)"
    )
    for line in wrong if args.v else wrong[:10]:
        print("   ", line)
    by: dict[str, list[tuple[bool, bool, float | None, float | None, str]]] = defaultdict(list)
    for name, level, seen, named, late, away, words in faulty(args.curves, args.seed, not args.no_delay):
        by[f"{name} ({level})"].append((seen, named, late, away, words))
    dates = [x for rows in by.values() for _, _, _, x, _ in rows if x is not None]
    hits = sum(s for rows in by.values() for s, *_ in rows)
    print(
        f"faults: recall {100 * hits / args.curves:.1f} % of {args.curves} (goal 97); on the right signal {100 * sum(m for rows in by.values() for _, m, *_ in rows) / args.curves:.1f} %"
    )
    print(
        f"  dated within 5 % of the run: {100 * sum(x <= 0.05 for x in dates) / max(1, len(dates)):.1f} % of {len(dates)} alarms"
    )
    for name, rows in by.items():
        times = sorted(x for _, _, x, _, _ in rows if x is not None)
        near = [x for _, _, _, x, _ in rows if x is not None]
        right = f"{100 * sum(x <= 0.05 for x in near) / len(near):5.1f} %" if near else "    -"
        middle = f"{100 * times[len(times) // 2]:.0f} % of the run" if times else "-"
        print(
            f"  {name:<34} recall {100 * sum(s for s, *_ in rows) / len(rows):5.1f} %   named {100 * sum(m for _, m, *_ in rows) / len(rows):5.1f} %   dated {right}   median delay {middle}"
        )
        if args.v:
            for seen, _, _, away, words in rows:
                if not seen or (away is not None and away > 0.05):
                    print("      missed" if not seen else f"      dated {100 * (away or 0):.0f} % off", words)
    if args.logs:
        real(args.logs)
    print(f"{time.perf_counter() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
