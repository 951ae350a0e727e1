"""How near the predicted memory is to measured runs: `make bench-memory`.

Every group of runs has one vote. Allocated bytes have no fitted coefficient; what the allocator keeps and the driver
adds (`plan.memory_range.Cache`) is fitted, so each table also shows the error of a group with the coefficients that
the other groups alone give. Leaving a group out tests the coefficients; the second table tests a stack never seen: the
profile of each whole framework is taken away, and the coefficients come from other frameworks of other sources.

    python bench/memory.py [--fit] [--rows GROUP] [--host] [--cases FILE] [--check]

--fit: print the coefficients that all groups give. --rows: every reading of a group. --check: exit 1 where a goal is missed.
Beside it stand, as re-implementations of their published formulas, what `accelerate estimate-memory` says for Adam
(four times the weights), DeepSpeed's two cold estimators of model states and llm-analysis (`memory_peers`).
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
from memory_peers import PEERS  # noqa: E402
from papertrain.plan.cases import prepare  # noqa: E402
from papertrain.plan.memory import cached, fits, peak, predict  # noqa: E402
from papertrain.plan.memory_range import CACHE, Cache  # noqa: E402
from papertrain.plan.setup import Setup  # noqa: E402

GIB = 2**30
GOALS = {
    "median": 0.035, "p90": 0.14, "left out median": 0.035, "left out p90": 0.14, "alloc median": 0.015, "alloc p90": 0.05,
    "unseen median": 0.06, "unseen p90": 0.25, "holds": 0.90, "unseen holds": 0.88, "half-width": 0.15, "fits": 1.0,
}  # fmt: skip
METERS = {
    "allocated_gib": "allocated",
    "reserved_gib": "reserved",
    "device_gib": "device",
    "unknown_meter_gib": "device",
}

# Where the fit starts, and towards what it is held: shares of freed buffers between nothing and all, a context of what
# lazily loaded CUDA and NCCL were seen to take.
PRIOR = {
    "logits": 0.25, "fused_logits": 0.7, "mlp": 0.35, "fsdp_layer": 0.3, "step": 0.5, "step_fsdp": 0.7, "rounding": 0.03,
    "several": 0.5 * GIB, "zero3": 0.5, "context": 0.6 * GIB, "context_several": 0.7 * GIB,
}  # fmt: skip


class Reading(msgspec.Struct, frozen=True):
    """One meter of one run."""

    row: dict[str, Any]
    setup: Setup
    meter: str
    real: float
    slack: float

    @property
    def group(self) -> str:
        return str(self.row["group"])


def setup_of(row: dict[str, Any]) -> Setup | None:
    """The row's run, or None where it does not say batch, length or a known method."""
    case = prepare(
        {k: v for k, v in row.items() if k not in ("measured", "outcome", "remark", "group", "id", "source")}
    )
    if case.setup is None or not row.get("micro_batch_size") or not row.get("sequence_length"):
        return None
    return msgspec.structs.replace(
        case.setup, micro_batch_size=row["micro_batch_size"], sequence_length=row["sequence_length"]
    )


def readings(data: list[dict[str, Any]]) -> list[Reading]:
    found = []
    for row in data:
        setup = setup_of(row) if row["use"] == "score" and row.get("measured") else None
        if setup is not None:
            slack = 0.036 if row.get("measured_unit_ambiguous") else 0.0
            found += [Reading(row, setup, m, v * GIB, slack) for m, v in row["measured"].items()]
    return found


def guess(r: Reading, cache: Cache) -> float:
    p = peak(cached(r.setup), r.setup.micro_batch_size, r.setup.sequence_length, cache)
    return float(getattr(p, METERS[r.meter]))


def error(r: Reading, value: float) -> float:
    """|relative error|, less what the source's unit leaves open."""
    return max(0.0, abs(value / r.real - 1) - r.slack)


def fit(data: list[Reading]) -> Cache:
    """The cache's coefficients by robust least squares on log error, every group weighing the same."""
    import numpy as np
    from scipy.optimize import least_squares

    held = [r for r in data if r.meter != "allocated_gib"]
    names = list(PRIOR)
    weights = np.sqrt([w for _, w in by_group([r.group for r in held], [0.0] * len(held))])

    def residuals(x: Any) -> Any:
        cache = msgspec.structs.replace(CACHE, **{n: PRIOR[n] * math.exp(v) for n, v in zip(names, x, strict=True)})
        e = np.array([math.log(guess(r, cache) / r.real) for r in held])
        e = np.sign(e) * np.maximum(0.0, np.abs(e) - np.array([r.slack for r in held]))
        robust = np.sign(e) * np.sqrt(2 * (np.sqrt(1 + (e / 0.05) ** 2) - 1)) * 0.05
        return np.concatenate([weights * robust, 0.015 * np.asarray(x)])

    x = least_squares(residuals, np.zeros(len(names)), bounds=(-3, 3)).x
    return msgspec.structs.replace(CACHE, **{n: PRIOR[n] * math.exp(v) for n, v in zip(names, x, strict=True)})


