"""Every worked example of the oracle file (R, scipy, published pairs) comes out within its tolerance."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from papertrain.results.stats import (
    auc,
    binary,
    corpus,
    means,
    multiple,
    outcome,
    power,
    proportion,
    ranks,
    resample,
    runs,
)

DATA = Path(__file__).resolve().parents[2] / "../shared/data"
FILE = DATA / "stats_oracles.jsonl"
CASES = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()] if FILE.exists() else []


def rows(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(newline="", encoding="utf-8") as f:
        return list(csv.DictReader(f))


def mcnemar_small_discordant(i: Any) -> dict[str, Any]:
    b, c = binary.discordant(i["table"])
    chi, p = binary.chi2(b, c)
    return {"exact_p": binary.exact_p(b, c), "chi2": chi, "p_chi2": p}


def autorank_readme(i: Any) -> dict[str, Any]:
    np.random.seed(42)
    x = np.array([np.random.normal(m, 0.3, 50).clip(0, 1) for m in (0.2, 0.3, 0.5, 0.8, 0.85, 0.9)]).T
    f = ranks.friedman(x)
    return {
        "mean_ranks": sorted(f.details["mean_ranks"], reverse=True),
        "p": f.p,
        "cd": ranks.critical_difference(6, 50),
    }


def wilcoxon_pingouin(i: Any) -> dict[str, Any]:
    w = ranks.wilcoxon(i["a"], i["b"])
    return {"statistic": w.statistic, "p": w.p, "rank_biserial": w.effect_size}


def wilson_newcombe(i: Any) -> dict[str, Any]:
    w, c = proportion.wilson(i["successes"], i["n"]), proportion.clopper_pearson(i["successes"], i["n"])
    return {"wilson": [w.low, w.high], "clopper_pearson": [c.low, c.high]}


def miller_sample_size(i: Any) -> dict[str, Any]:
    v = (i["omega2"], i["sigmaA2"], i["sigmaB2"])
    return {
        "n_K1": power.questions(*v, i["delta"]),
        "n_K10": power.questions(*v, i["delta"], 10, 10),
        "n_no_resampling_noise": power.questions(i["omega2"], 0, 0, i["delta"]),
        "mde_at_969_no_noise": power.detectable_from(i["omega2"], 0, 0, 969),
    }


def demsar_friedman_rounded_ties(i: Any) -> dict[str, Any]:
    f = ranks.friedman(i["scores"])
    d = f.details
    return {
        "mean_ranks": d["mean_ranks"],
        "chi2_uncorrected": d["chi2_uncorrected"],
        "F": d["F"],
        "chi2_tie_corrected": f.statistic,
        "p_tie_corrected": f.p,
    }


def demsar_friedman(i: Any) -> dict[str, Any]:
    d = ranks.friedman(i["scores"]).details
    return {"mean_ranks": d["mean_ranks"], "chi2": d["chi2_uncorrected"], "F": d["F"]}


def expected_max_dodge(i: Any) -> dict[str, Any]:
    return {
        "with_replacement": runs.expected_maximum(i["scores"], i["budget"], replacement=True),
        "without_replacement": runs.expected_maximum(i["scores"], i["budget"]),
    }


def delong_cv_predictions(i: Any) -> dict[str, Any]:
    by: dict[tuple[str, str], dict[str, tuple[int, float]]] = defaultdict(dict)
    for r in rows(i["file"]):
        by[r["representation"], r["variant"]][r["ID"]] = (int(r["y_true"]), float(r["y_score"]))
    a, b = by[tuple(i["a"])], by[tuple(i["b"])]
    ids = sorted(set(a) & set(b))
    o = auc.delong([a[k][0] for k in ids], [a[k][1] for k in ids], [b[k][1] for k in ids])
    return {"auc_a": o.details["auc_a"], "auc_b": o.details["auc_b"], "z": o.statistic, "p": o.p, "n": o.n}


def wilcoxon_darwin_scipy(i: Any) -> dict[str, Any]:
    w = ranks.wilcoxon(i["differences"])
    return {
        "statistic": w.statistic,
        "p": w.p,
        "p_greater": w.details["p_greater"],
        "p_asymptotic": w.details["p_asymptotic"],
    }


def cochran_q_mlxtend(i: Any) -> dict[str, Any]:
    q, two = binary.cochran_q(i["correct"]), binary.cochran_q(i["correct"][:2])
    x = np.asarray(i["correct"])
    bc = sorted([int(np.sum((x[0] == 1) & (x[1] == 0))), int(np.sum((x[0] == 0) & (x[1] == 1)))])
    return {"Q": q.statistic, "p": q.p, "Q_first_two": two.statistic, "p_first_two": two.p, "discordant": bc}


def lmeval_se(i: Any) -> dict[str, Any]:
    se = proportion.stderr(i["acc"], i["n"])
    return {"stderr": se, "n_recovered": proportion.n_from_stderr(i["acc"], se)}


def bootstrap_bca_spatial(i: Any) -> dict[str, Any]:
    v, ci = resample.general_bootstrap(
        i["x"], lambda s: s.var(-1), rng=outcome.stream(7, "spatial"), level=i["level"], resamples=20_000
    )
    return {"theta": v, "bca90": [ci.low, ci.high]}


def bonferroni_dunn_demsar(i: Any) -> dict[str, Any]:
    k, n = i["k"], i["N"]
    scale = (k * (k + 1) / (6 * n)) ** 0.5
    cd05, cd10 = (ranks.critical_difference(k, n, a, control=True) for a in (0.05, 0.10))
    return {"q05": cd05 / scale, "cd05": cd05, "q10": cd10 / scale, "cd10": cd10}


def mannwhitney_scipy(i: Any) -> dict[str, Any]:
    o = ranks.mann_whitney(i["a"], i["b"])
    return {"U": o.statistic, "p": o.p, "prob_superiority": o.effect_size}


def sklearn_metrics(i: Any) -> dict[str, Any]:
    from sklearn.metrics import average_precision_score

    classes = [0, 1, 2]
    s = corpus.label_rows(i["f1_true"], i["f1_pred"], classes).sum(0)[None]
    m = corpus.label_rows(i["mcc_true"], i["mcc_pred"], [-1, 1]).sum(0)[None]
    return {
        "auc": auc.delong_interval(i["auc_y"], i["auc_s"])[0],
        "ap": average_precision_score(i["auc_y"], i["auc_s"]),
        "f1_macro": corpus.macro("f1")(s)[0],
        "f1_micro": corpus.accuracy(s)[0],
        "mcc": corpus.mcc(m)[0],
    }


def darwin_fisher_randomization(i: Any) -> dict[str, Any]:
    p = resample.sign_flip(i["differences"], rng=outcome.stream(1)).p
    return {"one_sided_count": p * 32768 / 2, "total": 2 ** len(i["differences"]), "p_two_sided": p}


def group_se(i: Any) -> dict[str, Any]:
    doc = json.loads((DATA / i["file"]).read_text("utf-8"))["results"]
    group = doc.pop(i["group"])
    parts = [
        (v["acc,none"], round(proportion.n_from_stderr(v["acc,none"], v["acc_stderr,none"]))) for v in doc.values()
    ]
    mean, se = proportion.group_score(parts)
    return {
        "n_subtasks": len(parts), "n_total": sum(n for _, n in parts), "group_acc": mean,
        "published_group_stderr_wrong": group["acc_stderr,none"], "right_stderr_stratified": se,
        "macro": sum(p for p, _ in parts) / len(parts),
    }  # fmt: skip


def cohen_dz_pingouin(i: Any) -> dict[str, Any]:
    return {"dz": means.cohen_dz(i["a"], i["b"]), "prob_superiority_unpaired": means.superiority(i["a"], i["b"])}


def cohen_d_pingouin(i: Any) -> dict[str, Any]:
    return {"d": means.cohen_d(i["a"], i["b"])}


def lakes_signflip(i: Any) -> dict[str, Any]:
    return {"p": resample.sign_flip(i["a"], i["b"], rng=outcome.stream(1)).p, "p_t": means.paired_t(i["a"], i["b"]).p}


def openclip_friedman_top5(i: Any) -> dict[str, Any]:
    with (DATA / i["file"]).open(newline="", encoding="utf-8") as f:
        table = list(csv.reader(f))[1:]
    f5 = ranks.friedman(np.array([[float(v) for v in table[r][i["first_dataset_column"] :]] for r in i["rows"]]).T)
    return {"chi2": f5.statistic, "p": f5.p}


def winogrande_samples_to_results(i: Any) -> dict[str, Any]:
    x = [json.loads(line)[i["column"]] for line in (DATA / i["file"]).read_text("utf-8").splitlines()]
    p = sum(x) / len(x)
    return {"n": len(x), "acc": p, "stderr": proportion.stderr(p, len(x)), "correct": int(sum(x))}


def sacrebleu_readme(i: Any) -> dict[str, Any]:
    from sacrebleu.metrics import BLEU

    out = {}
    for tok in ("13a", "none", "intl"):
        metric = BLEU(tokenize=tok)
        stats = np.array(metric._extract_corpus_statistics(i["hyp"], i["refs"]), float)
        out[f"bleu_{tok}"] = corpus.bleu(stats.sum(0)[None])[0]
    return out


def wilcoxon_depression_R(i: Any) -> dict[str, Any]:
    w = ranks.wilcoxon(i["a"], i["b"])
    return {"statistic": w.details["plus"], "p_greater": w.details["p_greater"]}


def cv_folds_corrected_t(i: Any) -> dict[str, Any]:
    by: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for r in rows(i["file"]):
        by[r["representation"], r["variant"]][r["fold"]] = float(r["auc"])
    a, b = by[tuple(i["a"])], by[tuple(i["b"])]
    x, y = [a[k] for k in sorted(a)], [b[k] for k in sorted(a)]
    naive, right = means.paired_t(x, y), means.paired_t(x, y, ratio=0.25)
    return {"t_naive": naive.statistic, "p_naive": naive.p, "t_corrected": right.statistic, "p_corrected": right.p}


def bh1995(i: Any) -> dict[str, Any]:
    p = i["p"]
    return {
        "bonferroni": sum(v <= 0.05 for v in multiple.bonferroni(p)), "holm": sum(v <= 0.05 for v in multiple.holm(p)),
        "bh": sum(v <= 0.05 for v in multiple.benjamini_hochberg(p)), "bh_adjusted_first5": multiple.benjamini_hochberg(p)[:5],
    }  # fmt: skip


def mc_pvalue_plus_one(i: Any) -> dict[str, Any]:
    return {"p": outcome.monte_carlo_p(i["exceedances"], i["resamples"])}


def friedman_rounding_times_R(i: Any) -> dict[str, Any]:
    f = ranks.friedman(i["scores"])
    return {"chi2": f.statistic, "p": f.p}


def demsar_wilcoxon(i: Any) -> dict[str, Any]:
    w = ranks.wilcoxon(i["b"], i["a"], zeros="split")
    return {"R_plus": w.details["plus"], "R_minus": w.details["minus"], "critical_value_05_n14": 21}


def friedman_pingouin(i: Any) -> dict[str, Any]:
    f = ranks.friedman(i["scores"])
    return {"chi2": f.statistic, "p": f.p, "W": f.effect_size}


def cd_diagram_example(i: Any) -> dict[str, Any]:
    by: dict[str, dict[str, float]] = defaultdict(dict)
    for r in rows(i["file"]):
        by[r["dataset_name"]][r["classifier_name"]] = float(r["accuracy"])
    names = sorted({n for d in by.values() for n in d})
    x = np.array([[d[n] for n in names] for d in by.values()])
    f = ranks.friedman(x)
    return {
        "chi2": f.statistic,
        "p": f.p,
        "mean_ranks_clf1_to_5": f.details["mean_ranks"],
        "cd05": ranks.critical_difference(len(names), len(x)),
    }


def nemenyi_q_table(i: Any) -> dict[str, Any]:
    return {"q05": [ranks.nemenyi_q(k) for k in i["k"]]}


def rliable_metrics(i: Any) -> dict[str, Any]:
    x, y = np.array(i["x"]), np.array(i["y"])
    return {
        "median_x": np.median(x), "mean_x": x.mean(), "iqm_x": runs.iqm(x), "median_y": np.median(y), "mean_y": y.mean(), "iqm_y": runs.iqm(y),
        "prob_improvement": runs.improvement(x, y),
    }  # fmt: skip


PREFIXES = {"wilson_newcombe": wilson_newcombe, "lmeval_se": lmeval_se, "group_se": group_se}


def solver(name: str) -> Any:
    return globals().get(name) or next(f for prefix, f in PREFIXES.items() if name.startswith(prefix))


@pytest.mark.skipif(not CASES, reason="the oracle file lies in ../shared, which is not here")
@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_oracles_come_out_within_their_tolerance(case: dict[str, Any]) -> None:
    got = solver(case["id"])(case["input"])
    for key, expected in case["expected"].items():
        tolerance = case["tolerance"]
        slack = tolerance.get(key, 1e-9) if isinstance(tolerance, dict) else tolerance
        np.testing.assert_allclose(
            np.asarray(got[key], float), np.asarray(expected, float), rtol=0, atol=slack + 1e-15, err_msg=key
        )
