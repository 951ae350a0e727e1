"""The statistics of `papertrain.results`: how fast beside scipy, scikit-learn and sacrebleu, and how often they are wrong.

python bench/stats.py speed       seconds of both in one run, their ratio and the goal
python bench/stats.py simulate    false positives at 5 % over 2,000 null data sets, and coverage of the 95 % intervals
python bench/stats.py             both
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from papertrain.core.results import Interval
from papertrain.results.stats import auc, binary, corpus, means, multiple, proportion, ranks, resample
from papertrain.results.stats.outcome import stream

N, R, DATASETS = 10_000, 10_000, 2_000
failures: list[str] = []


def seconds(f: Callable[[], Any], times: int = 3) -> float:
    """Best of a few."""
    best = float("inf")
    for _ in range(times):
        start = time.process_time()
        f()
        best = min(best, time.process_time() - start)
    return best


def row(name: str, ours: float, peer: float, goal: float, peer_name: str) -> None:
    ratio = peer / ours
    ok = ratio >= goal
    if not ok:
        failures.append(name)
    print(
        f"{'PASS' if ok else 'FAIL'}  {name:<52} {ours:9.4f} s   {peer_name:<34} {peer:9.3f} s   {ratio:9.1f}x (goal {goal:g}x)",
        flush=True,
    )


def speed() -> None:
    from scipy import stats
    from sklearn.metrics import f1_score, roc_auc_score

    g = np.random.default_rng(1)
    a, b = g.binomial(1, 0.8, N), g.binomial(1, 0.78, N)
    x, y = g.normal(0.6, 0.2, N), g.normal(0.59, 0.2, N)
    print(f"{N:,} items, {R:,} resamples; best of three, the peers once")
    mean = lambda s, axis=-1: s.mean(axis)  # noqa: E731
    peer = seconds(
        lambda: stats.bootstrap((a - b,), mean, n_resamples=R, batch=100, method="percentile", vectorized=True), 1
    )
    row(
        "paired bootstrap of a mean difference, 0/1",
        seconds(lambda: resample.mean_interval(a - b, rng=stream(7), resamples=R, method="percentile")),
        peer,
        100,
        "scipy.stats.bootstrap(batch=100)",
    )
    peer = seconds(
        lambda: stats.bootstrap((x - y,), mean, n_resamples=R, batch=100, method="percentile", vectorized=True), 1
    )
    row(
        "the same, real values",
        seconds(lambda: resample.mean_interval(x - y, rng=stream(7), resamples=R, method="percentile")),
        peer,
        1,
        "scipy.stats.bootstrap(batch=100)",
    )
    ours_ci = resample.mean_interval(x - y, rng=stream(7), resamples=R, method="percentile")
    ref = stats.bootstrap(
        (x - y,),
        mean,
        n_resamples=R,
        batch=100,
        method="percentile",
        vectorized=True,
        random_state=np.random.default_rng(2),
    ).confidence_interval
    print(f"      same interval: ours [{ours_ci.low:.5f}, {ours_ci.high:.5f}], scipy [{ref.low:.5f}, {ref.high:.5f}]")
    peer = seconds(
        lambda: stats.permutation_test(
            (x, y),
            lambda u, v, axis=-1: (u - v).mean(axis),
            permutation_type="samples",
            n_resamples=R,
            batch=100,
            vectorized=True,
        ),
        1,
    )
    d = x - y
    row(
        "sign-flip permutation, real values",
        seconds(lambda: resample._flip_sums(d, R, stream(7))),
        peer,
        50,
        "scipy.stats.permutation_test(batch=100)",
    )
    t = g.binomial(1, 0.5, N)
    p, q = np.where(g.random(N) < 0.8, t, 1 - t), np.where(g.random(N) < 0.78, t, 1 - t)
    rows_p, rows_q = (corpus.label_rows(list(t), list(v), [0, 1]) for v in (p, q))
    f1 = corpus.one_class("f1", 1)
    both = np.concatenate([rows_p, rows_q], 1)
    loop = (
        seconds(
            lambda: [(f1_score(t[i], p[i]) - f1_score(t[i], q[i])) for i in (g.integers(0, N, N) for _ in range(20))], 1
        )
        * R
        / 20
    )
    row(
        "paired bootstrap of F1",
        seconds(lambda: resample.bootstrap(both, lambda s: f1(s[:, :6]) - f1(s[:, 6:]), rng=stream(7), resamples=R)),
        loop,
        1000,
        "scikit-learn f1_score loop (from 20)",
    )
    sa, sb = t + g.normal(0, 1, N), t + g.normal(0, 1.1, N)
    loop = (
        seconds(
            lambda: [
                (roc_auc_score(t[i], sa[i]) - roc_auc_score(t[i], sb[i]))
                for i in (g.integers(0, N, N) for _ in range(20))
            ],
            1,
        )
        * R
        / 20
    )
    row(
        "difference of two areas (DeLong)",
        seconds(lambda: auc.delong(t, sa, sb)),
        loop,
        1000,
        "scikit-learn roc_auc loop (from 20)",
    )
    _bleu(g)
    flags = [g.binomial(1, 0.6 + 0.01 * np.arange(20), (N, 20)) for _ in range(10)]

    def pairs() -> list[float]:
        every = [binary.mcnemar_matrix(f)[2][np.triu_indices(20, 1)] for f in flags]
        return multiple.holm(list(np.concatenate(every)))

    took = seconds(pairs)
    print(
        f"{'PASS' if took < 1 else 'FAIL'}  20 systems x 10 tasks x 10,000 items, exact McNemar of all pairs, Holm: {took:.3f} s (goal 1 s)"
    )
    if took >= 1:
        failures.append("all pairs")


OURS = """
import re
import numpy as np
from papertrain.results.stats import auc, binary, corpus, resample
from papertrain.results.stats.outcome import stream
g = np.random.default_rng(1)
x, y = g.normal(size=10_000), g.normal(size=10_000)
resample.sign_flip(x, y, rng=stream(7))
rows = [g.poisson(3, (10_000, 10)).astype(float) for _ in range(2)]
resample.randomisation(*rows, corpus.bleu, rng=stream(7))
for _ in range(10):
    binary.mcnemar_matrix(g.integers(0, 2, (10_000, 20)))
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024)  # ru_maxrss would be the parent's
"""


def memory() -> None:
    """Peak of the heaviest of ours in a process of its own."""
    peak = int(subprocess.run([sys.executable, "-c", OURS], capture_output=True, text=True, check=True).stdout)
    print(f"{'PASS' if peak < 300 else 'FAIL'}  peak memory of ours alone, 10,000 x 10,000: {peak} MB (goal 300 MB)")
    if peak >= 300:
        failures.append("memory")


def _bleu(g: np.random.Generator) -> None:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.significance import PairedTest

    words = np.array([f"w{i}" for i in range(500)])
    ref = [" ".join(words[(g.random(20) ** 2 * 500).astype(int)]) for _ in range(2000)]

    def noisy(share: float) -> list[str]:
        return [" ".join(w if g.random() > share else words[g.integers(500)] for w in s.split()) for s in ref]

    one, two = noisy(0.2), noisy(0.22)

    def ours() -> None:
        metric = BLEU()
        s, u = (np.array(metric._extract_corpus_statistics(h, [ref]), float) for h in (one, two))
        resample.randomisation(s, u, corpus.bleu, rng=stream(7), resamples=R)

    def theirs(kind: str) -> None:
        PairedTest(
            [("a", one), ("b", two)], {"BLEU": BLEU(references=[ref])}, references=None, test_type=kind, n_samples=R
        )()

    # one call of ours gives the randomisation p and the paired bootstrap interval: sacrebleu needs both of its tests for that
    peer = seconds(lambda: theirs("bs"), 1) + seconds(lambda: theirs("ar"), 1)
    row(
        "BLEU: randomisation and paired bootstrap, 2,000 sentences",
        seconds(ours, 2),
        peer,
        2,
        "sacrebleu paired-bs + paired-ar",
    )


def simulate() -> None:
    g = np.random.default_rng(11)
    low, high = 0.05 - 3.0 * (0.05 * 0.95 / DATASETS) ** 0.5, 0.05 + 3.0 * (0.05 * 0.95 / DATASETS) ** 0.5
    print(
        f"\nfalse positives at 5 % over {DATASETS:,} null data sets; three standard errors of 5 %: {low:.4f} to {high:.4f} (exact tests of discrete data may lie below)"
    )
    for name, p_of in NULL.items():
        rate = float(np.mean([p_of(g) <= 0.05 for _ in range(DATASETS)]))
        ok = rate <= high
        if not ok:
            failures.append(name)
        print(f"{'PASS' if ok else 'FAIL'}  {name:<64} {rate:.4f}", flush=True)
    print(f"\ncoverage of 95 % intervals over {DATASETS:,} data sets")
    for name, (draw, goal) in COVERAGE.items():
        inside = float(np.mean([ci.low <= truth <= ci.high for ci, truth in (draw(g) for _ in range(DATASETS))]))
        ok = inside >= goal
        if not ok:
            failures.append(name)
        print(f"{'PASS' if ok else 'FAIL'}  {name:<64} {inside:.4f} (goal {goal:g})", flush=True)


def _p(x: float | None) -> float:
    return 1.0 if x is None else x


def _mcnemar(n: int) -> Callable[[np.random.Generator], float]:
    def draw(g: np.random.Generator) -> float:
        hard = g.random(n)
        return _p(binary.mcnemar(g.random(n) < hard, g.random(n) < hard).p)

    return draw


def _null_f1(g: np.random.Generator) -> float:
    t = g.integers(0, 3, 200)
    a, b = (np.where(g.random(200) < 0.7, t, g.integers(0, 3, 200)) for _ in range(2))
    ra, rb = (corpus.label_rows(list(t), list(v), [0, 1, 2]) for v in (a, b))
    return _p(resample.randomisation(ra, rb, corpus.macro("f1"), rng=g, resamples=999).p)


def _null_auc(g: np.random.Generator) -> float:
    y = g.integers(0, 2, 150)
    return _p(auc.delong(y, y + g.normal(0, 1.5, 150), y + g.normal(0, 1.5, 150)).p)


def _null_clusters(g: np.random.Generator) -> float:
    ids = np.repeat(np.arange(25), 6)
    d = np.repeat(g.normal(0, 1, 25), 6) + g.normal(0, 1, 150)
    return _p(resample.sign_flip(d, rng=g, resamples=999, cluster=ids, interval="percentile").p)


def _null_folds(g: np.random.Generator) -> float:
    # ten random splits of one sample, 1/10 for testing: the means of two equal methods share their training data
    shared = g.normal(0, np.sqrt(1 / 9), 1)
    return _p(means.paired_t(shared + g.normal(0, 1, 10), np.zeros(10), ratio=1 / 9, unit="fold").p)


def _hierarchy(
    n: int, seeds_a: int, seeds_b: int, of_items: float, of_seeds: float
) -> Callable[[np.random.Generator], tuple[Interval, float]]:
    """Items with a difficulty of their own for each system, seeds that shift all items, and noise; the truth is no difference."""

    def draw(g: np.random.Generator) -> tuple[Interval, float]:
        hard = g.normal(0, 1, n)
        runs = []
        for seeds in (seeds_a, seeds_b):
            own = hard + g.normal(0, of_items, n)
            runs.append([(own + g.normal(0, of_seeds) + g.normal(0, 0.3, n))[:, None] for _ in range(seeds)])
        values = resample.hierarchical_draws(runs[0], runs[1], lambda s: s[:, 0] / n, rng=g, resamples=400)
        return resample.percentile(values, 0.95), 0.0

    return draw


def _null_hierarchy(seeds_a: int, seeds_b: int) -> Callable[[np.random.Generator], float]:
    def p(g: np.random.Generator) -> float:
        ci, _ = _hierarchy(100, seeds_a, seeds_b, 0.3, 0.1)(g)
        return 0.0 if ci.low > 0 or ci.high < 0 else 1.0

    return p


NULL: dict[str, Callable[[np.random.Generator], float]] = {
    "exact McNemar, 200 items": _mcnemar(200),
    "exact McNemar, 2,000 items": _mcnemar(2000),
    "sign-flip permutation, 60 skewed differences of either sign": lambda g: _p(
        resample.sign_flip(g.exponential(1, 60) - g.exponential(1, 60), rng=g, resamples=999, interval="percentile").p
    ),
    "sign-flip permutation, exact, 12 differences": lambda g: _p(
        resample.sign_flip(g.normal(size=12), rng=g, resamples=200, interval="percentile").p
    ),
    "paired t, 20 pairs": lambda g: _p(means.paired_t(g.normal(size=20), g.normal(size=20)).p),
    "paired t over 5 shared seeds": lambda g: _p(means.paired_t(g.normal(size=5), g.normal(size=5), unit="seed").p),
    "Welch, 5 against 5 seeds, deviations 1 and 3": lambda g: _p(means.welch(g.normal(0, 1, 5), g.normal(0, 3, 5)).p),
    "Welch, 3 against 3 seeds": lambda g: _p(means.welch(g.normal(0, 1, 3), g.normal(0, 1, 3)).p),
    "Wilcoxon, 15 data sets": lambda g: _p(ranks.wilcoxon(g.normal(size=15), g.normal(size=15)).p),
    "Mann-Whitney, 8 against 10": lambda g: _p(ranks.mann_whitney(g.normal(size=8), g.normal(size=10)).p),
    "Friedman F, 5 methods on 15 data sets": lambda g: _p(ranks.friedman(g.normal(size=(15, 5))).details["p_F"]),
    "approximate randomisation of macro-F1, 200 items": _null_f1,
    "DeLong, 150 items": _null_auc,
    "sign-flip over 25 clusters of 6": _null_clusters,
    "corrected resampled t, 10 overlapping folds": _null_folds,
    "seeds and items, 2 against 2 seeds": _null_hierarchy(2, 2),
    "seeds and items, 3 seeds against one run": _null_hierarchy(3, 1),
    "family of 10 McNemar tests after Holm (any false claim)": lambda g: min(
        multiple.holm([_mcnemar(200)(g) for _ in range(10)])
    ),
}


def _wilson(n: int, p: float) -> Callable[[np.random.Generator], tuple[Interval, float]]:
    return lambda g: (proportion.wilson(int(g.binomial(n, p)), n), p)


def _tango(g: np.random.Generator) -> tuple[Interval, float]:
    cells = g.multinomial(200, [0.6, 0.1, 0.05, 0.25])
    return binary.tango(int(cells[1]), int(cells[2]), 200), 0.05


def _cluster(g: np.random.Generator) -> tuple[Interval, float]:
    x = np.repeat(g.normal(0, 1, 40), 5) + g.normal(0, 1, 200)
    ci = means.cluster_mean(x, np.repeat(np.arange(40), 5)).ci
    return ci or Interval(low=0, high=0), 0.0


def _auc_difference(g: np.random.Generator) -> tuple[Interval, float]:
    y = g.integers(0, 2, 150)
    ci = auc.delong(y, y + g.normal(0, 1.5, 150), y + g.normal(0, 1.5, 150)).ci
    return ci or Interval(low=0, high=0), 0.0


COVERAGE: dict[str, tuple[Callable[[np.random.Generator], tuple[Interval, float]], float]] = {
    "Wilson, n = 30, p = 0.9 (p ± 1.96 se: 0.81)": (_wilson(30, 0.9), 0.93),
    "Wilson, n = 1000, p = 0.8": (_wilson(1000, 0.8), 0.935),
    "t over 3 seeds (mean ± 1.96 se: 0.82)": (
        lambda g: (means.t_interval(g.normal(size=3)) or Interval(low=0, high=0), 0.0),
        0.935,
    ),
    "t over 5 seeds": (lambda g: (means.t_interval(g.normal(size=5)) or Interval(low=0, high=0), 0.0), 0.935),
    "BCa of a mean, 100 skewed values": (
        lambda g: (resample.mean_interval(g.exponential(1, 100), rng=g, resamples=1000), 1.0),
        0.92,
    ),
    "percentile bootstrap of a mean, 200 values": (
        lambda g: (resample.mean_interval(g.normal(size=200), rng=g, resamples=1000, method="percentile"), 0.0),
        0.93,
    ),
    "Tango, difference of paired proportions, 200 items": (_tango, 0.935),
    "clustered t, 40 clusters of 5": (_cluster, 0.93),
    "DeLong, difference of areas, 150 items": (_auc_difference, 0.93),
    "seeds and items, 5 against 5 seeds, seeds vary most (plain: 0.86)": (_hierarchy(200, 5, 5, 0.1, 0.3), 0.92),
    "seeds and items, 2 against 2 seeds, seeds vary most (plain: 0.70)": (_hierarchy(200, 2, 2, 0.1, 0.3), 0.93),
    "seeds and items, 3 seeds against one run, seeds vary most": (_hierarchy(200, 3, 1, 0.1, 0.3), 0.93),
    "seeds and items, 3 against 3 seeds, items vary most": (_hierarchy(100, 3, 3, 0.5, 0.03), 0.93),
    "seeds and items, 10 against 10 seeds, both vary": (_hierarchy(100, 10, 10, 0.3, 0.1), 0.93),
}


if __name__ == "__main__":
    asked = sys.argv[1:] or ["speed", "simulate"]
    if "speed" in asked:
        speed()
        memory()
    if "simulate" in asked:
        simulate()
    print(f"\n{len(failures)} short of its goal" + (f": {', '.join(failures)}" if failures else ""))
    sys.exit(bool(failures))