def left_out(data: list[Reading]) -> list[float]:
    """Each reading, predicted with the coefficients of the other groups."""
    caches = {
        g: fit([r for r in data if r.group != g]) for g in sorted({r.group for r in data if r.meter != "allocated_gib"})
    }
    return [guess(r, caches.get(r.group, CACHE)) for r in data]


def hidden(r: Reading) -> Reading:
    """The same run by a stack of which nobody has read the code: its framework's profile is taken away."""
    return msgspec.structs.replace(r, setup=msgspec.structs.replace(r.setup, framework=None))


def unseen(data: list[Reading]) -> list[float]:
    """Each reading as if its framework and its source had never been seen: no profile, and the coefficients of the readings
    of other frameworks and other sources."""
    found: dict[str, Cache] = {}
    for r in data:
        if stack(r) not in found:
            sources = {x.group for x in data if stack(x) == stack(r)}
            found[stack(r)] = fit([x for x in data if stack(x) != stack(r) and x.group not in sources])
    return [guess(hidden(r), found[stack(r)]) for r in data]


def stack(r: Reading) -> str:
    return str(r.row.get("framework"))


# ---- the tables


def split(data: list[Reading], now: list[float], loo: list[float]) -> str:
    cells: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for i, r in enumerate(data):
        s = r.setup
        card = "-" if s.gpu is None else s.gpu.id
        cells[(stack(r)[:24], s.method, s.sharding, card, METERS[r.meter])].append(i)
    body = []
    for key, index in sorted(cells.items()):
        own = [error(data[i], now[i]) for i in index]
        out = [error(data[i], loo[i]) for i in index]
        under = statistics.mean(now[i] < data[i].real for i in index)
        holds = statistics.mean(inside(data[i]) for i in index)
        body.append(["  ".join((f"{key[0]:24}", f"{key[1]:5}", f"{key[2]:5}", f"{key[3]:15}", f"{key[4]:9}")), str(len(index)),
                     pct(statistics.median(own)), pct(max(own)), pct(statistics.median(out)), pct(max(out)), pct(under, 0), pct(holds, 0),
                     *(pct(statistics.median(abs(f(data[i].setup) / data[i].real - 1) for i in index), 0) for f in PEERS.values())])  # fmt: skip
    head = [
        "framework, method, sharding, device, meter",
        "n",
        "median",
        "max",
        "left out",
        "max",
        "under",
        "holds",
        *PEERS,
    ]
    return table(head, body)


def blind_table(data: list[Reading], blind: list[float]) -> str:
    """Each whole framework as a stranger: how far off, how often under, how often in the range."""
    cells: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i, r in enumerate(data):
        cells[(stack(r), METERS[r.meter])].append(i)
    body = []
    for (name, meter), index in sorted(cells.items()):
        off = [error(data[i], blind[i]) for i in index]
        body.append([f"{name:32}  {meter:9}", str(len(index)), pct(statistics.median(off)), pct(max(off)),
                     pct(statistics.mean(blind[i] < data[i].real for i in index), 0),
                     pct(statistics.mean(inside(hidden(data[i])) for i in index), 0)])  # fmt: skip
    return table(["framework never seen, meter", "n", "median", "max", "under", "holds"], body)


def inside(r: Reading) -> bool:
    e = getattr(predict(r.setup), f"{METERS[r.meter]}_bytes")
    return bool(e.low * (1 - r.slack) <= r.real <= e.high * (1 + r.slack))


def pct(x: float, digits: int = 1) -> str:
    return f"{100 * x:.{digits}f} %"


def summary(data: list[Reading], now: list[float], loo: list[float], blind: list[float]) -> dict[str, float]:
    groups = [r.group for r in data]
    found: dict[str, float] = {}
    for name, values in (("", now), ("left out ", loo), ("unseen ", blind)):
        errors = [error(r, v) for r, v in zip(data, values, strict=True)]
        found[f"{name}median"] = weighted_quantile(by_group(groups, errors), 0.5)
        found[f"{name}p90"] = weighted_quantile(by_group(groups, errors), 0.9)
    alloc = [(error(r, v), 1.0) for r, v in zip(data, now, strict=True) if r.meter == "allocated_gib"]
    found["alloc median"], found["alloc p90"] = (
        (weighted_quantile(alloc, q) for q in (0.5, 0.9)) if alloc else (math.nan, math.nan)
    )
    found["holds"] = mean_by_group(groups, [inside(r) for r in data])
    found["unseen holds"] = mean_by_group(groups, [inside(hidden(r)) for r in data])
    widths = [getattr(predict(r.setup), f"{METERS[r.meter]}_bytes") for r in data]
    found["half-width"] = statistics.median((e.high - e.low) / 2 / e.value for e in widths)
    found["under"] = mean_by_group(groups, [v < r.real for r, v in zip(data, now, strict=True)])
    for peer, f in PEERS.items():
        found[f"{peer} median"] = weighted_quantile(by_group(groups, [error(r, f(r.setup)) for r in data]), 0.5)
    return found


