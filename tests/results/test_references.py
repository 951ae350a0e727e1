"""R and statsmodels, where they are installed, say what we say: closed forms to 1e-10, resampled values within their error."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from papertrain.results.stats import binary, means, multiple, power, proportion, ranks, resample
from papertrain.results.stats.outcome import stream

ROOT = Path(__file__).resolve().parents[2]
OTHER = ROOT / ".envs/lmeval/bin/python"
X = [0.61, 0.72, 0.55, 0.81, 0.77, 0.64, 0.70, 0.69, 0.58, 0.74, 0.66, 0.79]
Y = [0.58, 0.70, 0.57, 0.74, 0.73, 0.65, 0.66, 0.61, 0.55, 0.75, 0.60, 0.71]
P = [0.001, 0.04, 0.03, 0.2, 0.011, 0.049, 0.0004]
BLOCKS = [
    [0.80, 0.78, 0.70, 0.60],
    [0.71, 0.74, 0.66, 0.61],
    [0.90, 0.88, 0.86, 0.79],
    [0.65, 0.60, 0.61, 0.55],
    [0.77, 0.79, 0.72, 0.70],
    [0.83, 0.80, 0.81, 0.74],
]
UNTIED = [0.31, -0.12, 0.22, 0.05, -0.03, 0.41, 0.17, 0.28, -0.09, 0.36, 0.14]
"""Differences without ties: R counts no exact law with them."""
PAIRS = ((30, 12), (5, 1), (9, 9), (183, 66), (1, 0))

R = r"""
x <- c(%(x)s); y <- c(%(y)s); p <- c(%(p)s); m <- matrix(c(%(blocks)s), ncol=4, byrow=TRUE)
say <- function(name, ...) cat(name, format(c(...), digits=17), "\n")
for (d in list(%(pairs)s)) {
  say(paste0("mcnemar_exact_", d[1], "_", d[2]), binom.test(d[1], sum(d))$p.value)
  say(paste0("mcnemar_chi_", d[1], "_", d[2]), mcnemar.test(matrix(c(100, d[1], d[2], 100), 2), correct=FALSE)$p.value)
}
t <- t.test(x, y, paired=TRUE); say("paired_t", t$p.value, t$conf.int[1], t$conf.int[2])
t <- t.test(x, y); say("welch", t$p.value, t$conf.int[1], t$conf.int[2])
say("wilcoxon_exact", wilcox.test(c(%(untied)s), exact=TRUE)$p.value)
say("mann_whitney", wilcox.test(x, y, exact=FALSE, correct=FALSE)$p.value)
for (k in c("holm", "BH", "bonferroni")) say(k, p.adjust(p, k))
say("friedman", friedman.test(m)$p.value, friedman.test(m)$statistic)
say("nemenyi_q", qtukey(0.95, 4, Inf)/sqrt(2))
say("wilson", prop.test(81, 263, correct=FALSE)$conf.int)
say("clopper", binom.test(81, 263)$conf.int)
say("power_n5", power.t.test(n=5, power=0.8, sd=1, sig.level=0.05, type="two.sample")$delta)
"""

SM = r"""
import json, sys
import numpy as np
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.power import TTestIndPower
d = json.load(sys.stdin); out = {}
for b, c in d["pairs"]:
    out[f"mcnemar_exact_{b}_{c}"] = [mcnemar([[100, b], [c, 100]], exact=True).pvalue]
    out[f"mcnemar_chi_{b}_{c}"] = [mcnemar([[100, b], [c, 100]], exact=False, correction=False).pvalue]
for ours, theirs in (("holm", "holm"), ("BH", "fdr_bh"), ("bonferroni", "bonferroni")):
    out[ours] = list(multipletests(d["p"], method=theirs)[1])
