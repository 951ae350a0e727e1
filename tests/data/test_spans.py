"""Tokens of a text without its tokenizer: the interval holds what real tokenizers gave, and is narrow where they agree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from papertrain.data.spans import LARGE, SMALL, rates, span

# Written for this test. Counted with the tokenizers themselves (vocabularies from 65,000 entries on, and below); Llama 2, Llama 3
# and Qwen 3.6 took no part when the rates were fitted.
SAMPLES = {
    "fr": (
        "Le chat noir dormait paisiblement près de la fenêtre, tandis que la pluie tombait sur les toits de la vie"
        "ille ville. Après avoir terminé son travail, Hélène décida de préparer un thé et d'écouter les nouvelles "
        "à la radio. Les élèves étaient déjà rentrés chez eux, et le silence régnait dans les couloirs de l'école.",
        {"Llama 3": 88, "Qwen 3.6": 77, "o200k": 76, "DeepSeek-V3": 85, "Claude 2": 104},
        {"Llama 2": 93, "p50k": 123, "BERT": 99},
    ),
    "de": (
        "Die Wissenschaftler untersuchten die Auswirkungen der Luftverschmutzung auf die Gesundheit älterer Mensch"
        "en in größeren Städten. Nach mehrjähriger Forschungsarbeit veröffentlichten sie ihre Ergebnisse in einer "
        "angesehenen Fachzeitschrift. Außerdem müssen künftige Untersuchungen klären, welche Schutzmaßnahmen tatsä"
        "chlich wirksam sind.",
        {"Llama 3": 89, "Qwen 3.6": 59, "o200k": 61, "DeepSeek-V3": 76, "Claude 2": 104},
        {"Llama 2": 80, "p50k": 132, "BERT": 118},
    ),
    "es": (
        "La niña corrió por el jardín buscando su pelota roja mientras su abuelo leía el periódico bajo el árbol m"
        "ás antiguo del pueblo. Mañana por la mañana iremos a la estación para recibir a los primos que vienen des"
        "de Málaga. También habrá una comida especial para celebrar el cumpleaños del tío José.",
        {"Llama 3": 83, "Qwen 3.6": 63, "o200k": 62, "DeepSeek-V3": 81, "Claude 2": 96},
        {"Llama 2": 90, "p50k": 115, "BERT": 95},
    ),
    "ru": (
        "Сегодня утром мы отправились на прогулку в старый парк, где когда-то играли в детстве. Погода была прекра"
        "сная, светило солнце, и на деревьях уже появились первые листья. Вечером друзья собрались у нас дома, что"
        "бы вместе приготовить ужин и поговорить о планах на лето.",
        {"Llama 3": 80, "Qwen 3.6": 68, "o200k": 69, "DeepSeek-V3": 86, "Claude 2": 146},
        {"Llama 2": 99, "p50k": 281, "BERT": 222},
    ),
    "ja": (
        "昨日は友達と一緒に新しいレストランへ行きました。料理はとても美味しくて、店員さんも親切でした。来週の土曜日にもう一度行くつもりですが、予約が必要かもしれません。日本の夏は蒸し暑いので、冷たい飲み物をたくさん飲み"
        "ます。",
        {"Llama 3": 82, "Qwen 3.6": 51, "o200k": 83, "DeepSeek-V3": 72, "Claude 2": 118},
        {"Llama 2": 134, "p50k": 152, "BERT": 108},
    ),
    "ko": (
        "어제 저녁에 가족과 함께 공원을 산책했습니다. 날씨가 맑고 바람이 시원해서 많은 사람들이 나와 있었습니다. 우리는 벤치에 앉아 커피를 마시면서 다음 주 여행 계획에 대해 이야기했습니다.",
        {"Llama 3": 57, "Qwen 3.6": 47, "o200k": 56, "DeepSeek-V3": 64, "Claude 2": 105},
        {"Llama 2": 159, "p50k": 220, "BERT": 121},
    ),
    "ar": (
        "ذهبت إلى السوق صباح اليوم لشراء الخضروات والفواكه الطازجة، ثم عدت إلى البيت وأعددت الغداء لعائلتي. بعد ال"
        "ظهر قرأت كتابا عن تاريخ المدينة القديمة.",
        {"Llama 3": 53, "Qwen 3.6": 42, "o200k": 45, "DeepSeek-V3": 52, "Claude 2": 133},
        {"Llama 2": 126, "p50k": 142, "BERT": 122},
    ),
    "emoji": (
        "🎉🎉 Great job!! 😀 See you → there ★★★ 100% ✓ done… “quoted” — dash",
        {"Llama 3": 27, "Qwen 3.6": 28, "o200k": 25, "DeepSeek-V3": 27, "Claude 2": 34},
        {"Llama 2": 39, "p50k": 30, "BERT": 23},
    ),
    "zh": (
        "昨天下午，研究小组公布了最新的实验结果。他们发现，在相同的训练数据下，较小的学习率能够让模型收敛得更稳定，但是需要更多的训练步数。下一步，他们计划在更大的数据集上重复这些实验，并公开全部代码。",
        {"Llama 3": 69, "Qwen 3.6": 51, "o200k": 64, "DeepSeek-V3": 51, "Claude 2": 88},
        {"Llama 2": 134, "p50k": 211, "BERT": 96},
    ),
    "en": (
        "The ferry left the harbour a little before noon, and by the time the fog lifted we could already see the "
        "lighthouse on the far island. Nobody on deck had expected the crossing to be so quiet; even the gulls had"
        " stayed behind with the fishing boats. My grandmother, who had made this journey every summer since she w"
        "as a child, pointed out the places where her brothers used to swim.",
        {"Llama 3": 80, "Qwen 3.6": 80, "o200k": 79, "DeepSeek-V3": 79, "Claude 2": 80},
        {"Llama 2": 90, "p50k": 79, "BERT": 79},
    ),
    "code": (
        "def merge(left: list[int], right: list[int]) -> list[int]:\n    \"\"\"Two sorted lists as one.\"\"\"\n    merged,"
        " i, j = [], 0, 0\n    while i < len(left) and j < len(right):\n        if left[i] <= right[j]:\n            "
        "merged.append(left[i])\n            i += 1\n        else:\n            merged.append(right[j])\n            j"
        " += 1\n    return merged + left[i:] + right[j:]\n",
        {"Llama 3": 98, "Qwen 3.6": 106, "o200k": 98, "DeepSeek-V3": 98, "Claude 2": 108},
        {"Llama 2": 123, "p50k": 120, "BERT": 119},
    ),
    "latex": (
        "Let $f\\colon \\mathbb{R}^n \\to \\mathbb{R}$ be convex; then $f(\\theta x + (1-\\theta) y) \\le \\theta f(x) + ("
        "1-\\theta) f(y)$ for all $\\theta \\in [0, 1]$, and \\begin{equation} \\nabla f(x)^\\top (y - x) \\le f(y) - f(x"
        "). \\end{equation}",
        {"Llama 3": 103, "Qwen 3.6": 103, "o200k": 102, "DeepSeek-V3": 92, "Claude 2": 99},
        {"Llama 2": 100, "p50k": 119, "BERT": 113},
    ),
    "sums": (
        "A crate holds 144 oranges and weighs 38.5 kg. If 1250 crates are loaded onto 17 lorries, each lorry carri"
        "es 1250 / 17 = 73.53 crates, that is 73.53 * 38.5 = 2830.9 kg. In 2024 the price was $0.37 per orange, so"
        " the load is worth 144 * 1250 * 0.37 = 66600 dollars.",
        {"Llama 3": 99, "Qwen 3.6": 126, "o200k": 99, "DeepSeek-V3": 101, "Claude 2": 88},
        {"Llama 2": 134, "p50k": 84, "BERT": 86},
    ),
    "json": (
        "{\"id\": 4711, \"user\": {\"name\": \"Grace Hopper\", \"roles\": [\"admin\", \"editor\"]}, \"created_at\": \"2024-03-17T09"
        ":26:53Z\", \"score\": 0.8732, \"active\": true, \"tags\": [], \"parent_id\": null}",
        {"Llama 3": 71, "Qwen 3.6": 82, "o200k": 70, "DeepSeek-V3": 71, "Claude 2": 71},
        {"Llama 2": 86, "p50k": 74, "BERT": 91},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SAMPLES)
def test_the_interval_holds_what_real_tokenizers_counted(name):
    text, large, small = SAMPLES[name]
    for counted, table in ((large, LARGE), (small, SMALL)):
        low, high = span(text, table)
        assert {n: v for n, v in counted.items() if not low <= v <= high} == {}


@pytest.mark.parametrize(
    ("name", "most"), [("en", 0.16), ("code", 0.2), ("latex", 0.2), ("json", 0.25), ("sums", 0.3), ("zh", 0.5)]
)
def test_the_interval_is_narrow_where_tokenizers_agree(name, most):
    low, high = span(SAMPLES[name][0], LARGE)
    assert (high - low) / (high + low) <= most


def test_only_a_small_vocabulary_splits_more():
    assert rates(None) is rates(151_936) is LARGE
    assert rates(32_000) is rates(30_522) is SMALL
    assert rates(0) is LARGE  # not known


@given(st.text(max_size=300))
def test_any_text_has_an_interval_and_a_longer_one_has_no_fewer_tokens(text):
    low, high = span(text, LARGE)
    assert 0 <= low <= high
    assert span(text + "\nthe end", LARGE)[1] >= high * 0.5


def test_half_a_character_is_no_error():
    assert span("broken \ud83d half", LARGE)[1] > 0