def decided(data: list[dict[str, Any]]) -> tuple[int, int, list[str]]:
    """Runs that are only known to have fitted or not."""
    right, wrong = 0, []
    for row in (r for r in data if r["use"] == "fit"):
        setup = setup_of(row)
        said = "unknown" if setup is None else fits(predict(setup))
        good = said == "no" if "oom" in row["outcome"] else said in ("yes", "tight")
        right += good
        if not good:
            wrong.append(f"{row['id']}: {row['outcome']}, said {said}")
    return right, right + len(wrong), wrong


def host_table() -> str:
    from papertrain.plan.answers import answers

    data = [r for r in rows("host") if r["use"] == "score"]
    blind = (
        "measured",
        "unit",
        "limit_gb",
        "outcome",
        "quote_figure",
        "notes",
        "bytes_per_param",
        "limit_bytes_per_param",
        "source",
        "use",
    )
    asked = (msgspec.json.encode({k: v for k, v in r.items() if k not in blind}) for r in data)
    size = {"GB": 1e9, "GiB": GIB, "MiB": 2**20, "MB": 1e6, "G": GIB, "TB": 1e12, "bytes": 1.0}
    body, right, said = [], 0, 0
    for row, got in zip(data, answers(asked), strict=True):
        e = got["host_bytes" if row["kind"] == "host_ram" else "disk_bytes"]
        limit = row.get("limit_gb", 0) * 1e9
        real = (
            limit
            if row["outcome"] in ("killed", "fails", "works") and limit
            else row.get("measured", 0) * size.get(row.get("unit"), 0)
        )
        if e is None or not real:
            body.append([row["id"], row["kind"], "-", "-", "-", "not said"])
            continue
        good = (
            e["high"] > real
            if row["outcome"] in ("killed", "fails")
            else e["high"] < real
            if row["outcome"] == "works"
            else e["low"] <= real <= e["high"]
        )
        right, said = right + good, said + 1
        body.append(
            [
                row["id"],
                row["kind"],
                f"{real / 1e9:.2f}",
                f"{e['low'] / 1e9:.2f}",
                f"{e['high'] / 1e9:.2f}",
                "" if good else f"MISS ({row['outcome']})",
            ]
        )
    return (
        table(["host memory and disk, GB", "kind", "read or limit", "low", "high", ""], body)
        + f"\n{right} of {said} right, {len(body) - said} not said"
    )


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--fit", action="store_true")
    ap.add_argument("--rows", metavar="GROUP")
    ap.add_argument("--host", action="store_true")
    ap.add_argument("--cases", type=Path)
    ap.add_argument("--check", action="store_true")
    args = ap.parse_args()
    if args.host:
        print(host_table())
        return 0
    everything = rows("memory", args.cases)
    data = readings(everything)
    now, loo, blind = [guess(r, CACHE) for r in data], left_out(data), unseen(data)
    if args.rows:
        for r, a, b in zip(data, now, loo, strict=True):
            if args.rows in r.group:
                print(
                    f"{r.row['id']:60} {METERS[r.meter]:9} {r.real / GIB:8.2f} GiB  predicted {a / GIB:8.2f} ({100 * (a / r.real - 1):+5.1f} %)  left out {100 * (b / r.real - 1):+5.1f} %"
                )
        return 0
    print(split(data, now, loo), "\n")
    print(blind_table(data, blind), "\n")
    found = summary(data, now, loo, blind)
    right, of, wrong = decided(everything)
    found["fits"] = right / of if of else math.nan
    print(
        f"{len(data)} readings of {len({id(r.row) for r in data})} runs, {len({r.group for r in data})} groups of equal weight"
    )
    for name, value in found.items():
        goal = GOALS.get(name)
        print(f"  {name:22} {pct(value):>8}" + (f"   goal {pct(goal)}" if goal is not None else ""))
    print(f"  fits or not: {right} of {of}" + "".join(f"\n    {w}" for w in wrong))
    if args.fit:
        cache = fit(data)
        print("\ncoefficients from all groups (those in use)")
        for n in PRIOR:
            unit = GIB if PRIOR[n] > 1e6 else 1.0
            print(
                f"  {n:18} {getattr(cache, n) / unit:6.3f} ({getattr(CACHE, n) / unit:.3f}){' GiB' if unit > 1 else ''}"
            )
    missed = [
        n
        for n, g in GOALS.items()
        if n in found and (found[n] < g if n in ("holds", "unseen holds", "fits") else found[n] > g)
    ]
    if missed:
        print("missed:", ", ".join(missed))
    return int(bool(missed) and args.check)


if __name__ == "__main__":
    raise SystemExit(main())