out["wilson"] = list(proportion_confint(81, 263, method="wilson")); out["clopper"] = list(proportion_confint(81, 263, method="beta"))
out["power_n5"] = [TTestIndPower().solve_power(nobs1=5, alpha=0.05, power=0.8)]
import statsmodels.api as sm
g = np.repeat(np.arange(12), 10); v = np.array(d["clustered"])
fit = sm.OLS(v, np.ones(len(v))).fit(cov_type="cluster", cov_kwds={"groups": g, "use_correction": False})
out["clustered"] = [fit.bse[0]]
json.dump({k: [float(x) for x in v] for k, v in out.items()}, sys.stdout)
"""


def comma(values: Any) -> str:
    return ", ".join(repr(v) for v in values)


@pytest.fixture(scope="module")
def r() -> dict[str, list[float]]:
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed (Debian: r-base-core; requirements/r.sh)")
    script = R % {
        "x": comma(X),
        "y": comma(Y),
        "p": comma(P),
        "untied": comma(UNTIED),
        "blocks": comma(v for b in BLOCKS for v in b),
        "pairs": ", ".join(f"c({b}, {c})" for b, c in PAIRS),
    }
    done = subprocess.run(
        ["Rscript", "--vanilla", "-e", script], capture_output=True, text=True, timeout=120, check=True
    )
    return {
        name: [float(v) for v in rest.split()]
        for name, _, rest in (line.partition(" ") for line in done.stdout.splitlines() if line.strip())
    }


CLUSTERED = [float(((i // 10) * 7 + i * i) % 10 < 6) for i in range(120)]


@pytest.fixture(scope="module")
def statsmodels() -> dict[str, list[float]]:
    if not OTHER.exists() or subprocess.run([OTHER, "-c", "import statsmodels"], capture_output=True).returncode:
        pytest.skip("statsmodels is not installed (make frameworks puts it into .envs/lmeval)")
    data = json.dumps({"pairs": PAIRS, "p": P, "clustered": CLUSTERED})
    done = subprocess.run([OTHER, "-c", SM], input=data, capture_output=True, text=True, timeout=300, check=True)
    found: dict[str, list[float]] = json.loads(done.stdout)
    return found


def ours() -> dict[str, list[float]]:
    """The closed forms by our own code, under the names of the references."""
    x, y = np.array(X), np.array(Y)
    out: dict[str, list[float]] = {}
    for b, c in PAIRS:
        out[f"mcnemar_exact_{b}_{c}"] = [binary.exact_p(b, c)]
        out[f"mcnemar_chi_{b}_{c}"] = [binary.chi2(b, c)[1]]
    for name, test in (("paired_t", means.paired_t(x, y)), ("welch", means.welch(x, y))):
        assert test.p is not None and test.ci is not None
        out[name] = [test.p, test.ci.low, test.ci.high]
    exact, friedman = ranks.wilcoxon(UNTIED).p, ranks.friedman(np.array(BLOCKS))
    assert exact is not None and friedman.p is not None
    out["wilcoxon_exact"] = [exact]
    out |= {"holm": multiple.holm(P), "BH": multiple.benjamini_hochberg(P), "bonferroni": multiple.bonferroni(P)}
    for key, interval in (("wilson", proportion.wilson(81, 263)), ("clopper", proportion.clopper_pearson(81, 263))):
        out[key] = [interval.low, interval.high]
    return out


SHARED_BY_R = ["mcnemar_exact_30_12", "mcnemar_exact_5_1", "mcnemar_exact_9_9", "mcnemar_exact_183_66", "mcnemar_exact_1_0", "mcnemar_chi_30_12", "mcnemar_chi_5_1", "paired_t", "welch", "wilcoxon_exact",
               "holm", "BH", "bonferroni", "wilson", "clopper"]  # fmt: skip


@pytest.mark.parametrize("name", SHARED_BY_R)
def test_r_gives_the_same_value(name: str, r: dict[str, list[float]]) -> None:
    assert ours()[name] == pytest.approx(r[name], rel=1e-10, abs=1e-10)


def test_r_gives_the_same_friedman_statistic_and_nemenyi_quantile(r: dict[str, list[float]]) -> None:
    f = ranks.friedman(np.array(BLOCKS))
    assert f.statistic == pytest.approx(r["friedman"][1], rel=1e-10) and f.p == pytest.approx(
        r["friedman"][0], rel=1e-9
    )
    assert ranks.critical_difference(4, 6) == pytest.approx(r["nemenyi_q"][0] * np.sqrt(4 * 5 / (6 * 6)), rel=1e-6)


def test_the_detectable_effect_of_five_seeds_is_that_of_r(r: dict[str, list[float]]) -> None:
    assert power.detectable_seeds(5) == pytest.approx(r["power_n5"][0], rel=1e-4)


SHARED_BY_SM = [
    "mcnemar_exact_30_12",
    "mcnemar_exact_5_1",
    "mcnemar_exact_9_9",
    "mcnemar_exact_183_66",
    "mcnemar_exact_1_0",
    "mcnemar_chi_30_12",
    "mcnemar_chi_183_66",
    "holm",
    "BH",
    "bonferroni",
    "wilson",
    "clopper",
]


@pytest.mark.frameworks
@pytest.mark.parametrize("name", SHARED_BY_SM)
def test_statsmodels_gives_the_same_value(name: str, statsmodels: dict[str, list[float]]) -> None:
    assert ours()[name] == pytest.approx(statsmodels[name], rel=1e-10, abs=1e-10)


@pytest.mark.frameworks
def test_statsmodels_gives_the_same_clustered_error_and_power(statsmodels: dict[str, list[float]]) -> None:
    found = means.cluster_mean(CLUSTERED, [i // 10 for i in range(120)], small_sample=False)
    assert found.details["stderr"] == pytest.approx(statsmodels["clustered"][0], rel=1e-10)
    assert power.detectable_seeds(5) == pytest.approx(statsmodels["power_n5"][0], rel=1e-4)


def test_resampled_values_lie_within_their_error_of_the_exact_ones() -> None:
    x, y = np.array(X), np.array(Y)
    exact = resample.sign_flip(x - y, rng=stream(7, "t")).p
    signs = np.array(np.meshgrid(*[[-1, 1]] * 12)).reshape(12, -1).T
    whole = np.mean(np.abs(signs @ (x - y)) >= abs((x - y).sum()) - 1e-12)
    assert exact == pytest.approx(whole, abs=1e-12)
