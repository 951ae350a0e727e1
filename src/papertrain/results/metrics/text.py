"""Generated text against references: exact match and token F1 as SQuAD has them, BLEU, chrF and TER by sacrebleu, ROUGE
by rouge-score, WER and CER."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from papertrain.core.errors import PapertrainError
from papertrain.results.metrics.measured import Measured, mean_of, version
from papertrain.results.stats import corpus
from papertrain.results.stats.outcome import Floats

CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff]")


def references(x: Any) -> list[str]:
    """One or several references of an item."""
    return [str(v) for v in x] if isinstance(x, (list, tuple)) and x else [str(x)]


def normalise(s: str) -> str:
    """SQuAD: lower case, no punctuation, no articles, single spaces."""
    s = "".join(c for c in s.lower() if c not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", s).split())


def token_f1(prediction: str, reference: str) -> float:
    p, r = normalise(prediction).split(), normalise(reference).split()
    if not p or not r:
        return float(p == r)
    same = sum((Counter(p) & Counter(r)).values())
    return 2 * same / (len(p) + len(r)) if same else 0.0


def distance(a: Sequence[Any], b: Sequence[Any]) -> int:
    """Edit distance of two sequences."""
    if len(a) < len(b):
        a, b = b, a
    codes: dict[Any, int] = {}
    x = np.array([codes.setdefault(t, len(codes)) for t in a])
    y = np.array([codes.setdefault(t, len(codes)) for t in b])
    row = np.arange(y.size + 1)
    steps = np.arange(y.size + 1)
    for i in range(x.size):
        new = np.empty_like(row)
        new[0] = i + 1
        new[1:] = np.minimum(row[:-1] + (y != x[i]), row[1:] + 1)
        # insertions run along the row: the running minimum of what is left after subtracting the position
        row = np.minimum.accumulate(new - steps) + steps
    return int(row[-1])


def exact(labels: Sequence[Any], predictions: Sequence[Any]) -> dict[str, Measured]:
    gold = [references(x) for x in labels]
    said = [str(x) for x in predictions]
    em = [float(any(normalise(p) == normalise(r) for r in refs)) for p, refs in zip(said, gold)]
    f1 = [max(token_f1(p, r) for r in refs) for p, refs in zip(said, gold)]
    lib = "SQuAD v1.1 normalisation"
    return {
        "em": mean_of(
            em,
            metric="em",
            definition="share of answers equal to a reference after SQuAD normalisation (case, punctuation, articles)",
            library=lib,
        ),
        "token_f1": mean_of(
            f1,
            metric="token_f1",
            definition="mean over items of the best token F1 with a reference, SQuAD normalisation",
            library=lib,
        ),
    }


def translation(
    labels: Sequence[Any], predictions: Sequence[Any], which: Sequence[str] = ("bleu", "chrf")
) -> dict[str, Measured]:
    """Corpus scores with sacrebleu's own signature. Items with fewer references than others are not supported."""
    try:
        from sacrebleu.metrics.bleu import BLEU
        from sacrebleu.metrics.chrf import CHRF
        from sacrebleu.metrics.ter import TER
    except ImportError:
        raise PapertrainError(
            "BLEU, chrF and TER need sacrebleu: pip install 'papertrain[results]'", code="needs-extra"
        ) from None
    gold = [references(x) for x in labels]
    width = min(len(g) for g in gold)
    streams = [[g[i] for g in gold] for i in range(width)]
    said = [str(x) for x in predictions]
    chinese = sum(len(CJK.findall(g[0])) for g in gold) > 0.3 * max(sum(len(g[0]) for g in gold), 1)
    makers = {
        "bleu": (BLEU(tokenize="zh" if chinese else "13a"), corpus.bleu),
        "chrf": (CHRF(), corpus.chrf),
        "ter": (TER(), corpus.percent_ratio),
    }
    says = {
        "bleu": "corpus BLEU (0-100)",
        "chrf": "corpus chrF2 (0-100)",
        "ter": "translation edit rate (percent of reference words)",
    }
    out = {}
    for name in which:
        metric, statistic = makers[name]
        value = metric.corpus_score(said, streams)
        stats = metric._extract_corpus_statistics(said, streams)
        rows: Floats | None = np.asarray(stats, float)
        ok = bool(abs(float(statistic(rows.sum(0)[None])[0]) - value.score) < 1e-6) if rows is not None else False
        out[name] = Measured(metric=name, value=float(value.score), n=len(said), kind="corpus", definition=says[name], library=f"sacrebleu {metric.get_signature()}",
                             higher_is_better=name != "ter", rows=rows if ok else None, statistic=statistic if ok else None,
                             reason="" if ok else "its statistics have another form in this sacrebleu: no interval")  # fmt: skip
    return out


def rouge(
    labels: Sequence[Any], predictions: Sequence[Any], which: Sequence[str] = ("rouge1", "rouge2", "rougeL")
) -> dict[str, Measured]:
    """Mean F-measure, best of several references. rouge-score keeps only a-z and 0-9: other scripts score 0."""
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError:
        raise PapertrainError(
            "ROUGE needs rouge-score: pip install 'papertrain[results]'", code="needs-extra"
        ) from None
    scorer = RougeScorer(list(which), use_stemmer=True)
    gold, said = [references(x) for x in labels], [str(x) for x in predictions]
    scored = [scorer.score_multi(g, p) for g, p in zip(gold, said)]
    foreign = sum(not re.search(r"[a-z0-9]", g[0].lower()) for g in gold) > len(gold) / 2
    lib = f"{version('rouge-score')}, stemmer"
    return {
        name: Measured(metric=name.lower(), value=None if foreign else float(np.mean([s[name].fmeasure for s in scored])), n=len(said), kind="mean",
                       definition=f"mean {name} F-measure over items, best reference", library=lib, rows=None if foreign else np.array([s[name].fmeasure for s in scored]),
                       reason="rouge-score drops every character but a-z and 0-9: not defined for this language" if foreign else "")
        for name in which
    }  # fmt: skip


def speech(
    labels: Sequence[Any], predictions: Sequence[Any], which: Sequence[str] = ("wer", "cer")
) -> dict[str, Measured]:
    """Edits over reference length, of words or of characters, as in jiwer without further normalisation."""
    out = {}
    for name in which:
        cut = str.split if name == "wer" else list
        rows = np.array(
            [
                [distance(cut(references(g)[0]), cut(str(p))), len(cut(references(g)[0]))]
                for g, p in zip(labels, predictions)
            ],
            float,
        )
        what = "word" if name == "wer" else "character"
        total = rows.sum(0)
        out[name] = Measured(metric=name, value=float(total[0] / total[1]) if total[1] else None, n=len(rows), kind="corpus", higher_is_better=False, library="own edit distance",
                             definition=f"{what} edits over reference {what}s of the whole set, text as it stands", rows=rows, statistic=corpus.ratio,
                             reason="" if total[1] else "the references are empty")  # fmt: skip
    return out
