"""A board of scores → the table with its evidence, and the tests between its rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from papertrain.core.evidence import number_evidence, read_evidence
from papertrain.core.results import Cell, Evidence, ResultTable, Test
from papertrain.core.values import Value
from papertrain.results import aligned, cells, checks, pairs
from papertrain.results import board as boards
from papertrain.results.board import Board
from papertrain.verbs.evaluating.scores import evidence_of

SYSTEMS_FOR_ALL_PAIRS = 6


class Asked(Value, frozen=True, kw_only=True):
    """What the user asked for."""

    ours: str | None
    baseline: str | None
    metrics: tuple[str, ...]
    columns: tuple[str, ...]
    maps: tuple[str, ...]
    everything: bool
    figures: tuple[str, ...]
    venue: str
    intervals: bool
    aligned: bool
    test: str
    adjust: str
    alpha: float
    seed: int
    resamples: int
    deterministic: tuple[str, ...] = ()


def with_columns(board: Board, datasets: Sequence[str]) -> Board:
    """Data sets of the study that no run has reached get the columns of the others, unfilled."""
    open_ = [d for d in datasets if d not in {h.dataset for h in board.heads}]
    like = [h for h in board.heads if h.dataset == board.heads[0].dataset]
    new = [boards.Head(d, h.metric, h.scale) for d in open_ for h in like]
    heads = sorted(
        [*board.heads, *new], key=lambda h: list(datasets).index(h.dataset) if h.dataset in datasets else len(datasets)
    )
    gaps = {**board.gaps, **{(s, h): "no file holds it" for s in board.systems for h in new}}
    ways = {**board.directions, **{h: board.directions[k] for h in new for k in like if k.metric == h.metric}}
    return msgspec.structs.replace(board, heads=heads, gaps=gaps, directions=ways)


def ordered(systems: Sequence[str], order: Sequence[str], asked: Asked) -> list[str]:
    """As the user or the study names them; else baselines first and ours last, as papers have it."""
    if order:
        return list(systems)
    last = [s for s in systems if s == asked.ours]
    return [s for s in systems if s not in last] + last


def table_of(board: Board, asked: Asked, root: Path | None) -> tuple[ResultTable, list[Evidence]]:
    made_by = "papertrain compare"
    grid = {
        (s, h): cells.cell_of(board, s, h, seed=asked.seed, resamples=asked.resamples)
        for s in board.systems
        for h in board.heads
    }
    proofs: list[Evidence] = []
    owners: list[tuple[str, Any]] = []
    for (s, h), runs in board.entries.items():
        for e in runs.values():
            proofs.append(evidence_of(e, root, made_by))
            owners.append((s, h))
    known = read_evidence(root) if root is not None else []
    numbered = number_evidence(known, proofs)
    ids: dict[tuple[str, Any], list[str]] = {}
    for owner, proof in zip(owners, numbered):
        ids.setdefault(owner, []).append(proof.id)
    means = []
    for owner, found in ids.items():
        if len(found) > 1:
            cell, first = grid[owner], next(e for e in numbered if e.id == found[0])
            means.append((owner, Evidence(id="", claim=f"{owner[0]}: mean {owner[1].metric} on {owner[1].dataset} over {len(found)} runs", value=cell.value, file=first.file,
                                          sha256=first.sha256, pointer=f"mean of {', '.join(found)}", unit=owner[1].scale, status=cell.status, made_by=made_by)))  # fmt: skip
    numbered += number_evidence([*known, *numbered], [m for _, m in means])
    for (owner, _), proof in zip(means, numbered[len(proofs) :]):
        ids[owner] = [proof.id]
    for head in board.heads:
        way = board.directions[head] if checks.same_items(board.runs(s, head) for s in board.systems) else None
        ranked = cells.ranks([grid[s, head].value for s in board.systems], way)
        for s, r in zip(board.systems, ranked):
            grid[s, head] = msgspec.structs.replace(grid[s, head], rank=r, evidence=(ids.get((s, head)) or [""])[0])
    columns = tuple(cells.column_of(board, h, [grid[s, h] for s in board.systems]) for h in board.heads)
    rows: tuple[tuple[Cell, ...], ...] = tuple(tuple(grid[s, h] for h in board.heads) for s in board.systems)
    baseline = asked.baseline if asked.baseline in board.systems else None
    table = ResultTable(rows=tuple(board.systems), columns=columns, cells=rows, ours=asked.ours, baseline=baseline)
    return table, _unique(numbered)


def _unique(entries: Sequence[Evidence]) -> list[Evidence]:
    return list({e.id: e for e in entries}.values())


def wanted_pairs(systems: Sequence[str], asked: Asked) -> list[tuple[str, str]]:
    """ours against all others (the baseline first), else all against the baseline, else all pairs of a few systems."""
    if asked.ours:
        others = [s for s in systems if s != asked.ours]
        others.sort(key=lambda s: s != asked.baseline)
        chosen = [(asked.ours, s) for s in others]
        return (
            chosen if not asked.everything else chosen + [(a, b) for i, a in enumerate(others) for b in others[i + 1 :]]
        )
    if asked.baseline:
        return [(s, asked.baseline) for s in systems if s != asked.baseline]
    if len(systems) <= SYSTEMS_FOR_ALL_PAIRS or asked.everything:
        return [(a, b) for i, a in enumerate(systems) for b in systems[i + 1 :]]
    return []


def tests_of(board: Board, asked: Asked) -> list[Test]:
    how = aligned.Comparison(seed=asked.seed, alpha=asked.alpha, resamples=asked.resamples, test=asked.test, deterministic=frozenset(asked.deterministic))  # fmt: skip
    out = []
    for a, b in wanted_pairs(board.systems, asked):
        for column in range(len(board.heads)):
            out += pairs.compare_pair(board, column, a, b, how)
    out.sort(key=lambda t: (t.details.get("role") != "primary", bool(t.refused)))
    return pairs.adjust(out, asked.alpha, asked.adjust)
