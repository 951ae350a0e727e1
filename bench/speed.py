"""How near the predicted speed is to measured runs: `make bench-speed`.

Tokens per second and GPU, every group of runs with one vote. The coefficients (`plan.time.Speed`) are fitted on all
groups; "left out" is each group predicted with the coefficients of the others. Beside it stands the constant-utilisation
rule: half of the dense peak, on the work with recompute.

    python bench/speed.py [--fit] [--rows GROUP] [--cases FILE] [--check]
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "src"), str(Path(__file__).resolve().parent)]

from _score import by_group, mean_by_group, rows, table, weighted_quantile  # noqa: E402
from papertrain.plan.answers import ASSUMED_LENGTH  # noqa: E402
from papertrain.plan.cases import prepare  # noqa: E402
from papertrain.plan.memory import Recipe, cached  # noqa: E402
from papertrain.plan.time import SPEED, Speed, Work, micro_batch, pace, spread, work  # noqa: E402

GOALS = {
    "median factor": 1.15,
    "within 25 %": 0.70,
    "left out: median factor": 1.15,
    "left out: within 25 %": 0.70,
    "answered": 0.90,
}
PRIOR = {
    "matmul": 0.95, "width": 300.0, "rows": 300.0, "attention": 0.5, "eager_attention": 0.4, "traffic": 4.0, "fused_traffic": 0.6,
    "logits": 3.0, "launch": 4e-3, "launch_adapters": 1.3, "launch_fused": 0.6, "adapters": 1.1, "nf4": 8e-3, "gptq": 25e-3,
    "overlap": 0.25, "link": 0.7,
    "pcie": 0.6,
    "model_parallel": 1.3, "network": 0.3, "optimizer": 1.3, "offload_adam": 3e9,
}  # fmt: skip


class Run(msgspec.Struct, frozen=True):
    """One measured run, with what its prediction needs."""

    row: dict[str, Any]
    recipe: Recipe
    work: Work
    batch: int
    length: int
    accumulation: int
    real: float

    @property
    def group(self) -> str:
        return str(self.row["group"])


def runs(data: list[dict[str, Any]]) -> list[Run]:
    found = []
    for row in data:
        batch = row.get("micro_batch_size")
        case = prepare(
            {k: v for k, v in row.items() if k not in ("measured", "as_printed", "remark", "group", "id", "source")}
        )
        if case.setup is None or batch is None:
            continue
        r = cached(case.setup)
        ranks = max(1, case.setup.n_gpus // case.setup.tensor_parallel)
        whole = row.get("global_batch_size")
        accumulation = row.get("gradient_accumulation_steps") or (
            max(1, round(whole / (batch * ranks))) if whole else 1
        )
        real = row["measured"]["tokens_per_second_per_gpu"]
        found.append(Run(row, r, work(r), batch, row.get("sequence_length") or ASSUMED_LENGTH, accumulation, real))
    return found


def error(x: Run, k: Speed) -> float | None:
    """Log of predicted over measured."""
    p = pace(x.recipe, x.work, k)
    if p is None:
        return None
    s = x.recipe.setup
    seconds = micro_batch(p, x.batch, x.length) * x.accumulation + p.step
    tokens = x.batch * x.length * x.accumulation / (s.context_parallel * s.tensor_parallel)
    return math.log(tokens / seconds / x.real)


def constant(x: Run) -> float | None:
    """Log error of half the dense peak at the work that is really done."""
    gpu = x.recipe.setup.gpu
    peak = None if gpu is None else gpu.peak_bf16_dense_flops or gpu.peak_fp16_dense_flops
    if peak is None:
        return None
    flops = x.work.flops + x.work.attention_flops * x.length
    return math.log(0.5 * peak / flops / x.recipe.setup.tensor_parallel / x.real)


def fit(data: list[Run]) -> Speed:
    """Robust least squares on log error, groups of equal weight, held towards PRIOR. Runs of unknown length are left out."""
    import numpy as np
    from scipy.optimize import least_squares

    known = [x for x in data if x.row.get("sequence_length") and error(x, SPEED) is not None]
    names = list(PRIOR)
    weights = np.sqrt([w for _, w in by_group([x.group for x in known], [0.0] * len(known))])

    def residuals(v: Any) -> Any:
        k = msgspec.structs.replace(SPEED, **{n: PRIOR[n] * math.exp(y) for n, y in zip(names, v, strict=True)})
        e = np.array([error(x, k) for x in known], dtype=float)
        robust = np.sign(e) * np.sqrt(2 * (np.sqrt(1 + (e / 0.15) ** 2) - 1)) * 0.15
        return np.concatenate([weights * robust, 0.075 * np.asarray(v)])

    v = least_squares(residuals, np.zeros(len(names)), bounds=(-2, 2)).x
    return msgspec.structs.replace(SPEED, **{n: PRIOR[n] * math.exp(y) for n, y in zip(names, v, strict=True)})


def left_out(data: list[Run]) -> list[float | None]:
    speeds = {g: fit([x for x in data if x.group != g]) for g in sorted({x.group for x in data})}
    return [error(x, speeds[x.group]) for x in data]


def factor(e: float) -> str:
    return f"{math.exp(e):.2f}"


def near(e: float) -> bool:
    return abs(e) <= math.log(1.25)


def split(data: list[Run], now: list[float], loo: list[float], flat: list[float]) -> str:
    cells: dict[str, list[int]] = defaultdict(list)
    for i, x in enumerate(data):
        s = x.recipe.setup
        cells[f"{x.row.get('framework')!s:30.30}  {s.method:5}  {s.sharding:5}  {s.gpu.id if s.gpu else '-'}"].append(i)
    body = []
    for key, index in sorted(cells.items()):
        med = lambda e: factor(statistics.median(abs(e[i]) for i in index))  # noqa: B023, E731
        share = lambda e: f"{100 * statistics.mean(near(e[i]) for i in index):.0f} %"  # noqa: B023, E731
        body.append(
            [
                key,
                str(len(index)),
                med(now),
                share(now),
                med(loo),
                share(loo),
                f"{100 * statistics.mean(now[i] < 0 for i in index):.0f} %",
                med(flat),
                share(flat),
            ]
        )
    return table(
        [
            "framework, method, sharding, device",
            "n",
            "factor",
            "in 25 %",
            "left out",
            "in 25 %",
            "slower",
            "constant",
            "in 25 %",
        ],
        body,
    )


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--fit", action="store_true")
    ap.add_argument("--rows", metavar="GROUP")
    ap.add_argument("--cases", type=Path)
    ap.add_argument("--check", action="store_true")
    args = ap.parse_args()
    asked = [r for r in rows("speed", args.cases) if r["use"] == "score" and r.get("measured") and not r.get("float8")]
    data = [x for x in runs(asked) if error(x, SPEED) is not None and constant(x) is not None]
    now = [error(x, SPEED) or 0.0 for x in data]
    loo = [e or 0.0 for e in left_out(data)]
    flat = [constant(x) or 0.0 for x in data]
    if args.rows:
        for x, e, o in zip(data, now, loo, strict=True):
            if args.rows in x.group:
                print(f"{x.row['id']:44} {x.real:10.1f} tokens/s  predicted x{factor(e)}  left out x{factor(o)}")
        return 0
    print(split(data, now, loo, flat), "\n")
    groups = [x.group for x in data]
    print(f"{len(data)} of {len(asked)} runs, {len(set(groups))} groups of equal weight")
    found = {}
    for name, e in (("", now), ("left out: ", loo), ("constant: ", flat)):
        pairs = by_group(groups, [abs(v) for v in e])
        found[f"{name}median factor"] = math.exp(weighted_quantile(pairs, 0.5))
        found[f"{name}90th factor"] = math.exp(weighted_quantile(pairs, 0.9))
        found[f"{name}within 25 %"] = mean_by_group(groups, [near(v) for v in e])
    found["constant, unweighted: median factor"] = math.exp(statistics.median(abs(e) for e in flat))
    found["constant, unweighted: within 25 %"] = statistics.mean(near(e) for e in flat)
    ranges = [spread(x.recipe) for x in data]
    found["range holds"] = mean_by_group(
        groups, [-math.log(up) <= e <= math.log(down) for e, (down, up) in zip(now, ranges, strict=True)]
    )
    found["answered"] = len(data) / len(asked)
    for name, value in found.items():
        goal = GOALS.get(name)
        shown = f"{value:.2f}" if "factor" in name else f"{100 * value:.0f} %"
        print(
            f"  {name:40} {shown:>6}"
            + ("" if goal is None else f"   goal {goal:.2f}" if "factor" in name else f"   goal {100 * goal:.0f} %")
        )
    for g in sorted(set(groups)):
        index = [i for i, x in enumerate(groups) if x == g]
        print(
            f"    {g:26} n {len(index):3}  {factor(statistics.median(abs(now[i]) for i in index))}  left out {factor(statistics.median(abs(loo[i]) for i in index))}  bias {factor(statistics.median(loo[i] for i in index))}"
        )
    if args.fit:
        k = fit(data)
        print("\ncoefficients from all groups (those in use)")
        for n in PRIOR:
            print(f"  {n:18} {getattr(k, n):12.5g} ({getattr(SPEED, n):.5g})")
    missed = [n for n, g in GOALS.items() if (found[n] > g if "factor" in n else found[n] < g)]
    if missed:
        print("missed:", ", ".join(missed))
    return int(bool(missed) and args.check)


if __name__ == "__main__":
    raise SystemExit(main())
